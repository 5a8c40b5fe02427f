// Who publishes what on a worker, and who is sent it: rooms, tracks, their encodings, subscriptions, and what a room may send.
//
//   route ─▶ accept ─▶ deliver ─▶ forward ─▶ each consumer decides ─▶ Egress       (Forwarder+Receive, Forwarder+Forward)
//   commands ─▶ add, change, remove                                               (Forwarder+Tracks)
//   time, keyframe requests ─▶ which layer each consumer is to be sent            (Forwarder+Layers)

import Basics
import Forwarding
import RTP

/// Owns the tables of forwarding. Transports are the worker's: they are handed in where a decision needs them. Sans-IO.
struct Forwarder: ~Copyable {
  /// What it has to look at when its time comes.
  enum Deadline {
    case encoding(EncodingID)
    case layers(ProducerID)
    case speakers(RoomID)
    /// A consumer may begin with what is in the cache.
    case replay(ConsumerID)
    /// What a receiver could not decode some time ago may be asked for again.
    case wish(ConsumerID)
    /// A packet that was sent again is to be sent once more.
    case copy(ConsumerID, sequence: UInt16)
  }

  var rooms = SlotMap<RoomSlot>(minimumCapacity: 16)
  var producers = SlotMap<ProducerSlot>(minimumCapacity: 64)
  var encodings = SlotMap<EncodingSlot>(minimumCapacity: 64)
  var consumers = SlotMap<ConsumerSlot>(minimumCapacity: 256)
  var shares = RoomShares()
  /// Deadlines of its rows; `WorkerState.poll` takes them out.
  var deadlines = DeadlineQueue<Deadline>(minimumCapacity: 512)
  var drops = DropCounters()
  /// Missing packets whose sound stood in later ones.
  var restored: UInt64 = 0

  // MARK: deadlines

  // A row notes which deadline of its own counts, so that an earlier one can be added without searching the queue
  // and a stale one is told apart when it comes out.

  mutating func schedule(encoding id: EncodingID) {
    let next = encodings[id].encoding.nextDeadline
    guard next < encodings[id].scheduled else { return }
    encodings[id].scheduled = next
    deadlines.push(next, .encoding(id))
  }

  /// Whether the deadline of an encoding that came out of the queue is the one that counts. Then it has none any more.
  mutating func isDue(_ id: EncodingID, at now: Instant) -> Bool {
    guard encodings.contains(id), encodings[id].scheduled <= now else { return false }
    encodings[id].scheduled = .distantFuture
    return true
  }

  // MARK: speakers

  /// Notes how loud a packet of a track is.
  mutating func heard(_ level: UInt8, of producer: ProducerID, at now: Instant) {
    let room = producers[producer].room
    rooms[room].speakers.heard(
      producers[producer].key.value, of: producers[producer].publisher, level: level, at: now)
    guard !rooms[room].speakersScheduled else { return }
    rooms[room].speakersScheduled = true
    deadlines.push(rooms[room].speakers.nextDeadline, .speakers(room))
  }

  mutating func pollSpeakers(_ id: RoomID, _ turn: inout Turn) {
    guard rooms.contains(id) else { return }
    rooms[id].speakersScheduled = false
    if let speakers = rooms[id].speakers.poll(at: turn.now) { turn.tell(.activeSpeakers(rooms[id].key, speakers)) }
    let next = rooms[id].speakers.nextDeadline
    guard next < .distantFuture else { return }
    rooms[id].speakersScheduled = true
    deadlines.push(next, .speakers(id))
  }

  /// Since when a track that has come and is not muted should have brought media; nil where none is expected.
  mutating func flowingSince(_ id: ProducerID) -> Instant? {
    guard !producers[id].isMuted else { return nil }
    for encoding in producers[id].encodings where encodings[encoding].encoding.isFlowing {
      return producers[id].unmutedAt
    }
    return nil
  }
}
