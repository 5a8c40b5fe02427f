// Params, results and events of `room.*`.

/// Params of `room.join`.
public struct RoomJoinParams: Codable, Hashable, Sendable {
  /// Name of the room: 1 to 128 bytes, printable, no blank at either end. Names that begin with `call:` get 1005.
  public var room: String  // name
  /// What others see; that of `session.hello` when absent. 2003 when somebody else in the room has it, or one that
  /// reads the same.
  public var displayName: String?  // shown name
  /// `video` or `audio`: the class of a room that is empty and whose class is left to the first joiner; `video` when
  /// absent; ignored otherwise.
  public var media: MediaClass?
  /// What to tell the others of oneself: any JSON up to 4 KiB; `{}` when absent.
  public var metadata: RawJSON?  // shown opaque
  /// Whether to receive every track of the room; true when absent.
  public var autoSubscribe: Bool?
  /// How many views to open with the seat, 0 to 49. With one or more `autoSubscribe` means sound alone. A room without
  /// video opens none. Says nothing when one sits in the room already.
  public var views: Int?  // 0...views
  /// Whether to take the seat of one's other device.
  public var takeover: Bool?
  /// Token of that device's session, where the server does not authenticate users.
  public var resumeToken: String?  // text, at most tokenBytes

  /// All fields, in the order of the protocol.
  public init(
    room: String, displayName: String? = nil, media: MediaClass? = nil, metadata: RawJSON? = nil,
    autoSubscribe: Bool? = nil, views: Int? = nil, takeover: Bool? = nil, resumeToken: String? = nil
  ) {
    self.room = room
    self.displayName = displayName
    self.media = media
    self.metadata = metadata
    self.autoSubscribe = autoSubscribe
    self.views = views
    self.takeover = takeover
    self.resumeToken = resumeToken
  }
}

/// Params of `room.leave` and `room.info`.
public struct RoomParams: Codable, Hashable, Sendable {
  /// Name of the room.
  public var room: String  // name

  /// All fields, in the order of the protocol.
  public init(room: String) {
    self.room = room
  }
}

/// Params of `room.list`.
public struct RoomListParams: Codable, Hashable, Sendable {
  /// `next` of the page before.
  public var after: String?  // name
  /// How many at most, 1 to 100; 100 when absent.
  public var limit: Int?  // 1...page

  /// All fields, in the order of the protocol.
  public init(after: String? = nil, limit: Int? = nil) {
    self.after = after
    self.limit = limit
  }
}

/// Result of `room.list`: one page.
public struct RoomListResult: Codable, Hashable, Sendable {
  /// Named rooms and those with somebody in them, by name.
  public var rooms: [RoomInfo]
  /// `after` of the next page; nil when this is the last one.
  public var next: String?

  /// All fields, in the order of the protocol.
  public init(rooms: [RoomInfo], next: String? = nil) {
    self.rooms = rooms
    self.next = next
  }
}

/// Params of `room.participantJoined`, `Updated`, `Reconnecting` and `Reconnected`.
public struct ParticipantEvent: Codable, Hashable, Sendable {
  /// Name of the room.
  public var room: String
  /// The participant, whole.
  public var participant: Participant

  /// All fields, in the order of the protocol.
  public init(room: String, participant: Participant) {
    self.room = room
    self.participant = participant
  }
}

/// Params of `room.participantLeft`; his tracks end with it.
public struct ParticipantLeft: Codable, Hashable, Sendable {
  /// Name of the room.
  public var room: String
  /// Who.
  public var participantId: String
  /// His user.
  public var user: String
  /// Why.
  public var reason: LeaveReason

  /// All fields, in the order of the protocol.
  public init(room: String, participantId: String, user: String, reason: LeaveReason) {
    self.room = room
    self.participantId = participantId
    self.user = user
    self.reason = reason
  }
}

/// Params of `room.trackPublished`.
public struct TrackPublished: Codable, Hashable, Sendable {
  /// Name of the room.
  public var room: String
  /// Whose.
  public var participantId: String
  /// The track.
  public var track: Track

  /// All fields, in the order of the protocol.
  public init(room: String, participantId: String, track: Track) {
    self.room = room
    self.participantId = participantId
    self.track = track
  }
}

/// Params of `room.trackUnpublished`, `trackMuted` and `trackUnmuted`.
public struct TrackChange: Codable, Hashable, Sendable {
  /// Name of the room.
  public var room: String
  /// Whose.
  public var participantId: String
  /// Which track.
  public var trackId: String

  /// All fields, in the order of the protocol.
  public init(room: String, participantId: String, trackId: String) {
    self.room = room
    self.participantId = participantId
    self.trackId = trackId
  }
}

/// One who speaks.
public struct Speaker: Codable, Hashable, Sendable {
  /// Who.
  public var participantId: String
  /// How loud, in -dBov (RFC 6464): 0 is the loudest, 127 silence.
  public var level: Int

  /// All fields, in the order of the protocol.
  public init(participantId: String, level: Int) {
    self.participantId = participantId
    self.level = level
  }
}

/// Params of `room.activeSpeakers`.
public struct ActiveSpeakers: Codable, Hashable, Sendable {
  /// Name of the room.
  public var room: String
  /// Who speaks, loudest first; empty for silence.
  public var speakers: [Speaker]

  /// All fields, in the order of the protocol.
  public init(room: String, speakers: [Speaker]) {
    self.room = room
    self.speakers = speakers
  }
}

/// Params of `room.switched`: one was moved to another room, as whom one was in the room before.
///
/// What one publishes goes on, as far as the other room takes it: one's own tracks in the snapshot are what is left. One's subscriptions are over,
/// without an event for each; views go on and show nothing at first.
public struct RoomSwitched: Codable, Hashable, Sendable {
  /// Name of the room that one was in.
  public var from: String
  /// The room that one is in now, with one's own tracks.
  public var snapshot: RoomSnapshot
  /// Whether one has to make both peer connections anew, and publish again: the other room's media are handled elsewhere. Absent: both go on.
  public var reconnect: Bool?

  /// All fields, in the order of the protocol.
  public init(from: String, snapshot: RoomSnapshot, reconnect: Bool? = nil) {
    self.from = from
    self.snapshot = snapshot
    self.reconnect = reconnect
  }
}

/// Params of `room.closed`: one is no longer in the room.
public struct RoomClosed: Codable, Hashable, Sendable {
  /// Name of the room.
  public var room: String
  /// Why.
  public var reason: RoomClosedReason

  /// All fields, in the order of the protocol.
  public init(room: String, reason: RoomClosedReason) {
    self.room = room
    self.reason = reason
  }
}
