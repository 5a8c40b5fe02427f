// Whether the queue belongs to somebody else. A flow that fills the queue and backs off for loss alone (TCP with CUBIC) leaves
// nothing to one that backs off for delay, unless that one notices.

import Basics

/// Watches whether the queue drains after this flow has backed off.
struct Competition {
  /// A queue shorter than this has drained.
  static let drained = TimeDelta.milliseconds(50)
  /// A queue that does not drain for this long, though the rate was lowered twice or more and less arrived for it, is somebody else's.
  static let patience = TimeDelta.seconds(3)
  static let fewestDecreases = 2
  /// While a queue stands that is this flow's alone, what arrives is what the line carries, whatever is sent. Somebody else takes what
  /// this flow leaves: less arrives than this share of what did.
  static let gaveWay = 0.9
  /// Windows of rates that began before the queue stood are over by then.
  static let recentIsClean = TimeDelta.milliseconds(250)
  static let steadyIsClean = TimeDelta.milliseconds(800)
  /// A queue must stay drained for this long until the line is believed to be free again.
  static let relief = TimeDelta.milliseconds(1_500)
  /// After this long the base delay is measured anew: the way may simply have become longer.
  static let longest = TimeDelta.seconds(120)
  /// What is left of the rate after loss while competing.
  static let backOff = 0.85
  static let interval = TimeDelta.milliseconds(500)

  /// The rate follows loss instead of delay.
  private(set) var isOn = false
  private var fullSince: Instant?
  private var drainedSince: Instant?
  private var onSince = Instant.zero
  private var decreases = 0
  /// The most that arrived when the rate was lowered, and the least since, while the queue stands.
  private var most = BitRate.zero
  private var least = BitRate.unlimited
  private var lastLoss: Instant?

  /// Nobody else is known.
  init() {}

  /// The rate was lowered because of delay, when `arriving` came.
  mutating func decreased(from arriving: BitRate, at now: Instant) {
    decreases += 1
    if let fullSince, now - fullSince > Self.recentIsClean { most = max(most, arriving) }
  }

  /// Takes the queue's length after a feedback, and what arrived over half a second.
  mutating func update(queueing: TimeDelta, steady: BitRate?, at now: Instant) {
    if queueing < Self.drained {
      fullSince = nil
      decreases = 0
      (most, least) = (.zero, .unlimited)
      drainedSince = drainedSince ?? now
    } else {
      fullSince = fullSince ?? now
      drainedSince = nil
    }
    if let steady, let fullSince, now - fullSince > Self.steadyIsClean {
      (most, least) = (max(most, steady), min(least, steady))
    }
    if isOn {
      let free = drainedSince.map { now - $0 > Self.relief } ?? false
      if free || now - onSince > Self.longest { isOn = false }
    } else if let fullSince, now - fullSince > Self.patience, decreases >= Self.fewestDecreases,
      least < most * Self.gaveWay
    {
      isOn = true
      onSince = now
      decreases = 0
    }
  }

  /// Whether this loss asks for a decrease.
  mutating func lost(at now: Instant) -> Bool {
    guard isOn else { return false }
    if let lastLoss, now - lastLoss < Self.interval { return false }
    lastLoss = now
    return true
  }
}
