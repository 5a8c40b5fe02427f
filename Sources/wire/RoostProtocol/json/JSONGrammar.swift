// The grammar of JSON (RFC 8259), as far as it takes to find where the values of fields begin and end.

/// Goes through a JSON text by its grammar. It ends at the first byte that is against it; how deep values are inside each other has been
/// bounded before (`MessageShape`), and is here as well.
struct JSONGrammar {
  /// What to do with a field: look into it, pass it over, take it, or take each item of its list.
  enum Step { case enter, skip, take, takeItems }

  private static let mostDepth = 128
  private let bytes: [UInt8]
  private var place = 0

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// Finds fields by their names, and says where the values are that are to be taken.
  /// - Returns: whether all of it is one value.
  mutating func findFields(_ step: ([UInt8]) -> Step, found: (Range<Int>) -> Void) -> Bool {
    blanks()
    guard value(depth: 0, isOpen: true, step, found) else { return false }
    blanks()
    return place == bytes.count
  }

  private var next: UInt8? { place < bytes.count ? bytes[place] : nil }

  private mutating func skip(_ byte: Unicode.Scalar) -> Bool {
    guard next == UInt8(ascii: byte) else { return false }
    place += 1
    return true
  }

  private mutating func blanks() {
    while let byte = next, byte == 0x20 || byte == 0x09 || byte == 0x0a || byte == 0x0d { place += 1 }
  }

  private mutating func value(
    depth: Int, isOpen: Bool, _ step: ([UInt8]) -> Step, _ found: (Range<Int>) -> Void
  ) -> Bool {
    guard depth <= Self.mostDepth else { return false }
    switch next {
    case UInt8(ascii: "{"): return object(depth: depth, isOpen: isOpen, step, found)
    case UInt8(ascii: "["): return array(depth: depth, isOpen: isOpen, step, found)
    case UInt8(ascii: "\""): return string()
    case UInt8(ascii: "t"): return word("true")
    case UInt8(ascii: "f"): return word("false")
    case UInt8(ascii: "n"): return word("null")
    default: return number()
    }
  }

  private mutating func object(
    depth: Int, isOpen: Bool, _ step: ([UInt8]) -> Step, _ found: (Range<Int>) -> Void
  ) -> Bool {
    place += 1
    blanks()
    if skip("}") { return true }
    repeat {
      blanks()
      guard let name = name() else { return false }
      blanks()
      guard skip(":") else { return false }
      blanks()
      let start = place
      let how = isOpen ? step(name) : .skip
      let isWhole =
        how == .takeItems && next == UInt8(ascii: "[")
        ? array(depth: depth + 1, isOpen: false, step, item: found, found)
        : value(depth: depth + 1, isOpen: isOpen && how == .enter, step, found)
      guard isWhole else { return false }
      if how == .take { found(start..<place) }
      blanks()
    } while skip(",")
    return skip("}")
  }

  private mutating func array(
    depth: Int, isOpen: Bool, _ step: ([UInt8]) -> Step, item: (Range<Int>) -> Void = { _ in },
    _ found: (Range<Int>) -> Void
  ) -> Bool {
    place += 1
    blanks()
    if skip("]") { return true }
    repeat {
      blanks()
      let start = place
      guard value(depth: depth + 1, isOpen: isOpen, step, found) else { return false }
      item(start..<place)
      blanks()
    } while skip(",")
    return skip("]")
  }

  /// A name; where it is written with escapes, as what it says in ASCII. No other is looked for.
  private mutating func name() -> [UInt8]? {
    let start = place
    guard next == UInt8(ascii: "\""), string() else { return nil }
    let written = bytes[start..<place]
    var rest = written.dropFirst().dropLast()
    guard rest.contains(UInt8(ascii: "\\")) else { return Array(rest) }
    var name: [UInt8] = []
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "\\") else {
        name.append(byte)
        continue
      }
      let isCode = rest.popFirst() == UInt8(ascii: "u")
      let code = isCode ? UInt32(String(decoding: rest.prefix(4), as: UTF8.self), radix: 16) : nil
      if isCode { rest = rest.dropFirst(4) }
      name.append(code.flatMap { $0 < 0x80 ? UInt8($0) : nil } ?? 0xff)
    }
    return name
  }

  private mutating func string() -> Bool {
    place += 1
    while let byte = next {
      place += 1
      switch byte {
      case UInt8(ascii: "\""): return true
      case UInt8(ascii: "\\"): if !escape() { return false }
      case 0..<0x20: return false
      default: break
      }
    }
    return false
  }

  private mutating func escape() -> Bool {
    guard let byte = next else { return false }
    place += 1
    guard byte == UInt8(ascii: "u") else { return "\"\\/bfnrt".utf8.contains(byte) }
    for _ in 0..<4 {
      guard let digit = next, Self.isHexadecimal(digit) else { return false }
      place += 1
    }
    return true
  }

  private static func isHexadecimal(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
      UInt8(ascii: "A")...UInt8(ascii: "F"):
      true
    default: false
    }
  }

  private mutating func word(_ word: StaticString) -> Bool {
    let length = word.utf8CodeUnitCount
    guard bytes.count - place >= length, word.withUTF8Buffer({ bytes[place..<place + length].elementsEqual($0) }) else {
      return false
    }
    place += length
    return true
  }

  private mutating func digits() -> Bool {
    let start = place
    while let byte = next, byte >= 0x30, byte <= 0x39 { place += 1 }
    return place > start
  }

  private mutating func number() -> Bool {
    _ = skip("-")
    if !skip("0") { guard digits() else { return false } }
    if skip(".") { guard digits() else { return false } }
    guard skip("e") || skip("E") else { return true }
    if !skip("+") { _ = skip("-") }
    return digits()
  }
}
