// Params of the events `call.*` and `member.*`.

/// Params of `call.created`.
public struct CallEvent: Codable, Hashable, Sendable {
  /// The call.
  public var call: Call

  /// All fields, in the order of the protocol.
  public init(call: Call) {
    self.call = call
  }
}

/// Params of `call.incoming`: ring.
public struct CallIncoming: Codable, Hashable, Sendable {
  /// The call.
  public var call: Call
  /// Who calls or invites.
  public var from: String
  /// Whether others talk already.
  public var inProgress: Bool
  /// Whether one is in another call.
  public var waiting: Bool
  /// Who is in it.
  public var participants: [Participant]?

  /// All fields, in the order of the protocol.
  public init(call: Call, from: String, inProgress: Bool, waiting: Bool, participants: [Participant]? = nil) {
    self.call = call
    self.from = from
    self.inProgress = inProgress
    self.waiting = waiting
    self.participants = participants
  }
}

/// Params of `call.stopped`: stop ringing; the call may live on.
public struct CallStopped: Codable, Hashable, Sendable {
  /// Which call.
  public var callId: String
  /// The change this is.
  public var rev: Int
  /// Why.
  public var reason: Reason
  /// The reason's number.
  public var code: Int
  /// Who made it stop.
  public var by: String?
  /// What he said.
  public var text: String?

  /// All fields, in the order of the protocol.
  public init(callId: String, rev: Int, reason: Reason, code: Int, by: String? = nil, text: String? = nil) {
    self.callId = callId
    self.rev = rev
    self.reason = reason
    self.code = code
    self.by = by
    self.text = text
  }
}

/// Params of `call.ended`.
public struct CallEnded: Codable, Hashable, Sendable {
  /// Which call.
  public var callId: String
  /// The change this is.
  public var rev: Int
  /// Why.
  public var reason: Reason
  /// The reason's number.
  public var code: Int
  /// Who ended it.
  public var by: String?
  /// What he said.
  public var text: String?
  /// From the answer to the end; 0 without an answer.
  public var durationMs: Int64
  /// What goes into one's list.
  public var record: CallRecord?

  /// All fields, in the order of the protocol.
  public init(
    callId: String, rev: Int, reason: Reason, code: Int, by: String? = nil, text: String? = nil, durationMs: Int64,
    record: CallRecord? = nil
  ) {
    self.callId = callId
    self.rev = rev
    self.reason = reason
    self.code = code
    self.by = by
    self.text = text
    self.durationMs = durationMs
    self.record = record
  }
}

/// Params of `call.accepted`.
public struct CallAccepted: Codable, Hashable, Sendable {
  /// Which call.
  public var callId: String
  /// The change this is.
  public var rev: Int
  /// Who answered.
  public var user: String
  /// What he sends.
  public var media: MediaClass

  /// All fields, in the order of the protocol.
  public init(callId: String, rev: Int, user: String, media: MediaClass) {
    self.callId = callId
    self.rev = rev
    self.user = user
    self.media = media
  }
}

/// Params of `call.active`.
public struct CallActive: Codable, Hashable, Sendable {
  /// Which call.
  public var callId: String
  /// The change this is.
  public var rev: Int
  /// When, the same for everybody, milliseconds since 1970.
  public var startedAt: Int64

  /// All fields, in the order of the protocol.
  public init(callId: String, rev: Int, startedAt: Int64) {
    self.callId = callId
    self.rev = rev
    self.startedAt = startedAt
  }
}

/// Params of `call.alone`: one is the last in a group call, which ends by itself unless somebody comes.
public struct CallAlone: Codable, Hashable, Sendable {
  /// Which call.
  public var callId: String
  /// The change this is.
  public var rev: Int
  /// When it ends, milliseconds since 1970.
  public var endsAt: Int64
  /// The same, counted from this message.
  public var remainingMs: Int64

  /// All fields, in the order of the protocol.
  public init(callId: String, rev: Int, endsAt: Int64, remainingMs: Int64) {
    self.callId = callId
    self.rev = rev
    self.endsAt = endsAt
    self.remainingMs = remainingMs
  }
}

/// Params of `call.invited`.
public struct CallInvited: Codable, Hashable, Sendable {
  /// Which call.
  public var callId: String
  /// The change this is.
  public var rev: Int
  /// Who invites.
  public var inviter: String
  /// Whom.
  public var users: [String]

  /// All fields, in the order of the protocol.
  public init(callId: String, rev: Int, inviter: String, users: [String]) {
    self.callId = callId
    self.rev = rev
    self.inviter = inviter
    self.users = users
  }
}

/// Params of `call.typeChanged`.
public struct CallTypeChanged: Codable, Hashable, Sendable {
  /// Which call.
  public var callId: String
  /// The change this is.
  public var rev: Int
  /// What it was.
  public var from: CallKind
  /// What it is.
  public var to: CallKind

  /// All fields, in the order of the protocol.
  public init(callId: String, rev: Int, from: CallKind, to: CallKind) {
    self.callId = callId
    self.rev = rev
    self.from = from
    self.to = to
  }
}

/// Params of `call.mediaChangeRequested` and `call.mediaChanged`.
public struct CallMediaChange: Codable, Hashable, Sendable {
  /// Which call.
  public var callId: String
  /// The change this is.
  public var rev: Int
  /// Who asked.
  public var by: String
  /// What for.
  public var media: MediaClass
  /// How it came out.
  public var result: MediaChangeResult?

  /// All fields, in the order of the protocol.
  public init(callId: String, rev: Int, by: String, media: MediaClass, result: MediaChangeResult? = nil) {
    self.callId = callId
    self.rev = rev
    self.by = by
    self.media = media
    self.result = result
  }
}

/// Params of `call.missed`.
public struct CallMissed: Codable, Hashable, Sendable {
  /// Which call.
  public var callId: String
  /// Why it was missed.
  public var why: Reason
  /// The call.
  public var call: Call

  /// All fields, in the order of the protocol.
  public init(callId: String, why: Reason, call: Call) {
    self.callId = callId
    self.why = why
    self.call = call
  }
}

/// Params of `call.record`.
public struct CallRecordEvent: Codable, Hashable, Sendable {
  /// What goes into one's list.
  public var record: CallRecord
  /// False where it is not on disk; absent where it is.
  public var stored: Bool?

  /// All fields, in the order of the protocol.
  public init(record: CallRecord, stored: Bool? = nil) {
    self.record = record
    self.stored = stored
  }
}

/// Params of `member.*`.
public struct MemberEvent: Codable, Hashable, Sendable {
  /// Which call.
  public var callId: String
  /// The change this is.
  public var rev: Int
  /// The member, whole.
  public var member: Member
  /// Whose doing it is.
  public var by: String?
  /// What he said.
  public var text: String?
  /// Whether he is called by a push message.
  public var push: Bool?

  /// All fields, in the order of the protocol.
  public init(callId: String, rev: Int, member: Member, by: String? = nil, text: String? = nil, push: Bool? = nil) {
    self.callId = callId
    self.rev = rev
    self.member = member
    self.by = by
    self.text = text
    self.push = push
  }
}

extension CallStopped {
  /// With the number that belongs to the reason.
  public init(callId: String, rev: Int, reason: Reason, by: String? = nil, text: String? = nil) {
    self.init(callId: callId, rev: rev, reason: reason, code: reason.code, by: by, text: text)
  }
}
