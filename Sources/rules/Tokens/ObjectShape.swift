// A look at the JSON object of a header or of claims before it is decoded. Decoders let much pass that is no JSON, and take the first or
// the last of two members with one name; a token whose readers could disagree is refused (RFC 7515 §4, RFC 7519 §4).

/// How a text must look to be decoded.
enum ObjectShape {
  /// Whether the text is an object of valid UTF-8 by the grammar (RFC 8259), not too deep and not too large, in which no two members of
  /// one object have one name. Names of its own members with a backslash are refused: no claim needs one, and `\u0065xp` would be another
  /// way to say `exp`.
  static func isAcceptable(_ text: [UInt8]) -> Bool {
    guard String(validating: text, as: UTF8.self) != nil else { return false }
    var reader = StrictReader(text)
    return reader.isObject()
  }
}

/// Reads JSON by the letter of RFC 8259, and keeps nothing of it: each function says whether what comes next is what it is named after.
private struct StrictReader {
  /// Arrays and objects inside each other. Ours have two; the decoder recurses with them, and so does this.
  private static let depth = 4
  /// Members of the object itself; what is in them is bounded by the length of a token.
  private static let mostMembers = 64

  private let text: [UInt8]
  private var index = 0
  private var members = 0

  init(_ text: [UInt8]) { self.text = text }

  /// The whole text.
  mutating func isObject() -> Bool {
    skipBlanks()
    guard next == UInt8(ascii: "{"), object(level: 1) else { return false }
    skipBlanks()
    return index == text.count
  }

  private var next: UInt8? { index < text.count ? text[index] : nil }

  private mutating func skipBlanks() {
    while let byte = next, byte == 0x20 || byte == 0x09 || byte == 0x0a || byte == 0x0d { index += 1 }
  }

  private mutating func skip(_ byte: UInt8) -> Bool {
    guard next == byte else { return false }
    index += 1
    return true
  }

  // MARK: - Values (§3 to §6)

  private mutating func value(level: Int) -> Bool {
    switch next {
    case UInt8(ascii: "{"): object(level: level)
    case UInt8(ascii: "["): array(level: level)
    case UInt8(ascii: "\""): string() != nil
    case UInt8(ascii: "t"): word("true")
    case UInt8(ascii: "f"): word("false")
    case UInt8(ascii: "n"): word("null")
    default: number()
    }
  }

  private mutating func object(level: Int) -> Bool {
    var names: Set<[UInt8]> = []
    return list(UInt8(ascii: "}"), level) { reader in
      let start = reader.index
      guard let name = reader.string(), names.insert(name).inserted else { return false }
      guard level > 1 || !reader.text[start..<reader.index].contains(UInt8(ascii: "\\")) else { return false }
      if level == 1 { reader.members += 1 }
      guard reader.members <= Self.mostMembers else { return false }
      reader.skipBlanks()
      guard reader.skip(UInt8(ascii: ":")) else { return false }
      reader.skipBlanks()
      return reader.value(level: level + 1)
    }
  }

  private mutating func array(level: Int) -> Bool {
    list(UInt8(ascii: "]"), level) { reader in reader.value(level: level + 1) }
  }

  /// What stands between a bracket and `end`, parted by commas: between two there is one, and nowhere else.
  private mutating func list(_ end: UInt8, _ level: Int, _ element: (inout StrictReader) -> Bool) -> Bool {
    guard level <= Self.depth else { return false }
    index += 1
    skipBlanks()
    if skip(end) { return true }
    repeat {
      skipBlanks()
      guard element(&self) else { return false }
      skipBlanks()
    } while skip(UInt8(ascii: ","))
    return skip(end)
  }

  private mutating func word(_ word: StaticString) -> Bool {
    for offset in 0..<word.utf8CodeUnitCount where !skip(word.utf8Start[offset]) { return false }
    return true
  }

  /// `-0.5e+3`: no zero in front of other digits, and a digit on each side of the point.
  private mutating func number() -> Bool {
    _ = skip(UInt8(ascii: "-"))
    guard skip(UInt8(ascii: "0")) || digits() else { return false }
    if skip(UInt8(ascii: ".")), !digits() { return false }
    if skip(UInt8(ascii: "e")) || skip(UInt8(ascii: "E")) {
      if !skip(UInt8(ascii: "+")) { _ = skip(UInt8(ascii: "-")) }
      return digits()
    }
    return true
  }

  private mutating func digits() -> Bool {
    let start = index
    while let byte = next, (0x30...0x39).contains(byte) { index += 1 }
    return index > start
  }

  // MARK: - Strings (§7)

  /// A string as the bytes that it stands for, so that two spellings of one name are one; nil where it is none. Half of a surrogate pair
  /// stands for nothing.
  private mutating func string() -> [UInt8]? {
    guard skip(UInt8(ascii: "\"")) else { return nil }
    var bytes: [UInt8] = []
    while let byte = next {
      index += 1
      switch byte {
      case UInt8(ascii: "\""): return bytes
      case UInt8(ascii: "\\"):
        guard let scalar = escaped() else { return nil }
        bytes.append(contentsOf: Character(scalar).utf8)
      case 0..<0x20: return nil
      default: bytes.append(byte)
      }
    }
    return nil
  }

  private mutating func escaped() -> Unicode.Scalar? {
    guard let byte = next else { return nil }
    index += 1
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(byte)
    case UInt8(ascii: "b"): return "\u{8}"
    case UInt8(ascii: "f"): return "\u{c}"
    case UInt8(ascii: "n"): return "\n"
    case UInt8(ascii: "r"): return "\r"
    case UInt8(ascii: "t"): return "\t"
    case UInt8(ascii: "u"):
      guard let unit = hexadecimal() else { return nil }
      guard (0xd800...0xdbff).contains(unit) else { return Unicode.Scalar(unit) }
      guard skip(UInt8(ascii: "\\")), skip(UInt8(ascii: "u")), let low = hexadecimal(), (0xdc00...0xdfff).contains(low)
      else { return nil }
      return Unicode.Scalar(0x10000 + (unit - 0xd800) << 10 + (low - 0xdc00))
    default: return nil
    }
  }

  private mutating func hexadecimal() -> UInt32? {
    var value: UInt32 = 0
    for _ in 0..<4 {
      guard let byte = next, let digit = Character(Unicode.Scalar(byte)).hexDigitValue else { return nil }
      value = value << 4 | UInt32(digit)
      index += 1
    }
    return value
  }
}
