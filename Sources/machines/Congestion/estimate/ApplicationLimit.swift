// How much is sent, and whether that is less than may be. Then little arrives because little was sent, and nothing follows from it.

import Basics

/// A bucket that fills at 65 % of the target and is emptied by what is sent: it stays full only when little is sent.
struct ApplicationLimit {
  /// The share of the target that fills the bucket.
  static let share = 0.65
  /// The bucket holds this long at its rate.
  static let window = TimeDelta.milliseconds(500)
  /// Limited from this fill level on …
  static let begins = 0.8
  /// … until this one.
  static let ends = 0.5
  /// The rate of departures is measured over this long. Shorter: one large picture looks like a rate.
  static let rateWindow = TimeDelta.milliseconds(500)

  /// Bytes sent that neither the bucket nor the rate has seen yet.
  private var unseen = 0
  private var level = 0
  private var last: Instant?
  private(set) var limited = false
  private var rateSize = 0
  private var rateSince: Instant?
  private var lastRate = BitRate.zero

  /// An empty bucket.
  init() {}

  /// Counts a packet that leaves.
  @inline(__always)
  mutating func sent(_ size: ByteCount) { unseen &+= size.bytes }

  private mutating func look() {
    level &-= unseen
    rateSize &+= unseen
    unseen = 0
  }

  /// Fills the bucket for the time since the last call.
  mutating func update(target: BitRate, at now: Instant) {
    look()
    let rate = target * Self.share
    let capacity = max(rate.size(in: Self.window).bytes, 1)
    let elapsed = min(max(now - (last ?? now), .zero), .seconds(10))
    level = min(max(level, -capacity) + rate.size(in: elapsed).bytes, capacity)
    last = now
    let ratio = Double(level) / Double(capacity)
    if ratio > Self.begins { limited = true }
    if ratio < Self.ends { limited = false }
  }

  /// The rate of departures over the last window that is complete, or over the one under way if that is more.
  mutating func rate(at now: Instant) -> BitRate {
    look()
    let began = rateSince ?? now
    rateSince = began
    let current = BitRate(ByteCount(rateSize), in: max(now - began, Self.rateWindow))
    guard now - began >= Self.rateWindow else { return max(lastRate, current) }
    lastRate = current
    rateSize = 0
    rateSince = now
    return current
  }
}
