// Percentiles are right within a bucket's width.

import Basics
import Testing

@testable import SyntheticParticipant

@Suite struct LatencyHistogramTests {
  @Test func percentilesAreWithinSixPercent() {
    var histogram = LatencyHistogram()
    for microseconds in 1...10_000 { histogram.record(.microseconds(microseconds)) }
    #expect(histogram.count == 10_000)
    #expect(histogram.maximum == 10_000)
    for (share, exact) in [(0.5, 5_000.0), (0.95, 9_500.0), (0.99, 9_900.0)] {
      let found = Double(histogram.percentile(share))
      #expect(found >= exact && found <= exact * 1.0625, "\(share): \(found)")
    }
    #expect(histogram.percentile(1) == 10_000)
    #expect(histogram.bars.reduce(0) { $0 + Int($1.count) } == 10_000)
  }

  @Test func manyOfTheSameAreAddedAtOnce() {
    var one = LatencyHistogram()
    var other = LatencyHistogram()
    one.record(.milliseconds(2), times: 7)
    for _ in 0..<7 { other.record(.milliseconds(2)) }
    #expect(one == other && one.count == 7)
  }

  @Test func mergingAddsUp() {
    var one = LatencyHistogram()
    var other = LatencyHistogram()
    one.record(.milliseconds(1))
    other.record(.milliseconds(3))
    other.record(.milliseconds(-5))
    one.merge(other)
    #expect(one.count == 3)
    #expect(one.maximum == 3_000)
    #expect(one.percentile(0.1) == 0)
  }

  @Test func noneAndHugeDelaysAreHarmless() {
    var histogram = LatencyHistogram()
    #expect(histogram.percentile(0.5) == 0)
    histogram.record(TimeDelta(nanoseconds: .max))
    #expect(histogram.count == 1)
    #expect(histogram.percentile(0.5) <= histogram.maximum)
  }

  @Test func whatWasAddedSinceIsOnlyThat() {
    var histogram = LatencyHistogram()
    for _ in 0..<10 { histogram.record(.milliseconds(50)) }
    let before = histogram
    for _ in 0..<100 { histogram.record(.milliseconds(1)) }
    let since = histogram.since(before)
    #expect(since.count == 100)
    #expect((1_000...1_063).contains(since.percentile(0.99)))
  }
}
