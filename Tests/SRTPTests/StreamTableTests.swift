// The table of a session's streams: against a dictionary, whatever comes and goes.

import Basics
import Testing

@testable import SRTP

struct StreamTableTests {
  /// Few SSRCs that are drawn again and again, so that streams come, go and come back where others had to make way.
  @Test(arguments: [1, 2, 3, 4]) func itIsADictionary(_ seed: UInt64) {
    var dice = SplitMix64(seed: seed)
    var table = StreamTable<UInt64>(limit: 64, empty: 0)
    var model: [UInt32: UInt64] = [:]
    for step in 0..<20_000 {
      // Neighbours and multiples collide in a table that takes an SSRC as it is.
      let ssrc = UInt32.random(in: 0..<100, using: &dice) &* (Bool.random(using: &dice) ? 1 : 0x0100_0000)
      switch Int.random(in: 0..<3, using: &dice) {
      case 0:
        if model[ssrc] == nil && table.isFull { break }
        model[ssrc] = UInt64(step)
        table.insert(UInt64(step), ssrc: ssrc)
      case 1:
        model[ssrc] = nil
        table.remove(ssrc)
      default:
        // Written out: `+=` on it does not compile under ThreadSanitizer (Swift 6.3).
        if let position = table.position(of: ssrc) { table[position] = table[position] + 1_000_000 }
        if let value = model[ssrc] { model[ssrc] = value + 1_000_000 }
      }
      #expect(table.count == model.count && table.isFull == (model.count == 64))
    }
    for ssrc in Set(model.keys).union((0..<100).map { $0 &* 0x0100_0000 }).union(0..<100) {
      let found = table.position(of: ssrc).map { table[$0] }
      #expect(found == model[ssrc], "\(ssrc)")
    }
    let least = table.least { $0 }
    #expect(least?.stream == model.values.min() && least.map { model[$0.ssrc] } == least?.stream)
  }
}
