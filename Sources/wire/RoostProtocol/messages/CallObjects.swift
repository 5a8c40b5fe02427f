// Call, member and record on the wire (docs/protocol.md, objects).

/// One user of a call, for the life of the call.
public struct Member: Codable, Hashable, Sendable {
  /// Who.
  public var user: String
  /// What others see.
  public var displayName: String?
  /// What has become of him.
  public var state: MemberState
  /// Why, when he is no longer in it.
  public var reason: Reason?
  /// What he sends.
  public var media: MediaClass?
  /// Who invited him.
  public var invitedBy: String?
  /// When he joined, milliseconds since 1970.
  public var joinedAt: Int64?
  /// When he left, milliseconds since 1970.
  public var leftAt: Int64?
  /// What he is beside the others; absent for who is nothing more.
  public var role: MemberRole?

  /// All fields, in the order of the protocol.
  public init(
    user: String, displayName: String? = nil, state: MemberState, reason: Reason? = nil, media: MediaClass? = nil,
    invitedBy: String? = nil, joinedAt: Int64? = nil, leftAt: Int64? = nil, role: MemberRole? = nil
  ) {
    self.user = user
    self.displayName = displayName
    self.state = state
    self.reason = reason
    self.media = media
    self.invitedBy = invitedBy
    self.joinedAt = joinedAt
    self.leftAt = leftAt
    self.role = role
  }
}

/// A wish to change between audio and video that waits for its answer.
public struct MediaRequest: Codable, Hashable, Sendable {
  /// Who asks.
  public var by: String
  /// Audio or video.
  public var media: MediaClass

  /// All fields, in the order of the protocol.
  public init(by: String, media: MediaClass) {
    self.by = by
    self.media = media
  }
}

/// A call as it stands at `rev`.
public struct Call: Codable, Hashable, Sendable {
  /// Names the call: a UUID.
  public var callId: String
  /// Its room, `call:<callId>`.
  public var room: String
  /// One to one, one to many, or group.
  public var kind: CallKind
  /// Audio or video.
  public var media: MediaClass
  /// Whom an answer stops.
  public var answerPolicy: AnswerPolicy
  /// What a reject ends.
  public var rejectPolicy: RejectPolicy
  /// What happens to one who is in another call.
  public var busyPolicy: BusyPolicy
  /// Ringing, connecting, active or ended.
  public var state: CallState
  /// Grows by one with each change.
  public var rev: Int
  /// Who started it.
  public var caller: String
  /// Everybody it ever had.
  public var members: [Member]
  /// What one of two asks the other for; seen by those who are in it.
  public var mediaRequest: MediaRequest?
  /// What the caller sent along; opaque, byte for byte as it was written.
  public var extra: RawJSON?
  /// When it was started, milliseconds since 1970.
  public var createdAt: Int64
  /// When it became active.
  public var startedAt: Int64?
  /// When it ended.
  public var endedAt: Int64?
  /// Why it ended.
  public var reason: Reason?
  /// Who ended it.
  public var by: String?
  /// When the ring ends, on the server's clock.
  public var expiresAt: Int64?
  /// The same, counted from this message.
  public var remainingMs: Int64?

  /// All fields, in the order of the protocol.
  public init(
    callId: String, room: String, kind: CallKind, media: MediaClass, answerPolicy: AnswerPolicy,
    rejectPolicy: RejectPolicy, busyPolicy: BusyPolicy, state: CallState, rev: Int, caller: String, members: [Member],
    mediaRequest: MediaRequest? = nil, extra: RawJSON? = nil, createdAt: Int64, startedAt: Int64? = nil,
    endedAt: Int64? = nil, reason: Reason? = nil,
    by: String? = nil, expiresAt: Int64? = nil, remainingMs: Int64? = nil
  ) {
    self.callId = callId
    self.room = room
    self.kind = kind
    self.media = media
    self.answerPolicy = answerPolicy
    self.rejectPolicy = rejectPolicy
    self.busyPolicy = busyPolicy
    self.state = state
    self.rev = rev
    self.caller = caller
    self.members = members
    self.mediaRequest = mediaRequest
    self.extra = extra
    self.createdAt = createdAt
    self.startedAt = startedAt
    self.endedAt = endedAt
    self.reason = reason
    self.by = by
    self.expiresAt = expiresAt
    self.remainingMs = remainingMs
  }
}

/// A call as one user has it in his list.
public struct CallRecord: Codable, Hashable, Sendable {
  /// Which call.
  public var callId: String
  /// Out for the caller, in for everybody else.
  public var direction: CallDirection
  /// How it came out for this user.
  public var result: CallResult
  /// Why it was missed or failed.
  public var why: Reason?
  /// Whether another of one's devices answered or rejected it.
  public var elsewhere: Bool
  /// When it began to ring, milliseconds since 1970.
  public var startedAt: Int64
  /// When it was answered.
  public var answeredAt: Int64?
  /// When it ended.
  public var endedAt: Int64
  /// From the answer to the end; 0 without an answer.
  public var durationMs: Int64
  /// The other users.
  public var peers: [String]
  /// Its last kind.
  public var kind: CallKind
  /// Audio or video.
  public var media: MediaClass
  /// Who invited this user.
  public var inviter: String?
  /// Why it ended.
  public var reason: Reason

  /// All fields, in the order of the protocol.
  public init(
    callId: String, direction: CallDirection, result: CallResult, why: Reason? = nil, elsewhere: Bool, startedAt: Int64,
    answeredAt: Int64? = nil, endedAt: Int64, durationMs: Int64, peers: [String], kind: CallKind, media: MediaClass,
    inviter: String? = nil, reason: Reason
  ) {
    self.callId = callId
    self.direction = direction
    self.result = result
    self.why = why
    self.elsewhere = elsewhere
    self.startedAt = startedAt
    self.answeredAt = answeredAt
    self.endedAt = endedAt
    self.durationMs = durationMs
    self.peers = peers
    self.kind = kind
    self.media = media
    self.inviter = inviter
    self.reason = reason
  }
}
