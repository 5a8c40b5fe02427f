// Deadlines that are moved and cancelled: what is left of them counts, not how it came about.

import Basics
import Testing

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
}
