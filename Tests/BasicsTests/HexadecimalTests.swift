// Numbers, names and segments of paths as text.

import Basics
import Testing

@Suite struct HexadecimalTests {
  @Test func aNumberHasAllItsDigits() {
    #expect(
      [0, 0xab, .max].map { ($0 as UInt64).hexadecimal } == [
        "0000000000000000", "00000000000000ab", "ffffffffffffffff",
      ])
    #expect([0, 0xa, 0xff].hexadecimal == "000aff")
  }

  @Test func randomNamesAreAllAsLongAndNoTwoTheSame() {
    let names = (0..<1_000).map { _ in String.randomName() }
    #expect(names.allSatisfy { $0.utf8.count == 32 } && Set(names).count == names.count)
  }

  @Test(arguments: [("aZ09-._~", "aZ09-._~"), ("a b/ä?\n", "a%20b%2F%C3%A4%3F%0A"), ("%2F", "%252F"), ("", "")])
  func allButUnreservedIsEncoded(_ text: String, _ encoded: String) { #expect(text.percentEncoded == encoded) }
}
