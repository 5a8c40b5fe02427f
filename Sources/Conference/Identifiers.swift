// What the core numbers. All are never used again, so that a late message about something that is gone finds nothing.

/// One WebSocket connection; numbered by the front door, never used again.
public struct ConnectionID: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// The number.
  public let rawValue: UInt64
  /// The thing with this number.
  public init(_ rawValue: UInt64) { self.rawValue = rawValue }
  /// Older things are smaller.
  public static func < (a: ConnectionID, b: ConnectionID) -> Bool { a.rawValue < b.rawValue }
  /// The number, for logs.
  public var description: String { String(rawValue) }
}

/// One session; it may outlive several connections.
public struct SessionID: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// The number.
  public let rawValue: UInt64
  /// The thing with this number.
  public init(_ rawValue: UInt64) { self.rawValue = rawValue }
  /// Older things are smaller.
  public static func < (a: SessionID, b: SessionID) -> Bool { a.rawValue < b.rawValue }
  /// The number, for logs.
  public var description: String { String(rawValue) }
}

/// One room from its first joiner to its end; a room of the same name later has another key.
public struct RoomKey: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// The number.
  public let rawValue: UInt64
  /// The thing with this number.
  public init(_ rawValue: UInt64) { self.rawValue = rawValue }
  /// Older things are smaller.
  public static func < (a: RoomKey, b: RoomKey) -> Bool { a.rawValue < b.rawValue }
  /// The number, for logs.
  public var description: String { String(rawValue) }
}

/// One person's place in a room, across reconnects and takeover.
public struct ParticipantID: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// The number.
  public let rawValue: UInt64
  /// The thing with this number.
  public init(_ rawValue: UInt64) { self.rawValue = rawValue }
  /// Older things are smaller.
  public static func < (a: ParticipantID, b: ParticipantID) -> Bool { a.rawValue < b.rawValue }
  /// How it is named on the wire.
  public var description: String { "p\(rawValue)" }
  /// Reads its name on the wire; nil for anything else.
  public init?(wire: String) {
    guard let number = wireNumber(wire, prefix: "p") else { return nil }
    rawValue = number
  }
}

/// The media of one place: two transports. A takeover by another device gives the place a new one.
public struct SeatID: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// The number.
  public let rawValue: UInt64
  /// The thing with this number.
  public init(_ rawValue: UInt64) { self.rawValue = rawValue }
  /// Older things are smaller.
  public static func < (a: SeatID, b: SeatID) -> Bool { a.rawValue < b.rawValue }
  /// The number, for logs.
  public var description: String { String(rawValue) }
}

/// One published track.
public struct TrackID: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// The number.
  public let rawValue: UInt64
  /// The thing with this number.
  public init(_ rawValue: UInt64) { self.rawValue = rawValue }
  /// Older things are smaller.
  public static func < (a: TrackID, b: TrackID) -> Bool { a.rawValue < b.rawValue }
  /// How it is named on the wire.
  public var description: String { "t\(rawValue)" }
  /// Reads its name on the wire; nil for anything else.
  public init?(wire: String) {
    guard let number = wireNumber(wire, prefix: "t") else { return nil }
    rawValue = number
  }
}

/// One track as it is sent to one seat.
public struct SubscriptionID: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// The number.
  public let rawValue: UInt64
  /// The thing with this number.
  public init(_ rawValue: UInt64) { self.rawValue = rawValue }
  /// Older things are smaller.
  public static func < (a: SubscriptionID, b: SubscriptionID) -> Bool { a.rawValue < b.rawValue }
  /// How it is named on the wire.
  public var description: String { "s\(rawValue)" }
  /// Reads its name on the wire; nil for anything else.
  public init?(wire: String) {
    guard let number = wireNumber(wire, prefix: "s") else { return nil }
    rawValue = number
  }
}

/// `prefix` and a decimal number as the core itself writes it.
func wireNumber(_ text: String, prefix: Character) -> UInt64? {
  guard text.first == prefix, text.utf8.count <= 21 else { return nil }
  let digits = text.dropFirst()
  guard let number = UInt64(digits), String(number) == digits else { return nil }
  return number
}
