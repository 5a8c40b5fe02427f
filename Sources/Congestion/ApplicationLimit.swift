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

  private var level = 0
  private var last: Instant?
  private(set) var limited = false

  /// An empty bucket.
  init() {}

  /// Takes what was sent out of the bucket.
  mutating func sent(_ size: ByteCount) { level &-= size.bytes }

  /// Fills the bucket for the time since the last call.
  mutating func update(target: BitRate, at now: Instant) {
    let rate = target * Self.share
    let capacity = max(rate.size(in: Self.window).bytes, 1)
    let elapsed = min(max(now - (last ?? now), .zero), .seconds(10))
    level = min(max(level, -capacity) + rate.size(in: elapsed).bytes, capacity)
    last = now
    let ratio = Double(level) / Double(capacity)
    if ratio > Self.begins { limited = true }
    if ratio < Self.ends { limited = false }
  }
}

/// The rate at which packets leave.
struct SentRate {
  /// A rate is measured over this long. Shorter: one large picture looks like a rate.
  static let window = TimeDelta.milliseconds(500)

  private var size = 0
  private var since: Instant?
  private var last = BitRate.zero

  /// Nothing was sent.
  init() {}

  /// Counts a packet that leaves.
  mutating func sent(_ size: ByteCount) { self.size &+= size.bytes }

  /// The rate over the last window that is complete, or over the one under way if that is more.
  mutating func update(at now: Instant) -> BitRate {
    let began = since ?? now
    since = began
    let current = BitRate(ByteCount(size), in: max(now - began, Self.window))
    guard now - began >= Self.window else { return max(last, current) }
    last = current
    size = 0
    since = now
    return current
  }
}
