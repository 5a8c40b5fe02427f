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
    #expect(buckets.count == 1)
  }
}
