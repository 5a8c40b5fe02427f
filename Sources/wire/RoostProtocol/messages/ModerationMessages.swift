// Params, objects and events of moderation: `room.moderate`, `room.raiseHand`, `room.moderated`, `room.knock` (docs/protocol.md,
// moderation).

/// What a moderator does.
public enum ModerationAction: String, WireName {
  /// Mutes tracks of a person, or of all.
  case mute
  /// Ends the video of a person, or of all.
  case stopVideo
  /// Puts a person out; they may come back.
  case kick
  /// Puts a person out and keeps them out, whatever device they come with.
  case ban
  /// Lets a banned person in again.
  case unban
  /// Lets nobody more in.
  case lock
  /// Lets people in again, without asking.
  case unlock
  /// Lets those in alone whom a moderator admits.
  case lobby
  /// Lets in who waits in the lobby.
  case admit
  /// Sends away who waits in the lobby.
  case deny
  /// Gives a person a role, or takes it.
  case role
  /// Lets moderators alone write.
  case disableChat
  /// Lets everybody write again.
  case enableChat
  /// Takes a raised hand down.
  case lowerHand
  /// Goes on with video, or without.
  case media
  /// Ends the meeting for everybody.
  case end
}

/// What somebody is in a room.
public enum RoomRole: String, WireName {
  /// May do all that `room.moderate` does.
  case moderator
  /// Has a place where few may publish, and needs no admission.
  case speaker
  /// Has no role.
  case participant
}

/// Params of `room.moderate`.
public struct ModerateParams: Codable, Hashable, Sendable {
  /// Name of the room, in which one has a seat.
  public var room: String  // name
  /// What to do.
  public var action: ModerationAction
  /// To whom; absent: to all, where that makes sense.
  public var user: String?  // name
  /// Of `mute`: which tracks; audio when absent.
  public var kind: TrackKind?
  /// Of `role`: which.
  public var role: RoomRole?
  /// Of `ban`: when it ends, milliseconds since 1970; absent: not by itself. At most what every reader of JSON takes (RFC 8259, section 6).
  public var until: Int64?  // 0...9007199254740991
  /// Of `mute` and `stopVideo`: whether they may not unmute from now on (true), may again (false), or as before (absent).
  public var hold: Bool?
  /// Of `ban`: whether the address that they come from is kept out as well, for a time.
  public var address: Bool?
  /// Of `media`: what the room carries from now on.
  public var media: MediaClass?

  /// All fields, in the order of the protocol.
  public init(
    room: String, action: ModerationAction, user: String? = nil, kind: TrackKind? = nil, role: RoomRole? = nil,
    until: Int64? = nil, hold: Bool? = nil, address: Bool? = nil, media: MediaClass? = nil
  ) {
    (self.room, self.action, self.user, self.kind) = (room, action, user, kind)
    (self.role, self.until, self.hold, self.address, self.media) = (role, until, hold, address, media)
  }
}

/// Params of `room.raiseHand`.
public struct RaiseHandParams: Codable, Hashable, Sendable {
  /// Name of the room.
  public var room: String  // name
  /// Whether the hand is up.
  public var raised: Bool

  /// All fields, in the order of the protocol.
  public init(room: String, raised: Bool) {
    self.room = room
    self.raised = raised
  }
}

/// Params of `room.moderated`: a moderator has done something.
public struct RoomModerated: Codable, Hashable, Sendable {
  /// Name of the room.
  public var room: String
  /// The user who did it; absent: the server itself.
  public var by: String?
  /// What it was.
  public var action: ModerationAction
  /// To whom; absent: to all.
  public var user: String?
  /// Which tracks.
  public var kind: TrackKind?
  /// Which role.
  public var role: RoomRole?
  /// When a ban ends, milliseconds since 1970.
  public var until: Int64?
  /// Whether they may not unmute from now on, or may again.
  public var hold: Bool?
  /// What the room carries from now on.
  public var media: MediaClass?
  /// How many people it takes then.
  public var limit: Int?

  /// All fields, in the order of the protocol.
  public init(
    room: String, by: String?, action: ModerationAction, user: String? = nil, kind: TrackKind? = nil,
    role: RoomRole? = nil, until: Int64? = nil, hold: Bool? = nil, media: MediaClass? = nil, limit: Int? = nil
  ) {
    (self.room, self.by, self.action, self.user) = (room, by, action, user)
    (self.kind, self.role, self.until, self.hold) = (kind, role, until, hold)
    (self.media, self.limit) = (media, limit)
  }
}

/// Params of `room.knock`: somebody waits in the lobby, or waits no more. Moderators alone hear it.
public struct RoomKnock: Codable, Hashable, Sendable {
  /// Name of the room.
  public var room: String
  /// Who.
  public var user: String
  /// What they call themselves.
  public var displayName: String
  /// Whether they have gone away unheard; absent: they wait.
  public var gone: Bool?

  /// All fields, in the order of the protocol.
  public init(room: String, user: String, displayName: String, gone: Bool? = nil) {
    (self.room, self.user, self.displayName, self.gone) = (room, user, displayName, gone)
  }
}

/// One who waits in the lobby.
public struct Waiting: Codable, Hashable, Sendable {
  /// Who.
  public var user: String
  /// What they call themselves.
  public var displayName: String

  /// All fields, in the order of the protocol.
  public init(user: String, displayName: String) { (self.user, self.displayName) = (user, displayName) }
}

/// One who is kept out of a room.
public struct RoomBan: Codable, Hashable, Sendable {
  /// Who.
  public var user: String
  /// When it ends, milliseconds since 1970 UTC; absent: not by itself.
  public var until: Int64?

  /// All fields, in the order of the protocol.
  public init(user: String, until: Int64? = nil) { (self.user, self.until) = (user, until) }
}

/// Who may not unmute tracks of one kind.
public struct TrackHold: Codable, Hashable, Sendable {
  /// Which tracks.
  public var kind: TrackKind
  /// Whether it is everybody but `users` rather than `users` alone. Moderators are never meant.
  public var everybody: Bool
  /// By name.
  public var users: [String]

  /// All fields, in the order of the protocol.
  public init(kind: TrackKind, everybody: Bool, users: [String]) {
    (self.kind, self.everybody, self.users) = (kind, everybody, users)
  }
}

/// What moderators have made of a room. What is as usual is absent.
public struct RoomModeration: Codable, Hashable, Sendable {
  /// Nobody more is let in; this is in `room.info`, too.
  public var locked: Bool?
  /// Who comes waits to be admitted; this is in `room.info`, too.
  public var lobby: Bool?
  /// Moderators alone may write; this is in `room.info`, too.
  public var chatDisabled: Bool?
  /// Kinds of tracks that oneself may not unmute.
  public var held: [TrackKind]?
  /// For moderators: `kind`, and `users` who may not unmute. With `everybody: true` it is all but `users`.
  public var holds: [TrackHold]?
  /// For moderators: who waits in the lobby, the first first.
  public var waiting: [Waiting]?
  /// For moderators: who is kept out, and `until` when (without it, until they are let in). Of many it is the first
  /// hundred by name; operators see all. `room.moderated` tells of what follows.
  public var bans: [RoomBan]?

  /// All fields, in the order of the protocol.
  public init(
    locked: Bool? = nil, lobby: Bool? = nil, chatDisabled: Bool? = nil, held: [TrackKind]? = nil,
    holds: [TrackHold]? = nil, waiting: [Waiting]? = nil, bans: [RoomBan]? = nil
  ) {
    (self.locked, self.lobby, self.chatDisabled) = (locked, lobby, chatDisabled)
    (self.held, self.holds, self.waiting, self.bans) = (held, holds, waiting, bans)
  }

  /// Whether all is as usual.
  public var isUsual: Bool { self == RoomModeration() }
}
