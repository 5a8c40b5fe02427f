// What a server chooses by what it has measured.

import Basics
import SRTP
import Testing

@Suite struct MeasureTests {
  private func cost(_ backend: SRTPBackend, _ nanoseconds: Int64) -> SRTPCost {
    SRTPCost(backend: backend, perPacket: TimeDelta(nanoseconds: nanoseconds))
  }

  @Test func theCheapestIsTaken() {
    #expect(SRTPBackend.cheapest(of: [cost(.ipsecMB, 106), cost(.openSSL, 471)]) == .ipsecMB)
    #expect(SRTPBackend.cheapest(of: [cost(.ipsecMB, 590), cost(.openSSL, 300)]) == .openSSL)
    #expect(SRTPBackend.cheapest(of: [cost(.ipsecMB, 105), cost(.openSSL, 100)]) == .ipsecMB, "too close to tell")
    #expect(SRTPBackend.cheapest(of: [cost(.openSSL, 471)]) == .openSSL)
    #expect(SRTPBackend.cheapest(of: []) == nil)
  }

  /// Each library that can be used is measured twice, in turn, and the clock is looked at around each hundred packets: eight times.
  @Test func eachIsMeasured() {
    let candidates = [SRTPBackend.ipsecMB, .openSSL].filter(\.isAvailable)
    var (looks, nanoseconds) = (0, Int64(0))
    let costs = SRTPBackend.costs {
      // The machine was busy with something else while the first was measured first; the second takes twice as long as the first.
      let turn = looks / 8
      nanoseconds += turn == 0 ? 90_000 : turn % candidates.count == 0 ? 10_000 : 20_000
      looks += 1
      return Instant(nanoseconds: nanoseconds)
    }
    #expect(costs.map(\.backend) == candidates && looks == candidates.count * 16)
    #expect(costs.map(\.perPacket.nanoseconds) == [100, 200].prefix(candidates.count).map { $0 })
  }
}
