// The path and query of a request, as they came (RFC 9112 §3.2.1, RFC 3986 §3.3): what may be asked for. Pure.
//
// A proxy may decide by the path who gets through. It reads `/x/../metrics`, or `/x#/../metrics`, in its own way, and libwebsockets in
// another. So what the library reads in a way of its own is refused, and routes are found by what is written.

/// What a request may ask for.
enum RequestTarget {
  /// What is wrong with `target`; nil where nothing is. Browsers resolve `.` and `..` themselves, and send no fragment.
  static func objection(to target: ArraySlice<UInt8>) -> String? {
    guard target.first == UInt8(ascii: "/"), !target.contains(9) else {
      return "a request begins with a method, a path and a version (RFC 9112, section 3)"
    }
    guard !target.contains(UInt8(ascii: "#")) else { return "a path has no fragment" }
    let end = target.firstIndex(of: UInt8(ascii: "?")) ?? target.endIndex
    guard let path = decoded(target[..<end]), let query = decoded(target[end...]) else {
      return "a % in a path or query is followed by two hexadecimal digits"
    }
    // At them the library ends what it reads, or gives up.
    guard !(path + query).contains(where: { $0 == 0 || $0 == 10 || $0 == 13 }) else {
      return "a path or query has no NUL or line end"
    }
    guard !path.split(separator: UInt8(ascii: "/")).contains(where: isDots) else { return "a path has no . or .." }
    return nil
  }

  /// `.` or `..`. The library drops an escaped `?` behind it.
  private static func isDots(_ segment: ArraySlice<UInt8>) -> Bool {
    let name = segment.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
    return name.elementsEqual(".".utf8) || name.elementsEqual("..".utf8)
  }

  /// Nil where an escape is not `%` and two hexadecimal digits (RFC 3986 §2.1).
  static func decoded(_ text: some Collection<UInt8>) -> [UInt8]? {
    var bytes: [UInt8] = []
    var rest = text[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      guard let high = rest.popFirst()?.hexDigit, let low = rest.popFirst()?.hexDigit else { return nil }
      bytes.append(high << 4 | low)
    }
    return bytes
  }
}

extension UInt8 {
  fileprivate var hexDigit: UInt8? {
    switch self {
    case 0x30...0x39: self - 0x30
    case 0x41...0x46: self - 0x37
    case 0x61...0x66: self - 0x57
    default: nil
    }
  }
}
