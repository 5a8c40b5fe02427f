// Opaque JSON as it came: `extra` and `push` of calls, `metadata` of people and `data` of messages go on with their bytes (RFC 8259):
// numbers of any size, the order of keys, keys that stand twice, blanks. The server never looks inside.
//
//   bytes ─▶ RawJSON.lift: checks the grammar of such a value, and puts its text into a string in its place
//         ─▶ Foundation's decoder ─▶ RawJSON.init(from:): a string with the mark is JSON as it came
//         ─▶ JSONWriter: the text again
//
// The mark is made anew by each process, and is in no text that leaves it: nobody can write a string that is taken for one of these.

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The text of one JSON value. Two are equal where their bytes are.
public struct RawJSON: Sendable {
  /// The text, byte for byte.
  public let text: String

  private init(checked text: String) { self.text = text }

  /// A text of one's own; blanks around the value are left out.
  /// - Returns: nil where it is not one JSON value.
  public init?(text: String) {
    var grammar = JSONGrammar(Array(text.utf8))
    guard grammar.findFields({ _ in .skip }, found: { _ in }) else { return nil }
    let isBlank = { (scalar: Unicode.Scalar) in [" ", "\t", "\n", "\r"].contains(scalar) }
    let scalars = text.unicodeScalars
    guard let first = scalars.firstIndex(where: { !isBlank($0) }), let last = scalars.lastIndex(where: { !isBlank($0) })
    else { return nil }
    self.init(checked: String(scalars[first...last]))
  }

  /// The text of a value. A number that JSON has no text for makes `null` of all of it.
  public init(_ value: JSONValue) {
    self.init(checked: (try? JSONText.bytes(of: value)).map { String(decoding: $0, as: UTF8.self) } ?? "null")
  }

  /// `{}`.
  public static let emptyObject = RawJSON(checked: "{}")

  /// What it says; of what no number or string can hold (`1e400`, half a surrogate pair) the text.
  public var value: JSONValue { decoded ?? .string(text) }

  private var decoded: JSONValue? { try? JSONDecoder().decode(JSONValue.self, from: Data(text.utf8)) }

  /// Whether every reader can read it: not where a number is out of range (`1e400`), or half of a surrogate pair stands alone.
  public var isReadable: Bool { decoded != nil }

  /// Bytes of the text.
  public var encodedSize: Int { text.utf8.count }
}

extension RawJSON: Hashable {
  /// Whether both are the same bytes.
  public static func == (a: RawJSON, b: RawJSON) -> Bool { a.text.utf8.elementsEqual(b.text.utf8) }

  /// Over the same, in one go: one of 8 KiB is hashed before anything is taken from a budget.
  public func hash(into hasher: inout Hasher) {
    var text = text
    text.withUTF8 {
      hasher.combine($0.count)
      hasher.combine(bytes: UnsafeRawBufferPointer($0))
    }
  }
}

extension RawJSON: Codable {
  /// What `decodeVerbatim` keeps as it came; of any other decoder's what it says, written anew.
  public init(from decoder: any Decoder) throws {
    if let marked = try? decoder.singleValueContainer().decode(String.self), let kept = Self.unmarked(marked) {
      self = kept
    } else {
      self.init(try JSONValue(from: decoder))
    }
  }

  /// The text as it is; to an encoder that writes no text, what it says.
  public func encode(to encoder: any Encoder) throws {
    if try !JSONText.write(self, to: encoder) { try value.encode(to: encoder) }
  }
}

extension RawJSON: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
  ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral, ExpressibleByNilLiteral, ExpressibleByFloatLiteral
{
  /// `null`.
  public init(nilLiteral: ()) { self.init(JSONValue.null) }
  /// A string.
  public init(stringLiteral value: String) { self.init(JSONValue.string(value)) }
  /// A whole number.
  public init(integerLiteral value: Int64) { self.init(JSONValue.integer(value)) }
  /// A number.
  public init(floatLiteral value: Double) { self.init(JSONValue.number(value)) }
  /// `true` or `false`.
  public init(booleanLiteral value: Bool) { self.init(JSONValue.bool(value)) }
  /// An array.
  public init(arrayLiteral elements: RawJSON...) {
    self.init(checked: "[" + elements.map(\.text).joined(separator: ",") + "]")
  }
  /// An object, with its keys in this order.
  public init(dictionaryLiteral elements: (String, RawJSON)...) {
    let fields = elements.map { RawJSON(JSONValue.string($0)).text + ":" + $1.text }
    self.init(checked: "{" + fields.joined(separator: ",") + "}")
  }
}

extension RawJSON {
  /// Fields whose text is kept, wherever they are …
  private static let kept: Set<[UInt8]> = [Array("extra".utf8), Array("metadata".utf8)]
  private static let push = Array("push".utf8)
  private static let data = Array("data".utf8)
  /// … but not inside of these, which are opaque as well and decoded whole.
  private static let opaque: Set<[UInt8]> = [Array("split".utf8), Array("capabilities".utf8)]

  fileprivate static let mark: String = {
    var random = SystemRandomNumberGenerator()
    return "\u{1}\(String(random.next(), radix: 36))\(String(random.next(), radix: 36))\u{1}"
  }()

  /// What is left of a marked string; nil for any other.
  static func unmarked(_ text: String) -> RawJSON? {
    guard text.utf8.starts(with: mark.utf8) else { return nil }
    return RawJSON(checked: String(decoding: text.utf8.dropFirst(mark.utf8.count), as: UTF8.self))
  }

  /// How such names end in a text.
  private static let names = ["push\"", "extra\"", "metadata\"", "data\""].map { Array($0.utf8) }

  /// Whether there may be such a field: most frames have none, and cost a look.
  private static func mayHold(_ bytes: [UInt8]) -> Bool {
    for place in bytes.indices.dropLast(5) {
      switch bytes[place] {
      case UInt8(ascii: "\""):
        let rest = bytes[(place + 1)...]
        if names.contains(where: { rest.starts(with: $0) }) { return true }
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
  /// - Parameters:
  ///   - hasPush: whether `push` is one of them. In frames to clients it says whether phones were woken.
  ///   - list: a field with a list, each item of which is one of them.
  ///   - hasData: whether `data` is one of them. In errors it is an object with fields that are known.
  /// - Throws: `DecodingError` where such a field may be in it and all of it is not one value: Foundation takes more than the grammar
  ///   (a comma behind the last element, a byte order mark), and what follows would go through a decoder.
  static func lift(_ bytes: [UInt8], hasPush: Bool = true, hasData: Bool = false, itemsOf list: String? = nil) throws
    -> [UInt8]
  {
    guard list != nil || mayHold(bytes) else { return bytes }
    let list = list.map { Array($0.utf8) }
    var lifted: [UInt8] = []
    var copied = 0
    var text = JSONGrammar(bytes)
    let isWhole = text.findFields { name in
      if opaque.contains(name) { return .skip }
      if name == list { return .takeItems }
      return kept.contains(name) || hasPush && name == push || hasData && name == data ? .take : .enter
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
  /// - Parameters:
  ///   - list: a field with a list whose items are opaque, too.
  ///   - hasData: whether `data` is opaque: of requests, which hold no errors.
  /// - Throws: as `decode` does.
  public func decodeVerbatim<T: Decodable>(
    _ type: T.Type, from bytes: [UInt8], itemsOf list: String? = nil, hasData: Bool = false
  ) throws -> T {
    try decode(type, from: Data(RawJSON.lift(bytes, hasData: hasData, itemsOf: list)))
  }
}
