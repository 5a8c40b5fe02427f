extension Sequence<UInt8> {
  /// Two digits a byte, in small letters.
  public var hexadecimal: String {
    map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }
}

extension UInt64 {
  /// All sixteen digits, in small letters.
  public var hexadecimal: String {
    let digits = String(self, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }
}

extension String {
  /// A name that nothing else has: 32 hexadecimal digits, of the system's random numbers.
  public static func randomName() -> String {
    var random = SystemRandomNumberGenerator()
    return (random.next() as UInt64).hexadecimal + (random.next() as UInt64).hexadecimal
  }

  /// As one segment of a path, or a value of a query: all but unreserved characters are percent-encoded (RFC 3986 §2.3).
  public var percentEncoded: String {
    utf8.map { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
        UInt8(ascii: "~"):
        String(UnicodeScalar(byte))
      default: (byte < 16 ? "%0" : "%") + String(byte, radix: 16, uppercase: true)
      }
    }.joined()
  }
}
