// Small helpers on ASCII text; Foundation's are not available here.

extension String {
  /// Whether both are the same ASCII text, case aside.
  func equalsIgnoringCase(_ other: String) -> Bool {
    utf8.count == other.utf8.count && zip(utf8, other.utf8).allSatisfy { $0.lowercasedASCII == $1.lowercasedASCII }
  }

  /// Without spaces at either end.
  var trimmed: String {
    guard let first = utf8.firstIndex(where: { $0 != 0x20 }), let last = utf8.lastIndex(where: { $0 != 0x20 })
    else { return "" }
    return String(self[first...last])
  }
}

extension UInt8 {
  /// Upper case ASCII letters made lower case.
  var lowercasedASCII: UInt8 { (0x41...0x5a).contains(self) ? self | 0x20 : self }

  /// Token characters of RFC 8866 §9.
  var isToken: Bool {
    switch self {
    case 0x21, 0x23...0x27, 0x2a, 0x2b, 0x2d, 0x2e, 0x30...0x39, 0x41...0x5a, 0x5e...0x7e: true
    default: false
    }
  }
}
