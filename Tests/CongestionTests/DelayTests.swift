import Basics
import Testing

@testable import Congestion

private func arrival(_ n: Double) -> TimeDelta { .seconds(n / 1e3) }

@Suite struct BitRateTests {
  @Test func ratesSaturate() {
    #expect(BitRate(bitsPerSecond: -1) == .zero)
    #expect(BitRate(bitsPerSecond: .nan) == .zero)
    #expect(BitRate(bitsPerSecond: .infinity) == .unlimited)
    #expect(BitRate(ByteCount(1), in: .zero) == .unlimited)
    #expect(BitRate.zero.time(for: ByteCount(1)) == .seconds(3_600))
    #expect(BitRate.unlimited.size(in: .seconds(1 << 30)).bytes > 0)
  }

  @Test func sizesAndTimesFit() {
    #expect(BitRate(ByteCount(125), in: .milliseconds(1)) == .megabits(1))
    #expect(BitRate.megabits(1).size(in: .milliseconds(8)) == ByteCount(1_000))
    #expect(BitRate.megabits(1).time(for: ByteCount(1_000)) == .milliseconds(8))
  }

  @Test(arguments: [
    (1.0, 0.0), (2.718_281_828_459_045, 1.0), (0.001, -6.907_755_278_982_137), (0.5, -0.693_147_180_559_945),
    (2_500.0, 7.824_046_010_856_292), (1.42, 0.350_656_871_613_169), (1e12, 27.631_021_115_928_547),
  ])
  func theLogarithmIsRight(_ x: Double, _ wanted: Double) {
    #expect((naturalLogarithm(x) - wanted).magnitude < 1e-8)
  }
}

@Suite struct AcknowledgedRateTests {
  @Test(arguments: [(1_000, 10.0, 800.0), (1_200, 4.0, 2_400.0), (100, 20.0, 40.0)])
  func evenArrivalsGiveTheirRate(_ size: Int, _ gap: Double, _ wanted: Double) {
    var rate = AcknowledgedRate()
    for index in 0..<200 { rate.add(ByteCount(size), at: arrival(Double(index) * gap)) }
    rate.update()
    #expect(((rate.steady?.kilobits ?? 0) / wanted - 1).magnitude < 0.02)
    #expect(((rate.recent?.kilobits ?? 0) / wanted - 1).magnitude < 0.02)
  }

  @Test func aFewArrivalsSayNothing() {
    var rate = AcknowledgedRate()
    for index in 0..<4 { rate.add(ByteCount(1_000), at: arrival(Double(index))) }
    rate.update()
    #expect(rate.steady == nil)
    #expect(rate.recent == nil)
  }

  @Test func theRecentRateFollowsAFallFirst() {
    var rate = AcknowledgedRate()
    for index in 0..<250 { rate.add(ByteCount(1_000), at: arrival(Double(index) * 4)) }
    for index in 1...10 { rate.add(ByteCount(1_000), at: arrival(1_000 + Double(index) * 16)) }
    rate.update()
    #expect((rate.recent?.kilobits ?? 0) < 600)
    #expect((rate.steady?.kilobits ?? 0) > 1_000)
  }

  @Test func ratesOutliveAJumpOfTheClock() {
    var rate = AcknowledgedRate()
    for index in 0..<100 { rate.add(ByteCount(1_000), at: arrival(Double(index) * 10)) }
    rate.update()
    let before = rate.steady
    #expect(rate.measured.map { (450...600).contains($0.time.seconds * 1_000) } == true)
    rate.restart()
    rate.update()
    #expect(rate.steady == before)
    #expect(rate.measured?.time == SteadyRate.unknown, "it is an old one")
  }
}

@Suite struct ArrivalGroupsTests {
  /// Sent and arrived in milliseconds, and the difference that the packet completes (arrived − sent), if any.
  @Test(arguments: [
    (
      "one group a packet",
      [(0.0, 50.0, nil), (10, 60, nil), (20, 72, 0.0), (30, 80, 2.0)] as [(Double, Double, Double?)]
    ),
    ("a burst is one group", [(0, 50, nil), (3, 53, nil), (5, 55, nil), (20, 70, nil), (40, 90, 0)]),
    ("compressed behind a radio", [(0, 100, nil), (10, 101, nil), (20, 102, nil), (60, 110, nil), (80, 130, -32)]),
    ("an old packet is passed over", [(0, 50, nil), (20, 70, nil), (5, 90, nil), (40, 90, 0)]),
  ])
  func differences(_ name: String, _ packets: [(Double, Double, Double?)]) {
    var groups = ArrivalGroups()
    for (sent, arrived, wanted) in packets {
      let delta = groups.add(sentAt: Instant.zero + arrival(sent), arrivedAt: arrival(arrived))
      let gained = delta.map { ($0.arrived - $0.sent).seconds * 1e3 }
      #expect((gained == nil) == (wanted == nil), "\(name): packet sent at \(sent)")
      if let gained, let wanted { #expect((gained - wanted).magnitude < 1e-6, "\(name): packet sent at \(sent)") }
    }
  }

  @Test func aJumpBeginsAnew() {
    var groups = ArrivalGroups()
    for index in 0..<3 { _ = groups.add(sentAt: milliseconds(10 * index), arrivedAt: .milliseconds(50 + 10 * index)) }
    let value1 = groups.add(sentAt: milliseconds(30), arrivedAt: .milliseconds(30_080))
    #expect(value1 != nil)
    let value2 = groups.add(sentAt: milliseconds(40), arrivedAt: .milliseconds(30_090))
    #expect(value2 == nil)
    let value3 = groups.add(sentAt: milliseconds(50), arrivedAt: .milliseconds(30_100))
    #expect(value3 == nil)
  }
}

@Suite struct TrendlineTests {
  @Test(arguments: [0.0, 0.05, 0.2, -0.1])
  func theSlopeIsThatOfTheDelay(_ gain: Double) {
    var trend = Trendline()
    for index in 1...200 {
      let gap = 10 * (1 + gain)
      trend.add(GroupDelta(sent: .milliseconds(10), arrived: arrival(gap), arrivedAt: arrival(Double(index) * gap)))
    }
    #expect((trend.slope - gain / (1 + gain)).magnitude < 0.01)
  }

  /// The sums that run along, against a line through the same points worked out anew; over ten minutes the origin moves.
  @Test func theRunningSumsAreThoseOfTheWindow() {
    var random = SplitMix64(seed: 5)
    var trend = Trendline()
    var points: [(time: Double, delay: Double)] = []
    var (time, accumulated, smoothed) = (0.0, 0.0, 0.0)
    for step in 1...40_000 {
      let gap = Double(5 + random.next() % 20)
      let gained = Double(random.next() % 2_001) / 100 - 10
      time += gap
      trend.add(GroupDelta(sent: arrival(gap), arrived: arrival(gap + gained), arrivedAt: arrival(time)))
      accumulated += gained
      smoothed = 0.9 * smoothed + 0.1 * accumulated
      points.append((time, smoothed))
      if points.count > Trendline.window { points.removeFirst() }
      guard points.count == Trendline.window, step % 97 == 0 else { continue }
      let meanTime = points.map(\.time).reduce(0, +) / Double(points.count)
      let meanDelay = points.map(\.delay).reduce(0, +) / Double(points.count)
      let above = points.reduce(0) { $0 + ($1.time - meanTime) * ($1.delay - meanDelay) }
      let below = points.reduce(0) { $0 + ($1.time - meanTime) * ($1.time - meanTime) }
      #expect((trend.slope - above / below).magnitude < 1e-6)
    }
  }

  @Test func itNeedsTwentyDifferences() {
    var trend = Trendline()
    for index in 1...19 {
      trend.add(GroupDelta(sent: .milliseconds(10), arrived: .milliseconds(15), arrivedAt: .milliseconds(15 * index)))
    }
    #expect(trend.slope == 0)
    trend.add(GroupDelta(sent: .milliseconds(10), arrived: .milliseconds(15), arrivedAt: .milliseconds(300)))
    #expect(trend.slope > 0)
  }
}

@Suite struct OveruseDetectorTests {
  private func use(_ slopes: [Double], adapts: Bool = true) -> (LineUse, Double) {
    var detector = OveruseDetector(adapts: adapts)
    for (index, slope) in slopes.enumerated() {
      detector.update(slope: slope, count: 60, sent: .milliseconds(10), arrivedAt: .milliseconds(10 * index))
    }
    return (detector.use, detector.threshold)
  }

  @Test func aRisingTrendIsOveruseAndAFallingOneIsNot() {
    #expect(use([0.08, 0.09, 0.1, 0.11]).0 == .over)
    #expect(use([0.12, 0.10, 0.09, 0.08]).0 == .normal)
    #expect(use([0.08]).0 == .normal)
    #expect(use([-0.1, -0.1]).0 == .under)
    #expect(use([0.01, 0.0, -0.01]).0 == .normal)
  }

  @Test func theThresholdFollowsWhatIsUsual() {
    let quiet = Array(repeating: 0.0, count: 200)
    let noisy = Array(repeating: 0.055, count: 2_000)
    #expect(use(quiet).1 == OveruseDetector.lowestThreshold)
    #expect(use(quiet, adapts: false).1 == OveruseDetector.firstThreshold)
    #expect(use(noisy).1 > 12.9)
    // A spike far above does not move it.
    #expect((use([0.5]).1 - OveruseDetector.firstThreshold).magnitude < 1e-9)
  }
}

@Suite struct DelayEstimatorTests {
  private func sum(_ sent: Int, delay: Int) -> ArrivalSummary {
    let (sentAt, arrived) = (milliseconds(sent), TimeDelta.milliseconds(sent + delay))
    return ArrivalSummary(
      packets: 10, size: ByteCount(10_000), firstSize: ByteCount(1_000), firstArrived: arrived, lastArrived: arrived,
      leastDelay: .milliseconds(delay), sentAt: sentAt)
  }

  /// Delays of feedback 100 ms apart, while relaxed; what the last of them shows.
  @Test(arguments: [
    ([50, 50, 60], false, LineUse.normal), ([50, 50, 80], true, .normal), ([50, 90, 140], true, .over),
    ([50, 140, 140], true, .over), ([50, 140, 60], false, .over), ([50, 50, 4_000, 4_000], false, .normal),
  ])
  func whileRelaxedTheQueueIsWatched(_ delays: [Int], _ suspicious: Bool, _ use: LineUse) {
    var estimator = DelayEstimator(adapts: true)
    estimator.relax()
    for (index, delay) in delays.enumerated() { _ = estimator.watch(sum(1_000 + 100 * index, delay: delay)) }
    #expect(estimator.isSuspicious == suspicious)
    #expect(estimator.use == use)
  }

  @Test func aJumpOfTheClockStartsAnew() {
    var estimator = DelayEstimator(adapts: true)
    var jumps: [Bool] = []
    for (index, delay) in [50, 50, 30_050, 30_050, 50].enumerated() {
      jumps.append(estimator.watch(sum(1_000 + 100 * index, delay: delay)))
    }
    #expect(jumps == [false, false, true, false, true])
  }
}
