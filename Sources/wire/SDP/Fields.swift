// A cursor over the bytes of one line: takes tokens and numbers off its front without copying.

struct Fields {
  private(set) var rest: ArraySlice<UInt8>

  init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

  var isEmpty: Bool { rest.isEmpty }
  var text: String { String(decoding: rest, as: UTF8.self) }

  /// The next field up to one or more spaces; nil at the end.
  mutating func next() -> ArraySlice<UInt8>? {
    rest = rest.drop { $0 == 0x20 }
    guard !rest.isEmpty else { return nil }
    return next(until: 0x20)
  }

  /// The next field as text.
  mutating func word() -> String? { next().map { String(decoding: $0, as: UTF8.self) } }

  /// The next field as a token (RFC 8866 §9); nil when it is none.
  mutating func token() -> String? {
    next().flatMap { $0.allSatisfy(\.isToken) ? String(decoding: $0, as: UTF8.self) : nil }
  }

  /// The next field as a decimal number that fits.
  mutating func number<Number: FixedWidthInteger>(_ type: Number.Type) -> Number? { next().flatMap { $0.number() } }

  /// Everything up to the separator, which is dropped; the whole rest where there is none. May be empty.
  mutating func next(until separator: UInt8) -> ArraySlice<UInt8> {
    guard let end = rest.firstIndex(of: separator) else {
      defer { rest = [] }
      return rest
    }
    defer { rest = rest[(end + 1)...] }
    return rest[..<end]
  }

  /// The rest split into fields.
  mutating func words() -> [String] {
    var words: [String] = []
    while let word = word() { words.append(word) }
    return words
  }
}

extension ArraySlice<UInt8> {
  /// A decimal number without sign that fits the type.
  func number<Number: FixedWidthInteger>() -> Number? {
    guard !isEmpty else { return nil }
    var value: Number = 0
    for byte in self {
      guard (0x30...0x39).contains(byte) else { return nil }
      let (product, overflow) = value.multipliedReportingOverflow(by: 10)
      let (sum, carry) = product.addingReportingOverflow(Number(byte &- 0x30))
      guard !overflow, !carry else { return nil }
      value = sum
    }
    return value
  }
}
