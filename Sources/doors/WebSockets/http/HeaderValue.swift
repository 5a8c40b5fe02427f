// The value of a header as text. Pure.
//
// Everything here goes by bytes, once over them. Swift's Characters do not: going backwards over one flag after another, or comparing and
// hashing a letter with thousands of accents, takes time with the square of their number.

/// What the bytes of a header's value say.
enum HeaderValue {
  /// Bytes beyond ASCII that are read as UTF-8. Raising it makes a value dearer that is compared with others: with the square of it.
  static let foreignBytes = 256

  /// The text without blanks at both ends. Values are ASCII as a rule (RFC 9110 §5.5). With more of other bytes than `foreignBytes`
  /// each byte stands for itself, as in ISO 8859-1, so that no character has many parts.
  static func text(of line: [UInt8]) -> String {
    guard let first = line.firstIndex(where: { !$0.isBlank }), let last = line.lastIndex(where: { !$0.isBlank }) else {
      return ""
    }
    let value = line[first...last]
    if value.count(where: { $0 >= 0x80 }) <= foreignBytes { return String(decoding: value, as: UTF8.self) }
    var text = String.UnicodeScalarView()
    for byte in value { text.append(Unicode.Scalar(byte)) }
    return String(text)
  }
}

extension UInt8 {
  /// A space or a tab.
  fileprivate var isBlank: Bool { self == 0x20 || self == 9 }
}
