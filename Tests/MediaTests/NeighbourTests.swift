// Two subscribers of one publisher, one of them on a bad line: what the other notices of it. Row E18 of the bars for networks.

import Basics
import Forwarding
import RTP
import Testing

@testable import Media

struct NeighbourTests {
  /// How often Bert says that he cannot decode what he is sent.
  enum Wishes: CaseIterable { case none, tenASecond, unlimited }

  /// Cleo gets what Anna sends, whole, in its order and at once, while Bert's line is thin and loses. She gets one keyframe more for each of
  /// his steps up to her layer; and where he asks for keyframes himself, as many as he may. In the control nothing limits his wishes.
  @Test(arguments: Wishes.allCases) func aBadLineIsNotNoticedByTheOther(_ wishes: Wishes) throws {
    let room = try LineRoom(bert: 3_000_000, likeABrowser: true)
    room.call.run(.seconds(8))
    #expect(
      room.layers(try room.stream(room.bert), last: .seconds(1)) == [2], "he begins on the layer that Cleo is sent")
    if wishes == .unlimited {
      room.call.afterTurn = { call in
        call.worker.forwarder.consumers.forEach { _, slot in
          slot.keyframeWishes = TokenBucket(perSecond: 100, burst: 100, now: call.now)
        }
      }
    }
    room.bert.downlink.loss = 0.05
    let (began, keyframes) = (room.call.now, room.keyframes(layer: 2))
    var rates = [3_000_000, 600_000, 3_000_000, 3_000_000, 400_000, 3_000_000].makeIterator()
    for step in 0..<600 {
      if step % 100 == 0, let rate = rates.next() { room.bert.downlink.rate = Int64(rate) }
      if wishes != .none { room.bert.requestKeyframe(try room.stream(room.bert).consumer) }
      room.call.run(.milliseconds(100))
    }

    let cleo = try room.stream(room.cleo).ordered.filter { $0.arrival > began }
    let stamps = cleo.compactMap(\.stamp)
    #expect(stamps.count == cleo.count && stamps.count > 600 * 3)
    #expect(stamps.allSatisfy { $0.layer == 2 }, "her layer never changes")
    let isWhole = zip(stamps, stamps.dropFirst()).allSatisfy { before, next in
      before.index + 1 == before.count
        ? next.frame == before.frame + 1 && next.index == 0
        : next.frame == before.frame && next.index == before.index + 1
    }
    #expect(isWhole, "every packet that Anna sends of it, in Anna's order")
    let delays = cleo.compactMap { packet in packet.stamp.map { packet.arrival.nanoseconds - $0.capture } }
    let (least, most) = (try #require(delays.min()), try #require(delays.max()))
    #expect(most - least <= 2_000_000, "nanoseconds between the quickest packet and the slowest")

    let bert = try room.stream(room.bert).ordered.filter { $0.arrival > began }.compactMap(\.stamp?.layer)
    let stepsUp = zip(bert, bert.dropFirst()).count { $0 < $1 && $1 == 2 }
    let asked = room.keyframes(layer: 2) - keyframes
    #expect(stepsUp >= 1, "his line was good again now and then")
    // His own wishes are four at once, and one more each two seconds; for forty seconds he is sent her layer.
    switch wishes {
    case .none: #expect(asked <= stepsUp, "\(asked) with \(stepsUp) steps up")
    case .tenASecond: #expect(asked <= stepsUp + 24, "\(asked) with \(stepsUp) steps up")
    case .unlimited: #expect(asked > stepsUp + 24, "\(asked) with \(stepsUp) steps up")
    }
  }
}
