import Basics
import Testing

@testable import Congestion

private func input(_ target: Double, limited: Bool = false, outgrown: Bool = false, use: LineUse = .normal)
  -> ProbeInput
{
  ProbeInput(target: .kilobits(target), use: use, applicationLimited: limited, outgrown: outgrown, held: false)
}

private func result(_ probe: Probe, _ share: Double) -> ProbeResult {
  ProbeResult(cluster: probe.id, wished: probe.rate, rate: probe.rate * share, full: share < 0.9)
}

@Suite struct ProbeControllerTests {
  /// Polls once and takes out all clusters that wait.
  private func wishes(_ probes: inout ProbeController, _ input: ProbeInput, at now: Int) -> [Double] {
    probes.poll(input, at: milliseconds(now))
    var rates: [Double] = []
    while let probe = probes.next() { rates.append(probe.rate.kilobits) }
    return rates
  }

  @Test(arguments: [(20_000.0, [900.0, 1_800.0]), (500, [900, 1_000]), (150, []), (0, [])] as [(Double, [Double])])
  func theStartTriesThreeAndSixTimesUpToTwiceTheWish(_ wish: Double, _ rates: [Double]) {
    var probes = ProbeController(wish: .kilobits(wish))
    #expect(wishes(&probes, input(300), at: 0) == rates)
  }

  /// At the start straight on to what is wished and a little more; where that is less, for twice as much.
  @Test(arguments: [(20.0, 32_000.0), (2, 3_420)]) func aGoodResultAsksForMore(_ wish: Double, _ rate: Double) throws {
    var probes = ProbeController(wish: .megabits(wish))
    probes.poll(input(300), at: milliseconds(0))
    _ = probes.next()
    let afterFirst = probes.next()
    let second = try #require(afterFirst)
    probes.result(result(second, 0.95), target: .kilobits(1_710), accepted: true, at: milliseconds(200))
    let afterSecond = probes.next()
    let third = try #require(afterSecond)
    #expect((third.rate.kilobits - rate).magnitude < 1e-6)
    probes.result(result(third, 0.6), target: .kilobits(2_000), accepted: true, at: milliseconds(400))
    #expect(!probes.hasNext)
  }

  @Test func littleSentIsProbedEachFiveSeconds() {
    var probes = ProbeController(wish: .megabits(20))
    _ = wishes(&probes, input(300), at: 0)
    var times: [Int] = []
    for step in 1...150 where !wishes(&probes, input(300, limited: true), at: 100 * step).isEmpty { times.append(step) }
    #expect(times == [51, 102])
    #expect(wishes(&probes, input(300, limited: true, use: .over), at: 60_000).isEmpty)
  }

  @Test func aLargerWishIsTriedAtOnceAndTwofold() {
    var probes = ProbeController(wish: .kilobits(300))
    _ = wishes(&probes, input(300), at: 0)
    probes.setWish(.megabits(2), target: .kilobits(300), at: milliseconds(5_000))
    #expect(wishes(&probes, input(300), at: 5_001) == [2_000, 4_000])
    probes.setWish(.megabits(1), target: .kilobits(300), at: milliseconds(9_000))
    #expect(wishes(&probes, input(300), at: 9_001).isEmpty)
  }

  @Test func afterAFallMostOfTheOldRateIsTriedOnce() {
    var probes = ProbeController(wish: .megabits(20))
    _ = wishes(&probes, input(300), at: 0)
    probes.fell(from: .megabits(2), to: .megabits(1.5), at: milliseconds(9_000))
    #expect(wishes(&probes, input(1_500), at: 12_000).isEmpty)
    probes.fell(from: .megabits(2), to: .megabits(1), at: milliseconds(20_000))
    #expect(wishes(&probes, input(1_000), at: 22_000).isEmpty)
    #expect(wishes(&probes, input(1_000), at: 22_600) == [1_700])
    #expect(wishes(&probes, input(1_000), at: 24_000).isEmpty)
  }

  @Test func probesInVainBecomeRarer() throws {
    var probes = ProbeController(wish: .megabits(20))
    _ = wishes(&probes, input(1_000), at: 0)
    var times: [Int] = []
    for step in 20...600 {
      probes.poll(input(1_000, outgrown: true), at: milliseconds(100 * step))
      if let probe = probes.next() {
        times.append(step)
        probes.result(result(probe, 0.5), target: .megabits(1), accepted: false, at: milliseconds(100 * step))
      }
    }
    let gaps = zip(times.dropFirst(), times).map { $0 - $1 }
    try #require(gaps.count >= 3)
    #expect(gaps == gaps.sorted())
    #expect((gaps.last ?? 0) >= 4 * (gaps.first ?? 1))
  }
}

@Suite struct ProbeEstimatorTests {
  /// Ten packets of 1,000 bytes, `sent` and `arrived` milliseconds apart; the result after `count` of them.
  private func rate(sent: Double, arrived: Double, count: Int = 10) -> ProbeResult? {
    var estimator = ProbeEstimator()
    let probe = Probe(id: 9, rate: .megabits(4))
    estimator.begin(probe)
    var result: ProbeResult?
    for index in 0..<count {
      result = estimator.add(
        ReceivedPacket(
          sentAt: Instant.zero + .seconds(Double(index) * sent / 1e3),
          arrivedAt: .seconds(Double(index) * arrived / 1e3),
          size: ByteCount(1_000), kind: .padding, cluster: 9))
    }
    return result
  }

  @Test func theLineCarriesIt() {
    #expect((rate(sent: 2, arrived: 2)?.rate.kilobits ?? 0).rounded() == 4_000)
    #expect(rate(sent: 2, arrived: 2)?.full == false)
  }

  @Test func aFullLineCarriesWhatArrived() {
    #expect((rate(sent: 2, arrived: 4)?.rate.kilobits ?? 0).rounded() == 1_900)
    #expect(rate(sent: 2, arrived: 4)?.full == true)
  }

  /// A token bucket lets the first packets through at once; what comes behind them tells the rate of a line that has shown a limit. On
  /// any other a busy receiver may have been slow, and nothing is held against the line.
  @Test(arguments: [true, false]) func theFirstPacketsThroughABucketCountForNothingOnALineThatIsLimited(
    isCautious: Bool
  ) {
    var estimator = ProbeEstimator()
    estimator.begin(Probe(id: 9, rate: .megabits(2)))
    var results: [ProbeResult] = []
    // Five packets of 1,250 bytes on a line of 600 kbit/s with room for two and a half.
    for (index, arrived) in [0, 0.2, 8.5, 25.2, 41.9].enumerated() {
      let packet = ReceivedPacket(
        sentAt: .zero + .seconds(Double(index) * 0.002), arrivedAt: .seconds(arrived / 1e3), size: ByteCount(1_250),
        kind: .padding, cluster: 9)
      if let result = estimator.add(packet, isCautious: isCautious) { results.append(result) }
    }
    #expect(results.count == 2 && results.allSatisfy(\.full))
    let expected = isCautious ? 500.0...600 : 800...1_200
    for result in results { #expect(expected.contains(result.rate.kilobits), "\(result.rate.kilobits)") }
  }

  /// Packets of `size` bytes, the second and each sixth after it sound, through a bucket of 3,100 bytes on a line of 600 kbit/s: the
  /// results, in their order.
  private func throughABucket(_ probe: Probe, size: Int) -> [ProbeResult] {
    var (estimator, results) = (ProbeEstimator(), [ProbeResult]())
    estimator.begin(probe)
    var (bytes, packets, sentAt, free) = (0, 0, 0.0, -3_100.0 / 75)
    while packets < probe.least.packets || bytes < probe.least.size.bytes {
      let length = packets % 6 == 1 ? 180 : size
      sentAt = max(packets == 0 ? 0 : sentAt + 2, Double(bytes) / probe.rate.kilobits * 8)
      free = max(free, sentAt - 3_100.0 / 75) + Double(length) / 75
      let packet = ReceivedPacket(
        sentAt: .zero + .seconds(sentAt / 1e3), arrivedAt: .seconds(max(sentAt, free) / 1e3), size: ByteCount(length),
        kind: .padding, cluster: probe.id)
      if let result = estimator.add(packet, isCautious: true) { results.append(result) }
      (bytes, packets) = (bytes + length, packets + 1)
    }
    return results
  }

  /// A probe of 2.5 Mbit/s, as after a fall. Five packets, one of them sound, fit into a bucket for the most part; of a long one the end
  /// shows what the line carries. What most of one shows is not its last word.
  @Test(arguments: [500, 800, 1_044]) func aLongProbeSeesPastABucket(_ size: Int) throws {
    let short = try #require(throughABucket(Probe(id: 9, rate: .megabits(2.5)), size: size).last)
    let long = throughABucket(Probe(id: 9, rate: .megabits(2.5), isLong: true), size: size)
    let last = try #require(long.last)
    #expect(last.full && last.isWhole)
    #expect((500...620).contains(last.rate.kilobits), "\(last.rate.kilobits)")
    #expect(long.dropLast().allSatisfy { !$0.isWhole })
    #expect(short.rate > last.rate * 1.1, "the control: \(short.rate.kilobits)")
  }

  @Test(arguments: [(200.0, 2_000), (600, 6_000), (1_000, 7_500), (2_500, 7_500), (10_000, 18_750)])
  func aLongProbeIsNoLongerThanAThinLineBears(_ rate: Double, _ size: Int) {
    #expect(Probe(id: 1, rate: .kilobits(rate), isLong: true).least.size == ByteCount(size))
    #expect(Probe(id: 1, rate: .kilobits(rate)).least.size == BitRate.kilobits(rate).size(in: .milliseconds(15)))
  }

  @Test func tooFewOrAbsurdArrivalsSayNothing() {
    #expect(rate(sent: 2, arrived: 2, count: 3) == nil)
    #expect(rate(sent: 2, arrived: 0.5) == nil)
    #expect(rate(sent: 2, arrived: 0) == nil)
  }
}

@Suite struct PacerTests {
  /// Bytes that leave in a second of turns each `turn` milliseconds, with much waiting, in packets of 1,000.
  private func sent(_ pacer: inout Pacer, turn: Int, waiting: Int = 10_000) -> Int {
    var total = 0
    for step in 0..<(1_000 / turn) {
      let now = milliseconds(10_000 + step * turn)
      while pacer.budget(at: now, waiting: ByteCount(waiting)) > .zero {
        pacer.sent(ByteCount(1_000), at: now)
        total += 1_000
      }
    }
    return total
  }

  @Test(arguments: [1, 2, 5])
  func itPacesAtTheFactor(_ turn: Int) {
    var first = Pacer(target: .megabits(1))
    #expect((312_500 - sent(&first, turn: turn)).magnitude < 8_000)
    var steady = Pacer(target: .megabits(1))
    steady.set(target: .megabits(1), capacityKnown: true, relaxed: false)
    #expect((137_500 - sent(&steady, turn: turn)).magnitude < 4_000)
  }

  @Test func aLongQueueLeavesWithinTwoSeconds() {
    var pacer = Pacer(target: .kilobits(100))
    #expect(sent(&pacer, turn: 2, waiting: 1_000_000) > 450_000)
  }

  @Test func wellBelowTheTargetNothingIsCounted() {
    var pacer = Pacer(target: .megabits(1))
    pacer.set(target: .megabits(1), capacityKnown: true, relaxed: true)
    for _ in 0..<1_000 { pacer.sent(ByteCount(1_200), at: milliseconds(0)) }
    let value4 = pacer.budget(at: milliseconds(0), waiting: ByteCount(1))
    #expect(value4 == .unlimited)
  }

  @Test func audioIsCountedAndVideoWaitsForIt() {
    var pacer = Pacer(target: .kilobits(100))
    _ = pacer.budget(at: milliseconds(0), waiting: .zero)
    pacer.sent(ByteCount(1_000), at: milliseconds(0))
    let value5 = pacer.budget(at: milliseconds(1), waiting: ByteCount(1_000))
    #expect(value5 == .zero)
    let release = pacer.nextRelease(after: milliseconds(1))
    #expect(release > milliseconds(25) && release < milliseconds(40))
    let value6 = pacer.budget(at: release + .milliseconds(1), waiting: ByteCount(1_000))
    #expect(value6 > .zero)
  }

  @Test(arguments: [(900.0, 5), (10_000, 16), (50_000, 79)])
  func aProbeHasFivePacketsOrFifteenMilliseconds(_ rate: Double, _ packets: Int) {
    var pacer = Pacer(target: .kilobits(300))
    pacer.begin(Probe(id: 3, rate: .kilobits(rate)), at: milliseconds(0))
    var count = 0
    var now = milliseconds(0)
    var first: Instant?
    var last = now
    while pacer.isProbing, now < milliseconds(1_000) {
      #expect(pacer.cluster == 3)
      var padding = pacer.padding(at: now)
      while padding > .zero, pacer.isProbing {
        pacer.sent(ByteCount(1_200), at: now)
        padding -= ByteCount(1_200)
        count += 1
        first = first ?? now
        last = now
      }
      now += .milliseconds(1)
    }
    #expect(pacer.cluster == 0)
    #expect(count >= packets && count <= packets + 3)
    #expect(last - (first ?? last) >= .milliseconds(12))
    let value7 = pacer.padding(at: now)
    #expect(value7 == .zero)
  }

  @Test func aProbeForWhichThereIsNoPaddingEndsSoonAndWithoutHaste() {
    var pacer = Pacer(target: .kilobits(300))
    pacer.begin(Probe(id: 3, rate: .megabits(2)), at: milliseconds(0))
    var now = milliseconds(0)
    var turns = 0
    while pacer.isProbing, turns < 1_000 {
      _ = pacer.padding(at: now)
      now = pacer.nextRelease(after: now)
      turns += 1
    }
    #expect(turns == Pacer.mostVainRequests + 1)
    #expect(now >= milliseconds(20) && now < milliseconds(50))
    #expect(pacer.cluster == 0)
  }

  @Test(arguments: [true, false]) func aProbeThatTooLittleIsSentForEndsAfterASecond(_ asks: Bool) {
    var pacer = Pacer(target: .kilobits(300))
    pacer.begin(Probe(id: 3, rate: .megabits(50)), at: milliseconds(0))
    var now = milliseconds(0)
    while pacer.isProbing, now < milliseconds(5_000) {
      pacer.sent(ByteCount(80), at: now)
      if asks { _ = pacer.budget(at: now, waiting: .zero) } else { pacer.endOverdueProbe(at: now) }
      now += .milliseconds(20)
    }
    #expect(now == milliseconds(1_020))
    _ = pacer.budget(at: now, waiting: ByteCount(1_000))
    let budget = pacer.budget(at: now + .milliseconds(10), waiting: ByteCount(1_000))
    #expect(budget > .zero)
  }

  @Test func whatWaitsLongIsABacklog() {
    var pacer = Pacer(target: .megabits(1))
    pacer.set(target: .megabits(1), capacityKnown: true, relaxed: false)
    _ = pacer.budget(at: milliseconds(0), waiting: ByteCount(4_000))
    #expect(pacer.hasBacklog)
    pacer.sent(ByteCount(2_000), at: milliseconds(0))
    #expect(!pacer.hasBacklog)
  }
}

extension ProbeControllerTests {
  /// Measured rates move all the time: that is no reason to fill a thin line with probes.
  @Test func aWishThatMovesALittleIsNotTried() {
    var probes = ProbeController(wish: .kilobits(300))
    _ = wishes(&probes, input(300), at: 0)
    probes.setWish(.megabits(2), target: .kilobits(300), at: milliseconds(5_000))
    #expect(wishes(&probes, input(300), at: 5_001) == [2_000, 4_000])
    for step in 1...50 {
      probes.setWish(
        .kilobits(1_900 + Double(step % 2) * 200), target: .kilobits(300), at: milliseconds(5_000 + step * 250))
      #expect(!probes.hasNext)
    }
  }

  /// What a probe raised holds only when the next one, or its own rest, does not take it back.
  @Test func aRaiseIsOpenUntilTheNextResult() throws {
    var probes = ProbeController(wish: .megabits(2))
    _ = wishes(&probes, input(300), at: 0)
    #expect(probes.unconfirmed(at: milliseconds(1_500)) == nil)
    probes.poll(input(500, limited: true), at: milliseconds(9_000))
    let taken = probes.next()
    let first = try #require(taken)
    probes.result(
      result(first, 0.95), target: .kilobits(950), from: .kilobits(500), accepted: true, at: milliseconds(9_100))
    #expect(probes.unconfirmed(at: milliseconds(9_150)) == .kilobits(500))
    let following = probes.next()
    let second = try #require(following)
    #expect(second.rate == first.rate * 0.95 * 2)
    probes.result(result(second, 0.3), target: .kilobits(950), accepted: false, at: milliseconds(9_200))
    #expect(probes.unconfirmed(at: milliseconds(9_250)) == nil)
    #expect(probes.raisedFrom(at: milliseconds(9_250)) == .kilobits(500))
    #expect(probes.raisedFrom(at: milliseconds(10_150)) == nil)
  }

  /// What a series has shown by its last probe stands, also when another begins at once because more is wished.
  @Test func aRaiseThatStandsIsNotOpenedByTheNextSeries() throws {
    var probes = ProbeController(wish: .megabits(1))
    _ = wishes(&probes, input(300), at: 0)
    probes.poll(input(500, limited: true), at: milliseconds(9_000))
    let taken = probes.next()
    let only = try #require(taken)
    #expect(only.rate >= probes.most * 0.5)
    probes.result(
      result(only, 0.6), target: .kilobits(700), from: .kilobits(500), accepted: true, at: milliseconds(9_100))
    #expect(!probes.isBusy && probes.unconfirmed(at: milliseconds(9_100)) == nil)
    probes.setWish(.megabits(2), target: .kilobits(700), at: milliseconds(9_200))
    #expect(probes.isBusy && probes.unconfirmed(at: milliseconds(9_200)) == nil)
    // And what that one raises goes back to what stood before it.
    let following = probes.next()
    let second = try #require(following)
    probes.result(
      result(second, 0.95), target: .kilobits(1_500), from: .kilobits(700), accepted: true, at: milliseconds(9_300))
    #expect(probes.unconfirmed(at: milliseconds(9_300)) == .kilobits(700))
  }

  /// Of a cluster of which most was reported the rest is waited for, and not for ever.
  @Test func theRestOfAProbeIsWaitedFor() throws {
    var probes = ProbeController(wish: .megabits(2))
    _ = wishes(&probes, input(300), at: 0)
    probes.poll(input(500, limited: true), at: milliseconds(9_000))
    let taken = probes.next()
    var most = result(try #require(taken), 0.6)
    most.isWhole = false
    probes.result(most, target: .kilobits(600), from: .kilobits(500), accepted: true, at: milliseconds(9_100))
    #expect(probes.unconfirmed(at: milliseconds(9_200)) == .kilobits(500))
    #expect(probes.unconfirmed(at: milliseconds(9_400)) == nil)
  }
}
