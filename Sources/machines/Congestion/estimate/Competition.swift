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
  /// this flow leaves: less arrives than this share of what did before. A line that carries less and less looks the same.
  static let left = 0.9
  /// What arrives all this time counts, and no burst behind a pause: it is as long as the windows that rates are measured in, and more.
  static let period = TimeDelta.milliseconds(600)
  static let shortestWindow = TimeDelta.milliseconds(400)
  /// A queue that is there for so long is somebody else's in any case: this flow may have nothing that it can leave out.
  static let longPatience = TimeDelta.seconds(10)
  /// A queue must stay drained for this long until the line is believed to be free again.
  static let relief = TimeDelta.milliseconds(1_500)
  /// After this long the base delay is measured anew: the way may simply have become longer.
  static let longest = TimeDelta.seconds(120)
  /// What is left of the rate after loss while competing.
  static let backOff = 0.85
  static let interval = TimeDelta.milliseconds(500)

  /// What arrived since a moment, at the least and the most.
  private struct Period {
    var since: Instant
    var low: BitRate
    var high: BitRate
  }

  /// The rate follows loss instead of delay.
  private(set) var isOn = false
  private var fullSince: Instant?
  private var drainedSince: Instant?
  private var onSince = Instant.zero
  private var decreases = 0
  /// The most that arrived throughout a period while the queue stands, and whether less did throughout the last one.
  private var most = BitRate.zero
  private var gaveWay = false
  private var current: Period?
  private var lastLoss: Instant?

  /// Nobody else is known.
  init() {}

  /// The rate was lowered because of delay.
  mutating func decreased() { decreases += 1 }

  /// Takes the queue's length after a feedback, and what arrived in the last `measured.time`.
  mutating func update(queueing: TimeDelta, measured: SteadyRate?, at now: Instant) {
    if queueing < Self.drained {
      forget()
      drainedSince = drainedSince ?? now
    } else {
      fullSince = fullSince ?? now
      drainedSince = nil
    }
    if let measured, let fullSince, measured.time >= Self.shortestWindow, now - fullSince > measured.time {
      noteArriving(measured.rate, at: now)
    }
    if isOn {
      let free = drainedSince.map { now - $0 > Self.relief } ?? false
      if free || now - onSince > Self.longest {
        isOn = false
        forget()
      }
    } else if let fullSince, decreases >= Self.fewestDecreases,
      now - fullSince > (gaveWay ? Self.patience : Self.longPatience)
    {
      isOn = true
      onSince = now
    }
  }

  private mutating func forget() {
    (fullSince, current) = (nil, nil)
    (decreases, most, gaveWay) = (0, .zero, false)
  }

  private mutating func noteArriving(_ rate: BitRate, at now: Instant) {
    var period = current ?? Period(since: now, low: rate, high: rate)
    (period.low, period.high) = (min(period.low, rate), max(period.high, rate))
    guard now - period.since >= Self.period else {
      current = period
      return
    }
    gaveWay = period.high < most * Self.left
    most = max(most, period.low)
    current = nil
  }

  /// Whether this loss asks for a decrease.
  mutating func lost(at now: Instant) -> Bool {
    guard isOn else { return false }
    if let lastLoss, now - lastLoss < Self.interval { return false }
    lastLoss = now
    return true
  }
}
