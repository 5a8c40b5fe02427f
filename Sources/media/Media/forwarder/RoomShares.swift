// Which room gives way when a worker cannot send all that is offered: the one that sends most. The kernel's queue would let
// every room lose alike, so that one with hundreds of receivers takes the packets of two who talk.
//
//   datagrams stand in the kernel ─▶ count what each room sends ─▶ a limit that the largest exceed ─▶ lower while they stand
//                                                                   ◀── none, once nobody reaches it ◀── higher when not

import Basics
import RTP

/// What a worker's thread and sockets have come to so far.
public struct WorkerUse: Sendable {
  /// How long the thread has run, without the time in which others had its processor.
  public var processor: TimeDelta
  /// Datagrams that came and that the kernel had no room for.
  public var dropped: UInt64

  /// Nothing, where nothing is said.
  public init(processor: TimeDelta = .zero, dropped: UInt64 = 0) {
    self.processor = processor
    self.dropped = dropped
  }
}

/// Decides what a room may send while the worker is behind. Time comes in; each room keeps its own count.
struct RoomShares {
  /// What is looked at together. Raise it and the kernel's buffer overflows before anything is done.
  static let interval = TimeDelta.milliseconds(50)
  /// Datagrams that waited for longer than this in every turn of an interval are a queue that stands, and no burst.
  static let patience = TimeDelta.milliseconds(20)
  /// The least limit, in packets an interval of their arrival: what a few people send each other is never refused.
  static let least = 64

  private enum Phase { case calm, counting, limiting }

  /// What an interval was like.
  struct Interval {
    var length = TimeDelta.zero
    /// How long the worker's thread ran in it.
    var ran = TimeDelta.zero
    /// Datagrams stood in the kernel, and the worker is the reason.
    var hasQueue = false
  }

  private var phase = Phase.calm
  private var since = Instant.zero
  private var busySince: UInt64 = 0
  private var usedSince = WorkerUse()
  /// The shortest of the interval's waits, each of which is the longest of its turn.
  private var shortestWait = TimeDelta(nanoseconds: .max)
  /// A turn of the interval left datagrams in a socket.
  private var hasLeft = false
  private var last = Interval()
  /// Packets that a room may send in an interval.
  private var limit = Int.max
  /// What the limit does not fall below: where less does not help, sending is not what the time goes into.
  private var lowest = 0
  private var isReached = false

  /// Whether what rooms send has to be counted, and may be refused.
  var isCounting: Bool { phase != .calm }

  /// Whether a room that has sent `sent` packets in this interval may send more. Of sound only sound counts: pictures give way to it.
  mutating func admits(after sent: Int) -> Bool {
    if sent < limit { return true }
    isReached = true
    return false
  }

  /// When the interval ends: a `turn` from then on has to be told what was used.
  var end: Instant { since + Self.interval }

  /// Notes a turn that began at `now`: how long its oldest datagram had waited, whether it left some in a socket, and how many
  /// nanoseconds all turns before it took. `used` is wanted at the end of an interval. What that was like, where it is over; it wants to
  /// be judged where a queue stood in it, or what rooms send is counted.
  mutating func turn(waited: TimeDelta, leaves: Bool, busy: UInt64, used: WorkerUse?, at now: Instant) -> Interval? {
    shortestWait = min(shortestWait, waited)
    hasLeft = hasLeft || leaves
    guard let used, now >= end else { return nil }
    let length = now - since
    // A loop that sleeps and yet is late was woken late: the machine is busy with something else, and we are not.
    let isBusy = Int64(clamping: busy &- busySince) >= length.nanoseconds / 10 * 9
    // One that other programs interrupt in the middle of its turns has been busy by the clock alone. While each turn takes all that has
    // come, nothing is lost that way, however late it is.
    let ran = used.processor - usedSince.processor
    let isBehind = ran * 2 >= length || hasLeft || used.dropped != usedSince.dropped
    last = Interval(length: length, ran: ran, hasQueue: isBusy && isBehind && shortestWait > Self.patience)
    (since, busySince, usedSince) = (now, busy, used)
    (shortestWait, hasLeft) = (TimeDelta(nanoseconds: .max), false)
    return last
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

extension Tracks {
  /// As `WorkerState.noteTurn(waited:leaves:busy:used:at:)`. True when what each receiver may be sent has become less.
  mutating func noteTurn(waited: TimeDelta, leaves: Bool, busy: UInt64, used: WorkerUse?, at now: Instant) -> Bool {
    guard let interval = shares.turn(waited: waited, leaves: leaves, busy: busy, used: used, at: now) else {
      return false
    }
    if interval.hasQueue || shares.isCounting { judgeShares() }
    return ceiling.passed(interval.length, used: interval.ran, hasQueue: interval.hasQueue)
  }

  private mutating func judgeShares() {
    var sent: [Int] = []
    rooms.forEach { _, room in
      if room.sent > 0 { sent.append(room.sent) }
      (room.sent, room.sentSound) = (0, 0)
    }
    shares.judge(sent)
  }

  /// Notes what a room has sent since it was asked whether it may.
  mutating func countSent(_ packets: Int, _ kind: MediaKind, of room: RoomID) {
    rooms[room].sent += packets
    if kind == .audio { rooms[room].sentSound += packets }
    rooms[room].modest.count(packets)
  }

  /// Whether a room may send more now; where not, the packet is counted as dropped.
  mutating func admits(_ kind: MediaKind, of room: RoomID, _ turn: inout Turn) -> Bool {
    if rooms[room].modest.holds(at: turn.now) { return true }
    if shares.admits(after: kind == .audio ? rooms[room].sentSound : rooms[room].sent) { return true }
    turn.drop(.roomOverShare)
    return false
  }
}
