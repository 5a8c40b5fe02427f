import Basics
import Testing

@testable import Congestion

private func input(
  _ use: LineUse, _ arriving: Double?, over window: Int = 500, recent: Double? = nil, queueing: Int = 0,
  lost: Bool = false, limited: Bool = false
) -> RateInput {
  RateInput(
    use: use, measured: arriving.map { SteadyRate(rate: .kilobits($0), time: .milliseconds(window)) },
    recent: (recent ?? arriving).map { .kilobits($0) }, roundTrip: .milliseconds(100),
    queueing: .milliseconds(queueing), lost: lost, applicationLimited: limited)
}

@Suite struct RateControlTests {
  private func control(_ start: Double, _ mechanisms: Mechanisms = .all) -> RateControl {
    RateControl(start: .kilobits(start), minimum: .kilobits(30), mechanisms: mechanisms)
  }

  @Test(arguments: [(1_000.0, 0, 845.0), (1_000, 300, 845), (500, 300, 295), (500, 0, 420), (10, 0, 30)])
  func overuseBacksOffBelowWhatArrives(_ arriving: Double, _ queueing: Int, _ wanted: Double) {
    var control = control(1_000)
    control.update(input(.over, arriving, queueing: queueing), at: milliseconds(100))
    #expect((control.target.kilobits - wanted).magnitude < 1)
  }

  @Test func aSecondFallWaitsForTheEffectOfTheFirst() {
    var control = control(1_000)
    control.update(input(.over, 1_000), at: milliseconds(100))
    control.update(input(.over, 900), at: milliseconds(150))
    #expect(control.target.kilobits == 845)
    control.update(input(.over, 900), at: milliseconds(250))
    #expect(control.target.kilobits == 760)
  }

  @Test func itReturnsToTheCapacityWhenTheQueueHasDrained() {
    var control = control(1_000)
    control.update(input(.over, 1_000, queueing: 100), at: milliseconds(100))
    control.update(input(.normal, 840, queueing: 80), at: milliseconds(200))
    #expect(control.target.kilobits == 845)
    #expect(control.settled.kilobits == 930, "what it returns to is known while the queue drains")
    control.update(input(.normal, 840, queueing: 10), at: milliseconds(300))
    #expect(control.target.kilobits >= 930 && control.target.kilobits < 945)
    #expect(control.settled == control.target)
  }

  @Test func growthIsEightPerCentASecondWhileNothingIsKnown() {
    var control = control(1_000)
    for step in 0...10 { control.update(input(.normal, 5_000), at: milliseconds(100 * step)) }
    #expect(control.target.kilobits > 1_075 && control.target.kilobits < 1_095)
  }

  @Test func theTargetStaysNearWhatArrives() {
    var control = control(300)
    for step in 0...2_000 { control.update(input(.normal, 300), at: milliseconds(100 * step)) }
    #expect(control.target.kilobits == 460)
  }

  @Test func nothingGrowsWhileLittleIsSent() {
    var control = control(1_000)
    for step in 0...100 { control.update(input(.normal, 100, limited: true), at: milliseconds(100 * step)) }
    #expect(control.target.kilobits == 1_000)
    var blind = self.control(1_000, .all.subtracting(.applicationLimit))
    for step in 0...100 { blind.update(input(.normal, 100, limited: true), at: milliseconds(100 * step)) }
    #expect(blind.target.kilobits > 2_000)
  }

  /// Somebody else takes what is left to them, and the queue stays.
  @Test func besideSomebodyWhoFillsTheQueueOnlyLossLowersIt() {
    var control = control(1_000)
    for step in 0...50 {
      let arriving = min(400, control.target.kilobits)
      control.update(input(step % 10 == 0 ? .over : .normal, arriving, queueing: 250), at: milliseconds(100 * step))
      #expect(!control.competition.isOn || step > 30, "three seconds and more are waited for")
      #expect(control.competition.isOn || step < 36, "and a period of what arrives besides")
    }
    #expect(control.competition.isOn)
    let before = control.target
    control.update(input(.over, before.kilobits, queueing: 250), at: milliseconds(5_100))
    #expect(control.target > before)
    control.update(input(.over, before.kilobits, queueing: 250, lost: true), at: milliseconds(5_200))
    #expect(control.target < before)
    for step in 0...20 { control.update(input(.normal, 400, queueing: 10), at: milliseconds(5_300 + 100 * step)) }
    #expect(!control.competition.isOn)
  }

  /// The layers that are sent take nearly all of a line: its queue stands for long, and all that arrives is this flow's. What arrived
  /// before the queue stood says nothing, nor does a burst; and a line may get better.
  @Test(arguments: [(450.0, 400.0), (900, 400), (400, 450)])
  func aQueueOfOnesOwnIsNobodyElses(_ before: Double, _ later: Double) {
    var control = control(1_000)
    control.update(input(.normal, before), at: milliseconds(0))
    for step in 1...80 {
      let first = before + min(Double(step) / 5, 1) * (400 - before)
      let arriving = step < 20 ? first : later + Double(step % 3 - 1) * 8
      let use: LineUse = step % 7 == 0 || step == 3 ? .over : .normal
      control.update(input(use, arriving, recent: arriving * 1.3, queueing: 150), at: milliseconds(100 * step))
      #expect(!control.competition.isOn)
    }
  }

  /// The queue is this flow's alone. A pause of the line is followed by a burst, which says nothing of what it carries.
  @Test func aBurstBehindAPauseIsNotWhatTheLineCarries() {
    var control = control(1_000)
    for step in 0...80 {
      let arriving = (20..<25).contains(step) ? 1_500.0 : 400
      let use: LineUse = step % 7 == 0 ? .over : .normal
      control.update(input(use, arriving, queueing: 150), at: milliseconds(100 * step))
      #expect(!control.competition.isOn)
    }
  }

  /// Where little comes, a rate reaches back to before the queue stood; and for a moment less may come than the line carries.
  @Test(arguments: [2_000, 500]) func oldWindowsAndMomentsDoNotCount(_ window: Int) {
    var control = control(1_000)
    for step in 0...80 {
      let isOld = window == 2_000 && step < 19
      let arriving = isOld ? 600.0 : window == 500 && step % 20 == 0 ? 300 : 400
      let use: LineUse = step % 7 == 0 ? .over : .normal
      control.update(input(use, arriving, over: window, queueing: 150), at: milliseconds(100 * step))
      #expect(!control.competition.isOn)
    }
  }

  /// Who has nothing that they can leave out learns it later.
  @Test func aQueueThatStaysForLongIsSomebodyElses() {
    var control = control(100)
    for step in 0...99 {
      control.update(input(step % 7 == 0 ? .over : .normal, 40, queueing: 150), at: milliseconds(100 * step))
      #expect(!control.competition.isOn)
    }
    control.update(input(.normal, 40, queueing: 150), at: milliseconds(10_100))
    #expect(control.competition.isOn)
    for step in 0...20 { control.update(input(.normal, 40, queueing: 10), at: milliseconds(10_200 + 100 * step)) }
    #expect(!control.competition.isOn)
  }

  /// After two minutes the way may simply have become longer. What was seen before then says nothing afterwards.
  @Test func whatWasSeenBeforeItEndedIsForgotten() {
    var control = control(1_000)
    var ends: Int?
    for step in 0...1_600 where ends == nil {
      let wasOn = control.competition.isOn
      let use: LineUse = step % 10 == 0 ? .over : .normal
      control.update(
        input(use, min(400, control.target.kilobits), queueing: 250), at: milliseconds(100 * step))
      if wasOn && !control.competition.isOn { ends = step }
    }
    guard let ends else { return #expect(Bool(false), "it does not end") }
    #expect(ends > 1_200)
    for step in 1...29 {
      control.update(input(step < 3 ? .over : .normal, 100, queueing: 250), at: milliseconds(100 * (ends + step)))
      #expect(!control.competition.isOn)
    }
  }

  @Test func theCapacityHasBounds() {
    var capacity = LinkCapacity()
    #expect(capacity.estimate == nil)
    #expect(capacity.lower == .zero)
    #expect(capacity.upper == .unlimited)
    for _ in 0..<50 { capacity.measure(.kilobits(1_000)) }
    #expect(capacity.estimate == .kilobits(1_000))
    #expect((capacity.upper.kilobits - 1_060).magnitude < 1)
    #expect((capacity.lower.kilobits - 940).magnitude < 1)
    capacity.reset()
    #expect(capacity.estimate == nil)
  }
}

@Suite struct LossEstimatorTests {
  @Test func aProbeThatArrivedRaisesWhatLossAllows() {
    var loss = LossEstimator(minimum: .kilobits(30), separatesInherent: true)
    for step in 0..<40 {
      let now = milliseconds(100 * step)
      loss.add(received: 70, lost: 30, size: ByteCount(12_500), sent: now)
      loss.update(delayBased: .megabits(4), acknowledged: .kilobits(700), at: now)
    }
    let held = loss.target
    #expect(held < .megabits(1))
    // Nothing is lost any more, and the window forgets.
    for step in 40..<43 {
      loss.add(received: 100, lost: 0, size: ByteCount(12_500), sent: milliseconds(100 * step))
      loss.update(delayBased: .megabits(4), acknowledged: .kilobits(700), at: milliseconds(100 * step))
    }
    loss.probed(.kilobits(50))
    let lower = loss.target
    for step in 43..<90 {
      loss.add(received: 100, lost: 0, size: ByteCount(12_500), sent: milliseconds(100 * step))
      if step < 89 { loss.update(delayBased: .megabits(4), acknowledged: .kilobits(700), at: milliseconds(100 * step)) }
    }
    loss.probed(.megabits(2))
    #expect(loss.target >= .megabits(2))
    #expect(lower < .megabits(2))
  }

  /// The target after 20 s of feedback each 50 ms at `sending`, of which `share` is lost, where delay allows `ceiling`.
  private func target(_ share: Double, sending: Double, ceiling: Double, separates: Bool = true) -> Double {
    var loss = LossEstimator(minimum: .kilobits(30), separatesInherent: separates)
    var owed = 0.0
    let packets = Int(sending * 1e3 * 0.05 / 8 / 1_000)
    for step in 0..<400 {
      owed += Double(packets) * share
      let lost = Int(owed)
      owed -= Double(lost)
      let now = milliseconds(50 * step)
      loss.add(received: packets - lost, lost: lost, size: ByteCount(packets * 1_000), sent: now)
      loss.update(delayBased: .kilobits(ceiling), acknowledged: .kilobits(sending * (1 - share)), at: now)
    }
    return min(loss.target, .kilobits(ceiling)).kilobits
  }

  @Test(arguments: [(0.0, 0.99), (0.01, 0.95), (0.05, 0.85), (0.09, 0.6)])
  func lossAtAnyRateLeavesTheRate(_ share: Double, _ least: Double) {
    #expect(target(share, sending: 2_000, ceiling: 2_000) >= least * 2_000)
  }

  @Test func heavyLossDoesNot() {
    #expect(target(0.3, sending: 2_000, ceiling: 2_000) < 400)
    #expect(target(0.2, sending: 2_000, ceiling: 2_000) < 600)
  }

  @Test func withoutInherentLossFivePerCentAreTooMuch() {
    #expect(target(0.05, sending: 2_000, ceiling: 2_000, separates: false) < 500)
  }

  @Test func nothingLostMeansNoLimit() {
    var loss = LossEstimator(minimum: .zero, separatesInherent: true)
    loss.add(received: 10, lost: 0, size: ByteCount(10_000), sent: milliseconds(0))
    loss.add(received: 10, lost: 0, size: ByteCount(10_000), sent: milliseconds(300))
    loss.update(delayBased: .kilobits(500), acknowledged: nil, at: milliseconds(400))
    #expect(loss.target == .unlimited)
  }
}

@Suite struct ApplicationLimitTests {
  @Test(arguments: [(100, false), (80, false), (55, true), (30, true), (0, true)])
  func aThirdUnusedIsLittle(_ percent: Int, _ limited: Bool) {
    var limit = ApplicationLimit()
    for step in 0..<400 {
      limit.sent(ByteCount(12_500 * percent / 1_000))
      limit.update(target: .megabits(1), at: milliseconds(10 * step))
    }
    #expect(limit.limited == limited)
  }

  @Test func aBusySecondEndsIt() {
    var limit = ApplicationLimit()
    for step in 0..<200 { limit.update(target: .megabits(1), at: milliseconds(10 * step)) }
    #expect(limit.limited)
    for step in 200..<300 {
      limit.sent(ByteCount(1_250))
      limit.update(target: .megabits(1), at: milliseconds(10 * step))
    }
    #expect(!limit.limited)
  }
}

@Suite struct FeedbackWatchTests {
  private func watching(_ packets: Int) -> FeedbackWatch {
    var watch = FeedbackWatch()
    for _ in 0..<packets { watch.sent(at: milliseconds(0), roundTrip: .milliseconds(100)) }
    return watch
  }

  @Test func silenceHalvesAndAgainEachSecond() {
    var watch = watching(20)
    #expect(watch.nextDeadline == milliseconds(550))
    let early = watch.poll(target: .megabits(1), at: milliseconds(549))
    #expect(!early)
    let late = watch.poll(target: .megabits(1), at: milliseconds(550))
    #expect(late)
    #expect(watch.cap == .kilobits(450))
    for _ in 0..<5 { watch.sent(at: milliseconds(1_000), roundTrip: .milliseconds(100)) }
    _ = watch.poll(target: .megabits(1), at: milliseconds(1_550))
    #expect((watch.cap?.kilobits ?? 0) < 203)
  }

  @Test func aFewLostPacketsBeforeAPauseDoNot() {
    var watch = watching(FeedbackWatch.fewest - 1)
    let halved = watch.poll(target: .megabits(1), at: milliseconds(5_000))
    #expect(!halved)
    #expect(watch.cap == nil)
    #expect(watch.nextDeadline == .distantFuture)
  }

  @Test func answersLiftTheCapUnlessTheLineIsOverused() {
    var watch = watching(20)
    _ = watch.poll(target: .megabits(1), at: milliseconds(600))
    watch.answered(roundTrip: .milliseconds(100), target: .megabits(1), healthy: false, at: milliseconds(700))
    #expect(watch.cap == .kilobits(450))
    watch.answered(roundTrip: .milliseconds(100), target: .megabits(1), healthy: true, at: milliseconds(800))
    #expect(watch.cap == .kilobits(900))
    watch.answered(roundTrip: .milliseconds(100), target: .megabits(1), healthy: true, at: milliseconds(900))
    #expect(watch.cap == nil)
  }

  /// One halving is lifted with the first answer; after more, half of what was is allowed until the next.
  @Test(arguments: [(600, nil), (1_600, BitRate.kilobits(500))]) func aLineThatAnswersAgain(
    _ dark: Int, _ cap: BitRate?
  ) {
    var watch = watching(20)
    for at in stride(from: 0, through: dark, by: 50) { _ = watch.poll(target: .megabits(1), at: milliseconds(at)) }
    #expect(watch.isUnanswered)
    #expect((watch.layerCap == nil) == (cap == nil))
    watch.answered(roundTrip: .milliseconds(100), target: .megabits(1), healthy: true, at: milliseconds(dark + 10))
    #expect(watch.cap == cap)
    #expect(!watch.isUnanswered && !watch.isSilent)
    watch.answered(roundTrip: .milliseconds(100), target: .megabits(1), healthy: true, at: milliseconds(dark + 60))
    #expect(watch.cap == nil)
  }

  @Test func reportsThatStayAwayForASecondAreSilence() {
    var watch = watching(20)
    for at in stride(from: 0, through: 1_000, by: 50) { _ = watch.poll(target: .megabits(1), at: milliseconds(at)) }
    #expect(!watch.isSilent)
    #expect(watch.nextDeadline == milliseconds(1_050))
    _ = watch.poll(target: .megabits(1), at: milliseconds(1_050))
    #expect(watch.isSilent)
    watch.returned(target: .megabits(1))
    #expect(!watch.isSilent)
    #expect(watch.cap == .kilobits(500))
  }

  @Test func roundTripsOfSecondsTakeAFifthASecond() {
    var watch = FeedbackWatch()
    for step in 0..<20 {
      watch.answered(roundTrip: .seconds(4), target: .megabits(1), healthy: true, at: milliseconds(100 * step))
    }
    #expect((watch.cap?.kilobits ?? 0).rounded() == 640)
  }
}

@Suite struct ReceiverEstimateTests {
  @Test(arguments: [(0, 1_000.0), (4, 1_000), (13, 500), (51, 350), (128, 50)])
  func lossInReports(_ fraction: UInt8, _ most: Double) {
    var receiver = ReceiverEstimate(start: .kilobits(500), minimum: .kilobits(30))
    for second in 0..<20 {
      receiver.report(
        fractionLost: fraction, roundTrip: .zero, most: .kilobits(1_000), at: milliseconds(1_000 * second))
    }
    #expect(receiver.byLoss <= .kilobits(most))
    #expect(receiver.byLoss >= .kilobits(fraction < 5 ? most : 30))
  }

  @Test func rembHoldsForTenSeconds() {
    var receiver = ReceiverEstimate(start: .kilobits(500), minimum: .kilobits(30))
    #expect(receiver.remb(at: milliseconds(0)) == .unlimited)
    receiver.remb(.kilobits(200), at: milliseconds(0))
    #expect(receiver.remb(at: milliseconds(9_999)) == .kilobits(200))
    #expect(receiver.remb(at: milliseconds(10_000)) == .unlimited)
  }
}
