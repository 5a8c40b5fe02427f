// What rooms are made of on the wire: snapshot, participant, track, chat message (docs/protocol.md, objects).

/// One published audio or video track.
public struct Track: Codable, Hashable, Sendable {
  /// Names the track; opaque, never used again.
  public var trackId: String
  /// Audio or video.
  public var kind: TrackKind
  /// What the publisher calls it; may be empty.
  public var label: String
  /// What it comes from, where the publisher says so.
  public var source: TrackSource?
  /// Whether its media stops at the server.
  public var muted: Bool
  /// Which of a device's views this is.
  public var viewIndex: Int?
  /// How one picture holds several views; opaque to the server.
  public var split: JSONValue?
  /// Layers a subscriber may choose from; empty when there is nothing to choose.
  public var definitions: [Definition]

  /// All fields, in the order of the protocol.
  public init(
    trackId: String, kind: TrackKind, label: String, source: TrackSource? = nil, muted: Bool, viewIndex: Int? = nil,
    split: JSONValue? = nil, definitions: [Definition]
  ) {
    self.trackId = trackId
    self.kind = kind
    self.label = label
    self.source = source
    self.muted = muted
    self.viewIndex = viewIndex
    self.split = split
    self.definitions = definitions
  }
}

extension Track {
  /// Whether it is a shared screen. Older clients say so by the label alone.
  public var isScreen: Bool { kind == .video && (source.map { $0 == .screen } ?? (label == "screen")) }
  /// Whether it shows somebody, as far as is known.
  public var isCamera: Bool { kind == .video && !isScreen }
  /// Whether it shows somebody, or lets them be heard: no screen, and no sound of one.
  public func isOfPerson(_ kind: TrackKind) -> Bool {
    self.kind == kind && (kind == .video ? isCamera : source != .screenAudio)
  }
}

/// One person in a room.
public struct Participant: Codable, Hashable, Sendable {
  /// Names the seat, also across reconnects and takeover.
  public var participantId: String
  /// Who it is.
  public var user: String
  /// What others see.
  public var displayName: String
  /// Joined, connecting or reconnecting.
  public var state: ParticipantState
  /// What he says of himself; opaque to the server.
  public var metadata: RawJSON
  /// What he publishes, oldest first.
  public var tracks: [Track]
  /// Moderator or speaker; absent for all others.
  public var role: RoomRole?
  /// Since when a hand is up, milliseconds since 1970; absent while it is not.
  public var handRaisedAt: Int64?

  /// All fields, in the order of the protocol.
  public init(
    participantId: String, user: String, displayName: String, state: ParticipantState, metadata: RawJSON,
    tracks: [Track], role: RoomRole? = nil, handRaisedAt: Int64? = nil
  ) {
    self.participantId = participantId
    self.user = user
    self.displayName = displayName
    self.state = state
    self.metadata = metadata
    self.tracks = tracks
    self.role = role
    self.handRaisedAt = handRaisedAt
  }
}

/// A chat message.
public struct Message: Codable, Hashable, Sendable {
  /// Names the message; grows with time in its room.
  public var msgId: String
  /// The room it was sent in.
  public var room: String
  /// When the server took it, milliseconds since 1970.
  public var ts: Int64
  /// The user who sent it, as the server knows him.
  public var from: String
  /// What the sender was called then.
  public var displayName: String?
  /// The users it is for; absent when it is for all.
  public var to: [String]?
  /// The text.
  public var text: String

  /// All fields, in the order of the protocol.
  public init(
    msgId: String, room: String, ts: Int64, from: String, displayName: String? = nil, to: [String]? = nil, text: String
  ) {
    self.msgId = msgId
    self.room = room
    self.ts = ts
    self.from = from
    self.displayName = displayName
    self.to = to
    self.text = text
  }
}

/// A room as it stands at `seq`: every event with a larger `seq` comes on top of it, none before it does.
public struct RoomSnapshot: Codable, Hashable, Sendable {
  /// Name of the room.
  public var room: String
  /// Its kind, as configured.
  public var kind: String
  /// Audio or video.
  public var media: MediaClass
  /// Seats.
  public var limit: Int
  /// Seats taken.
  public var count: Int
  /// The session's event number that this stands at.
  public var seq: Int
  /// The participant that is oneself.
  public var selfId: String
  /// Everybody in the room, oneself included, in the order of joining.
  public var participants: [Participant]
  /// Recent messages that one may see, oldest first.
  public var chat: [Message]
  /// One's own views; absent where one has none. `view.changed` says what they show.
  public var views: [String]?
  /// What moderators have made of the room; absent where all is as usual.
  public var moderation: RoomModeration?

  /// All fields, in the order of the protocol.
  public init(
    room: String, kind: String, media: MediaClass, limit: Int, count: Int, seq: Int, selfId: String,
    participants: [Participant], chat: [Message], views: [String]? = nil, moderation: RoomModeration? = nil
  ) {
    self.room = room
    self.kind = kind
    self.media = media
    self.limit = limit
    self.count = count
    self.seq = seq
    self.selfId = selfId
    self.participants = participants
    self.chat = chat
    self.views = views
    self.moderation = moderation
  }

  private enum CodingKeys: String, CodingKey {
    case room, kind, media, limit, count, seq
    case selfId = "self"
    case participants, chat, views, moderation
  }
}

/// A room as one who is not in it sees it.
public struct RoomInfo: Codable, Hashable, Sendable {
  /// Name of the room.
  public var name: String
  /// Its kind, as configured.
  public var kind: String
  /// Audio or video; what a first joiner gets by default while that is undecided.
  public var media: MediaClass
  /// Seats.
  public var limit: Int
  /// Seats taken.
  public var count: Int
  /// How many publish something; in `room.info` alone.
  public var publishers: Int?
  /// What moderators have made of the room; in `room.info` alone, and absent where all is as usual.
  public var moderation: RoomModeration?

  /// All fields, in the order of the protocol.
  public init(
    name: String, kind: String, media: MediaClass, limit: Int, count: Int, publishers: Int? = nil,
    moderation: RoomModeration? = nil
  ) {
    self.name = name
    self.kind = kind
    self.media = media
    self.limit = limit
    self.count = count
    self.publishers = publishers
    self.moderation = moderation
  }
}

/// A STUN or TURN server, as RTCIceServer has it.
public struct ICEServer: Codable, Hashable, Sendable {
  /// `stun:`, `turn:` and `turns:` URLs.
  public var urls: [String]
  /// TURN user name.
  public var username: String?
  /// TURN password.
  public var credential: String?

  /// All fields, in the order of the protocol.
  public init(urls: [String], username: String? = nil, credential: String? = nil) {
    self.urls = urls
    self.username = username
    self.credential = credential
  }
}

/// What the server takes from this session.
public struct ServerLimits: Codable, Hashable, Sendable {
  /// Bytes in one text frame.
  public var messageBytes: Int
  /// Bytes of UTF-8 in one chat message.
  public var chatBytes: Int
  /// Bytes of JSON in a participant's metadata.
  public var metadataBytes: Int
  /// Tracks that one participant may publish, unless the room says less.
  public var tracks: Int
  /// Missed events that a resume can replay.
  public var replayEvents: Int
  /// How long a lost session keeps its seat.
  public var resumeGraceMs: Int64
  /// How often the server pings a session that only waits: its client need not ask more often whether the server is there. Nil from
  /// a server that does not say so.
  public var idlePingMs: Int64?

  /// All fields, in the order of the protocol.
  public init(
    messageBytes: Int, chatBytes: Int, metadataBytes: Int, tracks: Int, replayEvents: Int, resumeGraceMs: Int64,
    idlePingMs: Int64? = nil
  ) {
    self.messageBytes = messageBytes
    self.chatBytes = chatBytes
    self.metadataBytes = metadataBytes
    self.tracks = tracks
    self.replayEvents = replayEvents
    self.resumeGraceMs = resumeGraceMs
    self.idlePingMs = idlePingMs
  }
}
