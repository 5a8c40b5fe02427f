// Base64 (RFC 4648 §4, §5), read strictly.

/// The two alphabets of base64. Neither is written with padding here.
public enum Base64: Sendable {
  /// As session descriptions have it: `+` and `/`.
  case standard
  /// For URLs and names of files, as tokens have it (RFC 7515 §2): `-` and `_`.
  case url

  private static let shared = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)

  private var last: (UInt8, UInt8) {
    switch self {
    case .standard: (UInt8(ascii: "+"), UInt8(ascii: "/"))
    case .url: (UInt8(ascii: "-"), UInt8(ascii: "_"))
    }
  }

  /// The bytes of a text; nil where it has another character, padding, an impossible length, or bits that nothing uses. So no two
  /// texts stand for the same bytes.
  public func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
    guard text.count % 4 != 1 else { return nil }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.count * 3 / 4)
    var (bits, count) = (UInt32(0), 0)
    for character in text {
      guard let value = value(of: character) else { return nil }
      bits = bits << 6 | value
      count += 6
      guard count >= 8 else { continue }
      count -= 8
      bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
      bits &= (1 << UInt32(count)) - 1
    }
    return bits == 0 ? bytes : nil
  }

  /// The text of bytes.
  public func encode(_ bytes: [UInt8]) -> [UInt8] {
    var text: [UInt8] = []
    var (bits, count) = (UInt32(0), 0)
    for byte in bytes {
      bits = bits << 8 | UInt32(byte)
      count += 8
      while count >= 6 {
        count -= 6
        text.append(character(Int(bits >> UInt32(count) & 63)))
      }
      bits &= (1 << UInt32(count)) - 1
    }
    if count > 0 { text.append(character(Int(bits << UInt32(6 - count) & 63))) }
    return text
  }

  private func value(of character: UInt8) -> UInt32? {
    switch character {
    case 0x41...0x5a: UInt32(character) - 0x41
    case 0x61...0x7a: UInt32(character) - 0x61 + 26
    case 0x30...0x39: UInt32(character) - 0x30 + 52
    case last.0: 62
    case last.1: 63
    default: nil
    }
  }

  private func character(_ value: Int) -> UInt8 {
    value < 62 ? Self.shared[value] : value == 62 ? last.0 : last.1
  }
}
