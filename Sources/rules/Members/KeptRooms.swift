// Settings of rooms that were made or changed while the server runs: as they are kept, and as operators see them.

/// The settings of one room as they are kept.
public struct KeptRoom: Hashable, Sendable {
  /// How many a realm has at most: each takes a row, which is read at the start.
  public static let most = 10_000

  /// Which room.
  public var room: String
  /// What it is to be like; nil: what was kept cannot be read, and nobody is let in.
  public var plan: RoomPlan?
  /// Which settings these are: each change has another tag, of 16 hexadecimal digits.
  public var tag: String

  /// Settings.
  public init(room: String, plan: RoomPlan?, tag: String) { (self.room, self.plan, self.tag) = (room, plan, tag) }
}

/// How there came to be a room.
public enum RoomOrigin: String, Sendable {
  /// It is in rooms.yaml.
  case configured
  /// An operator has made it.
  case made
  /// It is in rooms.yaml, and an operator has changed its settings.
  case changed
  /// Somebody has joined a name that there was not.
  case joined
}

/// The settings of a room as an operator sees them.
public struct DefinedRoom: Hashable, Sendable {
  /// Which room.
  public var room: String
  /// How there came to be it.
  public var origin: RoomOrigin
  /// What it is like; of settings that cannot be read only an empty kind.
  public var plan: RoomPlan
  /// Which settings these are.
  public var tag: String
  /// Whether people are let in: not where its kind is gone from rooms.yaml, or its settings cannot be read.
  public var isServed: Bool

  package init(room: String, origin: RoomOrigin, plan: RoomPlan, tag: String, isServed: Bool) {
    (self.room, self.origin, self.plan, self.tag, self.isServed) = (room, origin, plan, tag, isServed)
  }
}

/// What a change asks of the settings that are there (RFC 9110, section 13.1.1).
public enum TagCondition: Hashable, Sendable {
  /// Nothing.
  case none
  /// That there are some.
  case any
  /// That they are one of these.
  case tags([String])

  /// Whether settings with this tag may be changed.
  public func holds(for tag: String) -> Bool {
    switch self {
    case .none, .any: true
    case .tags(let tags): tags.contains(tag)
    }
  }
}
