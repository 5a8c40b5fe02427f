import Basics
import RTP
import Testing

@testable import Forwarding

@Suite struct ConsumerTests {
  @Test func videoStartsAtAKeyframeAndKeepsGaps() throws {
    let consumer = videoConsumer()
    #expect(consumer.awaitsKeyframe)
    #expect(consumer.decide(stored(10), layer: 0, alignment: nil).reason == .awaitingKeyframe)
    let first = try #require(consumer.decide(stored(11, timestamp: 900, key: true), layer: 0, alignment: nil).rewrite)
    #expect(!consumer.awaitsKeyframe)
    // 12 is lost on the way to the server: the receiver must see the gap and ask for it.
    let third = try #require(consumer.decide(stored(13, timestamp: 3900), layer: 0, alignment: nil).rewrite)
    #expect(third.sequence == first.sequence &+ 2)
    #expect(third.timestamp &- first.timestamp == 3000)
    let late = try #require(consumer.decide(stored(12, timestamp: 3900), layer: 0, alignment: nil).rewrite)
    #expect(late.sequence == first.sequence &+ 1)
    #expect(consumer.decide(stored(10), layer: 0, alignment: nil).reason == .beforeStart)
    #expect(first.payloadType == 96)
  }

  /// Else the loss of the first packets before a wrap would cost a receiver the whole stream (RFC 3711 §3.3.1).
  @Test(arguments: [0, 7, 0x7fff, 0xffff, 0x8000_0000_0000_0000, .max] as [UInt64])
  func numberingBeginsInTheLowerHalf(seed: UInt64) throws {
    let consumer = videoConsumer(seed: seed)
    let first = try #require(consumer.decide(stored(11, key: true), layer: 0, alignment: nil).rewrite)
    #expect(first.sequence <= 0x8000)
    let again = try #require(consumer.nextRetransmission(.vp8))
    #expect(again.sequence <= 0x8000)
  }

  @Test func everyPacketSentEarnsOneRetransmission() {
    let consumer = videoConsumer()
    func spend() -> Int { (0...1_000).prefix { _ in consumer.spendCredit() }.count }
    #expect(spend() == 64)
    for number in 0..<10 as Range<Int64> {
      _ = consumer.decide(stored(11 + number, key: number == 0), layer: 0, alignment: nil)
    }
    #expect(spend() == 10)
  }

  /// A publisher decides when a stream begins anew (here with a codec that the receiver does not take) and when a keyframe's first
  /// packet comes: it must not have what was sent sent again.
  @Test func aLateKeyframeBeginsNothingThatWasSent() throws {
    let consumer = videoConsumer()
    var last: UInt16?
    for number in 100..<150 as Range<Int64> {
      last = consumer.decide(stored(number, key: number == 100), layer: 0, alignment: nil).rewrite?.sequence
    }
    #expect(consumer.decide(stored(150, codec: .av1), layer: 0, alignment: nil).reason == .codecNotAccepted)
    for number in [100, 120, 149] as [Int64] {
      #expect(consumer.decide(stored(number, key: true), layer: 0, alignment: nil).reason == .beforeStart)
    }
    let next = try #require(consumer.decide(stored(151, key: true), layer: 0, alignment: nil).rewrite)
    #expect(next.sequence == (try #require(last)) &+ 1)
    // The same of another layer, and of this one when it comes back.
    consumer.target = 1
    #expect(consumer.decide(stored(70, key: true), layer: 1, alignment: nil).rewrite != nil)
    #expect(consumer.decide(stored(75), layer: 1, alignment: nil).rewrite != nil)
    consumer.target = 0
    #expect(consumer.decide(stored(151, key: true), layer: 0, alignment: nil).reason == .beforeStart)
    #expect(consumer.decide(stored(152, key: true), layer: 0, alignment: nil).rewrite != nil)
    consumer.target = 1
    #expect(consumer.decide(stored(72, key: true), layer: 1, alignment: nil).reason == .beforeStart)
    #expect(consumer.decide(stored(76, key: true), layer: 1, alignment: nil).rewrite != nil)
  }

  /// As many packets as a cache holds may be missing. Beyond half of the numbers a receiver takes what comes for old, and does so of
  /// another's stream that is swapped in.
  @Test func aGapThatNobodyCanFillIsClosed() throws {
    let consumer = videoConsumer()
    let first = try #require(consumer.decide(stored(11, key: true), layer: 0, alignment: nil).rewrite)
    let wide = try #require(consumer.decide(stored(11 + 513), layer: 0, alignment: nil).rewrite)
    #expect(wide.sequence == first.sequence &+ 513 && !consumer.awaitsKeyframe)
    let far: Int64 = 11 + 513 + 514
    #expect(consumer.decide(stored(far), layer: 0, alignment: nil).reason == .awaitingKeyframe)
    #expect(consumer.awaitsKeyframe)
    #expect(consumer.decide(stored(far + 1), layer: 0, alignment: nil).reason == .awaitingKeyframe)
    let again = try #require(consumer.decide(stored(far + 2, key: true), layer: 0, alignment: nil).rewrite)
    #expect(again.sequence == wide.sequence &+ 1)
    let behind = consumer.original(of: wide.sequence)?.sequence
    #expect(behind == Int64(11 + 513), "what was sent before can still be asked for")
  }

  /// A publisher leaves thousands of numbers out before each keyframe, also where layers are left out: its receivers' numbers go on.
  @Test(arguments: [false, true]) func whoLeavesNumbersOutMovesNobodyOn(isThinned: Bool) throws {
    let consumer = videoConsumer()
    if isThinned { consumer.value.limit = LayerLimit(spatial: 0, temporal: 0) }
    var last = try #require(consumer.decide(stored(11, key: true), layer: 0, alignment: nil).rewrite).sequence
    for step in 1...20 as ClosedRange<Int64> {
      let packet = stored(11 + step * 0x3fff, timestamp: UInt32(step) * 3_000, key: true)
      let next = try #require(consumer.decide(packet, layer: 0, alignment: nil).rewrite)
      #expect(next.sequence == last &+ 1)
      last = next.sequence
    }
  }

  /// Sound goes on with the next packet, in its own time, however many are missing.
  @Test(arguments: [1, 128, 512, 513, 20_000] as [Int64]) func soundGoesOnBehindAnyGap(missing: Int64) throws {
    let consumer = audioConsumer()
    let first = try #require(consumer.decide(stored(5, codec: .opus), layer: 0, alignment: nil).rewrite)
    let ticks = UInt32(missing + 1) * 960
    let packet = stored(6 + missing, timestamp: ticks, at: Int(missing + 1) * 20, codec: .opus)
    let second = try #require(consumer.decide(packet, layer: 0, alignment: nil).rewrite)
    #expect(second.sequence &- first.sequence == (missing <= 512 ? UInt16(missing + 1) : 1))
    #expect(second.timestamp &- first.timestamp == ticks)
    let third = consumer.decide(stored(7 + missing, timestamp: ticks + 960, codec: .opus), layer: 0, alignment: nil)
    #expect(third.rewrite?.sequence == second.sequence &+ 1)
  }

  @Test func muteLeavesNoGap() throws {
    let consumer = videoConsumer()
    let before = try #require(consumer.decide(stored(100, timestamp: 0, key: true), layer: 0, alignment: nil).rewrite)
    consumer.interrupt()
    #expect(consumer.decide(stored(500, timestamp: 90_000), layer: 0, alignment: nil).reason == .awaitingKeyframe)
    let after = try #require(
      consumer.decide(stored(501, timestamp: 90_090, at: 1001, key: true), layer: 0, alignment: nil).rewrite)
    #expect(after.sequence == before.sequence &+ 1)
    #expect(after.timestamp &- before.timestamp == 90_090)
  }

  @Test func audioResumesWithoutAKeyframe() throws {
    let consumer = audioConsumer()
    let first = try #require(consumer.decide(stored(5, codec: .opus), layer: 0, alignment: nil).rewrite)
    consumer.interrupt()
    let second = try #require(consumer.decide(stored(90, codec: .opus), layer: 0, alignment: nil).rewrite)
    #expect(second.sequence == first.sequence &+ 1)
    #expect(consumer.decide(stored(91, codec: .vp8), layer: 0, alignment: nil).reason == .codecNotAccepted)
    #expect(!consumer.awaitsKeyframe)
  }

  @Test func switchingLayersWaitsForTheKeyframeAndGoesOn() throws {
    let consumer = videoConsumer()
    let low = try #require(
      consumer.decide(stored(100, timestamp: 1000, at: 0, key: true, picture: 0x7ffe, tl0: 250), layer: 0, alignment: 0)
        .rewrite)
    consumer.target = 1
    #expect(consumer.awaitsKeyframe)
    #expect(consumer.decide(stored(7000, timestamp: 500_000), layer: 1, alignment: 480_000).reason == .awaitingKeyframe)
    #expect(
      consumer.decide(stored(101, timestamp: 4000, at: 33), layer: 0, alignment: 0).rewrite?.sequence == low.sequence
        &+ 1)
    // Captured 3000 ticks after the last low packet on the common clock: 480,000 + 7,000.
    let high = try #require(
      consumer.decide(
        stored(7001, timestamp: 487_000, at: 66, key: true, picture: 5, tl0: 9), layer: 1, alignment: 480_000
      ).rewrite)
    #expect(high.sequence == low.sequence &+ 2)
    #expect(high.timestamp &- low.timestamp == 6000)
    #expect(5 &+ high.pictureIDDelta == 0x7fff)
    #expect(9 &+ high.tl0Delta == 251)
    #expect(consumer.decide(stored(102), layer: 0, alignment: 0).reason == .otherLayer)
    #expect(consumer.decide(stored(7000), layer: 1, alignment: 480_000).reason == .beforeStart)
  }

  private func frame(_ sequence: Int64, _ number: UInt16, key: Bool = false) -> StoredPacket {
    var packet = stored(sequence, timestamp: UInt32(sequence) * 3_000, at: Int(sequence), key: key, codec: .av1)
    packet.setDescriptor(length: 3, frameNumber: number)
    return packet
  }

  /// The frame number of a dependency descriptor has sixteen bits, and goes on whatever else is sent between: 32,768 pictures of VP8 too.
  @Test func frameNumbersOfAV1GoOn() throws {
    var parameters = videoConsumer().value.parameters
    parameters.payloads = [
      PayloadMapping(payloadType: 45, codec: .av1, rtxPayloadType: 46), PayloadMapping(payloadType: 96, codec: .vp8),
    ]
    let consumer = TestConsumer(Consumer(parameters: parameters, seed: 7))
    let first = try #require(consumer.decide(frame(1, 0xffff, key: true), layer: 0, alignment: nil).rewrite)
    #expect(first.pictureIDDelta == 0)
    #expect(consumer.decide(frame(2, 5), layer: 0, alignment: nil).rewrite?.pictureIDDelta == 0)
    // A frame from before the newest takes nothing back.
    #expect(consumer.decide(frame(3, 4), layer: 0, alignment: nil).rewrite?.pictureIDDelta == 0)
    consumer.changeStream(target: 0)
    let between = consumer.decide(stored(50, at: 50, key: true, picture: 0x7fff), layer: 0, alignment: nil)
    #expect(between.rewrite != nil)
    #expect(consumer.decide(stored(51, at: 51, picture: 0), layer: 0, alignment: nil).rewrite != nil)
    consumer.changeStream(target: 0)
    let other = try #require(consumer.decide(frame(90, 700, key: true), layer: 0, alignment: nil).rewrite)
    #expect(700 &+ other.pictureIDDelta == 6)
  }

  @Test func switchingWithoutReportsGoesByArrival() throws {
    let consumer = videoConsumer()
    let low = try #require(
      consumer.decide(stored(1, timestamp: 77, at: 0, key: true), layer: 0, alignment: nil).rewrite)
    consumer.target = 1
    let high = try #require(
      consumer.decide(stored(9, timestamp: 4_000_000, at: 100, key: true), layer: 1, alignment: nil).rewrite)
    #expect(high.timestamp &- low.timestamp == 9000)
  }

  @Test func aLayerThatSendsNothingIsLeftAgain() {
    let consumer = videoConsumer()
    consumer.target = 2
    #expect(consumer.decide(stored(1, key: true), layer: 0, alignment: nil).reason == .otherLayer)
    consumer.target = 0
    #expect(consumer.decide(stored(2, key: true), layer: 0, alignment: nil).rewrite != nil)
  }

  @Test func nacksFindTheirOriginalAcrossSegments() throws {
    let consumer = videoConsumer()
    let a = try #require(consumer.decide(stored(100, key: true), layer: 0, alignment: nil).rewrite)
    let b = try #require(consumer.decide(stored(101), layer: 0, alignment: nil).rewrite)
    consumer.target = 1
    let c = try #require(consumer.decide(stored(9000, at: 10, key: true), layer: 1, alignment: nil).rewrite)
    for (sequence, layer, original) in [(a.sequence, 0, 100), (b.sequence, 0, 101), (c.sequence, 1, 9000)] {
      let found = try #require(consumer.original(of: sequence))
      #expect(found.layer == Int8(layer))
      #expect(found.sequence == Int64(original))
    }
    #expect(consumer.original(of: c.sequence &+ 1) == nil)
    #expect(consumer.original(of: a.sequence &- 1) == nil)
    let again = try #require(consumer.original(of: b.sequence))
    #expect(consumer.rewriteAgain(stored(101), segment: again.segment) == b)
    let rtx = try #require(consumer.nextRetransmission(.vp8))
    #expect(rtx.ssrc == 5678 && rtx.payloadType == 97)
    #expect(consumer.nextRetransmission(.vp8)?.sequence == rtx.sequence &+ 1)
  }

  @Test func anotherSourceContinuesTheNumbering() throws {
    let consumer = videoConsumer()
    let a = try #require(consumer.decide(stored(100, timestamp: 5, key: true), layer: 0, alignment: 3).rewrite)
    consumer.changeStream(target: 0)
    #expect(consumer.decide(stored(4), layer: 0, alignment: 99).reason == .awaitingKeyframe)
    let b = try #require(
      consumer.decide(stored(5, timestamp: 1 << 30, at: 20, key: true), layer: 0, alignment: 99).rewrite)
    #expect(b.sequence == a.sequence &+ 1)
    #expect(b.timestamp &- a.timestamp == 1800)
    #expect(consumer.original(of: a.sequence) == nil)
  }

  @Test func pauseDropsAndResumeNeedsAKeyframe() {
    let consumer = videoConsumer()
    _ = consumer.decide(stored(1, key: true), layer: 0, alignment: nil)
    consumer.setPaused(true)
    #expect(consumer.decide(stored(2), layer: 0, alignment: nil).reason == .paused)
    #expect(!consumer.awaitsKeyframe)
    consumer.setPaused(false)
    #expect(consumer.awaitsKeyframe)
    #expect(consumer.decide(stored(3), layer: 0, alignment: nil).reason == .awaitingKeyframe)
  }

  /// Whatever happens upstream, sequence numbers out have no hole that is not a loss and time stamps never go back.
  @Test(arguments: 0..<50) func oneCleanStreamUnderRandomChanges(seed: UInt64) throws {
    var random = SplitMix64(seed: seed &* 77 &+ 1)
    let consumer = videoConsumer(seed: random.next())
    var next: [Int64] = [100, 65_000, 3]
    var expected: UInt16?
    var lastTimestamp: UInt32?
    for step in 0..<2000 {
      if Int.random(in: 0..<100, using: &random) == 0 { consumer.target = Int8.random(in: 0...2, using: &random) }
      if Int.random(in: 0..<200, using: &random) == 0 { consumer.interrupt() }
      if Int.random(in: 0..<300, using: &random) == 0 { consumer.changeStream(target: consumer.target) }
      for layer in 0..<3 {
        let key = Int.random(in: 0..<20, using: &random) == 0
        let packet = stored(
          next[layer], timestamp: UInt32(truncatingIfNeeded: step * 3000 + layer * 1_000_000_000), at: step * 33,
          key: key)
        next[layer] += 1
        guard let rewrite = consumer.decide(packet, layer: Int8(layer), alignment: nil).rewrite else { continue }
        if let expected { #expect(rewrite.sequence == expected) }
        if let lastTimestamp { #expect(rewrite.timestamp.isNewer(than: lastTimestamp)) }
        expected = rewrite.sequence &+ 1
        lastTimestamp = rewrite.timestamp
      }
    }
    #expect(expected != nil)
  }
}
