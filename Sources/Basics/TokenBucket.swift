// Rate limits: a burst at once, and a rate in the long run.

/// Lets `burst` through at once and `perSecond` in the long run.
public struct TokenBucket: Sendable {
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

  /// Takes one.
  /// - Returns: nil when one may pass, else how many milliseconds to wait until one may, at least 1.
  public mutating func take(at now: Instant) -> Int64? {
    tokens = min(burst, tokens + max(0, (now - last).seconds) * perSecond)
    last = max(last, now)
    guard tokens < 1 else {
      tokens -= 1
      return nil
    }
    return max(1, Int64(min(((1 - tokens) / perSecond * 1000).rounded(.up), 3_600_000)))
  }
}
