// Whether the queue belongs to somebody else. A flow that fills the queue and backs off for loss alone (TCP with CUBIC) leaves
// nothing to one that backs off for delay, unless that one notices.

import Basics

/// Watches whether the queue drains after this flow has backed off.
struct Competition {
  /// A queue shorter than this has drained.
  static let drained = TimeDelta.milliseconds(50)
  /// A queue that does not drain for this long, though the rate was lowered twice or more, is somebody else's.
  static let patience = TimeDelta.seconds(3)
  static let fewestDecreases = 2
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
  private var lastLoss: Instant?

  /// Nobody else is known.
  init() {}

  /// The rate was lowered because of delay.
  mutating func decreased() { decreases += 1 }

  /// Takes the queue's length after a feedback.
  mutating func update(queueing: TimeDelta, at now: Instant) {
    if queueing < Self.drained {
      fullSince = nil
      decreases = 0
      drainedSince = drainedSince ?? now
    } else {
      fullSince = fullSince ?? now
      drainedSince = nil
    }
    if isOn {
      let free = drainedSince.map { now - $0 > Self.relief } ?? false
      if free || now - onSince > Self.longest { isOn = false }
    } else if let fullSince, now - fullSince > Self.patience, decreases >= Self.fewestDecreases {
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
