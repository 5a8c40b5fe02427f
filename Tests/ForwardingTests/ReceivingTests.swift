import Basics
import RTP
import Testing

@testable import Forwarding

@Suite struct PacketCacheTests {
  @Test func keepsWhatFitsAndForgetsTheOldest() {
    var cache = PacketCache(byteCapacity: 4 * 1034, packetCapacity: 16)
    var scratch = [UInt8](repeating: 0, count: 1000)
    for sequence in Int64(65_530)..<65_550 {
      scratch = Array(repeating: UInt8(truncatingIfNeeded: sequence), count: 1000)
      scratch.withUnsafeBytes { cache.insert(stored(sequence, length: 1000), payload: $0) }
    }
    #expect(cache.find(65_530) == nil)
    #expect(cache.find(65_533) == nil)
    var found = 0
    for sequence in Int64(65_540)..<65_550 {
      guard let place = cache.place(of: sequence) else { continue }
      found += 1
      let body = cache.body(at: place, rewrite: unchanged, originalSequence: 0xffff, padding: 32)
      #expect(body.dropFirst(2).prefix(1000).allSatisfy { $0 == UInt8(truncatingIfNeeded: sequence) })
    }
    #expect(found == 4)
    #expect(cache.find(65_549) != nil)
  }

  private let unchanged = Rewrite(sequence: 0, timestamp: 0, payloadType: 0, pictureIDDelta: 0, tl0Delta: 0)

  private func body(
    _ cache: inout PacketCache, _ sequence: Int64, _ rewrite: Rewrite, original: UInt16? = nil, padding: Int = 0
  ) throws -> [UInt8] {
    let found = cache.place(of: sequence)
    let place = try #require(found)
    return Array(cache.body(at: place, rewrite: rewrite, originalSequence: original, padding: padding))
  }

  /// What one receiver gets says nothing of what another one got.
  @Test func eachReceiverGetsHisOwnPictureNumbers() throws {
    var cache = PacketCache(byteCapacity: 4096, packetCapacity: 16)
    let payload: [UInt8] = [0x90, 0xc0, 0x92, 0x34, 9, 1, 2, 3]
    payload.withUnsafeBytes { cache.insert(stored(1, length: 8, picture: 0x1234, tl0: 9), payload: $0) }
    var moved = unchanged
    (moved.pictureIDDelta, moved.tl0Delta) = (0xffff, 250)
    #expect(try body(&cache, 1, moved) == [0x90, 0xc0, 0x92, 0x33, 3, 1, 2, 3])
    #expect(try body(&cache, 1, unchanged) == payload)
    (moved.pictureIDDelta, moved.tl0Delta) = (1, 2)
    #expect(try body(&cache, 1, moved) == [0x90, 0xc0, 0x92, 0x35, 11, 1, 2, 3])
  }

  /// Also where the ring begins again, and whatever is written around the payloads.
  @Test func eachPacketHasItsDependencyDescriptor() throws {
    var cache = PacketCache(byteCapacity: 4096, packetCapacity: 16)
    func descriptor(_ sequence: Int64) -> [UInt8] {
      [UInt8](repeating: UInt8(100 + sequence), count: [0, 3, 255][Int(sequence) % 3])
    }
    for sequence in Int64(0)..<40 {
      let payload = [UInt8](repeating: UInt8(sequence), count: 300)
      var packet = stored(sequence, length: 300)
      packet.setDescriptor(length: UInt8(descriptor(sequence).count), frameNumber: 0x0102)
      payload.withUnsafeBytes { payload in
        descriptor(sequence).withUnsafeBytes { cache.insert(packet, payload: payload, descriptor: $0) }
      }
      for kept in max(0, sequence - 4)...sequence {
        let sent = try body(&cache, kept, unchanged, original: 0xffff, padding: PacketCache.longestPadding)
        #expect(sent.dropFirst(2).prefix(300).allSatisfy { $0 == UInt8(kept) })
        let place = cache.place(of: kept)
        let found = Array(cache.descriptor(at: try #require(place)))
        let number = cache.find(kept)?.frameNumber
        #expect(found == descriptor(kept) && number == (found.isEmpty ? nil : 0x0102))
      }
    }
  }

  @Test func retransmissionsCarryTheOriginalNumberAndPaddingItsLength() throws {
    var cache = PacketCache(byteCapacity: 4096, packetCapacity: 16)
    for sequence in Int64(1)...3 {
      let payload = [UInt8](repeating: UInt8(sequence), count: 3)
      payload.withUnsafeBytes { cache.insert(stored(sequence, length: 3), payload: $0) }
    }
    #expect(try body(&cache, 2, unchanged, original: 0xbeef) == [0xbe, 0xef, 2, 2, 2])
    #expect(try body(&cache, 2, unchanged, padding: 4) == [2, 2, 2, 0, 0, 0, 4])
    #expect(try body(&cache, 2, unchanged, padding: 1) == [2, 2, 2, 1])
    #expect(try body(&cache, 2, unchanged, original: 7, padding: 2) == [0, 7, 2, 2, 2, 0, 2])
    #expect(try body(&cache, 2, unchanged, padding: PacketCache.longestPadding + 1) == [2, 2, 2])
    for sequence in Int64(1)...3 {
      _ = try body(&cache, sequence, unchanged, original: 0xffff, padding: PacketCache.longestPadding)
    }
    for sequence in Int64(1)...3 {
      #expect(try body(&cache, sequence, unchanged) == [UInt8](repeating: UInt8(sequence), count: 3))
    }
  }
}

@Suite struct NackTrackerTests {
  /// Milliseconds at which a packet that was lost is asked for, with a publisher `roundTrip` away; `answers`: the first request
  /// is answered.
  private func requests(
    _ tracker: Held<NackTracker>, lost number: Int64, roundTrip: Int, answers: Bool, from start: Int
  ) -> [Int] {
    _ = tracker.change { $0.received(number - 1, isAnswer: false, at: milliseconds(start)) }
    #expect(tracker.change { $0.received(number + 1, isAnswer: false, at: milliseconds(start)) } == .gap)
    var requests: [Int] = []
    for time in 0..<3_000 {
      if answers && time == roundTrip {
        #expect(tracker.change { $0.received(number, isAnswer: true, at: milliseconds(start + time)) } == .recovered)
      }
      var asked: [UInt16] = []
      tracker.value.due(at: milliseconds(start + time), into: &asked)
      if asked == [UInt16(number)] { requests.append(time) }
    }
    #expect(tracker.value.nextDeadline == .distantFuture)
    return requests
  }

  @Test func asksAtOnceThenEverMorePatientlyThenGivesUp() {
    let tracker = Held(NackTracker())
    #expect(requests(tracker, lost: 11, roundTrip: 0, answers: false, from: 0) == [0, 75, 188, 338, 526, 751])
    #expect(tracker.change({ $0.received(11, isAnswer: true, at: milliseconds(3_100)) }) == .old)
  }

  @Test func asksForAllThatIsMissingAndNotForWhatHasCome() {
    let tracker = Held(NackTracker())
    #expect(tracker.change { $0.received(10, isAnswer: false, at: milliseconds(0)) } == .inOrder)
    #expect(tracker.change { $0.received(13, isAnswer: false, at: milliseconds(10)) } == .gap)
    #expect(tracker.value.nextDeadline == milliseconds(10))
    var asked: [UInt16] = []
    tracker.value.due(at: milliseconds(10), into: &asked)
    #expect(asked == [11, 12])
    #expect(tracker.change { $0.received(11, isAnswer: false, at: milliseconds(20)) } == .recovered)
    #expect(tracker.change { $0.received(11, isAnswer: false, at: milliseconds(21)) } == .old)
    asked = []
    tracker.value.due(at: milliseconds(200), into: &asked)
    #expect(asked == [12])
  }

  /// A publisher 200 ms away cannot answer in 75: he is asked too often until his answers have said so.
  @Test(arguments: [5, 200, 400]) func learnsHowFarThePublisherIs(_ roundTrip: Int) {
    let tracker = Held(NackTracker())
    for round in 1...20 {
      _ = requests(tracker, lost: Int64(round * 3), roundTrip: roundTrip, answers: true, from: round * 4_000)
    }
    #expect(requests(tracker, lost: 63, roundTrip: roundTrip, answers: true, from: 100_000) == [0])
    let unanswered = requests(tracker, lost: 66, roundTrip: roundTrip, answers: false, from: 110_000)
    #expect(unanswered.count >= 2 && unanswered[1] >= max(roundTrip, 20) && unanswered[1] <= max(roundTrip * 3 / 2, 20))
    #expect(unanswered.count <= 8 && (unanswered.last ?? 0) < 1_000)
  }

  @Test func aPacketThatWasOnlyLateSaysNothingOfThePath() {
    let tracker = Held(NackTracker())
    let before = tracker.value.roundTrip
    _ = tracker.change { $0.received(1, isAnswer: false, at: .zero) }
    _ = tracker.change { $0.received(3, isAnswer: false, at: .zero) }
    var asked: [UInt16] = []
    tracker.value.due(at: .zero, into: &asked)
    #expect(tracker.change { $0.received(2, isAnswer: false, at: milliseconds(2)) } == .recovered)
    #expect(tracker.value.roundTrip == before)
    #expect(tracker.value.restarted().roundTrip == before)
  }

  private func asked(_ tracker: Held<NackTracker>, at time: Int) -> [UInt16] {
    var asked: [UInt16] = []
    tracker.value.due(at: milliseconds(time), into: &asked)
    return asked
  }

  /// What came and was dropped on purpose is not asked for, whether the next packet comes behind it or before it; what was lost is. In the
  /// control nothing was dropped.
  @Test(arguments: [true, false]) func whatWasDroppedOnPurposeIsNotAskedFor(isDropped: Bool) {
    let tracker = Held(NackTracker())
    func drop(_ numbers: Int64...) {
      guard isDropped else { return }
      for number in numbers { tracker.change { $0.drop(UInt16(truncatingIfNeeded: number)) } }
    }
    func receive(_ number: Int64) -> NackTracker.Outcome {
      tracker.change { $0.received(number, isAnswer: false, at: .zero) }
    }
    drop(1)
    #expect(receive(65_530) == .inOrder)
    // Over the end of the wire's numbers.
    drop(65_531, 65_532, 65_535, 65_536)
    #expect(receive(65_537) == .gap)
    #expect(asked(tracker, at: 0) == (isDropped ? [65_533, 65_534] : [65_531, 65_532, 65_533, 65_534, 65_535, 0]))
    // Late, and dropped after it has been missed.
    drop(65_533)
    #expect(tracker.value.missingCount == (isDropped ? 1 : 6))
    drop(65_538)
    #expect(receive(65_539) == (isDropped ? .inOrder : .gap))
    tracker.change { $0.forget(before: .max) }
    // One that comes after all is no news, and its place is that of later ones.
    drop(65_540)
    #expect(receive(65_540) == .inOrder)
    #expect(receive(65_540 + 100) == .gap)
    #expect(asked(tracker, at: 1).count == 99)
    // Where 65,540 was remembered now stands 66,564.
    for number in Int64(65_641)...66_563 { #expect(receive(number) == .inOrder) }
    #expect(receive(66_565) == .gap && asked(tracker, at: 2).contains(1_028))
  }

  /// However many are dropped, the rest is asked for up to as many as may be missing; a chasm beyond what is remembered is one.
  @Test func droppedPacketsAreRememberedSoFar() {
    let tracker = Held(NackTracker())
    func receive(_ number: Int64) -> NackTracker.Outcome {
      tracker.change { $0.received(number, isAnswer: false, at: .zero) }
    }
    _ = receive(0)
    for number in 1...1_022 where number % 8 != 0 { tracker.change { $0.drop(UInt16(number)) } }
    #expect(receive(1_023) == .gap && tracker.value.missingCount == 127)
    for number in 1_024...2_045 as ClosedRange<UInt16> { tracker.change { $0.drop(number) } }
    #expect(receive(2_046) == .inOrder && tracker.value.missingCount == 127)
    #expect(receive(2_048) == .gap && tracker.value.missingCount == 128)
    #expect(receive(2_050) == .tooManyMissing && tracker.value.missingCount == 0)
    for number in 2_051...4_000 as ClosedRange<UInt16> { tracker.change { $0.drop(number) } }
    #expect(receive(3_073) == .inOrder, "as far as is remembered")
    #expect(receive(3_075) == .gap, "and no further")
  }

  @Test func aChasmWantsAKeyframe() {
    let tracker = Held(NackTracker())
    _ = tracker.change { $0.received(0, isAnswer: false, at: .zero) }
    #expect(tracker.change { $0.received(500, isAnswer: false, at: .zero) } == .tooManyMissing)
    #expect(tracker.value.missingCount == 0)
    #expect(tracker.change { $0.received(501, isAnswer: false, at: .zero) } == .inOrder)
  }
}

@Suite struct KeyframeThrottleTests {
  @Test func mergesRepeatsAndStops() {
    let throttle = Held(KeyframeThrottle())
    #expect(!throttle.change({ $0.poll(at: milliseconds(0)) }))
    throttle.value.request()
    throttle.value.request()
    #expect(throttle.change({ $0.poll(at: milliseconds(5)) }))
    throttle.value.request()
    #expect(!throttle.change({ $0.poll(at: milliseconds(6)) }))
    #expect(throttle.value.nextDeadline == milliseconds(505))
    #expect(throttle.change({ $0.poll(at: milliseconds(505)) }))
    throttle.value.keyframeArrived()
    #expect(throttle.value.nextDeadline == .distantFuture)
    throttle.value.request()
    #expect(!throttle.change({ $0.poll(at: milliseconds(824)) }))
    var sent = 0
    for time in stride(from: 825, to: 60_000, by: 100) where throttle.change({ $0.poll(at: milliseconds(time)) }) {
      sent += 1
    }
    #expect((2...8).contains(sent))
  }

  @Test func whoeverJoinsNextWaitsForNobodyBefore() {
    let throttle = Held(KeyframeThrottle())
    for join in 0..<KeyframeThrottle.burst {
      let time = join * 400
      throttle.value.request()
      #expect(throttle.change({ $0.poll(at: milliseconds(time)) }), "join \(join)")
      // Two who come while the keyframe is under way get it too.
      throttle.value.request()
      #expect(!throttle.change({ $0.poll(at: milliseconds(time + 20)) }))
      throttle.value.keyframeArrived()
    }
    // Right behind the last: merged with all who come before the publisher would answer again.
    let last = (KeyframeThrottle.burst - 1) * 400
    throttle.value.request()
    #expect(throttle.value.nextDeadline == milliseconds(last + 320))
  }

  /// Somebody asks every 20 ms, and each request is answered at once: the bound that the type's comment states.
  @Test(arguments: [1, 5, 60]) func keyframesOfAPublisherAreBounded(seconds: Int) {
    let throttle = Held(KeyframeThrottle())
    var sent = 0
    for time in stride(from: 0, to: seconds * 1000, by: 20) {
      throttle.value.request()
      if throttle.change({ $0.poll(at: milliseconds(time)) }) {
        sent += 1
        throttle.value.keyframeArrived()
      }
    }
    #expect(sent <= KeyframeThrottle.burst + seconds * 2)
    #expect(sent >= min(KeyframeThrottle.burst + (seconds - 1) * 2, seconds * 1_000 / 320))
  }

  @Test func goesOnPatientlyForWhoKeepsAskingAndQuicklyOnceAnswered() {
    let throttle = Held(KeyframeThrottle())
    func requests(_ times: StrideTo<Int>) -> Int {
      var sent = 0
      for time in times {
        throttle.value.request()
        if throttle.change({ $0.poll(at: milliseconds(time)) }) { sent += 1 }
      }
      return sent
    }
    #expect(requests(stride(from: 0, to: 3500, by: 20)) == 7)
    #expect(requests(stride(from: 3500, to: 13_500, by: 20)) == 5)
    throttle.value.keyframeArrived()
    #expect(requests(stride(from: 13_500, to: 15_500, by: 20)) == 4)
  }
}

@Suite struct ReceptionStatisticsTests {
  @Test func countsLossPerReportAndInAll() throws {
    let statistics = Held(ReceptionStatistics())
    #expect(statistics.change({ $0.report(about: 7, at: .zero) }) == nil)
    for sequence in Int64(0)..<10 where sequence != 4 {
      statistics.value.received(
        sequence, timestamp: UInt32(sequence) * 960, clockRate: 48_000, at: milliseconds(Int(sequence) * 20))
    }
    statistics.value.senderReport(middleNTP: 0xabcd, at: milliseconds(100))
    let first = try #require(statistics.change({ $0.report(about: 7, at: milliseconds(600)) }))
    #expect(first.fractionLost == 25)
    #expect(first.cumulativeLost == 1)
    #expect(first.highestSequence == 9)
    #expect(first.jitter == 0)
    #expect(first.lastReport == 0xabcd)
    #expect(first.delay == 32_768)
    statistics.value.received(10, timestamp: 9600, clockRate: 48_000, at: milliseconds(200))
    let second = try #require(statistics.change({ $0.report(about: 7, at: milliseconds(700)) }))
    #expect(second.fractionLost == 0)
    #expect(second.cumulativeLost == 1)
  }
}

@Suite struct ActiveSpeakersTests {
  @Test func tellsWhoTalksAndOnlyChanges() throws {
    let room = Held(ActiveSpeakers())
    var told: [[UInt64]] = []
    for time in stride(from: 0, to: 3000, by: 20) {
      room.value.heard(1, of: 101, level: time < 1500 ? 20 : 127, at: milliseconds(time))
      room.value.heard(2, of: 102, level: time < 1500 ? 127 : 30, at: milliseconds(time))
      if let speakers = room.value.poll(at: milliseconds(time)) { told.append(speakers.map(\.producer)) }
    }
    #expect(told.first == [1])
    #expect(told.last == [2])
    #expect(told.count <= 4)
    room.value.remove(2)
    #expect(room.change({ $0.poll(at: milliseconds(4000)) }) == [])
  }

  /// Who publishes five tracks, all as loud as can be, is one of three speakers, by the loudest of them.
  @Test func severalTracksOfOneAreOneSpeaker() {
    let room = Held(ActiveSpeakers())
    var told: [[ActiveSpeakers.Speaker]] = []
    func talk(until end: Int, loudest: UInt64 = 5) {
      for time in stride(from: end - 1000, to: end, by: 20) {
        for track in 1...5 as ClosedRange<UInt64> {
          room.value.heard(track, of: 100, level: track == loudest ? 0 : 4, at: milliseconds(time))
        }
        room.value.heard(6, of: 101, level: 30, at: milliseconds(time))
        room.value.heard(7, of: 102, level: 40, at: milliseconds(time))
        room.value.heard(8, of: 103, level: 50, at: milliseconds(time))
        if let speakers = room.value.poll(at: milliseconds(time)) { told.append(speakers) }
      }
    }
    talk(until: 1000)
    #expect(told.last?.map(\.producer) == [5, 6, 7], "and no fourth")
    told = []
    talk(until: 2000, loudest: 2)
    #expect(told == [], "another track of the same publisher is nobody else")
    room.value.remove(5)
    talk(until: 3000, loudest: 2)
    #expect(told.map { $0.map(\.producer) } == [[2, 6, 7]], "one that was told is gone, and another stands for it")
  }
}

@Suite struct DropReasonTests {
  @Test func metricNamesAreWordsWithUnderscores() {
    #expect(DropReason.badSTUN.metricName == "bad_stun")
    #expect(DropReason.awaitingKeyframe.metricName == "awaiting_keyframe")
    #expect(Set(DropReason.allCases.map(\.metricName)).count == DropReason.allCases.count)
    #expect(DropReason.allCases.count <= DropCounters().places)
  }
}
