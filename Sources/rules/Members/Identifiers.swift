// What the core numbers. All are never used again, so that a late message about something that is gone finds nothing.

import RoostProtocol

/// One front door of this process, numbered by who starts it.
public struct DoorID: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// The number; 0 is the door at `/rtc`.
  public let rawValue: UInt16
  /// The door with this number.
  public init(_ rawValue: UInt16) { self.rawValue = rawValue }
  /// In the order of their numbers.
  public static func < (a: DoorID, b: DoorID) -> Bool { a.rawValue < b.rawValue }
  /// The number, for logs.
  public var description: String { String(rawValue) }
}

/// One connection of a client: the front door that it came through, and its number there. Never used again.
public struct ConnectionID: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// By this door replies and events leave.
  public let door: DoorID
  /// The door's own number for it.
  public let number: UInt64

  /// Connection `number` of a door.
  public init(_ number: UInt64, door: DoorID = DoorID(0)) {
    self.door = door
    self.number = number
  }

  /// By door; older ones of a door are smaller.
  public static func < (a: ConnectionID, b: ConnectionID) -> Bool { (a.door, a.number) < (b.door, b.number) }
  /// For logs: the number, and behind other doors than the first the door before it.
  public var description: String { door == DoorID(0) ? String(number) : "\(door)-\(number)" }
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

/// The media of one place: its media connections. A takeover by another device gives the place a new one.
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

/// One media connection of a seat, numbered within the seat. A seat has any number, each to publish, to subscribe, or both.
public struct MediaConnectionID: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// The number.
  public let rawValue: UInt64
  /// The connection with this number; those from 2 on are what front doors open beside the first two.
  public init(_ rawValue: UInt64) { self.rawValue = rawValue }
  /// The connection on which clients of the room protocol publish.
  public static let publish = MediaConnectionID(0)
  /// The connection on which they subscribe.
  public static let subscribe = MediaConnectionID(1)

  /// What the room protocol calls it; nil for a connection that the protocol has no name for.
  public var pc: PeerConnection? {
    self == .publish ? .publish : self == .subscribe ? .subscribe : nil
  }
  /// Older things are smaller.
  public static func < (a: MediaConnectionID, b: MediaConnectionID) -> Bool { a.rawValue < b.rawValue }
  /// Its name in the room protocol, else the number.
  public var description: String { pc?.rawValue ?? String(rawValue) }
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

/// A realm by its place among those of the process. What its conference numbers has it in the highest bits: by its number alone it is known
/// whose something is.
public struct RealmNumber: Hashable, Sendable {
  /// Bits of a number below the place: those that count, and above them those of the process.
  private static let counted: UInt64 = 57

  /// The place; 0 is that of the realm `default`.
  public let rawValue: UInt8
  /// The realm at this place.
  public init(_ rawValue: UInt8) { self.rawValue = rawValue }
  /// The realm `default`. Its numbers are as they would be without realms.
  public static let first = RealmNumber(0)

  /// The realm that has given a number; nil where there can be none.
  package init?(of number: UInt64) {
    guard let place = UInt8(exactly: number >> Self.counted) else { return nil }
    self.init(place)
  }

  /// Behind which number a process begins: the 40 bits below it count sessions, seats and tracks of one realm, which at a thousand in a
  /// second last for 34 years. `process` counts from 1; behind 131,071 come the numbers of the first ones again.
  package static func numbers(before process: UInt64) -> UInt64 { (process % (1 << 17)) << 40 }

  /// What its numbers have in their highest bits.
  package var tag: UInt64 { UInt64(rawValue) << Self.counted }
}

/// `prefix` and a decimal number as the core itself writes it.
package func wireNumber(_ text: String, prefix: Character) -> UInt64? {
  guard text.first == prefix, text.utf8.count <= 21 else { return nil }
  let digits = text.dropFirst()
  guard let number = UInt64(digits), String(number) == digits else { return nil }
  return number
}
