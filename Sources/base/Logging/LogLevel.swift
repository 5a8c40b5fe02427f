// Levels and formats of log lines, and how configuration spells them.

/// How much a record matters. A logger writes the records at or above its own level.
public enum LogLevel: String, Sendable, CaseIterable, Comparable {
  /// For whoever debugs Roost itself.
  case debug
  /// What an operator wants to read of a normal day: joins, leaves, refusals.
  case info
  /// Something is wrong, and Roost goes on.
  case warning
  /// Something failed that somebody should look at.
  case error

  private var rank: Int {
    switch self {
    case .debug: 0
    case .info: 1
    case .warning: 2
    case .error: 3
    }
  }

  /// Less urgent before more urgent.
  public static func < (a: LogLevel, b: LogLevel) -> Bool { a.rank < b.rank }
}

/// The shape of a log line.
public enum LogFormat: String, Sendable, CaseIterable {
  /// `2026-01-31T12:00:00.000Z info joined room=demo user=anna`.
  case text
  /// `{"ts":"2026-01-31T12:00:00.000Z","level":"info","msg":"joined","room":"demo","user":"anna"}`.
  case json
}

/// The value of one field of a log record.
public enum LogValue: Sendable, Hashable {
  /// Text of any origin; it is escaped when it is written.
  case string(String)
  /// A whole number.
  case integer(Int64)
  /// A whole number that may be above `Int64.max`.
  case unsigned(UInt64)
  /// A number with a fraction; JSON has no infinities, so those are written as text.
  case double(Double)
  /// true or false.
  case bool(Bool)

  /// The value's description as text.
  public init(_ value: some CustomStringConvertible) { self = .string(value.description) }
  /// A whole number of any width; clamped to 64 bits.
  public init(_ value: some BinaryInteger) {
    self = value < 0 ? .integer(Int64(clamping: value)) : .unsigned(UInt64(clamping: value))
  }
}

extension LogValue: ExpressibleByStringLiteral, ExpressibleByStringInterpolation, ExpressibleByIntegerLiteral,
  ExpressibleByFloatLiteral, ExpressibleByBooleanLiteral
{
  /// Text.
  public init(stringLiteral value: String) { self = .string(value) }
  /// A whole number.
  public init(integerLiteral value: Int64) { self = .integer(value) }
  /// A number with a fraction.
  public init(floatLiteral value: Double) { self = .double(value) }
  /// true or false.
  public init(booleanLiteral value: Bool) { self = .bool(value) }
}

/// The fields of a record, in the order in which they are written.
public struct LogFields: Sendable, ExpressibleByDictionaryLiteral {
  /// Names and values; a name may stand twice.
  public var pairs: [(name: String, value: LogValue)]

  /// Fields made elsewhere.
  public init(_ pairs: [(name: String, value: LogValue)]) { self.pairs = pairs }
  /// `["room": "demo", "count": 3]`
  public init(dictionaryLiteral elements: (String, LogValue)...) { pairs = elements.map { (name: $0.0, value: $0.1) } }
}
