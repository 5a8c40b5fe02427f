// Rate limits: a burst at once, and a rate in the long run.

/// Lets `burst` through at once and `perSecond` in the long run.
public struct TokenBucket: Hashable, Sendable {
  private let perSecond: Double
  private let burst: Double
  private var tokens: Double
  private var last: Instant

  /// A full bucket. `burst` is at least 1, `perSecond` at least one in a thousand seconds.
  public init(perSecond: Double, burst: Int, now: Instant) {
    self.perSecond = max(perSecond, 0.001)
    self.burst = Double(max(burst, 1))
    tokens = self.burst
    last = now
  }

  /// Takes `cost`, at most a whole burst.
  /// - Returns: nil when it may pass, else how many milliseconds to wait until it may, at least 1.
  public mutating func take(_ cost: Int = 1, at now: Instant) -> Int64? {
    tokens = level(at: now)
    last = max(last, now)
    let cost = min(Double(max(cost, 1)), burst)
    guard tokens < cost else {
      tokens -= cost
      return nil
    }
    return max(1, Int64(min(((cost - tokens) / perSecond * 1000).rounded(.up), 3_600_000)))
  }

  /// What `take` would say, without taking anything.
  public func wait(for cost: Int = 1, at now: Instant) -> Int64? {
    var copy = self
    return copy.take(cost, at: now)
  }

  /// Whether it is as it was made: nothing is lost when it is forgotten.
  public func isFull(at now: Instant) -> Bool { level(at: now) >= burst }

  /// What may be taken at once, from 0 to `burst`.
  func level(at now: Instant) -> Double { min(burst, tokens + max(0, (now - last).seconds) * perSecond) }
}
