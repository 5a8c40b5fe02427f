// SSRCs that never come twice.

import Testing

@testable import Negotiation

@Suite struct SSRCSequenceTests {
  @Test(arguments: [0, 1, 0x61c8_8647, .max] as [UInt32])
  func noneComesTwiceAndNoneIsZero(start: UInt32) {
    var sequence = SSRCSequence(start: start)
    var seen: Set<UInt32> = [0]
    for _ in 0..<100_000 { seen.insert(sequence.next()) }
    #expect(seen.count == 100_001)
  }

  @Test func startsThatAreNeighboursGiveOthers() {
    var (one, other) = (SSRCSequence(start: 7), SSRCSequence(start: 8))
    let first = Set((0..<1_000).map { _ in one.next() })
    #expect(first.isDisjoint(with: (0..<1_000).map { _ in other.next() }))
  }
}
