import Basics
import Testing

@Suite struct FailureLimiterTests {
  private let now = Instant.zero + .seconds(5)

  @Test func afterItsBurstANetworkWaits() {
    var limiter = FailureLimiter(burst: 3, perSecond: 0.1)
    let (one, other) = (PeerNetwork(SocketAddress(v4: 1, port: 1)), PeerNetwork(SocketAddress(v4: 2, port: 1)))
    var begins: [Bool] = []
    for _ in 0..<5 { begins.append(limiter.failed(one, at: now)) }
    #expect(begins == [false, false, true, false, false], "said once")
    #expect(limiter.wait(of: one, at: now) == 10_000)
    #expect(limiter.wait(of: other, at: now) == nil)
    #expect(limiter.wait(of: one, at: now + .seconds(10)) == nil)
    #expect(limiter.wait(of: one, at: now + .seconds(10)) == nil, "asking takes nothing")
  }

  @Test func moreNetworksThanAreRememberedAreNoMoreMemory() {
    var limiter = FailureLimiter(burst: 1, perSecond: 1)
    for number in 0..<UInt32(FailureLimiter.mostNetworks) {
      _ = limiter.failed(PeerNetwork(SocketAddress(v4: number, port: 1)), at: now)
    }
    #expect(limiter.count == FailureLimiter.mostNetworks)
    _ = limiter.failed(PeerNetwork(SocketAddress(v4: .max, port: 1)), at: now)
    #expect(limiter.count == 1)
  }
}
