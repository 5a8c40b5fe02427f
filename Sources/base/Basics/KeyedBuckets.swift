// A rate limit for each of many: each network that something comes from, each user.

/// A bucket for each key. Its memory is bounded, and follows how many have something to wait for: the others are forgotten as it grows.
public struct KeyedBuckets<Key: Hashable & Sendable>: Equatable, Sendable {
  /// Keys that are remembered. For one more those make space that have waited long enough, and where these are few, those that have the
  /// least to wait. A client that makes up many keys so evicts none that has taken more than these.
  public let most: Int
  private let perSecond: Double
  /// What passes of each key at once.
  public let burst: Int
  private var buckets: [Key: TokenBucket] = [:]
  /// With so many buckets all are looked at, and those that are full again are forgotten. It is twice what was left the last time, so
  /// that looking costs each new key no more than a moment.
  private var nextLook = Self.firstLook

  /// Fewer are not worth looking at.
  private static var firstLook: Int { 64 }

  /// Lets `burst` of each key through at once, and `perSecond` in the long run.
  public init(burst: Int, perSecond: Double, most: Int) {
    (self.burst, self.perSecond, self.most) = (burst, perSecond, max(most, 1))
  }

  /// Keys that are remembered now.
  public var count: Int { buckets.count }

  /// Takes `cost`, at most a whole burst.
  /// - Returns: nil when it may pass, else how many milliseconds to wait until it may, at least 1.
  public mutating func take(_ key: Key, _ cost: Int = 1, at now: Instant) -> Int64? {
    if buckets[key] == nil, buckets.count >= min(nextLook, most) { makeSpace(at: now) }
    return buckets[key, default: TokenBucket(perSecond: perSecond, burst: burst, now: now)].take(cost, at: now)
  }

  /// What `take` would say, without taking anything.
  public func wait(of key: Key, for cost: Int = 1, at now: Instant) -> Int64? {
    buckets[key]?.wait(for: cost, at: now)
  }

  /// Where the table is full, a quarter of the space at least, so that the next ones need not look again: what sorting costs is
  /// shared by so many.
  private mutating func makeSpace(at now: Instant) {
    let isFull = buckets.count >= most
    buckets = buckets.filter { !$0.value.isFull(at: now) }
    defer { nextLook = max(Self.firstLook, 2 * buckets.count) }
    let kept = most - most / 4 - 1
    guard isFull, buckets.count > kept else { return }
    let levels = buckets.values.map { $0.level(at: now) }.sorted()
    let limit = levels[kept]
    // Of those at the limit itself as many stay as there is space for.
    var left = kept - (levels.firstIndex(of: limit) ?? 0)
    buckets = buckets.filter { _, bucket in
      let level = bucket.level(at: now)
      if level == limit { left -= 1 }
      return level < limit || (level == limit && left >= 0)
    }
  }
}

/// A bucket for each network that something comes from.
public typealias NetworkBuckets = KeyedBuckets<PeerNetwork>

extension KeyedBuckets where Key == PeerNetwork {
  /// Networks that are remembered.
  public static var mostNetworks: Int { 4096 }

  /// Lets `burst` of each network through at once, and `perSecond` in the long run.
  public init(burst: Int, perSecond: Double) { self.init(burst: burst, perSecond: perSecond, most: Self.mostNetworks) }
}
