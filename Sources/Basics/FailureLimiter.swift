// How often each network may fail at something before it has to wait.

/// A bucket of failures for each network. Its memory is bounded.
public struct FailureLimiter: Sendable {
  /// Networks that are remembered. With more all are forgotten, and nobody has to wait for a moment.
  public static let mostNetworks = 4096

  private let perSecond: Double
  private let burst: Int
  private var buckets: [PeerNetwork: TokenBucket] = [:]

  /// A network may fail `burst` times at once, and `perSecond` times a second in the long run.
  public init(burst: Int, perSecond: Double) { (self.burst, self.perSecond) = (burst, perSecond) }

  /// Networks that are remembered now.
  public var count: Int { buckets.count }

  /// Milliseconds until the network may try again; nil for at once.
  public func wait(of network: PeerNetwork, at now: Instant) -> Int64? {
    // A copy: only failures take from it.
    guard var bucket = buckets[network] else { return nil }
    return bucket.take(at: now)
  }

  /// The network has failed.
  /// - Returns: whether it has to wait now, and had not before.
  public mutating func failed(_ network: PeerNetwork, at now: Instant) -> Bool {
    if buckets[network] == nil, buckets.count >= Self.mostNetworks { buckets = [:] }
    var bucket = buckets[network] ?? TokenBucket(perSecond: perSecond, burst: burst, now: now)
    guard bucket.take(at: now) == nil else { return false }
    buckets[network] = bucket
    return bucket.take(at: now) != nil
  }
}
