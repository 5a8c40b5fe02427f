// What is remembered and asked for of a stream: so much, and not one more.

import Basics
import RTP
import Testing

@testable import Forwarding

@Suite struct BoundTests {
  private func due(_ tracker: Held<NackTracker>, at time: Int) -> [UInt16] {
    var numbers: [UInt16] = []
    tracker.value.due(at: milliseconds(time), into: &numbers)
    return numbers
  }

  @Test func aHundredAndTwentyEightPacketsAreAskedForAndNotOneMore() {
    for (last, outcome, count) in [(129, NackTracker.Outcome.gap, 128), (130, .tooManyMissing, 0)] as [(Int64, _, _)] {
      let tracker = Held(NackTracker())
      _ = tracker.change { $0.received(0, isAnswer: false, at: .zero) }
      #expect(tracker.change { $0.received(last, isAnswer: false, at: .zero) } == outcome)
      #expect(tracker.value.missingCount == count && due(tracker, at: 0).count == count)
    }
  }

  /// The longest wait ends it sooner where a publisher is farther away.
  @Test func aPacketIsAskedForEightTimesAndNotOnceMore() {
    let tracker = Held(NackTracker())
    // The publisher answers within a millisecond.
    for number in 0..<40 as Range<Int64> {
      let time = Int(number)
      _ = tracker.change { $0.received(2 * number, isAnswer: false, at: milliseconds(time)) }
      guard number > 0 else { continue }
      #expect(due(tracker, at: time) == [UInt16(2 * number - 1)])
      _ = tracker.change { $0.received(2 * number - 1, isAnswer: true, at: milliseconds(time + 1)) }
    }
    _ = tracker.change { $0.received(80, isAnswer: false, at: milliseconds(100)) }
    let times = (100..<1_100).filter { due(tracker, at: $0) == [79] }
    #expect(times.map { $0 - 100 } == [0, 20, 50, 90, 140, 200, 270, 350])
    #expect(tracker.value.missingCount == 0 && tracker.value.nextDeadline == .distantFuture)
  }

  @Test func creditGrowsToFiveHundredAndTwelveAndNoFurther() {
    for (sent, credit) in [(447, 511), (448, 512), (449, 512), (2_000, 512)] as [(Int64, Int)] {
      let consumer = videoConsumer()
      for number in 0..<sent {
        _ = consumer.decide(stored(11 + number, key: number == 0), layer: 0, alignment: nil)
      }
      #expect((0...1_000).prefix { _ in consumer.spendCredit() }.count == credit, "\(sent)")
    }
  }

  /// A crowd that comes one by one, and whose requests are all answered: twelve, and one more for each half second.
  @Test func keyframesAreAskedForTwelveTimesAndOnceMoreEachHalfSecond() {
    let throttle = Held(KeyframeThrottle())
    func ask(at time: Int) -> Bool {
      throttle.value.request()
      guard throttle.change({ $0.poll(at: milliseconds(time)) }) else { return false }
      throttle.value.keyframeArrived()
      return true
    }
    // The thirty-first in 9.6 seconds is the last that 12 + 9.6 / 0.5 allow; the next has to wait until ten seconds are over.
    for number in 0..<31 { #expect(ask(at: 320 * number), "\(number)") }
    #expect(!ask(at: 9_920) && !ask(at: 9_999))
    #expect(ask(at: 10_000))
    #expect(!ask(at: 10_499) && ask(at: 10_500))
  }

  @Test(arguments: [(512, 320 << 10), (64, 16 << 10)])
  func soManyPacketsAreKeptAndNotOneMore(packets: Int, bytes: Int) {
    var cache = PacketCache(byteCapacity: bytes, packetCapacity: packets)
    let payload = [UInt8](repeating: 1, count: 50)
    for number in 0..<Int64(packets) {
      payload.withUnsafeBytes { cache.insert(stored(number, length: 50), payload: $0) }
    }
    var kept = [cache.find(0) != nil, cache.find(1) != nil]
    #expect(kept == [true, true])
    payload.withUnsafeBytes { cache.insert(stored(Int64(packets), length: 50), payload: $0) }
    kept = [cache.find(0) != nil, cache.find(1) != nil]
    #expect(kept == [false, true])
  }
}
