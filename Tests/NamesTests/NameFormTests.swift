// Which names are let in, and that among them Swift and bytes agree. Control: names that are not let in, about which they do not.

import Basics
import RoostProtocol
import Testing

@testable import Names

@Suite struct NameFormTests {
  /// A name and another that Swift calls equal, by other bytes. The last of them begin with a mark or are made up of several letters.
  static let pairs = [
    ("Kim", "\u{212a}im"), ("a;b", "a\u{37e}b"), ("a`b", "a\u{1fef}b"), ("\u{c5}sa", "\u{212b}sa"),
    ("\u{3a9}", "\u{2126}"), ("Ren\u{e9}", "Rene\u{301}"), ("\u{1e69}", "s\u{307}\u{323}"),
    ("\u{ac00}", "\u{1100}\u{1161}"), ("\u{ac01}", "\u{ac00}\u{11a8}"), ("\u{b7}a", "\u{387}a"),
    ("\u{9cb}", "\u{9c7}\u{9be}"), ("\u{1ea1}\u{307}", "a\u{307}\u{323}"), ("\u{8c48}", "\u{f900}"),
  ]

  @Test(arguments: pairs) func oneOfEachPairIsLetIn(name: String, other: String) {
    #expect(name == other && !name.isExactly(other), "what Swift's == says of them")
    #expect(!NameForm.accepts(other))
    #expect(NameForm.composed(other).isExactly(name))
  }

  @Test(arguments: [
    "anna", "a", "", "Ren\u{e9}", "\u{ac01}", "\u{1161}", "\u{6f22}\u{5b57}", "\u{1f468}\u{200d}\u{1f469}",
    "team-\u{301}", "a\u{338}",
    "\u{627}\u{644}", "x\u{d7}", "\u{fb01}", "\u{ff2b}im", "\u{43a}im",
  ]) func whatIsComposedIsLetIn(name: String) {
    #expect(NameForm.accepts(name) && NameForm.composed(name).isExactly(name))
  }

  @Test(arguments: ["\u{301}", "\u{301}anna", "\u{93e}", "\u{20dd}a", "\u{3099}", "\u{e0100}"])
  func marksBeginNoName(name: String) {
    #expect(NameForm.composed(name).isExactly(name), "in form C")
    #expect(!NameForm.accepts(name))
  }

  /// The blocks of Unicode that have letters of several forms, alone and behind some that others join.
  @Test func thoseLetInAreEqualWhereTheirBytesAre() {
    var seen: [String: ExactText] = [:]
    var (doubles, refused) = (0, 0)
    let blocks: [ClosedRange<UInt32>] = [
      0x21...0x33ff, 0xa800...0xac40, 0xf900...0xffff, 0x1_1000...0x1_14ff, 0x1_d150...0x1_d1ff,
    ]
    for scalar in blocks.joined().compactMap(Unicode.Scalar.init) {
      for start in ["", "e", "\u{1100}"] {
        var name = start
        name.unicodeScalars.append(scalar)
        guard NameForm.accepts(name) else {
          refused += 1
          continue
        }
        if let other = seen.updateValue(ExactText(name), forKey: name), other != ExactText(name) { doubles += 1 }
      }
    }
    #expect(doubles == 0 && seen.count > 40_000 && refused > 2_000)
  }

  @Test func keysAreComparedByTheirBytes() {
    #expect("Kim" == "\u{212a}im", "Swift's own")
    #expect(ExactText("Kim") != ExactText("\u{212a}im") && ExactText("Kim") == ExactText("Kim"))
    #expect(Set([ExactText("Kim"), ExactText("\u{212a}im"), ExactText("Kim")]).count == 2)
    // A prefix may end where no letter does, also where both are let in.
    for (name, start) in [("team-\u{301}", "team-"), ("\u{1100}\u{1161}", "\u{1100}"), ("a\u{338}", "a")] {
      #expect(!name.hasPrefix(start) && name.begins(with: start), "\(name)")
    }
    #expect(!"\u{212a}im-team".begins(with: "Kim-") && "\u{212a}im-team".hasPrefix("Kim-"))
  }

  @Test func requestIdsAreTheirClients() {
    #expect(RequestID.string("K") != .string("\u{212a}") && RequestID.string("K") == .string("K"))
    #expect(Set([RequestID.string("K"), .string("\u{212a}"), .number(1), .string("1")]).count == 4)
  }

  @Test func roomsOfTokensAreComparedByTheirBytes() throws {
    let team = try #require(RoomScope("team-*"))
    #expect(team.contains("team-\u{301}a") && !team.contains("team-") && !team.contains("team"))
    for (one, other) in Self.pairs {
      for (claim, room) in [(one, other), (other, one), (one + "-*", other + "-x"), (other + "-*", one + "-x")] {
        #expect(try #require(RoomScope(claim)).contains(room) == false, "\(claim) \(room)")
      }
      #expect(RoomScope(one) != RoomScope(other) && RoomScope(one + "*") != RoomScope(other + "*"))
      #expect(try #require(RoomScope(one)).contains(one))
    }
    #expect(RoomScope("\u{1100}*")?.contains("\u{1100}\u{1161}") == true, "bytes know no syllables")
  }
}
