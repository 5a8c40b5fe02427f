// Params and results of `session.*` and `user.query`.

/// Params of `session.hello`.
public struct HelloParams: Codable, Hashable, Sendable {
  /// Who one is: 1 to 128 bytes, no control characters. An open server takes any name.
  public var user: String  // name
  /// Proof of it, where the server asks for one; `user` is its `sub` then. An open server reads none.
  public var token: String?  // text, at most tokenBytes
  /// Which of one's devices this is; made up by the server (random) when absent, and returned.
  public var deviceId: String?  // name
  /// What others see; `user` when absent.
  public var displayName: String?  // shown name
  /// What the device can do: any JSON up to 4 KiB, shown by `user.query`. The server acts on `freshLines: true`,
  /// `wholeOffers: true` and `clientOffers: true`, and on nothing else in it.
  public var capabilities: JSONValue?  // opaque
  /// Whether calls shall ring here; true when absent.
  public var callable: Bool?
  /// Token of the session that this one replaces, where the same user and device have one already.
  public var resumeToken: String?  // text, at most tokenBytes
  /// On an open server: whether to take that one's place without its token, once it is silent and where it came from
  /// the same network.
  public var takeover: Bool?

  /// All fields, in the order of the protocol.
  public init(
    user: String, token: String? = nil, deviceId: String? = nil, displayName: String? = nil,
    capabilities: JSONValue? = nil, callable: Bool? = nil, resumeToken: String? = nil, takeover: Bool? = nil
  ) {
    self.user = user
    self.token = token
    self.deviceId = deviceId
    self.displayName = displayName
    self.capabilities = capabilities
    self.callable = callable
    self.resumeToken = resumeToken
    self.takeover = takeover
  }
}

/// Fields of `HelloParams.capabilities` that the server acts on; each is `true` or absent.
public enum ClientCapability: String, CaseIterable, Sendable {
  /// Each track that the client receives shall have a media line that carried none before: for stacks that show a track
  /// only when a new line brings it.
  case freshLines
  /// The first offer may have several lines of one kind, so that all tracks of a room come with one exchange. Browsers take that.
  case wholeOffers
  /// The client offers on its subscribe connection, with `pc.offer`, and the server answers: for clients that can make one offer
  /// and no more, such as WHEP players. Each line of the offer that wants to receive carries one subscription, or one view.
  case clientOffers
}

/// Result of `session.hello`.
public struct HelloResult: Codable, Hashable, Sendable {
  /// Names the session in logs.
  public var sessionId: String
  /// A secret. It resumes the session, and lets its owner replace it or take its seat. Keep it for as long as the tab
  /// or process lives.
  public var resumeToken: String
  /// Who one is, as the server knows it.
  public var user: String
  /// Which device one is, as the server knows it.
  public var deviceId: String
  /// The server's clock, milliseconds since 1970.
  public var serverTime: Int64
  /// What the server takes, and how long it keeps what.
  public var limits: ServerLimits
  /// For `RTCPeerConnection`; each has `urls` and perhaps `username` and `credential`. Often empty: the server is
  /// reachable by itself.
  public var iceServers: [ICEServer]
  /// Calls that ring for this user on this device.
  public var ringing: [Call]
  /// The call this user is in; absent when in none.
  public var current: Call?
  /// Missed calls that one has not looked at.
  public var missed: Int

  /// All fields, in the order of the protocol.
  public init(
    sessionId: String, resumeToken: String, user: String, deviceId: String, serverTime: Int64, limits: ServerLimits,
    iceServers: [ICEServer], ringing: [Call], current: Call? = nil, missed: Int
  ) {
    self.sessionId = sessionId
    self.resumeToken = resumeToken
    self.user = user
    self.deviceId = deviceId
    self.serverTime = serverTime
    self.limits = limits
    self.iceServers = iceServers
    self.ringing = ringing
    self.current = current
    self.missed = missed
  }
}

/// Params of `session.resume`.
public struct ResumeParams: Codable, Hashable, Sendable {
  /// The token from `session.hello`.
  public var resumeToken: String  // text, at most tokenBytes
  /// The last event number that arrived.
  public var lastSeq: Int  // 0...max

  /// All fields, in the order of the protocol.
  public init(resumeToken: String, lastSeq: Int) {
    self.resumeToken = resumeToken
    self.lastSeq = lastSeq
  }
}

/// Params of `session.token`.
public struct TokenParams: Codable, Hashable, Sendable {
  /// A further token of the same user.
  public var token: String  // text, at most tokenBytes

  /// All fields, in the order of the protocol.
  public init(token: String) { self.token = token }
}

/// Params of event `session.grants`.
public struct SessionGrants: Codable, Hashable, Sendable {
  /// What one may do from now on.
  public var grants: [Grant]
  /// In which rooms, as a token says it; absent: in all.
  public var room: String?

  /// All fields, in the order of the protocol.
  public init(grants: [Grant], room: String? = nil) {
    self.grants = grants
    self.room = room
  }
}

/// Params of event `session.expiring`: the token of the session is over soon. `session.token` shows the next one.
public struct SessionExpiring: Codable, Hashable, Sendable {
  /// What the token says of its end (`exp`), by the server's clock, milliseconds since 1970.
  public var expiresAt: Int64
  /// How long it is until then, from when this was sent; a minute where the token was good for that long. Never below 0.
  public var remainingMs: Int64

  /// All fields, in the order of the protocol.
  public init(expiresAt: Int64, remainingMs: Int64) {
    self.expiresAt = expiresAt
    self.remainingMs = remainingMs
  }
}

/// State to start from again where too many events were missed.
public struct Resync: Codable, Hashable, Sendable {
  /// The event number it stands at.
  public var seq: Int
  /// The room one is in.
  public var room: RoomSnapshot?
  /// The call this device is in, or rings from.
  public var call: Call?
  /// The call that another device of this user is in.
  public var current: Call?
  /// Calls that ring for this user now.
  public var ringing: [Call]

  /// All fields, in the order of the protocol.
  public init(
    seq: Int, room: RoomSnapshot? = nil, call: Call? = nil, current: Call? = nil, ringing: [Call] = []
  ) {
    self.seq = seq
    self.room = room
    self.call = call
    self.current = current
    self.ringing = ringing
  }

  /// A server that tells of no calls says nothing of what rings.
  public init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: CodingKeys.self)
    seq = try values.decode(Int.self, forKey: .seq)
    room = try values.decodeIfPresent(RoomSnapshot.self, forKey: .room)
    call = try values.decodeIfPresent(Call.self, forKey: .call)
    current = try values.decodeIfPresent(Call.self, forKey: .current)
    ringing = try values.decodeIfPresent([Call].self, forKey: .ringing) ?? []
  }
}

/// Params of `user.query`.
public struct UserQueryParams: Codable, Hashable, Sendable {
  /// Whom to ask about, at most 100.
  public var users: [String]  // names, at most queriedUsers

  /// All fields, in the order of the protocol.
  public init(users: [String]) {
    self.users = users
  }
}

/// What is known of a user.
public struct UserPresence: Codable, Hashable, Sendable {
  /// Who.
  public var user: String
  /// Whether a device is connected that a call would ring.
  public var reachable: Bool
  /// Whether he is in a call.
  public var inCall: Bool
  /// Devices connected.
  public var devices: Int
  /// What each of them said in `session.hello`.
  public var capabilities: [JSONValue]

  /// All fields, in the order of the protocol.
  public init(user: String, reachable: Bool, inCall: Bool, devices: Int, capabilities: [JSONValue]) {
    self.user = user
    self.reachable = reachable
    self.inCall = inCall
    self.devices = devices
    self.capabilities = capabilities
  }
}

/// Result of `user.query`.
public struct UserQueryResult: Codable, Hashable, Sendable {
  /// One entry for each user asked about, in that order.
  public var users: [UserPresence]

  /// All fields, in the order of the protocol.
  public init(users: [UserPresence]) {
    self.users = users
  }
}

/// Params of event `session.closing`.
public struct SessionClosing: Codable, Hashable, Sendable {
  /// What the client should do.
  public var action: ClosingAction
  /// Why.
  public var reason: ClosingReason
  /// How long to wait before that.
  public var retryAfterMs: Int64?

  /// All fields, in the order of the protocol.
  public init(action: ClosingAction, reason: ClosingReason, retryAfterMs: Int64? = nil) {
    self.action = action
    self.reason = reason
    self.retryAfterMs = retryAfterMs
  }
}

/// Result of `session.resume`.
public enum ResumeResult: Hashable, Sendable {
  /// So many missed events follow, in order.
  case replayed(Int)
  /// Too many were missed: this is how things stand.
  case resync(Resync)
}

extension ResumeResult: Codable {
  private enum Key: String, CodingKey { case replayed, resync }

  /// `{replayed}` or `{resync}`.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Key.self)
    if let resync = try container.decodeIfPresent(Resync.self, forKey: .resync) {
      self = .resync(resync)
    } else {
      self = .replayed(try container.decode(Int.self, forKey: .replayed))
    }
  }

  /// `{replayed}` or `{resync}`.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    switch self {
    case .replayed(let count): try container.encode(count, forKey: .replayed)
    case .resync(let resync): try container.encode(resync, forKey: .resync)
    }
  }
}
