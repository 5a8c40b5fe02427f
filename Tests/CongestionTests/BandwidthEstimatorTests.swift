import Basics
import CAllocationCounter
import RTP
import Testing

@testable import Congestion

/// An estimator and a receiver 50 ms away, with nothing in between.
private struct Pair {
  var estimator: BandwidthEstimator
  var builder = TransportFeedbackBuilder()
  var now = milliseconds(1_000)
  var bytes: [UInt8] = []
  /// From departure to arrival.
  var delay = TimeDelta.milliseconds(50)
  /// Allocations while the estimator worked; the receiver's are not counted.
  var allocations: UInt = 0

  init(_ configuration: BandwidthEstimator.Configuration = .init()) {
    estimator = BandwidthEstimator(configuration)
    bytes.reserveCapacity(4_096)
  }

  /// Five milliseconds in which `packets` of 1,000 bytes leave, each of which arrives `delay` later.
  mutating func step(packets: Int, answers: Bool = true) {
    now += .milliseconds(5)
    var before = roost_thread_allocations()
    estimator.poll(at: now)
    // Begins a probe that waits.
    _ = estimator.budget(at: now, waiting: .zero)
    for _ in 0..<packets {
      let number = estimator.sent(ByteCount(1_000), .video, at: now)
      allocations += roost_thread_allocations() - before
      if answers { builder.record(number, at: now + delay) }
      before = roost_thread_allocations()
    }
    allocations += roost_thread_allocations() - before
    bytes.removeAll(keepingCapacity: true)
    guard answers, builder.poll(at: now + delay, sender: 1, media: 2, into: &bytes) > 0 else { return }
    var reader = RTCPReader()
    // Moved out and back: a copy would count as an allocation of the estimator.
    var written: [UInt8] = []
    swap(&written, &bytes)
    defer { swap(&written, &bytes) }
    while let packet = try? reader.next(written.span) {
      if case .transportFeedback(let feedback) = packet {
        before = roost_thread_allocations()
        estimator.feedback(feedback, written.span, at: now + delay + .milliseconds(50))
        allocations += roost_thread_allocations() - before
      }
    }
  }
}

@Suite struct BandwidthEstimatorTests {
  @Test func nothingIsAllocatedOnceItRuns() {
    var configuration = BandwidthEstimator.Configuration()
    configuration.wish = .megabits(10)
    var pair = Pair(configuration)
    for _ in 0..<2_000 { pair.step(packets: 2) }
    pair.allocations = 0
    for _ in 0..<2_000 { pair.step(packets: 2) }
    #expect(roost_counts_allocations() == 0 || pair.allocations == 0)
    #expect((pair.estimator.acknowledgedRate?.kilobits ?? 0) > 3_000)
  }

  @Test func theFirstPollBeginsToProbe() {
    var estimator = BandwidthEstimator()
    #expect(estimator.target == .kilobits(300))
    #expect(!estimator.isProbing)
    estimator.poll(at: milliseconds(1_000))
    #expect(estimator.isProbing)
    let value8 = estimator.padding(at: milliseconds(1_000))
    #expect(value8 > .zero)
  }

  @Test func withoutRTXNothingIsProbed() {
    var configuration = BandwidthEstimator.Configuration()
    configuration.canProbe = false
    var estimator = BandwidthEstimator(configuration)
    estimator.poll(at: milliseconds(1_000))
    #expect(!estimator.isProbing)
    let value9 = estimator.padding(at: milliseconds(1_000))
    #expect(value9 == .zero)
  }

  @Test(arguments: [0, 32_768, 65_530] as [UInt16])
  func packetsAreNumberedFromTheFirst(_ first: UInt16) {
    var configuration = BandwidthEstimator.Configuration()
    configuration.firstNumber = first
    var estimator = BandwidthEstimator(configuration)
    for index in 0..<20 {
      let number = estimator.sent(ByteCount(100), .audio, at: milliseconds(index))
      #expect(number == first &+ UInt16(index))
    }
  }

  @Test func theTargetIsTheLeastOfDelayAndREMB() {
    var pair = Pair()
    for _ in 0..<200 { pair.step(packets: 1) }
    let free = pair.estimator.target
    #expect(free > .kilobits(500))
    pair.estimator.remb(.kilobits(400), at: pair.now)
    #expect(pair.estimator.target == .kilobits(400))
    pair.estimator.remb(.megabits(50), at: pair.now)
    #expect(pair.estimator.target == free)
  }

  @Test func receiverReportsCountOnlyWithoutTransportFeedback() {
    var configuration = BandwidthEstimator.Configuration()
    for (transportWide, changes) in [(true, false), (false, true)] {
      configuration.hasTransportFeedback = transportWide
      var estimator = BandwidthEstimator(configuration)
      for second in 0..<10 { estimator.report(fractionLost: 128, at: milliseconds(1_000 * second)) }
      #expect((estimator.target < .kilobits(200)) == changes)
    }
  }

  @Test func silenceHalvesTheTargetAndNothingSentDoesNot() {
    var pair = Pair()
    for _ in 0..<400 { pair.step(packets: 1) }
    let before = pair.estimator.target
    for _ in 0..<1_000 { pair.step(packets: 0) }
    #expect(pair.estimator.target >= before)
    for _ in 0..<200 { pair.step(packets: 1, answers: false) }
    #expect(pair.estimator.target <= before * 0.5)
  }

  /// What was lost while nothing passed is no sign of a line that carries less.
  @Test(arguments: [false, true]) func anOutageIsForgiven(_ isToldOtherwise: Bool) {
    var pair = Pair()
    for _ in 0..<1_000 { pair.step(packets: 1) }
    let before = pair.estimator.target
    for _ in 0..<400 { pair.step(packets: 1, answers: false) }
    #expect(pair.estimator.isSilent)
    if isToldOtherwise { pair.estimator.returned(at: pair.now) }
    for _ in 0..<60 { pair.step(packets: 1) }
    #expect(pair.estimator.target >= before * 0.9)
    #expect(!pair.estimator.isSilent)
  }

  @Test func wellAboveWhatIsSentTheBudgetIsUnlimited() {
    var configuration = BandwidthEstimator.Configuration()
    configuration.start = .megabits(20)
    configuration.canProbe = false
    var pair = Pair(configuration)
    for _ in 0..<400 { pair.step(packets: 1) }
    let value10 = pair.estimator.budget(at: pair.now, waiting: ByteCount(1_000))
    #expect(value10 == .unlimited)
  }

  /// Answered for two seconds; then the target is `factor` times what is wished, while 1.6 Mbit/s are sent.
  @Test(arguments: [(20.0, 2.5, true), (3.8, 2.5, true), (3.7, 2.5, false), (2.3, 0.5, false), (2.5, 0.5, true)])
  func itIsRelaxedAtOneAndAHalfTimesWhatIsSentAndWished(_ target: Double, _ wish: Double, _ relaxed: Bool) {
    var configuration = BandwidthEstimator.Configuration()
    configuration.start = .megabits(target)
    configuration.wish = .megabits(wish)
    configuration.maximum = .megabits(target)
    configuration.canProbe = false
    var pair = Pair(configuration)
    for _ in 0..<400 { pair.step(packets: 1) }
    #expect(pair.estimator.target == .megabits(target))
    #expect(pair.estimator.isRelaxed == relaxed)
  }

  @Test func aLargerWishAndOverusePutAnEndToIt() {
    var configuration = BandwidthEstimator.Configuration()
    configuration.start = .megabits(20)
    configuration.canProbe = false
    for ends in [0, 1] {
      var pair = Pair(configuration)
      for _ in 0..<400 { pair.step(packets: 1) }
      #expect(pair.estimator.isRelaxed)
      if ends == 0 { pair.estimator.setWish(.megabits(14), at: pair.now) }
      for _ in 0..<60 where ends == 1 && pair.estimator.isRelaxed {
        pair.delay = pair.delay + .milliseconds(4)
        pair.step(packets: 1)
      }
      #expect(!pair.estimator.isRelaxed)
    }
  }

  @Test func theNextNumberIsTakenOnlyByWhatIsSent() {
    var configuration = BandwidthEstimator.Configuration()
    configuration.firstNumber = 65_535
    var estimator = BandwidthEstimator(configuration)
    for number in [65_535, 0, 1] as [UInt16] {
      #expect(estimator.nextNumber == number)
      #expect(estimator.nextNumber == number)
      let taken = estimator.sent(ByteCount(100), .audio, at: milliseconds(1))
      #expect(taken == number)
    }
  }

  @Test func aProbeWithoutPaddingEndsThoughNobodyAsks() {
    var estimator = BandwidthEstimator()
    estimator.poll(at: milliseconds(1_000))
    _ = estimator.budget(at: milliseconds(1_000), waiting: .zero)
    var now = milliseconds(1_000)
    while estimator.isProbing, now < milliseconds(20_000) {
      now = max(estimator.nextDeadline, now + .milliseconds(1))
      estimator.poll(at: now)
      // Takes the next one that waits.
      _ = estimator.budget(at: now, waiting: .zero)
    }
    #expect(!estimator.isProbing)
    #expect(now < milliseconds(4_000))
  }

  @Test func hostileFeedbackNeitherTrapsNorMoves() {
    var random = SplitMix64(seed: 24)
    var pair = Pair()
    for _ in 0..<400 { pair.step(packets: 1) }
    for _ in 0..<2_000 {
      let base = UInt16(truncatingIfNeeded: random.next())
      let start = Int64(random.next() % (1 << 31))
      let feedback = FeedbackBytes(
        base: base, count: 40, arrivals: [0: start, 7: start + Int64(random.next() % 30_000), 39: start + 30_000])
      let now = pair.now
      feedback.read { pair.estimator.feedback($0, $1, at: now) }
      #expect(pair.estimator.target >= .kilobits(30))
      #expect(pair.estimator.target <= .megabits(100))
    }
    for _ in 0..<2_000 { pair.step(packets: 1) }
    #expect(pair.estimator.target > .kilobits(800))
  }
}
