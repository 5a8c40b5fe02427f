// Two subscribers of one publisher, one of them on a bad line: what the other notices of it. Row E18 of the bars for networks.

import Basics
import Forwarding
import FoundationEssentials
import RTP
import Testing

@testable import Media

struct NeighbourTests {
  /// How often Bert says that he cannot decode what he is sent.
  enum Wishes: CaseIterable { case none, tenASecond, unlimited }

  /// What one run showed.
  struct Outcome {
    var isWhole = false
    var staysOnItsLayer = false
    /// Nanoseconds between Cleo's quickest packet and the slowest.
    var spread: Int64 = 0
    /// Bert's steps up to Cleo's layer, and the keyframes of it.
    var (stepsUp, keyframes) = (0, 0)
    /// His own wishes are four at once, and one more each two seconds; for forty seconds he is sent her layer.
    var mostKeyframes = 0

    var isUnnoticed: Bool { isWhole && staysOnItsLayer && spread <= 2_000_000 }
    var held: Bool { isUnnoticed && keyframes <= mostKeyframes }
    var figure: String {
      "\(isWhole ? "all packets in order" : "packets missing"), at most \(spread / 1_000) µs later, "
        + "\(keyframes) keyframes with \(stepsUp) steps up"
    }
  }

  /// Cleo gets what Anna sends, whole, in its order and at once, while Bert's line is thin and loses. She gets one keyframe more for each of
  /// his steps up to her layer; and where he asks for keyframes himself, as many as he may. In the control nothing limits his wishes.
  @Test func aBadLineIsNotNoticedByTheOther() throws {
    let (none, tenASecond, control) = (try run(.none), try run(.tenASecond), try run(.unlimited))
    for found in [none, tenASecond] {
      #expect(found.held, "\(found.figure)")
      #expect(found.stepsUp >= 1, "his line was good again now and then")
    }
    #expect(control.isUnnoticed && control.keyframes > control.mostKeyframes, "\(control.figure)")
    let row = NetworkRow(
      id: "E18",
      bar:
        "one of two subscribers on a bad line: the other gets every packet of its layer in order, none later than 2 ms, one keyframe more "
        + "at most for each step up of the first",
      figure: "\(none.figure); asked ten times a second: \(tenASecond.figure)", held: none.held && tenASecond.held,
      control: .init(figure: control.figure, held: control.held))
    try row.write()
  }

  private func run(_ wishes: Wishes) throws -> Outcome {
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
    return try outcome(room, since: began, keyframes: room.keyframes(layer: 2) - keyframes, wishes)
  }

  private func outcome(_ room: LineRoom, since began: Instant, keyframes: Int, _ wishes: Wishes) throws -> Outcome {
    var found = Outcome()
    let cleo = try room.stream(room.cleo).ordered.filter { $0.arrival > began }
    let stamps = cleo.compactMap(\.stamp)
    #expect(stamps.count == cleo.count && stamps.count > 600 * 3)
    found.staysOnItsLayer = stamps.allSatisfy { $0.layer == 2 }
    found.isWhole = zip(stamps, stamps.dropFirst()).allSatisfy { before, next in
      before.index + 1 == before.count
        ? next.frame == before.frame + 1 && next.index == 0
        : next.frame == before.frame && next.index == before.index + 1
    }
    let delays = cleo.compactMap { packet in packet.stamp.map { packet.arrival.nanoseconds - $0.capture } }
    found.spread = try #require(delays.max()) - #require(delays.min())
    let bert = try room.stream(room.bert).ordered.filter { $0.arrival > began }.compactMap(\.stamp?.layer)
    found.stepsUp = zip(bert, bert.dropFirst()).count { $0 < $1 && $1 == 2 }
    found.keyframes = keyframes
    found.mostKeyframes = found.stepsUp + (wishes == .none ? 0 : 24)
    return found
  }
}

/// A row in `networks.json`.
private struct NetworkRow: Codable {
  struct Control: Codable {
    var figure: String
    var held: Bool
  }
  var id: String
  var bar: String
  var figure: String
  var held: Bool
  var control: Control

  /// Takes its place behind the other rows of the file that `ROOST_NETWORKS` names; does nothing where that is not set.
  func write() throws {
    guard let file = ProcessInfo.processInfo.environment["ROOST_NETWORKS"] else { return }
    let word = held ? "held" : "MISSED"
    print("\(id) | \(bar) | \(figure) | \(word) | control: \(control.figure)")
    var rows = try JSONDecoder().decode([NetworkRow].self, from: Data(contentsOf: URL(filePath: file)))
    rows.removeAll { $0.id == id }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    try encoder.encode(rows + [self]).write(to: URL(filePath: file))
  }
}
