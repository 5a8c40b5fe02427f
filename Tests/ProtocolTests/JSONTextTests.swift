// JSON as it is written, against Foundation's encoder.

import Foundation
import Testing

@testable import RoostProtocol

struct JSONTextTests {
  /// What a reader makes of both texts is the same.
  private func expectSame(_ value: some Encodable, _ what: String = "") throws {
    let ours = try JSONDecoder().decode(JSONValue.self, from: Data(try JSONText.bytes(of: value)))
    let theirs = try JSONDecoder().decode(JSONValue.self, from: try JSONEncoder().encode(value))
    #expect(ours == theirs, "\(what)")
  }

  @Test func everyMessageIsWhatFoundationMakesOfIt() throws {
    for request in Samples.requests { if let params = request.params { try expectSame(Wrapped(value: params)) } }
    for (method, reply) in Samples.replies { try expectSame(Payload(reply), method.rawValue) }
    for event in Samples.events { try expectSame(Payload(event), event.name.rawValue) }
    try expectSame(Samples.error)
    try expectSame([Samples.room])
  }

  private struct Wrapped: Encodable {
    var value: any Encodable
    func encode(to encoder: any Encoder) throws { try value.encode(to: encoder) }
  }

  @Test(arguments: 0..<200) func anyValue(seed: UInt64) throws {
    var dice = Dice(state: seed &* 0x9e37_79b9_7f4a_7c15 | 1)
    try expectSame([dice.value(depth: 5)])
  }

  private struct Dice {
    var state: UInt64
    mutating func roll(_ sides: UInt64) -> UInt64 {
      state ^= state << 13
      state ^= state >> 7
      state ^= state << 17
      return state % sides
    }

    mutating func text() -> String {
      let pieces = ["a", "\"", "\\", "\n", "\u{0}", "\u{1f}", "\u{7f}", "\u{2028}", "ü", "👋🏽", "/", "\u{8}", "\t", "\r"]
      return (0..<roll(8)).map { _ in pieces[Int(roll(UInt64(pieces.count)))] }.joined()
    }

    mutating func value(depth: Int) -> JSONValue {
      switch roll(depth > 0 ? 8 : 6) {
      case 0: .null
      case 1: .bool(roll(2) == 0)
      case 2: .integer(Int64(bitPattern: state))
      case 3: .number(Double(roll(1_000_000)) / 64 * (roll(2) == 0 ? 1e-9 : 1e12))
      case 4, 5: .string(text())
      case 6: .array((0..<roll(4)).map { _ in value(depth: depth - 1) })
      default: .object(Dictionary((0..<roll(4)).map { _ in (text(), value(depth: depth - 1)) }) { $1 })
      }
    }
  }

  /// Containers of every kind, as hand-written `encode(to:)` uses them.
  private struct Odd: Encodable {
    enum Key: String, CodingKey { case empty, nested, list, above, nothing, last }
    enum Other: String, CodingKey { case one }
    struct Empty: Encodable { func encode(to encoder: any Encoder) throws {} }

    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: Key.self)
      try container.encode(Empty(), forKey: .empty)
      var nested = container.nestedContainer(keyedBy: Other.self, forKey: .nested)
      try nested.encode(1, forKey: .one)
      var list = container.nestedUnkeyedContainer(forKey: .list)
      try list.encode(1.5 as Float)
      try list.encodeNil()
      var inner = list.nestedUnkeyedContainer()
      try inner.encode(Int8(-3))
      _ = list.nestedContainer(keyedBy: Other.self)
      try list.encode(UInt64.max)
      try Empty().encode(to: container.superEncoder(forKey: .above))
      try container.encodeNil(forKey: .nothing)
      var again = encoder.container(keyedBy: Key.self)
      try again.encode(true, forKey: .last)
    }
  }

  @Test func containersWithinContainers() throws {
    let text = String(decoding: try JSONText.bytes(of: Odd()), as: UTF8.self)
    let expected =
      #"{"empty":{},"nested":{"one":1},"list":[1.5,null,[-3],{},18446744073709551615],"above":{},"nothing":null,"last":true}"#
    #expect(text == expected)
  }

  @Test func whatJSONCannotWrite() {
    for value in [Double.nan, .infinity, -.infinity] {
      #expect(throws: EncodingError.self) { try JSONText.bytes(of: [value]) }
    }
  }

  @Test func controlCharactersAreEscaped() throws {
    let text = String(decoding: try JSONText.bytes(of: ["\u{0}\u{1f}\u{b}\u{8}\u{c}\n\"\\/"]), as: UTF8.self)
    #expect(text == #"["\u0000\u001f\u000b\b\f\n\"\\/"]"#)
  }
}
