// How many earlier packets each packet of sound carries to one receiver (RFC 2198): as its line loses, and as far as it has room.
//
//   transport-wide feedback ─▶ loss, second by second ─▶ wanted: 0, 1 or 2 ─┐
//   rate of its sound, lowest layers, target ─▶ what fits ──────────────────┴▶ earlier
//
// What was lost before the server has no transport-wide number, and so no part in it.

import Basics
import RTP

/// Decides for one transport. Time comes in as an argument.
public struct RedundancyControl: Sendable {
  /// What the line has to carry.
  public struct Room: Sendable {
    /// Rate of all sound, without redundancy.
    public var sound: BitRate
    /// What the lowest layers of its videos need.
    public var video: BitRate
    /// What all together should not exceed; nil where nothing is known that speaks against more.
    public var target: BitRate?

    /// All of it.
    public init(sound: BitRate, video: BitRate, target: BitRate?) {
      (self.sound, self.video, self.target) = (sound, video, target)
    }

    /// Whether so many earlier packets fit, with a margin. They come behind the lowest layers of videos; but up to an eighth of the line is
    /// theirs in any case.
    func fits(_ earlier: Int, margin: Double) -> Bool {
      guard let target else { return true }
      if sound * Double(earlier) * margin <= target * 0.125 { return true }
      return sound * Double(1 + earlier) * margin + video <= target
    }
  }

  /// Most earlier packets in one.
  static let most = 2
  /// Loss that one earlier packet is for, and below which it is not any more; the same of the second one. They lie far apart, or
  /// redundancy would come and go with each second.
  static let onAbove = [0.03, 0.10], offBelow = [0.01, 0.05]
  /// What is looked at together, and at least so many packets.
  static let window = TimeDelta.seconds(1), fewest = 20
  /// More is added only where a quarter more than it needs is free.
  static let margin = 1.25
  /// After redundancy was taken back for want of room, it waits; twice as long each time that it did not hold.
  static let firstHold = TimeDelta.seconds(10), longestHold = TimeDelta.seconds(160)
  /// Reports that stayed away for so long leave a gap that nothing is made of.
  static let silence = TimeDelta.seconds(10)
  /// A report about numbers further behind the newest is old.
  static let oldest: UInt16 = 0x4000

  /// How many earlier packets each packet carries: 0, 1 or 2.
  public private(set) var earlier = 0
  /// The share of packets that the line loses: it rises within seconds and falls slowly.
  public private(set) var loss = 0.0

  /// Whether the receiver has said anything of its line.
  public var isHeard: Bool { heardAt != nil }
  /// The share of sound that is missing in spite of what goes along.
  public var remainingLoss: Double {
    switch earlier {
    case 0: loss
    case 1: loss * loss
    default: loss * loss * loss
    }
  }

  /// Whether the receiver takes redundancy. Otherwise it is only known what its line loses.
  public var isTaken: Bool

  private let seesRoom: Bool
  private var expected = 0
  private var lost = 0
  private var since = Instant.zero
  private var heardAt: Instant?
  /// The number behind the last one that was reported on.
  private var next: UInt16 = 0
  private var isFresh = false
  private var decidedAt = Instant.zero
  private var raisedAt = Instant.zero
  private var hold = Self.firstHold
  private var heldUntil = Instant.zero

  /// Nothing known; `seesRoom` is off in a control run, and room is taken for granted.
  public init(isTaken: Bool = true, seesRoom: Bool = true) { (self.isTaken, self.seesRoom) = (isTaken, seesRoom) }

  /// Takes transport-wide feedback; `newest` is the newest number sent. What is reported again is passed over, and of what was never
  /// reported nothing is known.
  public mutating func heard(_ feedback: TransportFeedback, _ bytes: Span<UInt8>, newest: UInt16, at now: Instant) {
    let end = feedback.baseSequence &+ UInt16(truncatingIfNeeded: feedback.statusCount)
    guard feedback.statusCount > 0, newest &- (end &- 1) < Self.oldest else { return }
    guard let heardAt, now - heardAt < Self.silence else {
      (self.heardAt, next, since, expected, lost) = (now, end, now, 0, 0)
      return
    }
    self.heardAt = now
    let known = Int(Int16(bitPattern: next &- feedback.baseSequence))
    guard known < feedback.statusCount else { return }
    next = end
    let first = max(known, 0)
    var received = 0
    var runs = TransportFeedback.Runs(feedback)
    while let run = runs.next(bytes) { received += max(0, run.count - max(0, first - run.index)) }
    count(feedback.statusCount - first, lost: feedback.statusCount - first - received, at: now)
  }

  /// Counts what became of packets.
  mutating func count(_ packets: Int, lost more: Int, at now: Instant) {
    expected += packets
    lost += max(0, more)
    guard now - since >= Self.window, expected >= Self.fewest else { return }
    let share = Double(lost) / Double(expected)
    loss += (share - loss) * (share > loss ? 0.5 : 0.1)
    (expected, lost, since) = (0, 0, now)
    isFresh = wanted != earlier
  }

  /// Whether `decide` has something to do.
  public func isDue(at now: Instant) -> Bool { isFresh || (earlier > 0 && now - decidedAt >= Self.window) }

  /// Decides anew.
  public mutating func decide(_ room: Room, at now: Instant) {
    (isFresh, decidedAt) = (false, now)
    let wanted = wanted
    if wanted < earlier { earlier = wanted }
    if earlier > 0, seesRoom, !room.fits(earlier, margin: 1) { return giveWay(room, at: now) }
    guard wanted > earlier, !seesRoom || now >= heldUntil else { return }
    for more in stride(from: wanted, to: earlier, by: -1) where !seesRoom || room.fits(more, margin: Self.margin) {
      (earlier, raisedAt) = (more, now)
      return
    }
  }

  private var wanted: Int {
    guard isTaken else { return 0 }
    var wanted = earlier
    while wanted < Self.most && loss >= Self.onAbove[wanted] { wanted += 1 }
    while wanted > 0 && loss < Self.offBelow[wanted - 1] { wanted -= 1 }
    return wanted
  }

  private mutating func giveWay(_ room: Room, at now: Instant) {
    while earlier > 0 && !room.fits(earlier, margin: 1) { earlier -= 1 }
    hold = now - raisedAt < Self.firstHold ? min(hold * 2, Self.longestHold) : max(hold / 2, Self.firstHold)
    heldUntil = now + hold
  }
}
