// The rate that really arrives, by the receiver's clock: the one measured figure among all the estimates.
//
//   arrivals ─▶ buckets of 20 ms (while relaxed: one for each feedback) ─▶ bytes ÷ time over the newest buckets
//   The sums over the long window run along. The short one is walked when it is asked for.

import Basics

/// What arrived, and in how long a time up to now: about half a second, or more where little comes.
struct SteadyRate: Equatable {
  var rate: BitRate
  /// `unknown` where the rate is an old one.
  var time: TimeDelta

  static let unknown = TimeDelta(nanoseconds: .max)
}

/// A window over the newest arrivals. Adding takes constant time; reading walks the buckets and happens once a feedback.
struct AcknowledgedRate {
  /// Buckets remembered at most. With one packet in each they hold two seconds at 50 packets a second.
  static let capacity = 128
  /// So many at first: enough where each feedback is one bucket. A power of two.
  static let firstCapacity = 16
  /// Arrivals within this time are one bucket.
  static let length = TimeDelta.milliseconds(20)
  /// Long enough to span a dozen frames, for the ceiling.
  static let steadyWindow = TimeDelta.milliseconds(500)
  /// Short enough to see a fall, for backing off.
  static let recentWindow = TimeDelta.milliseconds(150)
  /// Fewer arrivals than this say nothing.
  static let fewest = 5

  private struct Bucket {
    var first = TimeDelta.zero
    var last = TimeDelta.zero
    var packets = 0
    var size = ByteCount.zero
    /// Of the packet that came first.
    var firstSize = ByteCount.zero
  }
  private var ring = Array(repeating: Bucket(), count: firstCapacity)
  /// Buckets that are complete.
  private var count = 0
  /// The one that is being filled.
  private var open = Bucket()
  /// The oldest complete bucket of the long window, and sums from there to the newest complete one.
  private var tail = 0
  private var packets = 0
  private var size = ByteCount.zero
  /// Over `steadyWindow`; nil until enough has arrived.
  var steady: BitRate? { measured?.rate }
  /// The same, with the time that it was measured over.
  private(set) var measured: SteadyRate?
  /// Over `recentWindow`; nil until enough has arrived. Worked out when asked for: only a fall wants it.
  var recent: BitRate? { rate(over: Self.recentWindow, atLeast: Self.fewest) ?? steady }

  /// Nothing has arrived.
  init() {}

  /// Adds one arrival, in the order of feedback.
  @inline(__always)
  mutating func add(_ size: ByteCount, at arrival: TimeDelta) {
    if open.packets > 0, arrival - open.first < Self.length {
      open.packets &+= 1
      open.size += size
      open.last = max(open.last, arrival)
      open.first = min(open.first, arrival)
    } else {
      begin(Bucket(first: arrival, last: arrival, packets: 1, size: size, firstSize: size))
    }
  }

  /// Adds what a feedback said, as one bucket.
  mutating func add(_ sum: ArrivalSummary) {
    guard sum.packets > 0 else { return }
    begin(
      Bucket(
        first: sum.firstArrived, last: sum.lastArrived, packets: sum.packets, size: sum.size, firstSize: sum.firstSize))
  }

  private mutating func begin(_ bucket: Bucket) {
    if open.packets > 0 {
      if count &- tail == ring.count { makeSpace() }
      ring[count & mask] = open
      count &+= 1
      packets &+= open.packets
      size += open.size
    }
    open = bucket
  }

  /// Works the steady rate out anew; once a feedback.
  mutating func update() {
    let fewest = 2 * Self.fewest
    while tail < count {
      let age = open.last - ring[tail & mask].last
      let rest = packets &+ open.packets &- ring[tail & mask].packets
      guard age > Self.steadyWindow * 4 || (age > Self.steadyWindow && rest >= fewest) else { break }
      dropTail()
    }
    guard packets &+ open.packets >= fewest else {
      measured?.time = SteadyRate.unknown
      return
    }
    let first = tail < count ? ring[tail & mask] : open
    measured = SteadyRate(
      rate: Self.rate(size + open.size - first.firstSize, first.first, open.last), time: open.last - first.first)
  }

  private var mask: Int { ring.count &- 1 }

  private mutating func makeSpace() {
    guard ring.count < Self.capacity else { return dropTail() }
    var larger = Array(repeating: Bucket(), count: ring.count * 2)
    for index in tail..<count { larger[index & (larger.count - 1)] = ring[index & mask] }
    ring = larger
  }

  private mutating func dropTail() {
    let old = ring[tail & mask]
    packets &-= old.packets
    size -= old.size
    tail &+= 1
  }

  private static func rate(_ size: ByteCount, _ first: TimeDelta, _ last: TimeDelta) -> BitRate {
    BitRate(size, in: max(last - first, .milliseconds(1)))
  }

  /// Forgets all arrivals, and keeps the steady rate until there is a new one: the receiver's clock jumped.
  mutating func restart() {
    count = 0
    open = Bucket()
    tail = 0
    packets = 0
    size = .zero
  }

  /// Bytes after the first packet of the window over the time since it. A window that holds fewer than `atLeast` packets
  /// reaches back to four times its length for them.
  private func rate(over window: TimeDelta, atLeast fewest: Int) -> BitRate? {
    guard open.packets > 0 else { return nil }
    var sum = open
    let newest = open.last
    var index = 1
    while index <= min(count, ring.count) {
      let bucket = ring[(count - index) & mask]
      let age = newest - bucket.last
      if age > window && (sum.packets >= fewest || age > window * 4) { break }
      sum.packets += bucket.packets
      sum.size += bucket.size
      sum.first = min(sum.first, bucket.first)
      sum.last = max(sum.last, bucket.last)
      sum.firstSize = bucket.firstSize
      index += 1
    }
    guard sum.packets >= fewest else { return nil }
    // The oldest packet's bytes came before its arrival.
    return Self.rate(sum.size - sum.firstSize, sum.first, sum.last)
  }
}
