// A rate limit for each network, or each user, that something comes from.

/// A bucket for each network.
public typealias NetworkBuckets = KeyedBuckets<PeerNetwork>

/// A bucket for each key. Its memory is bounded.
public struct KeyedBuckets<Key: Hashable & Sendable>: Sendable {
  /// Keys that are remembered. With more all are forgotten, so that their number costs no memory, and nobody waits for a moment.
  public static var most: Int { 4096 }

  private let perSecond: Double
  private let burst: Int
  private var buckets: [Key: TokenBucket] = [:]

  /// Lets `burst` of each key through at once, and `perSecond` in the long run.
  public init(burst: Int, perSecond: Double) { (self.burst, self.perSecond) = (burst, perSecond) }

  /// Keys that are remembered now.
  public var count: Int { buckets.count }

  /// Takes one.
  /// - Returns: nil when it may pass, else how many milliseconds to wait until one may, at least 1.
  public mutating func take(_ key: Key, at now: Instant) -> Int64? {
    if buckets[key] == nil, buckets.count >= Self.most { buckets = [:] }
    return buckets[key, default: TokenBucket(perSecond: perSecond, burst: burst, now: now)].take(at: now)
  }

  /// What `take` would say, without taking anything.
  public func wait(of key: Key, at now: Instant) -> Int64? {
    guard var bucket = buckets[key] else { return nil }
    return bucket.take(at: now)
  }
}
