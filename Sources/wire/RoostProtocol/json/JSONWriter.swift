// JSON text (RFC 8259) as it grows. Objects of the protocol write their fields here themselves, without the containers of `Encoder`:
// those cost several times what the text does (docs/decisions/0012-json-text.md). scripts/wire makes how they do (`FieldWriters.swift`).

/// A value that knows how its fields are written. It must write what its `encode(to:)` does, in the same order; tests compare both.
public protocol JSONWritable: Encodable {
  /// Writes the fields, without the braces around them.
  /// - Throws: what a value within throws that JSON has no text for.
  func writeFields(to json: inout JSONWriter) throws
}

/// Text that is being written.
public struct JSONWriter: Sendable {
  /// What has been written.
  public private(set) var bytes: [UInt8] = []
  /// Whether nothing stands in the object or array yet that is open.
  private var isEmpty = true

  /// No text yet.
  public init() { bytes.reserveCapacity(1024) }

  /// The text of a value.
  public static func bytes(of value: some JSONWritable) throws -> [UInt8] {
    var json = JSONWriter()
    try json.value(value)
    return json.bytes
  }

  // MARK: Values

  /// An object.
  public mutating func value(_ value: some JSONWritable) throws {
    begin(UInt8(ascii: "{"))
    try value.writeFields(to: &self)
    end(UInt8(ascii: "}"))
  }

  /// A value by its `encode(to:)`.
  public mutating func value(_ value: some Encodable) throws { bytes += try JSONText.bytes(of: value) }

  /// Text that is JSON already.
  mutating func raw(_ text: StaticString) { text.withUTF8Buffer { bytes.append(contentsOf: $0) } }

  mutating func byte(_ byte: UInt8) { bytes.append(byte) }

  /// Text that needs no quotes: a word of ours of letters and dots, or JSON.
  mutating func plain(_ word: String) { bytes.append(contentsOf: word.utf8) }

  /// From here on fields are further ones of an object that is open.
  mutating func goOn() { isEmpty = false }

  private mutating func begin(_ bracket: UInt8) {
    bytes.append(bracket)
    isEmpty = true
  }

  private mutating func end(_ bracket: UInt8) {
    bytes.append(bracket)
    isEmpty = false
  }

  private mutating func next() {
    if !isEmpty { bytes.append(UInt8(ascii: ",")) }
    isEmpty = false
  }

  private mutating func key(_ key: StaticString) {
    next()
    bytes.append(UInt8(ascii: "\""))
    raw(key)
    bytes.append(UInt8(ascii: "\""))
    bytes.append(UInt8(ascii: ":"))
  }

  mutating func number(_ value: Int64) {
    if value < 0 { bytes.append(UInt8(ascii: "-")) }
    let start = bytes.count
    var left = value.magnitude
    repeat {
      let (rest, digit) = left.quotientAndRemainder(dividingBy: 10)
      bytes.append(0x30 + UInt8(truncatingIfNeeded: digit))
      left = rest
    } while left > 0
    bytes.reverse(from: start)
  }

  /// A number, as a whole one where it is one.
  mutating func number(_ value: Double) throws {
    guard value.isFinite else {
      throw EncodingError.invalidValue(
        value, EncodingError.Context(codingPath: [], debugDescription: "JSON has no number for \(value)."))
    }
    if let whole = Int64(exactly: value), abs(whole) < 1 << 53 {
      number(whole)
    } else {
      plain(value.description)
    }
  }

  // MARK: Strings

  mutating func string(_ value: String) {
    bytes.append(UInt8(ascii: "\""))
    var value = value
    value.withUTF8 { quote($0) }
    bytes.append(UInt8(ascii: "\""))
  }

  private mutating func quote(_ utf8: UnsafeBufferPointer<UInt8>) {
    var plain = 0
    var place = 0
    while place < utf8.count {
      let byte = utf8[place]
      if byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") {
        bytes.append(contentsOf: UnsafeBufferPointer(rebasing: utf8[plain..<place]))
        escape(byte)
        plain = place + 1
      }
      place += 1
    }
    bytes.append(contentsOf: UnsafeBufferPointer(rebasing: utf8[plain...]))
  }

  /// The shortest way there is: a key that a client may send must not be too long when it is written again.
  private mutating func escape(_ byte: UInt8) {
    switch byte {
    case 0x08: raw(#"\b"#)
    case 0x0c: raw(#"\f"#)
    case 0x0a: raw(#"\n"#)
    case 0x0d: raw(#"\r"#)
    case 0x09: raw(#"\t"#)
    case 0..<0x20:
      raw(byte < 0x10 ? #"\u000"# : #"\u00"#)
      bytes.append(contentsOf: String(byte, radix: 16).utf8)
    default:
      bytes.append(UInt8(ascii: "\\"))
      bytes.append(byte)
    }
  }

  // MARK: Fields. One that is nil is left out.

  /// A field with text.
  public mutating func field(_ name: StaticString, _ value: String?) {
    guard let value else { return }
    key(name)
    string(value)
  }

  /// A field with a word.
  public mutating func field<Word: RawRepresentable<String>>(_ name: StaticString, _ value: Word?) {
    if let value { field(name, value.rawValue) }
  }

  /// A field with a number.
  public mutating func field(_ name: StaticString, _ value: Int64?) {
    guard let value else { return }
    key(name)
    number(value)
  }

  /// A field with a number.
  public mutating func field(_ name: StaticString, _ value: Int?) { field(name, value.map { Int64($0) }) }

  /// A field with a number.
  public mutating func field(_ name: StaticString, _ value: UInt32?) { field(name, value.map { Int64($0) }) }

  /// A field with a number that may have a fraction.
  /// - Throws: `EncodingError` for one that JSON has no text for.
  public mutating func field(_ name: StaticString, _ value: Double) throws {
    key(name)
    try number(value)
  }

  /// A field that says yes or no.
  public mutating func field(_ name: StaticString, _ value: Bool?) {
    guard let value else { return }
    key(name)
    raw(value ? "true" : "false")
  }

  /// A field with JSON as it came.
  public mutating func field(_ name: StaticString, _ value: RawJSON?) {
    guard let value else { return }
    key(name)
    plain(value.text)
  }

  /// A field with a list of texts.
  public mutating func field(_ name: StaticString, _ values: [String]?) { list(name, values) { $0.string($1) } }

  /// A field with a list of words.
  public mutating func field<Word: RawRepresentable<String>>(_ name: StaticString, _ values: [Word]?) {
    list(name, values) { $0.string($1.rawValue) }
  }

  /// A field with a list of numbers.
  public mutating func field(_ name: StaticString, _ values: [Int]?) { list(name, values) { $0.number(Int64($1)) } }

  /// A field with an object.
  public mutating func field(_ name: StaticString, _ value: (some JSONWritable)?) throws {
    guard let value else { return }
    key(name)
    try self.value(value)
  }

  /// A field with a list of objects.
  public mutating func field(_ name: StaticString, _ values: [some JSONWritable]?) throws {
    try list(name, values) { try $0.value($1) }
  }

  private mutating func list<Value, Failure: Error>(
    _ name: StaticString, _ values: [Value]?, _ write: (inout JSONWriter, Value) throws(Failure) -> Void
  ) throws(Failure) {
    guard let values else { return }
    key(name)
    begin(UInt8(ascii: "["))
    for value in values {
      next()
      try write(&self, value)
    }
    end(UInt8(ascii: "]"))
  }

  /// A field whose value is written by its `encode(to:)`.
  public mutating func field(_ name: StaticString, encoding value: (some Encodable)?) throws {
    guard let value else { return }
    key(name)
    bytes += try JSONText.bytes(of: value)
  }
}

extension [UInt8] {
  /// Turns the end round, in place: a slice that is changed would be a copy of everything.
  fileprivate mutating func reverse(from start: Int) {
    var (low, high) = (start, count - 1)
    while low < high {
      swapAt(low, high)
      low += 1
      high -= 1
    }
  }
}
