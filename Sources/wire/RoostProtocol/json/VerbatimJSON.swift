// Opaque JSON as it was written: `extra` and `push` of calls go on with the bytes that they came with (RFC 8259): numbers of any size,
// the order of keys, blanks. No decoder looks inside.
//
//   bytes ─▶ VerbatimJSON.lift: checks the grammar of such a value, and puts its text into a string in its place
//         ─▶ Foundation's decoder ─▶ JSONValue.init(from:): a string with the mark is JSON as it was written
//
// The mark is made anew by each process, and is in no text that leaves it: nobody can write a string that is taken for one of these.

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A JSON text whose grammar has been checked.
public struct VerbatimJSON: Sendable {
  /// The text, byte for byte.
  public let text: String

  fileprivate init(checked text: String) { self.text = text }

  /// What it says; of what no number or string can hold (`1e400`, half a surrogate pair) the text.
  public var value: JSONValue {
    (try? JSONDecoder().decode(JSONValue.self, from: Data(text.utf8))) ?? .string(text)
  }
}

extension VerbatimJSON {
  /// Fields whose text is kept, wherever they are …
  private static let extra = Array("extra".utf8)
  private static let push = Array("push".utf8)
  /// … but not inside of these, which are opaque as well and decoded whole.
  private static let opaque: Set<[UInt8]> = [
    Array("metadata".utf8), Array("split".utf8), Array("capabilities".utf8),
  ]

  fileprivate static let mark: String = {
    var random = SystemRandomNumberGenerator()
    return "\u{1}\(String(random.next(), radix: 36))\(String(random.next(), radix: 36))\u{1}"
  }()

  /// What is left of a marked string; nil for any other.
  static func unmarked(_ text: String) -> VerbatimJSON? {
    guard text.utf8.starts(with: mark.utf8) else { return nil }
    return VerbatimJSON(checked: String(decoding: text.utf8.dropFirst(mark.utf8.count), as: UTF8.self))
  }

  /// Whether there may be such a field: most frames have none, and cost a look.
  private static func mayHold(_ bytes: [UInt8]) -> Bool {
    for place in bytes.indices.dropLast(5) {
      switch bytes[place] {
      case UInt8(ascii: "\""):
        let rest = bytes[(place + 1)...]
        if rest.starts(with: "push\"".utf8) || rest.starts(with: "extra\"".utf8) { return true }
      // Foundation takes UTF-16 for JSON as well; the grammar refuses it.
      case 0: return true
      // A name may be written with escapes.
      case UInt8(ascii: "\\"): if bytes[place + 1] == UInt8(ascii: "u") { return true }
      default: break
      }
    }
    return false
  }

  /// A decoder's input with such fields as marked strings. `null` goes through as it is, which is as if it were absent.
  /// - Parameter hasPush: whether `push` is one of them. In frames to clients it says whether phones were woken.
  /// - Throws: `DecodingError` where such a field may be in it and all of it is not one value: Foundation takes more than the grammar
  ///   (a comma behind the last element, a byte order mark), and what follows would go through a decoder.
  static func lift(_ bytes: [UInt8], hasPush: Bool = true) throws -> [UInt8] {
    guard mayHold(bytes) else { return bytes }
    var lifted: [UInt8] = []
    var copied = 0
    var text = JSONGrammar(bytes)
    let isWhole = text.findFields { name in
      if opaque.contains(name) { return .skip }
      return name == extra || hasPush && name == push ? .take : .enter
    } found: { range in
      let value = String(decoding: bytes[range], as: UTF8.self)
      guard value != "null", value.utf8.elementsEqual(bytes[range]) else { return }
      var string = JSONWriter()
      string.string(mark + value)
      lifted += bytes[copied..<range.lowerBound]
      lifted += string.bytes
      copied = range.upperBound
    }
    guard isWhole else {
      throw DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "This is no JSON."))
    }
    return copied == 0 ? bytes : lifted + bytes[copied...]
  }
}

extension JSONDecoder {
  /// Decodes a text whose opaque fields are kept as they were written.
  /// - Throws: as `decode` does.
  public func decodeVerbatim<T: Decodable>(_ type: T.Type, from bytes: [UInt8]) throws -> T {
    try decode(type, from: Data(VerbatimJSON.lift(bytes)))
  }
}

/// Goes through a JSON text by its grammar. It ends at the first byte that is against it; how deep values are inside each other has been
/// bounded before (`MessageShape`), and is here as well.
struct JSONGrammar {
  /// What to do with a field.
  enum Step { case enter, skip, take }

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
      guard value(depth: depth + 1, isOpen: isOpen && how == .enter, step, found) else { return false }
      if how == .take { found(start..<place) }
      blanks()
    } while skip(",")
    return skip("}")
  }

  private mutating func array(
    depth: Int, isOpen: Bool, _ step: ([UInt8]) -> Step, _ found: (Range<Int>) -> Void
  ) -> Bool {
    place += 1
    blanks()
    if skip("]") { return true }
    repeat {
      blanks()
      guard value(depth: depth + 1, isOpen: isOpen, step, found) else { return false }
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
