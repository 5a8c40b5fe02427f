// swift-format-ignore-file
// Made by scripts/wire of Operations.swift and Objects.swift under Sources/doors/API; `make wire` makes it again. Do not edit.
import RoostProtocol

/// One room that is configured or has somebody in it; calls' rooms are none.
public struct RoomEntry: Codable, Hashable, Sendable {
  /// Name of the room.
  public var room: String
  /// How there came to be it: `configured`, `made`, `changed` (configured, with other settings by now) or `joined`.
  public var origin: String
  /// Its kind.
  public var kind: String
  /// Audio or video.
  public var media: MediaClass
  /// Seats.
  public var limit: Int
  /// Whether nobody more is let in.
  public var locked: Bool
  /// Whether who comes waits to be let in.
  public var lobby: Bool
  /// Whether moderators alone may write.
  public var chatDisabled: Bool
  /// Who waits in the lobby, the first first.
  public var waiting: [Waiting]
  /// Who is in it, in the order of joining.
  public var participants: [RoomPerson]

  /// All fields, in this order.
  public init(
    room: String,
    origin: String,
    kind: String,
    media: MediaClass,
    limit: Int,
    locked: Bool,
    lobby: Bool,
    chatDisabled: Bool,
    waiting: [Waiting],
    participants: [RoomPerson]
  ) {
    self.room = room
    self.origin = origin
    self.kind = kind
    self.media = media
    self.limit = limit
    self.locked = locked
    self.lobby = lobby
    self.chatDisabled = chatDisabled
    self.waiting = waiting
    self.participants = participants
  }
}

/// Somebody in a room.
public struct RoomPerson: Codable, Hashable, Sendable {
  /// As others see them.
  public var participant: Participant
  /// The door that they came by: `native`, `whip`, `whep` or `flashphoner`.
  public var door: String

  /// All fields, in this order.
  public init(participant: Participant, door: String) {
    self.participant = participant
    self.door = door
  }
}

/// A page of rooms.
public struct RoomPage: Codable, Hashable, Sendable {
  /// By name.
  public var rooms: [RoomEntry]
  /// The page that follows; absent where none does.
  public var next: Int?

  /// All fields, in this order.
  public init(rooms: [RoomEntry], next: Int? = nil) {
    self.rooms = rooms
    self.next = next
  }
}

/// What is to be different about a room. What is absent stays.
public struct RoomChange: Codable, Hashable, Sendable {
  /// Whether nobody more is let in. `false` also takes back what moderators have locked, and their lobby.
  public var locked: Bool?
  /// What it carries from now on.
  public var media: MediaClass?

  /// All fields, in this order.
  public init(locked: Bool? = nil, media: MediaClass? = nil) {
    self.locked = locked
    self.media = media
  }
}

/// What a moderator may do, as `room.moderate` says it.
public struct ModerationWish: Codable, Hashable, Sendable {
  /// What to do.
  public var action: ModerationAction
  /// To whom; absent: to all, where that makes sense.
  public var user: String?
  /// Of `mute`: which tracks; audio when absent.
  public var kind: TrackKind?
  /// Of `role`: which.
  public var role: RoomRole?
  /// Of `ban`: when it ends, milliseconds since 1970; absent: not by itself.
  public var until: Int64?
  /// Of `mute` and `stopVideo`: whether they may not unmute from now on (true), may again (false), or as before (absent).
  public var hold: Bool?
  /// Of `ban`: whether the address that they come from is kept out as well, for a time.
  public var address: Bool?
  /// Of `media`: what the room carries from now on.
  public var media: MediaClass?

  /// All fields, in this order.
  public init(
    action: ModerationAction,
    user: String? = nil,
    kind: TrackKind? = nil,
    role: RoomRole? = nil,
    until: Int64? = nil,
    hold: Bool? = nil,
    address: Bool? = nil,
    media: MediaClass? = nil
  ) {
    self.action = action
    self.user = user
    self.kind = kind
    self.role = role
    self.until = until
    self.hold = hold
    self.address = address
    self.media = media
  }
}

/// What was done.
public struct ModerationDone: Codable, Hashable, Sendable {
  /// The room.
  public var room: String
  /// What it was.
  public var action: ModerationAction

  /// All fields, in this order.
  public init(room: String, action: ModerationAction) {
    self.room = room
    self.action = action
  }
}

/// What is to be written in a room's chat.
public struct ChatWish: Codable, Hashable, Sendable {
  /// The text.
  public var text: String
  /// The name that it is shown under.
  public var displayName: String
  /// The users it is for; all when absent or empty.
  public var to: [String]?

  /// All fields, in this order.
  public init(text: String, displayName: String, to: [String]? = nil) {
    self.text = text
    self.displayName = displayName
    self.to = to
  }
}

/// A custom message that is to be sent.
public struct MessageWish: Codable, Hashable, Sendable {
  /// What it is about: a word of the application's, 1 to 64 bytes.
  public var topic: String
  /// Any JSON of at most 8 KiB but `null`, handed on byte for byte.
  public var data: RawJSON
  /// The users it is for; all when absent or empty.
  public var to: [String]?
  /// The name that its sender is shown under.
  public var displayName: String?

  /// All fields, in this order.
  public init(topic: String, data: RawJSON, to: [String]? = nil, displayName: String? = nil) {
    self.topic = topic
    self.data = data
    self.to = to
    self.displayName = displayName
  }
}

/// How many people were put out.
public struct RemovedCount: Codable, Hashable, Sendable {
  /// The number.
  public var removed: Int

  /// All fields, in this order.
  public init(removed: Int) {
    self.removed = removed
  }
}

/// Where somebody is to be moved.
public struct MoveWish: Codable, Hashable, Sendable {
  /// Name of the other room.
  public var to: String

  /// All fields, in this order.
  public init(to: String) {
    self.to = to
  }
}

/// How many people were moved.
public struct MovedCount: Codable, Hashable, Sendable {
  /// The number.
  public var moved: Int

  /// All fields, in this order.
  public init(moved: Int) {
    self.moved = moved
  }
}

/// What a room is to be like: a kind, and what differs from it. What is absent is as the kind has it.
public struct RoomSettings: Codable, Hashable, Sendable {
  /// Name of a kind of rooms.yaml.
  public var kind: String
  /// Seats while it carries video.
  public var videoLimit: Int?
  /// Seats while it carries audio only.
  public var audioLimit: Int?
  /// What it carries: `video`, `audio`, or what the `first_joiner` brings.
  public var media: String?
  /// How many participants may publish at once.
  public var publishers: Int?
  /// How many of those who only play may come in beside the seats.
  public var players: Int?
  /// Video of so many who spoke last is sent.
  public var videoLastN: Int?
  /// Tracks that one participant may publish.
  public var tracksPerParticipant: Int?
  /// How many others everybody hears at once.
  public var audioLoudest: Int?
  /// Bits per second that one track of sound is asked to stay below.
  public var audioBitrate: Int?
  /// Chat messages that are kept for those who join later.
  public var chatHistory: Int?
  /// When these settings are taken back, milliseconds since 1970; absent: not by themselves.
  public var until: Int64?

  /// All fields, in this order.
  public init(
    kind: String,
    videoLimit: Int? = nil,
    audioLimit: Int? = nil,
    media: String? = nil,
    publishers: Int? = nil,
    players: Int? = nil,
    videoLastN: Int? = nil,
    tracksPerParticipant: Int? = nil,
    audioLoudest: Int? = nil,
    audioBitrate: Int? = nil,
    chatHistory: Int? = nil,
    until: Int64? = nil
  ) {
    self.kind = kind
    self.videoLimit = videoLimit
    self.audioLimit = audioLimit
    self.media = media
    self.publishers = publishers
    self.players = players
    self.videoLastN = videoLastN
    self.tracksPerParticipant = tracksPerParticipant
    self.audioLoudest = audioLoudest
    self.audioBitrate = audioBitrate
    self.chatHistory = chatHistory
    self.until = until
  }
}

/// A room that is to be made.
public struct RoomWish: Codable, Hashable, Sendable {
  /// Its name.
  public var room: String
  /// Name of a kind of rooms.yaml.
  public var kind: String
  /// Seats while it carries video.
  public var videoLimit: Int?
  /// Seats while it carries audio only.
  public var audioLimit: Int?
  /// What it carries: `video`, `audio`, or what the `first_joiner` brings.
  public var media: String?
  /// How many participants may publish at once.
  public var publishers: Int?
  /// How many of those who only play may come in beside the seats.
  public var players: Int?
  /// Video of so many who spoke last is sent.
  public var videoLastN: Int?
  /// Tracks that one participant may publish.
  public var tracksPerParticipant: Int?
  /// How many others everybody hears at once.
  public var audioLoudest: Int?
  /// Bits per second that one track of sound is asked to stay below.
  public var audioBitrate: Int?
  /// Chat messages that are kept for those who join later.
  public var chatHistory: Int?
  /// When these settings are taken back, milliseconds since 1970; absent: not by themselves.
  public var until: Int64?
  /// Whether nobody more is let in, from its beginning.
  public var locked: Bool?
  /// Whether who comes waits to be let in, from its beginning.
  public var lobby: Bool?

  /// All fields, in this order.
  public init(
    room: String,
    kind: String,
    videoLimit: Int? = nil,
    audioLimit: Int? = nil,
    media: String? = nil,
    publishers: Int? = nil,
    players: Int? = nil,
    videoLastN: Int? = nil,
    tracksPerParticipant: Int? = nil,
    audioLoudest: Int? = nil,
    audioBitrate: Int? = nil,
    chatHistory: Int? = nil,
    until: Int64? = nil,
    locked: Bool? = nil,
    lobby: Bool? = nil
  ) {
    self.room = room
    self.kind = kind
    self.videoLimit = videoLimit
    self.audioLimit = audioLimit
    self.media = media
    self.publishers = publishers
    self.players = players
    self.videoLastN = videoLastN
    self.tracksPerParticipant = tracksPerParticipant
    self.audioLoudest = audioLoudest
    self.audioBitrate = audioBitrate
    self.chatHistory = chatHistory
    self.until = until
    self.locked = locked
    self.lobby = lobby
  }
}

/// A room and what it is to be like.
public struct RoomDefinition: Codable, Hashable, Sendable {
  /// Name of the room.
  public var room: String
  /// As of `RoomEntry`.
  public var origin: String
  /// Whether people are let in: not where its kind is gone from rooms.yaml, or its settings cannot be read.
  public var served: Bool
  /// Which settings these are: the ETag without its quotation marks. Each change has another.
  public var version: String
  /// What it is to be like; of a configured room all that its kind says, too.
  public var settings: RoomSettings

  /// All fields, in this order.
  public init(room: String, origin: String, served: Bool, version: String, settings: RoomSettings) {
    self.room = room
    self.origin = origin
    self.served = served
    self.version = version
    self.settings = settings
  }
}

/// A page of rooms with settings.
public struct RoomDefinitionPage: Codable, Hashable, Sendable {
  /// By name.
  public var rooms: [RoomDefinition]
  /// The page that follows; absent where none does.
  public var next: Int?

  /// All fields, in this order.
  public init(rooms: [RoomDefinition], next: Int? = nil) {
    self.rooms = rooms
    self.next = next
  }
}

/// A ban of a user or of an address.
public struct BanEntry: Codable, Hashable, Sendable {
  /// The room that it is of; absent: all.
  public var room: String?
  /// The user who is banned, or who was banned with the address.
  public var user: String?
  /// The address or network that is banned; absent: the user is, whatever address they come from.
  public var address: String?
  /// When it ends, milliseconds since 1970; absent: not by itself.
  public var until: Int64?
  /// The moderator who wanted it; absent: an operator.
  public var by: String?

  /// All fields, in this order.
  public init(
    room: String? = nil,
    user: String? = nil,
    address: String? = nil,
    until: Int64? = nil,
    by: String? = nil
  ) {
    self.room = room
    self.user = user
    self.address = address
    self.until = until
    self.by = by
  }
}

/// A page of bans: by room and user, and behind them addresses.
public struct BanPage: Codable, Hashable, Sendable {
  /// Those that last.
  public var bans: [BanEntry]
  /// The page that follows; absent where none does.
  public var next: Int?

  /// All fields, in this order.
  public init(bans: [BanEntry], next: Int? = nil) {
    self.bans = bans
    self.next = next
  }
}

/// An address that is to be banned: one of `address` and `user`.
public struct BanWish: Codable, Hashable, Sendable {
  /// The address, or a network such as 203.0.113.0/24.
  public var address: String?
  /// Who is in `room`, and whose address it is.
  public var user: String?
  /// The room that it is kept out of; absent: all. With `user` it must be there.
  public var room: String?
  /// When it ends, milliseconds since 1970; absent: in an hour.
  public var until: Int64?

  /// All fields, in this order.
  public init(address: String? = nil, user: String? = nil, room: String? = nil, until: Int64? = nil) {
    self.address = address
    self.user = user
    self.room = room
    self.until = until
  }
}

/// How many bans, blocks, tokens or narrowed grants were taken back.
public struct LiftedCount: Codable, Hashable, Sendable {
  /// The number.
  public var lifted: Int

  /// All fields, in this order.
  public init(lifted: Int) {
    self.lifted = lifted
  }
}

/// How many others a user has blocked.
public struct BlockingUser: Codable, Hashable, Sendable {
  /// Who.
  public var user: String
  /// How many.
  public var blocks: Int

  /// All fields, in this order.
  public init(user: String, blocks: Int) {
    self.user = user
    self.blocks = blocks
  }
}

/// A page of users who have blocked others.
public struct BlockingPage: Codable, Hashable, Sendable {
  /// Blocks of all users.
  public var count: Int
  /// As many as there may be.
  public var limit: Int
  /// Those with the most first.
  public var users: [BlockingUser]
  /// The page that follows; absent where none does.
  public var next: Int?

  /// All fields, in this order.
  public init(count: Int, limit: Int, users: [BlockingUser], next: Int? = nil) {
    self.count = count
    self.limit = limit
    self.users = users
    self.next = next
  }
}

/// Whom a user has blocked.
public struct BlockList: Codable, Hashable, Sendable {
  /// By name.
  public var blocked: [String]

  /// All fields, in this order.
  public init(blocked: [String]) {
    self.blocked = blocked
  }
}

/// A token that was taken back.
public struct RevokedToken: Codable, Hashable, Sendable {
  /// Its name.
  public var jti: String
  /// When no such token can be good any more, milliseconds since 1970.
  public var until: Int64

  /// All fields, in this order.
  public init(jti: String, until: Int64) {
    self.jti = jti
    self.until = until
  }
}

/// A page of tokens that were taken back.
public struct RevokedPage: Codable, Hashable, Sendable {
  /// By name.
  public var revoked: [RevokedToken]
  /// The page that follows; absent where none does.
  public var next: Int?

  /// All fields, in this order.
  public init(revoked: [RevokedToken], next: Int? = nil) {
    self.revoked = revoked
    self.next = next
  }
}

/// What is left of a user's grants.
public struct GrantsEntry: Codable, Hashable, Sendable {
  /// Whose.
  public var user: String
  /// Where; absent: everywhere.
  public var room: String?
  /// What is left where their token gives it.
  public var grants: [Grant]
  /// When it was said, milliseconds since 1970.
  public var at: Int64
  /// When no token can be good any more that it is about, milliseconds since 1970.
  public var until: Int64

  /// All fields, in this order.
  public init(user: String, room: String? = nil, grants: [Grant], at: Int64, until: Int64) {
    self.user = user
    self.room = room
    self.grants = grants
    self.at = at
    self.until = until
  }
}

/// A page of users whose grants were narrowed.
public struct GrantsPage: Codable, Hashable, Sendable {
  /// By user and room.
  public var grants: [GrantsEntry]
  /// The page that follows; absent where none does.
  public var next: Int?

  /// All fields, in this order.
  public init(grants: [GrantsEntry], next: Int? = nil) {
    self.grants = grants
    self.next = next
  }
}

/// What is to be left of a user's grants.
public struct GrantsWish: Codable, Hashable, Sendable {
  /// What is left; nothing where it is empty.
  public var grants: [Grant]
  /// In which room; absent: everywhere.
  public var room: String?

  /// All fields, in this order.
  public init(grants: [Grant], room: String? = nil) {
    self.grants = grants
    self.room = room
  }
}

/// In how many sessions a user's grants are fewer now.
public struct NarrowedCount: Codable, Hashable, Sendable {
  /// The number.
  public var narrowed: Int

  /// All fields, in this order.
  public init(narrowed: Int) {
    self.narrowed = narrowed
  }
}

/// What is known of a user, who may never have been here.
public struct UserEntry: Codable, Hashable, Sendable {
  /// Who.
  public var user: String
  /// Whether a device of theirs is connected.
  public var online: Bool
  /// Whether one of them takes calls.
  public var reachable: Bool
  /// How many are connected.
  public var devices: Int
  /// The call that they are in; absent: none.
  public var call: String?
  /// Calls that they missed and have not looked at.
  public var missed: Int

  /// All fields, in this order.
  public init(user: String, online: Bool, reachable: Bool, devices: Int, call: String? = nil, missed: Int) {
    self.user = user
    self.online = online
    self.reachable = reachable
    self.devices = devices
    self.call = call
    self.missed = missed
  }
}

/// How many missed calls were not looked at before.
public struct SeenCount: Codable, Hashable, Sendable {
  /// The number.
  public var seen: Int

  /// All fields, in this order.
  public init(seen: Int) {
    self.seen = seen
  }
}

/// A call between users that an application wants.
public struct CallWish: Codable, Hashable, Sendable {
  /// Who is to be the caller; absent: the first of `to`.
  public var from: String?
  /// Whom they are to call. The caller counts as nobody.
  public var to: [String]
  /// `one_to_one` (one user), `one_to_many` or `group`; absent: `one_to_one`.
  public var kind: CallKind?
  /// Absent: `video`.
  public var media: MediaClass?
  /// How long each of them rings, 5,000 to 180,000 milliseconds.
  public var ringTimeoutMs: Int64?
  /// As of `call.start`.
  public var rejectPolicy: RejectPolicy?
  /// As of `call.start`.
  public var busyPolicy: BusyPolicy?
  /// Any JSON up to 4 KiB, shown to all members as it was written.
  public var extra: RawJSON?
  /// Any JSON up to 4 KiB for whoever wakes phones.
  public var push: RawJSON?

  /// All fields, in this order.
  public init(
    from: String? = nil,
    to: [String],
    kind: CallKind? = nil,
    media: MediaClass? = nil,
    ringTimeoutMs: Int64? = nil,
    rejectPolicy: RejectPolicy? = nil,
    busyPolicy: BusyPolicy? = nil,
    extra: RawJSON? = nil,
    push: RawJSON? = nil
  ) {
    self.from = from
    self.to = to
    self.kind = kind
    self.media = media
    self.ringTimeoutMs = ringTimeoutMs
    self.rejectPolicy = rejectPolicy
    self.busyPolicy = busyPolicy
    self.extra = extra
    self.push = push
  }
}

/// Users who are to be rung for a call.
public struct InviteWish: Codable, Hashable, Sendable {
  /// Whom to ring.
  public var users: [String]
  /// As whom, of those who are in it; absent: as the host, the caller or who has been in it longest.
  public var from: String?
  /// What becomes of one who is in another call; absent: they are rung.
  public var busyPolicy: BusyPolicy?
  /// How long to ring, 5,000 to 180,000 milliseconds.
  public var ringTimeoutMs: Int64?
  /// Any JSON up to 4 KiB, shown to those users as it was written.
  public var extra: RawJSON?
  /// Any JSON up to 4 KiB for whoever wakes phones.
  public var push: RawJSON?

  /// All fields, in this order.
  public init(
    users: [String],
    from: String? = nil,
    busyPolicy: BusyPolicy? = nil,
    ringTimeoutMs: Int64? = nil,
    extra: RawJSON? = nil,
    push: RawJSON? = nil
  ) {
    self.users = users
    self.from = from
    self.busyPolicy = busyPolicy
    self.ringTimeoutMs = ringTimeoutMs
    self.extra = extra
    self.push = push
  }
}

/// A page of calls.
public struct CallPage: Codable, Hashable, Sendable {
  /// Those that ring or run, the oldest first.
  public var calls: [Call]
  /// The page that follows; absent where none does.
  public var next: Int?

  /// All fields, in this order.
  public init(calls: [Call], next: Int? = nil) {
    self.calls = calls
    self.next = next
  }
}

/// Why a request is not served (RFC 9457).
public struct Problem: Codable, Hashable, Sendable {
  /// Absent, as `about:blank`: the title is that of the status.
  public var type: String?
  /// The status in words.
  public var title: String
  /// The status of HTTP.
  public var status: Int
  /// A sentence for people.
  public var detail: String?
  /// The number of the error on the wire; absent where HTTP's own rules are at fault.
  public var code: Int?
  /// The name of that error.
  public var name: String?
  /// The field, parameter or header at fault.
  public var field: String?
  /// What belongs there.
  public var expected: String?

  /// All fields, in this order.
  public init(
    type: String? = nil,
    title: String,
    status: Int,
    detail: String? = nil,
    code: Int? = nil,
    name: String? = nil,
    field: String? = nil,
    expected: String? = nil
  ) {
    self.type = type
    self.title = title
    self.status = status
    self.detail = detail
    self.code = code
    self.name = name
    self.field = field
    self.expected = expected
  }
}

/// Events that are kept.
public struct ReplayPage: Codable, Hashable, Sendable {
  /// As web servers are told them (docs/webhooks.md), by `number`. What is missing between two numbers is kept no more.
  public var events: [RawJSON]
  /// The number of the newest event that there is; 0 without any. One that is lower than what you know says that the record file was begun anew.
  public var last: Int
  /// What is missing before the first of them; absent: nothing.
  public var lost: EventRange?

  /// All fields, in this order.
  public init(events: [RawJSON], last: Int, lost: EventRange? = nil) {
    self.events = events
    self.last = last
    self.lost = lost
  }
}

/// Numbers of events.
public struct EventRange: Codable, Hashable, Sendable {
  /// The first.
  public var from: Int
  /// The last.
  public var to: Int

  /// All fields, in this order.
  public init(from: Int, to: Int) {
    self.from = from
    self.to = to
  }
}
