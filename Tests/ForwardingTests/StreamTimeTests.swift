// What a publisher says of its time, and what of that is kept.

import Basics
import Testing

@testable import Forwarding

struct StreamTimeTests {
  /// One packet: what it says, and what that is kept as; nil where it is dropped.
  struct Packet: Sendable {
    let number: Int64
    let said: UInt32
    var at = 0
    var begins = false
    let kept: UInt32?
  }

  struct Row: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let packets: [Packet]
  }

  private static let second: UInt32 = 90_000
  private static let base: UInt32 = 0xffff_f000

  /// A second packet `ahead` ticks before or behind the first, which comes at once or after `seconds`.
  private static func pair(
    _ name: String, ahead: Int64, number: Int64 = 11, after seconds: Int = 0, begins: Bool = false, kept: Int64?
  ) -> Row {
    let said = base &+ UInt32(truncatingIfNeeded: ahead)
    return Row(
      testDescription: name,
      packets: [
        Packet(number: 10, said: base, begins: true, kept: base),
        Packet(
          number: number, said: said, at: seconds * 1_000, begins: begins,
          kept: kept.map { base &+ UInt32(truncatingIfNeeded: $0) }),
      ])
  }

  static let rows = [
    pair("the next picture, over the wrap", ahead: 3_000, kept: 3_000),
    pair("the same picture", ahead: 0, kept: 0),
    pair("a picture that is shown before: a second", ahead: -90_000, kept: -90_000),
    pair("and a tick more", ahead: -90_001, kept: nil),
    pair("a minute ahead", ahead: 60 * 90_000, kept: 60 * 90_000),
    pair("and a tick more", ahead: 60 * 90_000 + 1, kept: nil),
    pair("an hour ahead after an hour", ahead: 3_600 * 90_000, after: 3_600, kept: 3_600 * 90_000),
    pair("where it stood still for an hour", ahead: 1, after: 3_600, kept: 1),
    pair("a late one of a minute before", ahead: -60 * 90_000, number: 9, kept: -60 * 90_000),
    pair("and a tick more", ahead: -60 * 90_000 - 1, number: 9, kept: nil),
    pair("a late one of a picture that is shown later", ahead: 90_000, number: 9, kept: 90_000),
    pair("and a tick more", ahead: 90_001, number: 9, kept: nil),
    pair("a late one begins nothing", ahead: 1 << 30, number: 9, begins: true, kept: nil),
    pair("a keyframe far back goes on", ahead: -(1 << 30), begins: true, kept: 1),
    pair("a keyframe half a circle away goes on", ahead: 1 << 31, after: 2, begins: true, kept: 180_000),
    pair("no further than a minute", ahead: 1 << 31, after: 3_600, begins: true, kept: 60 * 90_000),
  ]

  @Test(arguments: rows) func timeGoesOn(row: Row) { play(row.packets) }

  /// What follows on a new beginning is kept as far from it as the publisher says, and so are its reports.
  @Test func aNewBeginningIsFollowed() {
    var time = play([
      Packet(number: 1, said: 1_000, begins: true, kept: 1_000),
      Packet(number: 2, said: 3_000_000_000, at: 33, kept: nil),
      Packet(number: 3, said: 3_000_003_000, at: 1_000, begins: true, kept: 91_000),
      Packet(number: 4, said: 3_000_006_000, at: 1_033, kept: 94_000),
      Packet(number: 2, said: 3_000_000_000, at: 1_040, kept: 88_000),
      Packet(number: 5, said: 4_000, at: 1_066, kept: nil),
    ])
    #expect(time.kept(3_000_006_000) == 94_000)
    time.restart()
    #expect(time.take(7, of: 100, begins: false, clockRate: Self.second, at: milliseconds(2_000)) == 7)
  }

  /// Ten steps of half a circle each would have brought a receiver far back.
  @Test func tenStepsBackCostNothing() {
    var time = StreamTime()
    var newest = time.take(0, of: 0, begins: true, clockRate: Self.second, at: .zero)
    for step in 1...10 as ClosedRange<Int64> {
      let said = UInt32(truncatingIfNeeded: -195_000_000 * step)
      let kept = time.take(said, of: step, begins: true, clockRate: Self.second, at: milliseconds(Int(step) * 33))
      #expect(kept.flatMap { new in newest.map { new.isNewer(than: $0) } } == true)
      newest = kept
    }
  }

  @discardableResult
  private func play(_ packets: [Packet]) -> StreamTime {
    var time = StreamTime()
    for packet in packets {
      let kept = time.take(
        packet.said, of: packet.number, begins: packet.begins, clockRate: Self.second, at: milliseconds(packet.at))
      #expect(kept == packet.kept, "number \(packet.number)")
    }
    return time
  }
}
