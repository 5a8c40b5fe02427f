// Which room gives way when a worker cannot send all that is offered: the one that sends most. The kernel's queue would let
// every room lose alike, so that one with hundreds of receivers takes the packets of two who talk.
//
//   datagrams stand in the kernel ─▶ count what each room sends ─▶ a limit that the largest exceed ─▶ lower while they stand
//                                                                   ◀── none, once nobody reaches it ◀── higher when not

import Basics
import RTP

/// Decides what a room may send while the worker is behind. Time comes in; each room keeps its own count.
struct RoomShares {
  /// What is looked at together. Raise it and the kernel's buffer overflows before anything is done.
  static let interval = TimeDelta.milliseconds(50)
  /// Datagrams that waited for longer than this in every turn of an interval are a queue that stands, and no burst.
  static let patience = TimeDelta.milliseconds(20)
  /// The same where other programs have the processor for more than half of the time. Each look of theirs lasts as long, and what the
  /// rooms send is not the reason: nobody loses a packet before the queue stands for longer.
  static let patienceBesideOthers = TimeDelta.milliseconds(100)
  /// The least limit, in packets an interval of their arrival: what a few people send each other is never refused.
  static let least = 64

  private enum Phase { case calm, counting, limiting }

  /// What an interval was like.
  private struct Interval {
    var length = TimeDelta.zero
    var hasQueue = false
  }

  private var phase = Phase.calm
  private var since = Instant.zero
  private var busySince: UInt64 = 0
  private var processorSince = TimeDelta.zero
  /// The shortest of the interval's waits, each of which is the longest of its turn.
  private var shortestWait = TimeDelta(nanoseconds: .max)
  private var last = Interval()
  /// Packets that a room may send in an interval.
  private var limit = Int.max
  /// What the limit does not fall below: where less does not help, sending is not what the time goes into.
  private var lowest = 0
  private var isReached = false

  /// Whether what rooms send has to be counted, and may be refused.
  var isCounting: Bool { phase != .calm }

  /// Whether a room that has sent `sent` packets in this interval may send more. Sound may a quarter beyond the limit: people
  /// who hear each other forgive a picture that stands.
  mutating func admits(_ kind: MediaKind, after sent: Int) -> Bool {
    if sent < limit || (kind == .audio && sent - limit < limit / 4) { return true }
    isReached = true
    return false
  }

  /// Notes a turn that began at `now`: how long its oldest datagram had waited, and how many nanoseconds all turns before it
  /// took. `processor` is asked once an interval for how long the thread has run so far. True when an interval is over and wants to
  /// be judged.
  mutating func turn(waited: TimeDelta, busy: UInt64, processor: () -> TimeDelta, at now: Instant) -> Bool {
    shortestWait = min(shortestWait, waited)
    let length = now - since
    if length < Self.interval { return false }
    // A loop that sleeps and yet is late was woken late: the machine is busy with something else, and we are not.
    let isBusy = Int64(clamping: busy &- busySince) >= length.nanoseconds / 10 * 9
    // One that was interrupted in the middle of its turns has been busy by the clock alone.
    let ran = processor()
    let patience = (ran - processorSince) * 2 < length ? Self.patienceBesideOthers : Self.patience
    last = Interval(length: length, hasQueue: isBusy && shortestWait > patience)
    (since, busySince, processorSince, shortestWait) = (now, busy, ran, TimeDelta(nanoseconds: .max))
    return last.hasQueue || isCounting
  }

  /// Draws the consequences of the last interval, in which rooms sent as much as `sent` says, each of them.
  mutating func judge(_ sent: [Int]) {
    switch phase {
    case .calm: phase = .counting
    case .counting:
      guard last.hasQueue, !sent.isEmpty else { return phase = .calm }
      phase = .limiting
      limit = max(Self.limit(sent, in: last.length), Self.least)
      lowest = max(limit / 4, Self.least)
    case .limiting where last.hasQueue: limit = max(limit - limit / 4, lowest)
    case .limiting where isReached: limit += limit / 8
    case .limiting: (phase, limit) = (.calm, .max)
    }
    isReached = false
  }

  /// The limit by which all together would have sent an eighth less: it cuts those above it, and touches nobody else.
  private static func limit(_ sent: [Int], in length: TimeDelta) -> Int {
    let rooms = sent.sorted()
    var rest = rooms.reduce(0, +) / 8 * 7
    var share = 0
    for (index, room) in rooms.enumerated() {
      share = rest / (rooms.count - index)
      if room >= share { break }
      rest -= room
    }
    return Int(Int64(share) * interval.nanoseconds / max(length.nanoseconds, 1))
  }
}

/// Whether a room sends little: never as much as the least limit in one interval. It goes by arrivals, as a worker that was held up
/// by something else reads in one turn what has come in many intervals.
struct ModestRoom {
  /// How long a room that has sent more is held to the limit of the others.
  static let memory = TimeDelta.seconds(1)
  private var since = Instant.zero
  private var packets = 0
  private var limitedUntil = Instant.zero

  /// Whether the room sends little when a packet of it arrives.
  mutating func holds(at arrival: Instant) -> Bool {
    if arrival - since >= RoomShares.interval { (since, packets) = (arrival, 0) }
    if packets >= RoomShares.least { limitedUntil = arrival + Self.memory }
    return arrival >= limitedUntil
  }

  /// Notes what became of the last packet that was asked about.
  mutating func count(_ more: Int) { packets += more }
}

extension Forwarder {
  /// As `WorkerState.noteTurn(waited:busy:processor:at:)`.
  mutating func noteTurn(waited: TimeDelta, busy: UInt64, processor: () -> TimeDelta, at now: Instant) {
    guard shares.turn(waited: waited, busy: busy, processor: processor, at: now) else { return }
    var sent: [Int] = []
    rooms.forEach { _, room in
      if room.sent > 0 { sent.append(room.sent) }
      room.sent = 0
    }
    shares.judge(sent)
  }

  /// Notes what a room has sent since it was asked whether it may.
  mutating func countSent(_ packets: Int, of room: RoomID) {
    rooms[room].sent += packets
    rooms[room].modest.count(packets)
  }

  /// Whether a room may send more now; where not, the packet is counted as dropped.
  mutating func admits(_ kind: MediaKind, of room: RoomID, at arrival: Instant) -> Bool {
    if rooms[room].modest.holds(at: arrival) || shares.admits(kind, after: rooms[room].sent) { return true }
    drops.count(.roomOverShare)
    return false
  }
}
