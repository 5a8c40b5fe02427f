// The open sets of words: those that the server writes and clients read.

/// Whether a participant is there.
public struct ParticipantState: OpenName {
  /// The word on the wire.
  public var rawValue: String
  /// Any word.
  public init(rawValue: String) { self.rawValue = rawValue }

  /// He is there.
  public static let joined = Self(rawValue: "joined")
  /// He has answered a call, and his media is not up yet.
  public static let connecting = Self(rawValue: "connecting")
  /// His socket or media is lost, and he may come back.
  public static let reconnecting = Self(rawValue: "reconnecting")
}

/// What a track comes from.
public struct TrackSource: OpenName {
  /// The word on the wire.
  public var rawValue: String
  /// Any word.
  public init(rawValue: String) { self.rawValue = rawValue }

  /// A camera, or another picture of the device.
  public static let camera = Self(rawValue: "camera")
  /// A microphone.
  public static let microphone = Self(rawValue: "microphone")
  /// The picture of a shared screen, window or tab.
  public static let screen = Self(rawValue: "screen")
  /// The sound that belongs to one.
  public static let screenAudio = Self(rawValue: "screen_audio")

  /// Those that may be announced; a later server may know more.
  public static let known: [Self] = [camera, microphone, screen, screenAudio]
}

/// Why a participant left.
public struct LeaveReason: OpenName {
  /// The word on the wire.
  public var rawValue: String
  /// Any word.
  public init(rawValue: String) { self.rawValue = rawValue }

  /// He said so, or closed cleanly.
  public static let left = Self(rawValue: "left")
  /// He did not come back in time.
  public static let lost = Self(rawValue: "lost")
  /// A newer session of his device took over.
  public static let replaced = Self(rawValue: "replaced")
  /// Somebody with the right to do so removed him.
  public static let removed = Self(rawValue: "removed")
  /// An operator moved them to another room.
  public static let moved = Self(rawValue: "moved")
}

/// Why one is no longer in a room that one has not left.
public struct RoomClosedReason: OpenName {
  /// The word on the wire.
  public var rawValue: String
  /// Any word.
  public init(rawValue: String) { self.rawValue = rawValue }

  /// The room was closed.
  public static let closed = Self(rawValue: "closed")
  /// One's media did not come back in time.
  public static let lost = Self(rawValue: "lost")
  /// Another of one's devices took the seat over.
  public static let replaced = Self(rawValue: "replaced")
  /// Somebody with the right to do so removed one.
  public static let removed = Self(rawValue: "removed")
}

/// What a client should do when the server is about to close.
public struct ClosingAction: OpenName {
  /// The word on the wire.
  public var rawValue: String
  /// Any word.
  public init(rawValue: String) { self.rawValue = rawValue }

  /// Connect again and say hello.
  public static let reconnect = Self(rawValue: "reconnect")
  /// Connect again and resume.
  public static let resume = Self(rawValue: "resume")
  /// Stay away.
  public static let stop = Self(rawValue: "stop")
}

/// Why the server is about to close.
public struct ClosingReason: OpenName {
  /// The word on the wire.
  public var rawValue: String
  /// Any word.
  public init(rawValue: String) { self.rawValue = rawValue }

  /// The server stops or moves.
  public static let draining = Self(rawValue: "draining")
  /// Nothing was heard for too long.
  public static let idle = Self(rawValue: "idle")
  /// The client does not read what it is sent.
  public static let tooSlow = Self(rawValue: "too_slow")
  /// Too much garbage.
  public static let abuse = Self(rawValue: "abuse")
  /// The token of the session is over, and no further one came.
  public static let tokenExpired = Self(rawValue: "token_expired")
  /// An operator has taken the token of the session back.
  public static let tokenRevoked = Self(rawValue: "token_revoked")
}

/// Why a subscription changed.
public struct SubscriptionReason: OpenName {
  /// The word on the wire.
  public var rawValue: String
  /// Any word.
  public init(rawValue: String) { self.rawValue = rawValue }

  /// The subscriber asked for it.
  public static let request = Self(rawValue: "request")
  /// The track is no longer published.
  public static let trackEnded = Self(rawValue: "track_ended")
  /// There is too little bandwidth.
  public static let bandwidth = Self(rawValue: "bandwidth")
  /// The room sends the video of those alone who spoke last.
  public static let lastN = Self(rawValue: "last_n")
  /// Nothing of its track comes that could be sent.
  public static let noMedia = Self(rawValue: "no_media")
  /// The answer did not take its line.
  public static let refused = Self(rawValue: "refused")
  /// The subscriber knows none of the publisher's codecs.
  public static let noCodec = Self(rawValue: "no_codec")
  /// The connection has no line left.
  public static let tooMany = Self(rawValue: "too_many")
  /// One may not receive any more.
  public static let forbidden = Self(rawValue: "forbidden")
}

/// What is missing of a subscription's track.
public struct SubscriptionStep: OpenName {
  /// The word on the wire.
  public var rawValue: String
  /// Any word.
  public init(rawValue: String) { self.rawValue = rawValue }

  /// No packet has come.
  public static let nothing = Self(rawValue: "nothing")
  /// Packets of video have come, and none that a picture can begin with.
  public static let noKeyframe = Self(rawValue: "no_keyframe")
}

/// Where a media connection failed.
public struct MediaStep: OpenName {
  /// The word on the wire.
  public var rawValue: String
  /// Any word.
  public init(rawValue: String) { self.rawValue = rawValue }

  /// No connectivity check succeeded.
  public static let ice = Self(rawValue: "ice")
  /// The handshake failed.
  public static let dtls = Self(rawValue: "dtls")
  /// The other end is no longer heard.
  public static let consent = Self(rawValue: "consent")
  /// Offer and answer do not fit.
  public static let sdp = Self(rawValue: "sdp")
  /// The connection is up, and packets on it find no track.
  public static let route = Self(rawValue: "route")
}

/// What a member of a call is beside the others.
public struct MemberRole: OpenName {
  /// The word on the wire.
  public var rawValue: String
  /// Any word.
  public init(rawValue: String) { self.rawValue = rawValue }

  /// They moderate the group's room, and may end it for all.
  public static let host = Self(rawValue: "host")
}

/// What has become of a member of a call.
public struct MemberState: OpenName {
  /// The word on the wire.
  public var rawValue: String
  /// Any word.
  public init(rawValue: String) { self.rawValue = rawValue }

  /// No device has rung yet.
  public static let inviting = Self(rawValue: "inviting")
  /// A device rings.
  public static let ringing = Self(rawValue: "ringing")
  /// A device rings beside another call.
  public static let busyRinging = Self(rawValue: "busy_ringing")
  /// Answered; media is not up yet.
  public static let connecting = Self(rawValue: "connecting")
  /// In the call.
  public static let joined = Self(rawValue: "joined")
  /// Lost for the moment.
  public static let reconnecting = Self(rawValue: "reconnecting")
  /// Rejected it.
  public static let declined = Self(rawValue: "declined")
  /// Did not answer in time.
  public static let noAnswer = Self(rawValue: "no_answer")
  /// Left.
  public static let left = Self(rawValue: "left")
  /// Did not come back in time.
  public static let lost = Self(rawValue: "lost")
  /// The caller changed his mind.
  public static let cancelled = Self(rawValue: "cancelled")
  /// Was in another call.
  public static let busy = Self(rawValue: "busy")
  /// Another callee was first.
  public static let answeredByOther = Self(rawValue: "answered_by_other")
  /// Has no device.
  public static let unreachable = Self(rawValue: "unreachable")
  /// Was removed.
  public static let removed = Self(rawValue: "removed")
}

/// How far a call is.
public struct CallState: OpenName {
  /// The word on the wire.
  public var rawValue: String
  /// Any word.
  public init(rawValue: String) { self.rawValue = rawValue }

  /// Nobody has answered.
  public static let ringing = Self(rawValue: "ringing")
  /// Answered; media is not up yet.
  public static let connecting = Self(rawValue: "connecting")
  /// People talk.
  public static let active = Self(rawValue: "active")
  /// Over.
  public static let ended = Self(rawValue: "ended")
}

/// Which way a call went.
public struct CallDirection: OpenName {
  /// The word on the wire.
  public var rawValue: String
  /// Any word.
  public init(rawValue: String) { self.rawValue = rawValue }

  /// To this user.
  public static let incoming = Self(rawValue: "in")
  /// From this user.
  public static let outgoing = Self(rawValue: "out")
}

/// How a call came out for a user.
public struct CallResult: OpenName {
  /// The word on the wire.
  public var rawValue: String
  /// Any word.
  public init(rawValue: String) { self.rawValue = rawValue }

  /// It was answered.
  public static let answered = Self(rawValue: "answered")
  /// It was rejected.
  public static let declined = Self(rawValue: "declined")
  /// It was neither.
  public static let missed = Self(rawValue: "missed")
  /// It could not be set up.
  public static let failed = Self(rawValue: "failed")
}

/// How a change of media came out.
public struct MediaChangeResult: OpenName {
  /// The word on the wire.
  public var rawValue: String
  /// Any word.
  public init(rawValue: String) { self.rawValue = rawValue }

  /// It was made.
  public static let accepted = Self(rawValue: "accepted")
  /// The other side said no.
  public static let rejected = Self(rawValue: "rejected")
  /// It was withdrawn.
  public static let cancelled = Self(rawValue: "cancelled")
  /// Nobody answered.
  public static let timeout = Self(rawValue: "timeout")
}
