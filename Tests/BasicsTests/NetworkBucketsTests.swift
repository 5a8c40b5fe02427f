import Basics
import Testing

@Suite struct NetworkBucketsTests {
  private let now = Instant.zero + .seconds(5)

  private func network(_ number: UInt32) -> PeerNetwork { PeerNetwork(SocketAddress(v4: number, port: 1)) }

  @Test func eachNetworkWaitsForItself() {
    var buckets = NetworkBuckets(burst: 3, perSecond: 0.1)
    #expect((0..<4).map { _ in buckets.take(network(1), at: now) } == [nil, nil, nil, 10_000])
    #expect(buckets.wait(of: network(1), at: now) == 10_000 && buckets.wait(of: network(2), at: now) == nil)
    for _ in 0..<2 { #expect(buckets.wait(of: network(1), at: now + .seconds(10)) == nil, "asking takes nothing") }
    #expect(buckets.take(network(1), at: now + .seconds(10)) == nil)
  }

  @Test func moreNetworksThanAreRememberedAreNoMoreMemory() {
    var buckets = NetworkBuckets(burst: 1, perSecond: 1)
    for number in 0..<UInt32(NetworkBuckets.mostNetworks) { _ = buckets.take(network(number), at: now) }
    #expect(buckets.count == NetworkBuckets.mostNetworks)
    _ = buckets.take(network(.max), at: now)
    #expect(buckets.count == NetworkBuckets.mostNetworks * 3 / 4, "a quarter makes space, and no more is forgotten")
    #expect(buckets.wait(of: network(.max), at: now) == 1_000)
  }

  /// Somebody has used up what they may take, and a stranger makes up ten times as many names as are remembered, each of which takes one.
  @Test func madeUpKeysDriveOutNobodyWhoTookMore() {
    var buckets = KeyedBuckets<Int>(burst: 4, perSecond: 0.001, most: 1_000)
    var time = now
    for key in 0..<100 { for _ in 0..<(1 + key % 4) { _ = buckets.take(-1 - key, at: time) } }
    var most = 0
    for made in 0..<10_000 {
      time = time + .milliseconds(1)
      _ = buckets.take(made, at: time)
      most = max(most, buckets.count)
    }
    #expect(most == 1_000)
    for key in 0..<100 where key % 4 > 0 {
      let isEmpty = key % 4 == 3
      #expect((buckets.wait(of: -1 - key, at: time) != nil) == isEmpty, "what was taken is known: \(key)")
      #expect(buckets.wait(of: -1 - key, for: 4 - key % 4, at: time) != nil, "\(key)")
    }
    #expect(buckets.wait(of: 9_999, for: 4, at: time) != nil, "the newest is remembered")
    // Those who took as little as the made-up ones are forgotten, which gives them one more.
    #expect((0..<100).count { $0 % 4 == 0 && buckets.wait(of: -1 - $0, for: 4, at: time) == nil } > 0)
  }

  /// Making space looks at all that are remembered: it is done for a quarter of them at a time, and never forgets more.
  @Test func spaceIsMadeForAQuarterAtATime() {
    var buckets = KeyedBuckets<Int>(burst: 1, perSecond: 0.001, most: 100)
    var counts: [Int] = []
    for made in 0..<10_000 {
      _ = buckets.take(made, at: now + .milliseconds(made))
      counts.append(buckets.count)
    }
    #expect(zip(counts, counts.dropFirst()).count { $0 >= $1 } <= 10_000 / 25)
    #expect(counts.dropFirst(100).allSatisfy { (75...100).contains($0) })
    var one = KeyedBuckets<Int>(burst: 1, perSecond: 1, most: 1)
    for key in 0..<3 { #expect(one.take(key, at: now) == nil && one.count == 1) }
  }

  /// A crowd that has come and gone leaves nothing behind once others come.
  @Test func thoseWhoWaitedLongEnoughAreForgottenAsOthersCome() {
    var buckets = KeyedBuckets<Int>(burst: 2, perSecond: 1, most: 10_000)
    for key in 0..<5_000 { _ = buckets.take(key, at: now) }
    #expect(buckets.count == 5_000, "all of them have something to wait for")
    // A second later each of the crowd may take as much as ever. One new name a millisecond: a thousand of these are not full.
    var most = 0
    for key in 5_000..<25_000 {
      _ = buckets.take(key, at: now + .milliseconds(1_000 + key - 5_000))
      if key >= 12_000 { most = max(most, buckets.count) }
    }
    #expect(most <= 2_002 && most >= 1_000, "\(most)")
  }
}
