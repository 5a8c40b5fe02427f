// Which field a value belongs to that no type can hold. Foundation's decoder does not say it of numbers out of range, of numbers with a
// fraction where there is none, and of strings with half a surrogate pair: so what it refuses without a path is decoded once more by
// this one, which hands everything on and adds the path.

/// Decodes by another decoder, and says of each failure where it was.
struct FieldDecoder: Decoder {
  let base: any Decoder
  /// Where this value stands, for what the other decoder does not know.
  var codingPath: [any CodingKey]
  var userInfo: [CodingUserInfoKey: Any] { base.userInfo }

  init(_ base: any Decoder, at path: [any CodingKey]) { (self.base, codingPath) = (base, path) }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    let container = try at(codingPath, "an object whose keys are text") { try base.container(keyedBy: type) }
    return KeyedDecodingContainer(Fields(base: container, codingPath: codingPath))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    Elements(base: try at(codingPath, "an array") { try base.unkeyedContainer() }, codingPath: codingPath)
  }

  func singleValueContainer() throws -> any SingleValueDecodingContainer {
    Single(base: try at(codingPath, "a value") { try base.singleValueContainer() }, codingPath: codingPath)
  }
}

/// Runs a step of decoding, and says where it was that it failed and what belongs there, if whoever failed does not.
private func at<Value>(_ path: [any CodingKey], _ expected: String, _ step: () throws -> Value) throws -> Value {
  do {
    return try step()
  } catch let error as DecodingError where !error.context.codingPath.isEmpty {
    throw error
  } catch let error as ErrorObject {
    throw error
  } catch {
    throw DecodingError.dataCorrupted(DecodingError.Context(codingPath: path, debugDescription: "expected \(expected)"))
  }
}

extension String {
  /// What belongs where text does.
  static let expectedInJSON = "text, without half a surrogate pair"
}

/// What belongs where a value of this type does.
private func word(for type: any Decodable.Type) -> String {
  switch type {
  case is String.Type: String.expectedInJSON
  case is any FixedWidthInteger.Type: "a whole number in range"
  case is any BinaryFloatingPoint.Type: "a number in range"
  case is Bool.Type: "true or false"
  default: "a value in range"
  }
}

extension DecodingError {
  fileprivate var context: Context {
    switch self {
    case .typeMismatch(_, let context), .valueNotFound(_, let context), .keyNotFound(_, let context),
      .dataCorrupted(let context):
      context
    @unknown default: Context(codingPath: [], debugDescription: "")
    }
  }
}

private struct Element: CodingKey {
  let intValue: Int?
  var stringValue: String { "\(intValue ?? 0)" }
  init(intValue: Int) { self.intValue = intValue }
  init?(stringValue: String) { nil }
}

private struct Fields<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let base: KeyedDecodingContainer<Key>
  let codingPath: [any CodingKey]

  var allKeys: [Key] { base.allKeys }
  func contains(_ key: Key) -> Bool { base.contains(key) }
  func decodeNil(forKey key: Key) throws -> Bool { try base.decodeNil(forKey: key) }

  private func plain<T: Decodable>(_ type: T.Type, _ key: Key, _ step: () throws -> T) throws -> T {
    try at(codingPath + [key], word(for: type), step)
  }

  func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool {
    try plain(type, key) { try base.decode(type, forKey: key) }
  }
  func decode(_ type: String.Type, forKey key: Key) throws -> String {
    try plain(type, key) { try base.decode(type, forKey: key) }
  }
  func decode(_ type: Double.Type, forKey key: Key) throws -> Double {
    try plain(type, key) { try base.decode(type, forKey: key) }
  }
  func decode(_ type: Float.Type, forKey key: Key) throws -> Float {
    try plain(type, key) { try base.decode(type, forKey: key) }
  }
  func decode(_ type: Int.Type, forKey key: Key) throws -> Int {
    try plain(type, key) { try base.decode(type, forKey: key) }
  }
  func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 {
    try plain(type, key) { try base.decode(type, forKey: key) }
  }
  func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 {
    try plain(type, key) { try base.decode(type, forKey: key) }
  }
  func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 {
    try plain(type, key) { try base.decode(type, forKey: key) }
  }
  func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 {
    try plain(type, key) { try base.decode(type, forKey: key) }
  }
  func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt {
    try plain(type, key) { try base.decode(type, forKey: key) }
  }
  func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 {
    try plain(type, key) { try base.decode(type, forKey: key) }
  }
  func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 {
    try plain(type, key) { try base.decode(type, forKey: key) }
  }
  func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 {
    try plain(type, key) { try base.decode(type, forKey: key) }
  }
  func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 {
    try plain(type, key) { try base.decode(type, forKey: key) }
  }

  func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
    let path = codingPath + [key]
    // A missing key and null are what the other decoder makes of them.
    guard base.contains(key), try !base.decodeNil(forKey: key) else { return try base.decode(type, forKey: key) }
    return try at(path, word(for: type)) { try T(from: FieldDecoder(base.superDecoder(forKey: key), at: path)) }
  }

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<Nested> { try superDecoder(forKey: key).container(keyedBy: type) }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    try superDecoder(forKey: key).unkeyedContainer()
  }

  func superDecoder() throws -> any Decoder { FieldDecoder(try base.superDecoder(), at: codingPath) }

  func superDecoder(forKey key: Key) throws -> any Decoder {
    FieldDecoder(try base.superDecoder(forKey: key), at: codingPath + [key])
  }
}

private struct Elements: UnkeyedDecodingContainer {
  var base: any UnkeyedDecodingContainer
  let codingPath: [any CodingKey]

  var count: Int? { base.count }
  var isAtEnd: Bool { base.isAtEnd }
  var currentIndex: Int { base.currentIndex }

  mutating func decodeNil() throws -> Bool { try base.decodeNil() }

  mutating func decode<T: Decodable>(_ type: T.Type) throws -> T {
    let path = codingPath + [Element(intValue: base.currentIndex)]
    let decoder = try at(path, word(for: type)) { try base.superDecoder() }
    return try at(path, word(for: type)) { try T(from: FieldDecoder(decoder, at: path)) }
  }

  mutating func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) throws -> KeyedDecodingContainer<Nested> {
    try superDecoder().container(keyedBy: type)
  }

  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    try superDecoder().unkeyedContainer()
  }

  mutating func superDecoder() throws -> any Decoder {
    let path = codingPath + [Element(intValue: base.currentIndex)]
    return FieldDecoder(try base.superDecoder(), at: path)
  }
}

private struct Single: SingleValueDecodingContainer {
  let base: any SingleValueDecodingContainer
  let codingPath: [any CodingKey]

  func decodeNil() -> Bool { base.decodeNil() }

  private func plain<T: Decodable>(_ type: T.Type, _ step: () throws -> T) throws -> T {
    try at(codingPath, word(for: type), step)
  }

  func decode(_ type: Bool.Type) throws -> Bool { try plain(type) { try base.decode(type) } }
  func decode(_ type: String.Type) throws -> String { try plain(type) { try base.decode(type) } }
  func decode(_ type: Double.Type) throws -> Double { try plain(type) { try base.decode(type) } }
  func decode(_ type: Float.Type) throws -> Float { try plain(type) { try base.decode(type) } }
  func decode(_ type: Int.Type) throws -> Int { try plain(type) { try base.decode(type) } }
  func decode(_ type: Int8.Type) throws -> Int8 { try plain(type) { try base.decode(type) } }
  func decode(_ type: Int16.Type) throws -> Int16 { try plain(type) { try base.decode(type) } }
  func decode(_ type: Int32.Type) throws -> Int32 { try plain(type) { try base.decode(type) } }
  func decode(_ type: Int64.Type) throws -> Int64 { try plain(type) { try base.decode(type) } }
  func decode(_ type: UInt.Type) throws -> UInt { try plain(type) { try base.decode(type) } }
  func decode(_ type: UInt8.Type) throws -> UInt8 { try plain(type) { try base.decode(type) } }
  func decode(_ type: UInt16.Type) throws -> UInt16 { try plain(type) { try base.decode(type) } }
  func decode(_ type: UInt32.Type) throws -> UInt32 { try plain(type) { try base.decode(type) } }
  func decode(_ type: UInt64.Type) throws -> UInt64 { try plain(type) { try base.decode(type) } }
  func decode<T: Decodable>(_ type: T.Type) throws -> T { try plain(type) { try base.decode(type) } }
}
