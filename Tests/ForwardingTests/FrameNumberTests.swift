// What a publisher says of its frames, and what of that is passed on.

import Basics
import Testing

@testable import Forwarding

struct FrameNumberTests {
  struct Row: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// Numbers of the publisher, those of keyframes marked.
    let said: [(number: UInt16, begins: Bool)]
    let kept: [UInt16?]
  }

  static let rows = [
    Row(
      testDescription: "as they are, over the wrap", said: [(65_534, true), (65_535, false), (0, false)],
      kept: [65_534, 65_535, 0]),
    Row(
      testDescription: "late ones", said: [(10, true), (14, false), (11, false), (15, false)], kept: [10, 14, 11, 15]),
    Row(
      testDescription: "1,024 on and back, and one more",
      said: [(2_000, true), (3_024, false), (2_000, false), (1_999, false), (4_049, false)],
      kept: [2_000, 3_024, 2_000, nil, nil]),
    Row(
      testDescription: "far back, as to make what follows late", said: [(7, true), (35_000, false), (8, false)],
      kept: [7, nil, 8]),
    Row(
      testDescription: "a keyframe begins anew, and what is of before fits no longer",
      said: [(7, true), (40_000, true), (40_001, false), (8, false), (6_000, true)], kept: [7, 8, 9, nil, 10]),
  ]

  @Test(arguments: rows) func numbersGoOn(row: Row) {
    var numbers = FrameNumbers()
    var kept: [UInt16?] = []
    for one in row.said { kept.append(numbers.take(one.number, begins: one.begins)) }
    #expect(kept == row.kept)
  }

  /// Another SSRC of the publisher: its first packet may have been lost, and comes late.
  @Test func anotherStreamGoesOn() {
    var numbers = FrameNumbers()
    _ = numbers.take(7, begins: true)
    numbers.restart()
    let kept = [(50_000, false), (50_001, false), (50_000, true)].map { numbers.take($0.0, begins: $0.1) }
    #expect(kept == [8, 9, 8])
  }

  /// Picture identifiers of VP8 and VP9 have fifteen bits.
  @Test func fifteenBitsWrapAsSixteenDo() {
    var numbers = FrameNumbers(bits: 15)
    let said: [(UInt16, Bool)] = [
      (32_767, true), (0, false), (32_766, false), (1_024, false), (1_025, false), (1, false), (0, false),
      (20_000, false), (4_000, true), (4_001, false), (1_026, false),
    ]
    let kept = said.map { numbers.take($0.0, begins: $0.1) }
    #expect(kept == [32_767, 0, 32_766, 1_024, 1_025, 1, nil, nil, 1_026, 1_027, nil])
  }
}
