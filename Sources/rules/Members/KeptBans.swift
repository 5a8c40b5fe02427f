// Who is kept out of which room, and doors that are not as usual, as they are kept.

import Basics
import RoostProtocol

/// One ban as it is kept.
public struct KeptBan: Hashable, Sendable {
  /// Where.
  public var room: String
  /// Who.
  public var user: String
  /// When it ends, milliseconds since 1970 UTC; nil: not by itself.
  public var until: Int64?
  /// The user who wanted it; `operators` for an operator, who is no user.
  public var by: String
  /// No name of a user.
  public static let operators = ""

  /// A ban.
  public init(room: String, user: String, until: Int64?, by: String) {
    (self.room, self.user, self.until, self.by) = (room, user, until, by)
  }

  /// Whether it is over.
  package func isOver(at wallMilliseconds: Int64) -> Bool { until.map { $0 <= wallMilliseconds } ?? false }
}

/// One ban of an address as it is kept.
public struct KeptAddressBan: Hashable, Sendable {
  /// What it is about: of one subject there is one ban.
  public struct Subject: Hashable, Sendable {
    /// Where; nil: in all rooms that are no calls'.
    public var room: String?
    /// An address, or a network of them. Of IPv6 no more than 64 bits.
    public var address: AddressRange
    /// Who was banned with the address; nil: nobody, an operator named the address.
    public var user: String?

    /// A subject.
    public init(room: String?, address: AddressRange, user: String?) {
      (self.room, self.address, self.user) = (room, address, user)
    }
  }

  /// What it is about.
  public var subject: Subject
  /// When it ends, milliseconds since 1970 UTC.
  public var until: Int64
  /// The moderator who wanted it; nil: an operator.
  public var by: String?

  /// A ban.
  public init(_ subject: Subject, until: Int64, by: String?) {
    (self.subject, self.until, self.by) = (subject, until, by)
  }

  /// Whether it is over.
  package func isOver(at wallMilliseconds: Int64) -> Bool { until <= wallMilliseconds }
}

/// Who is let in.
public enum Door: String, Sendable {
  /// Whoever may join.
  case open
  /// Whom a moderator admits.
  case lobby
  /// Nobody more.
  case locked
}

/// A room's door as it is kept.
public struct KeptDoor: Hashable, Sendable {
  /// What keeps people out.
  public enum Bar: String, Hashable, Sendable {
    /// Nobody more is let in: a moderator's word, or an operator's.
    case lock
    /// Who comes waits.
    case lobby
  }

  /// Which room.
  public var room: String
  /// Whether an operator lets nobody more in.
  public var isLockedByOperator: Bool
  /// What moderators have made of it.
  public var door: Door
  /// Whether moderators alone may write.
  public var isChatDisabled: Bool

  /// A door.
  public init(room: String, isLockedByOperator: Bool, door: Door, isChatDisabled: Bool) {
    (self.room, self.isLockedByOperator) = (room, isLockedByOperator)
    (self.door, self.isChatDisabled) = (door, isChatDisabled)
  }

  /// What keeps people out.
  package var bars: [Bar] { (isLockedByOperator || door == .locked ? [.lock] : []) + (door == .lobby ? [.lobby] : []) }

  /// The same with the door open to all.
  package var opened: KeptDoor {
    KeptDoor(room: room, isLockedByOperator: false, door: .open, isChatDisabled: isChatDisabled)
  }

  /// Whether there is nothing to keep.
  package var isUsual: Bool { !isLockedByOperator && door == .open && !isChatDisabled }
}
