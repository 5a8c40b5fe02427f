// A rate limit for each network that something comes from.

/// A bucket for each network. Its memory is bounded.
public struct NetworkBuckets: Sendable {
  /// Networks that are remembered. With more all are forgotten, so that their number costs no memory, and nobody waits for a moment.
  public static let most = 4096

  private let perSecond: Double
  private let burst: Int
  private var buckets: [PeerNetwork: TokenBucket] = [:]

  /// Lets `burst` of each network through at once, and `perSecond` in the long run.
  public init(burst: Int, perSecond: Double) { (self.burst, self.perSecond) = (burst, perSecond) }

  /// Networks that are remembered now.
  public var count: Int { buckets.count }

  /// Takes one.
  /// - Returns: nil when it may pass, else how many milliseconds to wait until one may, at least 1.
  public mutating func take(_ network: PeerNetwork, at now: Instant) -> Int64? {
    if buckets[network] == nil, buckets.count >= Self.most { buckets = [:] }
    return buckets[network, default: TokenBucket(perSecond: perSecond, burst: burst, now: now)].take(at: now)
  }

  /// What `take` would say, without taking anything.
  public func wait(of network: PeerNetwork, at now: Instant) -> Int64? {
    guard var bucket = buckets[network] else { return nil }
    return bucket.take(at: now)
  }
}
