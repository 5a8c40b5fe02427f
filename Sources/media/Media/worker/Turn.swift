// What one turn of a worker gives to those who decide, and takes from them.

import Basics
import Forwarding

/// What a worker has to look at when its time comes, besides transports.
enum Due {
  case encoding(EncodingID)
  case layers(ProducerID)
  /// The same beside the regular looks: a mirror's source has said that other layers arrive.
  case arrivals(ProducerID)
  case speakers(RoomID)
  /// A consumer may begin with what is in the cache.
  case replay(ConsumerID)
  /// What a receiver could not decode some time ago may be asked for again.
  case wish(ConsumerID)
  /// A packet that was sent again is to be sent once more.
  case copy(ConsumerID, sequence: UInt16)
}

/// A turn: what time it is, and room for what comes of it. It can only be added to: nobody who is handed it reads what others have
/// said, so nobody's decision depends on what was decided for others. `WorkerState` alone takes out what was said.
struct Turn {
  /// When the turn began. One reading of the clock serves all that is done in it.
  fileprivate(set) var now = Instant.zero
  /// What the control plane has not been told yet.
  fileprivate var events: [WorkerEvent] = []
  /// What is to be looked at, and when.
  fileprivate var due = DeadlineQueue<Due>(minimumCapacity: 512)
  /// Packets that went no further.
  fileprivate var drops = DropCounters()
  /// Missing packets whose sound stood in later ones.
  fileprivate var restored: UInt64 = 0
  /// Copies that were kept for pipes.
  fileprivate var piped: UInt64 = 0
  /// Encodings whose numbers and clock begin anew.
  fileprivate var restarts: [EncodingID] = []
  /// Encodings of which somebody waits for a keyframe.
  fileprivate var wanted: [EncodingID] = []
  /// Mirrors of which other layers are needed than before, and tracks that cross pipes and of which others may arrive.
  fileprivate var needs: [ProducerID] = []
  /// Whether there is one of these.
  fileprivate var isWishing = false

  /// The control plane is to hear of it.
  mutating func tell(_ event: WorkerEvent) { events.append(event) }

  /// Something is to be looked at again at that time.
  mutating func look(at thing: Due, from time: Instant) { due.push(time, thing) }

  /// Counts a packet that goes no further.
  @inline(__always)
  mutating func drop(_ reason: DropReason) { drops.count(reason) }

  /// Counts a missing packet that is here now.
  mutating func noteRestored() { restored &+= 1 }

  /// Counts a copy that is kept for a pipe.
  mutating func notePiped() { piped &+= 1 }

  /// An encoding's publisher is to be asked for a keyframe, as often as the throttle allows.
  mutating func want(keyframeOf encoding: EncodingID) {
    wanted.append(encoding)
    isWishing = true
  }

  /// The other end of a pipe is to hear of the layers of a track: of a mirror, which are needed; of any other, which arrive.
  mutating func want(layersOf track: ProducerID) {
    needs.append(track)
    isWishing = true
  }

  /// Adds what was counted to what a worker reports.
  func add(to total: inout WorkerCounters) {
    total.drops.add(drops)
    total.restored = restored
    total.piped = piped
  }

  /// What receivers are sent of an encoding begins anew, as its publisher's numbers do.
  mutating func restart(_ encoding: EncodingID) {
    restarts.append(encoding)
    isWishing = true
  }
}

extension WorkerState {
  /// A turn begins, or goes on: all that follows happens at this time.
  @inline(__always)
  mutating func begin(at now: Instant) { turn.now = now }

  /// Takes what has happened since the last call.
  public mutating func takeEvents() -> [WorkerEvent] {
    if turn.events.isEmpty { return [] }
    defer { turn.events.removeAll(keepingCapacity: true) }
    return turn.events
  }

  /// When the first of what is to be looked at is due. Mutating, though nothing changes: where the state is borrowed, the compiler
  /// (6.3) copies all of it.
  var nextDue: Instant { mutating get { turn.due.next } }

  /// Deadlines, stale ones too.
  var dueCount: Int { turn.due.count }

  /// The first of what is due.
  mutating func popDue(at now: Instant) -> Due? { turn.due.pop(at: now) }

  /// Does what was wished for: streams whose publishers have begun anew go on behind a gap, and publishers are asked for keyframes.
  @inline(__always)
  mutating func followWishes() {
    if turn.isWishing { followAll() }
  }

  @inline(never)
  private mutating func followAll() {
    turn.isWishing = false
    for encoding in turn.restarts { forwarder.changeStream(of: encoding, tracks) }
    for encoding in turn.wanted { tracks.wantKeyframe(encoding, &turn) }
    for track in turn.needs { ends.sayLayers(of: track, tracks, at: turn.now) }
    turn.needs.removeAll(keepingCapacity: true)
    turn.restarts.removeAll(keepingCapacity: true)
    turn.wanted.removeAll(keepingCapacity: true)
  }
}
