import Basics
import RTP
import Testing

@testable import Congestion

private func packet(at now: Instant, _ size: UInt16 = 1_000) -> SentPacket {
  SentPacket(sentAt: now, size: size, cluster: 0, kind: .video, fate: .underWay)
}

@Suite struct SendHistoryTests {
  @Test(arguments: [0, 1, 40_000, 65_535] as [UInt16])
  func numbersGoUpByOneFromTheFirst(_ first: UInt16) {
    var history = SendHistory(first: first)
    for index in 0..<1_000 {
      let number = history.append(packet(at: milliseconds(index)))
      #expect(number == Int64(first) + Int64(index))
    }
    #expect(history.next == Int64(first) + 1_000)
    #expect(!history.knows(Int64(first) - 1))
    #expect(!history.knows(history.next))
    #expect(history[history.next - 1].sentAt == milliseconds(999))
  }

  @Test func growsWhilePacketsAreYoungAndUnanswered() {
    var history = SendHistory(first: 0)
    for index in 0..<2_000 { _ = history.append(packet(at: milliseconds(index))) }
    #expect(history.knows(0))
    #expect(history[0].sentAt == milliseconds(0))
  }

  @Test func forgetsWhatIsOldOrAnswered() {
    var history = SendHistory(first: 0)
    for index in 0..<SendHistory.smallest + 1 { _ = history.append(packet(at: milliseconds(100 * index))) }
    #expect(!history.knows(0))
    #expect(history.oldest == 1)
  }

  @Test func neverGrowsBeyondItsLimit() {
    var history = SendHistory(first: 0)
    for _ in 0..<40_000 { _ = history.append(packet(at: milliseconds(0))) }
    #expect(history.next - history.oldest == Int64(SendHistory.largest))
  }
}

/// Feedback as bytes: arrival in ticks by number, from `base` on.
struct FeedbackBytes {
  var bytes: [UInt8] = []

  init(base: UInt16, count: Int, arrivals: [Int: Int64], feedbackCount: UInt8 = 0) {
    let report = RTCPBuilder.TransportFeedbackReport(
      sender: 1, media: 2, baseSequence: base, statusCount: count, feedbackCount: feedbackCount)
    #expect(RTCPBuilder.appendTransportFeedback(to: &bytes, report) { arrivals[$0] } == count)
  }

  func read(_ body: (TransportFeedback, Span<UInt8>) -> Void) {
    var reader = RTCPReader()
    guard case .transportFeedback(let feedback)? = try? reader.next(bytes.span) else {
      Issue.record("not a feedback")
      return
    }
    body(feedback, bytes.span)
  }
}

/// A history of packets sent a millisecond apart, with its matcher.
private struct Matching {
  var history: SendHistory
  var matcher: FeedbackMatcher

  init(first: UInt16, packets: Int, guarded: Bool = true) {
    history = SendHistory(first: first)
    matcher = FeedbackMatcher(guarded: guarded)
    for index in 0..<packets { _ = history.append(packet(at: milliseconds(index))) }
  }

  mutating func match(_ feedback: FeedbackBytes, details: Bool = true, at now: Instant = milliseconds(1_000)) -> Bool {
    var accepted = false
    feedback.read { accepted = matcher.match($0, $1, &history, details: details, at: now) }
    return accepted
  }
}

@Suite struct FeedbackMatcherTests {
  @Test(arguments: [0, 1, 32_767, 40_000, 65_530] as [UInt16])
  func findsWhatWasSentWhateverTheFirstNumber(_ first: UInt16) {
    var matching = Matching(first: first, packets: 20)
    let accepted1 = matching.match(FeedbackBytes(base: first, count: 20, arrivals: [0: 4_000, 1: 4_004, 19: 4_100]))
    #expect(accepted1)
    #expect(matching.matcher.received.map(\.sentAt) == [0, 1, 19].map(milliseconds))
    #expect(matching.matcher.received.map(\.arrivedAt) == [1_000, 1_001, 1_025].map { TimeDelta.milliseconds($0) })
    #expect(matching.matcher.lost == 17)
    #expect(matching.matcher.lostSize == ByteCount(17_000))
    #expect(matching.matcher.roundTrip == .milliseconds(981))
  }

  @Test func withoutItsGuardItLosesLargeNumbers() {
    var matching = Matching(first: 65_530, packets: 20, guarded: false)
    _ = matching.match(FeedbackBytes(base: 0, count: 4, arrivals: [0: 4_000]))
    #expect(matching.matcher.received.isEmpty)
  }

  @Test func aRepetitionSaysNothingNew() {
    var matching = Matching(first: 0, packets: 10)
    let feedback = FeedbackBytes(base: 0, count: 5, arrivals: [0: 400, 1: 404, 4: 420])
    let accepted2 = matching.match(feedback)
    #expect(accepted2)
    let accepted3 = matching.match(feedback)
    #expect(accepted3)
    #expect(matching.matcher.received.isEmpty)
    #expect(matching.matcher.lost == 0)
    #expect(matching.matcher.roundTrip == nil)
  }

  @Test func whatWasCalledLostMayArriveLate() {
    var matching = Matching(first: 0, packets: 10)
    _ = matching.match(FeedbackBytes(base: 0, count: 3, arrivals: [0: 400, 2: 410]))
    #expect(matching.matcher.lost == 1)
    _ = matching.match(FeedbackBytes(base: 1, count: 1, arrivals: [0: 420]))
    #expect(matching.matcher.late == 1)
    #expect(matching.matcher.received.map(\.sentAt) == [milliseconds(1)])
  }

  @Test func deltasMayBeNegative() {
    var matching = Matching(first: 0, packets: 3)
    _ = matching.match(FeedbackBytes(base: 0, count: 3, arrivals: [0: 500, 1: 480, 2: 490]))
    #expect(matching.matcher.received.map { $0.arrivedAt.microseconds } == [125_000, 120_000, 122_500])
  }

  @Test func numbersThatWereNeverSentAreIgnored() {
    var matching = Matching(first: 100, packets: 10)
    _ = matching.match(FeedbackBytes(base: 90, count: 40, arrivals: [0: 400, 12: 404, 30: 410]))
    #expect(matching.matcher.received.map(\.sentAt) == [milliseconds(2)])
    #expect(matching.matcher.lost == 9)
  }

  @Test func minutesOldFeedbackIsPassedOverAndAJumpOfTheClockIsNot() {
    var matching = Matching(first: 0, packets: 500)
    let accepted4 = matching.match(FeedbackBytes(base: 0, count: 1, arrivals: [0: 1_000_000]))
    #expect(accepted4)
    for step in 1...2 {
      let accepted5 = matching.match(FeedbackBytes(base: UInt16(step), count: 1, arrivals: [0: 700_000]))
      #expect(!accepted5)
      #expect(matching.matcher.received.isEmpty)
    }
    // The third in a row: the receiver's clock is what changed.
    let accepted6 = matching.match(FeedbackBytes(base: 3, count: 1, arrivals: [0: 700_100]))
    #expect(accepted6)
    #expect(matching.matcher.received.count == 1)
    #expect(matching.matcher.ignored == 3)
  }

  /// A feedback's time comes in steps of 64 ms: the last one below five minutes is taken, and the next is not.
  @Test func aClockMayRunAheadByFiveMinutesAndNoStepMore() {
    for (step, isTaken) in [(4_687, true), (4_688, false)] as [(Int64, Bool)] {
      var matching = Matching(first: 0, packets: 10)
      let first = matching.match(FeedbackBytes(base: 0, count: 1, arrivals: [0: 0]))
      let second = matching.match(FeedbackBytes(base: 1, count: 1, arrivals: [0: step * 256]))
      #expect(first && second == isTaken && matching.matcher.ignored == (isTaken ? 0 : 1))
    }
    #expect(FeedbackMatcher.longestLead == .milliseconds(4_687 * 64 + 32))
  }

  /// Each of these moves the receiver's clock on by a quarter of what its time stamps hold, which is three days. Taken as they are,
  /// they come to the end of 64 bits.
  @Test func aClockThatLeapsAheadWithEachFeedbackMovesNothingOn() {
    var matching = Matching(first: 0, packets: 100)
    let leap: Int64 = 1 << 30
    var taken: [Int64] = []
    for step in 1...60 {
      let feedback = FeedbackBytes(base: UInt16(step), count: 1, arrivals: [0: Int64(step) * leap])
      guard matching.match(feedback, at: milliseconds(1_000 + step)) else { continue }
      taken += matching.matcher.received.map { $0.arrivedAt.microseconds / 250 }
    }
    #expect(taken.count == 20 && matching.matcher.ignored > 40, "one in three, as of a clock that jumps")
    #expect(taken.allSatisfy { abs($0) <= 1 << 31 })
  }

  /// Ahead by less than may be, after a silence as long as that, or for good: it is taken at once, and in the last case in the end.
  @Test func aClockThatGoesOnIsTaken() {
    var matching = Matching(first: 0, packets: 100)
    let second: Int64 = 4_000
    func takes(_ number: UInt16, _ ticks: Int64, at seconds: Int) -> Bool {
      matching.match(FeedbackBytes(base: number, count: 1, arrivals: [0: ticks]), at: milliseconds(1_000 * seconds))
    }
    let (first, jumped, silent) = (
      takes(0, 100 * second, at: 1), takes(1, 131 * second, at: 2), takes(2, 7_300 * second, at: 7_200)
    )
    #expect(first && jumped && silent && matching.matcher.ignored == 0)
    let ahead = (3...6).map { takes(UInt16($0), (18_000 + Int64($0)) * second, at: 7_200 + $0) }
    #expect(ahead == [false, false, true, true])
    let drifted = takes(7, (18_000 + 3_900) * second, at: 7_200 + 3_605)
    #expect(drifted && matching.matcher.received.map(\.arrivedAt) == [.seconds(21_900)])
  }

  @Test func arrivalTimesGoOnWhereTheReferenceTimeWraps() {
    var matching = Matching(first: 0, packets: 10)
    let end: Int64 = 1 << 31
    _ = matching.match(FeedbackBytes(base: 0, count: 1, arrivals: [0: end - 8]))
    _ = matching.match(FeedbackBytes(base: 1, count: 1, arrivals: [0: end + 8]))
    let second = matching.matcher.received.first?.arrivedAt
    #expect(second?.microseconds == 250 * (end + 8) || second?.microseconds == 250 * (end + 8 - (1 << 32)))
  }

  /// Two matchers read the same: one lists the packets, the other adds them up.
  @Test(arguments: [0, 30_000, 65_000] as [UInt16])
  func theSumIsThatOfTheList(_ first: UInt16) {
    var random = SplitMix64(seed: UInt64(first) + 1)
    var listing = Matching(first: first, packets: 0)
    var adding = Matching(first: first, packets: 0)
    var sent = 0
    for step in 0..<400 {
      for _ in 0..<Int(random.next() % 40) {
        let packet = packet(at: milliseconds(sent * 3), UInt16(100 + random.next() % 1_100))
        _ = listing.history.append(packet)
        _ = adding.history.append(packet)
        sent += 1
      }
      // Reaches back at times, and names packets that were never sent.
      let base = max(0, sent - 45) + Int(random.next() % 20)
      let count = 1 + Int(random.next() % 60)
      var arrivals: [Int: Int64] = [0: Int64(400 + 12 * base)]
      for index in 1..<max(count, 2) where index < count && random.next() % 5 > 0 {
        arrivals[index] = Int64(400 + 12 * (base + index)) + Int64(random.next() % 30)
      }
      let feedback = FeedbackBytes(base: first &+ UInt16(base), count: count, arrivals: arrivals)
      let now = milliseconds(sent * 3 + 100)
      let accepted = listing.match(feedback, at: now)
      let acceptedToo = adding.match(feedback, details: false, at: now)
      #expect(accepted && acceptedToo)
      let (list, sum) = (listing.matcher, adding.matcher)
      #expect(sum.received.isEmpty)
      #expect(list.received.count == sum.sum.packets && list.sum.packets == sum.sum.packets, "step \(step)")
      #expect(list.received.reduce(0) { $0 + $1.size.bytes } == sum.sum.size.bytes)
      #expect(list.lost == sum.lost && list.lostSize == sum.lostSize && list.late == sum.late)
      #expect(list.roundTrip == sum.roundTrip && list.newestSent == sum.newestSent)
      guard let firstListed = list.received.first else { continue }
      #expect(firstListed.size == sum.sum.firstSize)
      #expect(list.received.map(\.arrivedAt).min() == sum.sum.firstArrived)
      #expect(list.received.map(\.arrivedAt).max() == sum.sum.lastArrived)
      let delays = list.received.map { $0.arrivedAt.nanoseconds - $0.sentAt.nanoseconds }
      #expect(delays.min() == sum.sum.leastDelay.nanoseconds)
    }
    #expect(sent > 4_000)
  }
}
