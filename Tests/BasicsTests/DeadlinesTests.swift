// Deadlines that are moved and cancelled: what is left of them counts, not how it came about.

import Testing

@testable import Basics

@Suite struct DeadlinesTests {
  @Test func twoAreEqualWhenTheSameIsDueAtTheSameTimes() {
    var (a, b) = (Deadlines<String>(), Deadlines<String>())
    let later = Instant.zero + .seconds(2)
    a.set("x", at: .zero + .seconds(1))
    #expect(a != b)
    a.set("x", at: later)
    a.set("y", at: .zero)
    a.cancel("y")
    b.set("x", at: later)
    #expect(a == b)
    #expect(a.popDue(at: later) == "x")
    #expect(a != b)
    #expect(b.popDue(at: later) == "x")
    #expect(a == b && a.next == nil)
  }

  /// Some wait for one long due, and each is cancelled and set again for the same time as before.
  @Test func whatIsSetAgainForTheSameTimeStandsThereOnce() {
    var deadlines = Deadlines<Int>()
    for key in 0..<100 { deadlines.set(key, at: .zero + .seconds(key)) }
    for _ in 0..<50 {
      for key in 1..<100 {
        deadlines.cancel(key)
        deadlines.set(key, at: .zero + .seconds(key))
      }
    }
    #expect(deadlines.entries <= 2 * 100 + 65, "\(deadlines.entries) entries")
    #expect((0..<100).allSatisfy { deadlines.popDue(at: .distantFuture) == $0 })
    #expect(deadlines.popDue(at: .distantFuture) == nil)
  }
}
