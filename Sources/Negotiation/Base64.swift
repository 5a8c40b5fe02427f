// Base64 as descriptions have it (RFC 4648 §4), with or without its padding.

enum Base64 {
  /// The bytes of a text; nil where a character is none of the alphabet.
  static func decode(_ text: Substring.UTF8View) -> [UInt8]? {
    var bytes: [UInt8] = []
    var (bits, count) = (UInt32(0), 0)
    var isPadding = false
    for character in text {
      if character == UInt8(ascii: "=") {
        isPadding = true
        continue
      }
      guard !isPadding, let value = value(character) else { return nil }
      bits = bits << 6 | UInt32(value)
      count += 6
      if count >= 8 {
        count -= 8
        bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
      }
    }
    return bytes
  }

  private static func value(_ character: UInt8) -> UInt8? {
    switch character {
    case 0x41...0x5a: character - 0x41
    case 0x61...0x7a: character - 0x61 + 26
    case 0x30...0x39: character - 0x30 + 52
    case UInt8(ascii: "+"): 62
    case UInt8(ascii: "/"): 63
    default: nil
    }
  }
}
