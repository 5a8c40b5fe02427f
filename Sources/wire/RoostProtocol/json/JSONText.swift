// Values as JSON text (RFC 8259), written while they are encoded: no tree of the values is built first.
//
//   value.encode(to:) ─▶ containers ─▶ JSONSink: bytes, and which objects and arrays are open
//
// Foundation's encoder builds the tree, and took a quarter of what a call costs (docs/decisions/0012-json-text.md). Reading stays its
// work. What is in the protocol is written without containers (`JSONWriter.swift`). Of types that it treats specially (Data, Date, URL) none is in the protocol.

/// Encodes values as JSON.
public enum JSONText {
  /// The text of a value, without blanks. Slashes are not escaped; keys keep the order in which they are encoded.
  /// - Throws: `EncodingError` for numbers that JSON cannot write, and what the value itself throws.
  public static func bytes(of value: some Encodable) throws -> [UInt8] {
    let sink = JSONSink()
    try sink.write(value)
    return sink.bytes
  }
}

extension JSONText {
  /// Writes what is kept as it was written, if the encoder writes text.
  static func write(_ json: RawJSON, to encoder: any Encoder) throws -> Bool {
    guard let stream = encoder as? JSONStream else { return false }
    stream.sink.verbatim(json)
    return true
  }
}

/// What has been written, and what of it is still open.
private final class JSONSink {
  private enum Open { case object, array }

  private var text = JSONWriter()
  private var open: [(kind: Open, count: Int)] = []
  /// A key was written, and its value was not.
  private var awaitsValue = false

  var bytes: [UInt8] { text.bytes }

  /// How many objects and arrays are open.
  var depth: Int { open.count }

  /// Values in the innermost object or array.
  var count: Int { open.last?.count ?? 0 }

  /// Writes a value whole. What encodes nothing is an empty object.
  func write(_ value: some Encodable) throws {
    let (depth, before) = (depth, bytes.count)
    try value.encode(to: JSONStream(sink: self, depth: depth))
    close(to: depth)
    if bytes.count == before { raw("{}") }
    awaitsValue = false
  }

  /// Writes a value that is a token of its own, as `true` or `12`.
  func raw(_ text: StaticString) {
    awaitsValue = false
    self.text.raw(text)
  }

  /// Writes text that is a value already.
  func verbatim(_ json: RawJSON) {
    awaitsValue = false
    text.plain(json.text)
  }

  func number(_ value: some BinaryInteger) {
    awaitsValue = false
    text.plain(String(value))
  }

  func number(_ value: Double) throws {
    awaitsValue = false
    try text.number(value)
  }

  func string(_ value: String) {
    awaitsValue = false
    text.string(value)
  }

  /// Opens an object or an array as the value of an encoder at `depth`, or goes on in the one that it has opened before.
  /// - Returns: the depth of what stands in it.
  func openObject(at depth: Int) -> Int { begin(.object, UInt8(ascii: "{"), at: depth) }
  func openArray(at depth: Int) -> Int { begin(.array, UInt8(ascii: "["), at: depth) }

  private func begin(_ kind: Open, _ first: UInt8, at depth: Int) -> Int {
    if open.count > depth {
      close(to: depth + 1)
    } else {
      awaitsValue = false
      text.byte(first)
      open.append((kind, 0))
    }
    return depth + 1
  }

  /// Begins the next value of the object at `depth`.
  func key(_ key: String, at depth: Int) {
    next(at: depth)
    text.string(key)
    text.byte(UInt8(ascii: ":"))
    awaitsValue = true
  }

  /// Begins the next value of an array or object at `depth`; closes what is open inside of it.
  func next(at depth: Int) {
    close(to: depth)
    assert(open.count == depth, "a container was written to after its end")
    guard !open.isEmpty else { return }
    if open[open.count - 1].count > 0 { text.byte(UInt8(ascii: ",")) }
    open[open.count - 1].count += 1
  }

  private func close(to depth: Int) {
    if awaitsValue { raw("{}") }
    while open.count > depth, let last = open.popLast() {
      text.byte(last.kind == .object ? UInt8(ascii: "}") : UInt8(ascii: "]"))
    }
  }
}

/// Encodes one value at its place in the text.
private struct JSONStream: Encoder {
  let sink: JSONSink
  /// What was open when the value began.
  let depth: Int

  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    KeyedEncodingContainer(JSONObject<Key>(sink: sink, depth: sink.openObject(at: depth)))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer { JSONArray(sink: sink, depth: sink.openArray(at: depth)) }

  func singleValueContainer() -> any SingleValueEncodingContainer { JSONSingle(sink: sink) }
}

private struct JSONObject<Key: CodingKey>: KeyedEncodingContainerProtocol {
  let sink: JSONSink
  let depth: Int

  var codingPath: [any CodingKey] { [] }

  private func at(_ key: Key) -> JSONSingle {
    sink.key(key.stringValue, at: depth)
    return JSONSingle(sink: sink)
  }

  func encodeNil(forKey key: Key) { at(key).encodeNil() }
  func encode(_ value: Bool, forKey key: Key) { at(key).encode(value) }
  func encode(_ value: String, forKey key: Key) { at(key).encode(value) }
  func encode(_ value: Double, forKey key: Key) throws { try at(key).encode(value) }
  func encode(_ value: Float, forKey key: Key) throws { try at(key).encode(value) }
  func encode(_ value: Int, forKey key: Key) { at(key).encode(value) }
  func encode(_ value: Int8, forKey key: Key) { at(key).encode(value) }
  func encode(_ value: Int16, forKey key: Key) { at(key).encode(value) }
  func encode(_ value: Int32, forKey key: Key) { at(key).encode(value) }
  func encode(_ value: Int64, forKey key: Key) { at(key).encode(value) }
  func encode(_ value: UInt, forKey key: Key) { at(key).encode(value) }
  func encode(_ value: UInt8, forKey key: Key) { at(key).encode(value) }
  func encode(_ value: UInt16, forKey key: Key) { at(key).encode(value) }
  func encode(_ value: UInt32, forKey key: Key) { at(key).encode(value) }
  func encode(_ value: UInt64, forKey key: Key) { at(key).encode(value) }
  func encode<T: Encodable>(_ value: T, forKey key: Key) throws { try at(key).encode(value) }

  func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type, forKey key: Key) -> KeyedEncodingContainer<Nested>
  {
    superEncoder(forKey: key).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
    superEncoder(forKey: key).unkeyedContainer()
  }

  func superEncoder() -> any Encoder {
    sink.key("super", at: depth)
    return JSONStream(sink: sink, depth: sink.depth)
  }

  func superEncoder(forKey key: Key) -> any Encoder {
    sink.key(key.stringValue, at: depth)
    return JSONStream(sink: sink, depth: sink.depth)
  }
}

private struct JSONArray: UnkeyedEncodingContainer {
  let sink: JSONSink
  let depth: Int

  var codingPath: [any CodingKey] { [] }
  var count: Int { sink.depth == depth ? sink.count : 0 }

  private func next() -> JSONSingle {
    sink.next(at: depth)
    return JSONSingle(sink: sink)
  }

  func encodeNil() { next().encodeNil() }
  func encode<T: Encodable>(_ value: T) throws { try next().encode(value) }

  func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
    superEncoder().container(keyedBy: type)
  }

  func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { superEncoder().unkeyedContainer() }

  func superEncoder() -> any Encoder {
    sink.next(at: depth)
    return JSONStream(sink: sink, depth: sink.depth)
  }
}

private struct JSONSingle: SingleValueEncodingContainer {
  let sink: JSONSink

  var codingPath: [any CodingKey] { [] }

  func encodeNil() { sink.raw("null") }
  func encode(_ value: Bool) { sink.raw(value ? "true" : "false") }
  func encode(_ value: String) { sink.string(value) }
  func encode(_ value: Double) throws { try sink.number(value) }
  func encode(_ value: Float) throws { try sink.number(Double(value)) }
  func encode(_ value: Int) { sink.number(value) }
  func encode(_ value: Int8) { sink.number(value) }
  func encode(_ value: Int16) { sink.number(value) }
  func encode(_ value: Int32) { sink.number(value) }
  func encode(_ value: Int64) { sink.number(value) }
  func encode(_ value: UInt) { sink.number(value) }
  func encode(_ value: UInt8) { sink.number(value) }
  func encode(_ value: UInt16) { sink.number(value) }
  func encode(_ value: UInt32) { sink.number(value) }
  func encode(_ value: UInt64) { sink.number(value) }
  func encode<T: Encodable>(_ value: T) throws { try sink.write(value) }
}
