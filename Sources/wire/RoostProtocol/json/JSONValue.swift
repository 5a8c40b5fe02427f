// JSON of any kind, decoded (RFC 8259). What is only carried is kept as it came: `RawJSON`.

/// Any JSON value. Objects do not keep the order of their keys.
public enum JSONValue: Hashable, Sendable {
  case null
  case bool(Bool)
  /// A number without fraction that fits 64 bits; such numbers are kept exactly.
  case integer(Int64)
  /// Any other number.
  case number(Double)
  case string(String)
  case array([JSONValue])
  case object([String: JSONValue])

  /// `{}`.
  public static let emptyObject = JSONValue.object([:])

  /// An upper estimate of the bytes that the value takes as JSON without blanks; exact where no character needs escaping.
  public var encodedSize: Int {
    switch self {
    case .null: 4
    case .bool(let value): value ? 4 : 5
    case .integer(let value): String(value).utf8.count
    case .number(let value): String(value).utf8.count
    case .string(let value): Self.size(of: value)
    case .array(let values): values.reduce(1 + max(values.count, 1)) { $0 + $1.encodedSize }
    case .object(let fields):
      fields.reduce(1 + max(fields.count, 1)) { $0 + Self.size(of: $1.key) + 1 + $1.value.encodedSize }
    }
  }

  private static func size(of text: String) -> Int {
    text.utf8.reduce(2) { $0 + ($1 < 0x20 ? 6 : $1 == 0x22 || $1 == 0x5c ? 2 : 1) }
  }
}

extension JSONValue: Codable {
  private struct FieldKey: CodingKey {
    var stringValue: String
    var intValue: Int? { nil }
    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  /// Any JSON value. Each wrong guess costs the decoder an error with its path, so the commonest types come first;
  /// how many values and levels a frame may have is bounded before it is decoded (`MessageShape`).
  public init(from decoder: any Decoder) throws {
    let single = try decoder.singleValueContainer()
    if single.decodeNil() {
      self = .null
    } else if let value = try? single.decode(Int64.self) {
      self = .integer(value)
    } else if let value = try? single.decode(String.self) {
      self = .string(value)
    } else if let container = try? decoder.container(keyedBy: FieldKey.self) {
      var fields: [String: JSONValue] = [:]
      for key in container.allKeys { fields[key.stringValue] = try container.decode(JSONValue.self, forKey: key) }
      self = .object(fields)
    } else if var container = try? decoder.unkeyedContainer() {
      var values: [JSONValue] = []
      while !container.isAtEnd { values.append(try container.decode(JSONValue.self)) }
      self = .array(values)
    } else if let value = try? single.decode(Bool.self) {
      self = .bool(value)
    } else {
      // The decoder takes whole numbers with a point or an exponent for integers up to 2^53 only.
      let value = try Self.number(single)
      self = Int64(exactly: value).map { .integer($0) } ?? .number(value)
    }
  }

  /// Nothing else is left: what is no number is a string that is none.
  private static func number(_ container: any SingleValueDecodingContainer) throws -> Double {
    do {
      return try container.decode(Double.self)
    } catch DecodingError.typeMismatch(_, let context) {
      throw DecodingError.dataCorrupted(
        DecodingError.Context(codingPath: context.codingPath, debugDescription: "expected \(String.expectedInJSON)"))
    }
  }

  /// The value as it is.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .null: try container.encodeNil()
    case .bool(let value): try container.encode(value)
    case .integer(let value): try container.encode(value)
    case .number(let value): try container.encode(value)
    case .string(let value): try container.encode(value)
    case .array(let value): try container.encode(value)
    case .object(let value): try container.encode(value)
    }
  }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
  ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral, ExpressibleByNilLiteral, ExpressibleByFloatLiteral
{
  /// `null`.
  public init(nilLiteral: ()) { self = .null }
  /// A string.
  public init(stringLiteral value: String) { self = .string(value) }
  /// A whole number.
  public init(integerLiteral value: Int64) { self = .integer(value) }
  /// A number.
  public init(floatLiteral value: Double) { self = .number(value) }
  /// `true` or `false`.
  public init(booleanLiteral value: Bool) { self = .bool(value) }
  /// An array.
  public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
  /// An object; of equal keys the last counts.
  public init(dictionaryLiteral elements: (String, JSONValue)...) {
    self = .object(Dictionary(elements) { $1 })
  }
}

// What load tests read of the messages of other protocols.
extension JSONValue {
  /// A field of an object; null where there is none.
  package subscript(_ key: String) -> JSONValue {
    if case .object(let fields) = self { fields[key] ?? .null } else { .null }
  }

  /// The text; nil where it is none.
  package var string: String? { if case .string(let value) = self { value } else { nil } }
  /// The whole number; nil where it is none.
  package var integer: Int64? { if case .integer(let value) = self { value } else { nil } }
  /// The values of a list; none where it is none.
  package var array: [JSONValue] { if case .array(let values) = self { values } else { [] } }
}
