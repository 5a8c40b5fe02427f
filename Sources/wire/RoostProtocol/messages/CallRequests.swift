// Params and results of `call.*`.

/// Params of `call.start`.
public struct CallStartParams: Codable, Hashable, Sendable {
  /// Users; oneself is left out, and counts as nobody: 3012 when nobody is left.
  public var to: [String]  // names, at most users
  /// `one_to_one` (one user), `one_to_many`, `group`.
  public var kind: CallKind
  /// `video` (16 people) or `audio` (32); the caps are those of the kind `group` in `rooms.yaml`. One more gets 3014.
  public var media: MediaClass
  /// How long to ring, 5000 to 180000, kept within `calls.ring_timeout_min` and `_max`.
  public var ringTimeoutMs: Int64?  // 5000...180000
  /// `any_ends` (default for two) or `ignore` (the only one for a group): what the reject of one of those called does
  /// before anybody has answered.
  public var rejectPolicy: RejectPolicy?
  /// `first_wins` for `one_to_one` and `one_to_many`, `everyone` for `group`; anything else is −32602.
  public var answerPolicy: AnswerPolicy?
  /// `reject` (default for two) or `ring` (default for a group): what becomes of a callee who is in a call. Invitees
  /// have a policy of their own.
  public var busyPolicy: BusyPolicy?
  /// Any JSON up to 4 KiB, shown to all members byte for byte as it was written.
  public var extra: RawJSON?  // opaque
  /// Any JSON up to 4 KiB for whoever wakes phones, byte for byte; also in accept, reject, cancel, hang-up and invite.
  public var push: RawJSON?  // opaque
  /// Started again under the same name it is the same call, and rings nobody twice.
  public var clientCallId: String?  // name
  /// Whether to hang up the call that one is in; else 3011 with its id in `reason`.
  public var replace: Bool?
  /// What to tell the others of oneself, as in `room.join`: any JSON up to 4 KiB, theirs to see in the room's
  /// `participants`; also in accept and join.
  public var metadata: RawJSON?  // shown opaque
  /// Whether to receive every track of the call; true when absent. False for one who binds views; also in accept and
  /// join.
  public var autoSubscribe: Bool?

  /// All fields, in the order of the protocol.
  public init(
    to: [String], kind: CallKind, media: MediaClass, ringTimeoutMs: Int64? = nil, rejectPolicy: RejectPolicy? = nil,
    answerPolicy: AnswerPolicy? = nil, busyPolicy: BusyPolicy? = nil, extra: RawJSON? = nil, push: RawJSON? = nil,
    clientCallId: String? = nil, replace: Bool? = nil, metadata: RawJSON? = nil, autoSubscribe: Bool? = nil
  ) {
    self.to = to
    self.kind = kind
    self.media = media
    self.ringTimeoutMs = ringTimeoutMs
    self.rejectPolicy = rejectPolicy
    self.answerPolicy = answerPolicy
    self.busyPolicy = busyPolicy
    self.extra = extra
    self.push = push
    self.clientCallId = clientCallId
    self.replace = replace
    self.metadata = metadata
    self.autoSubscribe = autoSubscribe
  }
}

/// A callee who was not rung.
public struct BusyUser: Codable, Hashable, Sendable {
  /// Who.
  public var user: String

  /// All fields, in the order of the protocol.
  public init(user: String) {
    self.user = user
  }
}

/// Result of `call.start`.
public struct CallStartResult: Codable, Hashable, Sendable {
  /// The call.
  public var call: Call
  /// Its room.
  public var room: RoomSnapshot
  /// Callees in another call.
  public var busy: [BusyUser]
  /// Callees without a device.
  public var unreachable: [BusyUser]
  /// Whether the other side's call was joined instead.
  public var glare: Bool?

  /// All fields, in the order of the protocol.
  public init(call: Call, room: RoomSnapshot, busy: [BusyUser], unreachable: [BusyUser], glare: Bool? = nil) {
    self.call = call
    self.room = room
    self.busy = busy
    self.unreachable = unreachable
    self.glare = glare
  }
}

/// Params of `call.ringing`, `call.get` and `call.end`.
public struct CallParams: Codable, Hashable, Sendable {
  /// Which call.
  public var callId: String  // id

  /// All fields, in the order of the protocol.
  public init(callId: String) {
    self.callId = callId
  }
}

/// Params of `call.accept`.
public struct CallAcceptParams: Codable, Hashable, Sendable {
  /// Which call.
  public var callId: String  // id
  /// What to answer with.
  public var media: MediaClass?
  /// Whether to take the leg of one's other device.
  public var takeover: Bool?
  /// Token of that device's session, where the server does not authenticate users.
  public var resumeToken: String?  // text, at most tokenBytes
  /// Handed to the push webhook as it was written.
  public var push: RawJSON?  // opaque
  /// What to tell the others of oneself, at most 4 KiB; as in `room.join`.
  public var metadata: RawJSON?  // shown opaque
  /// Whether to receive every track of the call; true when absent.
  public var autoSubscribe: Bool?

  /// All fields, in the order of the protocol.
  public init(
    callId: String, media: MediaClass? = nil, takeover: Bool? = nil, resumeToken: String? = nil,
    push: RawJSON? = nil, metadata: RawJSON? = nil, autoSubscribe: Bool? = nil
  ) {
    self.callId = callId
    self.media = media
    self.takeover = takeover
    self.resumeToken = resumeToken
    self.push = push
    self.metadata = metadata
    self.autoSubscribe = autoSubscribe
  }
}

/// Params of `call.reject`.
public struct CallRejectParams: Codable, Hashable, Sendable {
  /// Which call.
  public var callId: String  // id
  /// Why.
  public var reason: Reason?
  /// What to tell the caller.
  public var text: String?  // text, at most textBytes
  /// On all of one's devices, or this one; `everywhere` when absent.
  public var scope: RejectScope?
  /// Handed to the push webhook as it was written.
  public var push: RawJSON?  // opaque

  /// All fields, in the order of the protocol.
  public init(
    callId: String, reason: Reason? = nil, text: String? = nil, scope: RejectScope? = nil, push: RawJSON? = nil
  ) {
    self.callId = callId
    self.reason = reason
    self.text = text
    self.scope = scope
    self.push = push
  }
}

/// Params of `call.cancel`.
public struct CallCancelParams: Codable, Hashable, Sendable {
  /// Which call.
  public var callId: String  // id
  /// Handed to the push webhook as it was written.
  public var push: RawJSON?  // opaque

  /// All fields, in the order of the protocol.
  public init(callId: String, push: RawJSON? = nil) {
    self.callId = callId
    self.push = push
  }
}

/// Params of `call.hangup`.
public struct CallHangupParams: Codable, Hashable, Sendable {
  /// Which call; the one that one is in when absent.
  public var callId: String?  // id
  /// Why.
  public var reason: Reason?
  /// What to tell the others.
  public var text: String?  // text, at most textBytes
  /// Handed to the push webhook as it was written.
  public var push: RawJSON?  // opaque

  /// All fields, in the order of the protocol.
  public init(callId: String? = nil, reason: Reason? = nil, text: String? = nil, push: RawJSON? = nil) {
    self.callId = callId
    self.reason = reason
    self.text = text
    self.push = push
  }
}

/// Params of `call.invite`.
public struct CallInviteParams: Codable, Hashable, Sendable {
  /// Which call.
  public var callId: String  // id
  /// Whom to ring.
  public var users: [String]  // names, at most users
  /// Sent along as it was written; opaque.
  public var extra: RawJSON?  // opaque
  /// Handed to the push webhook as it was written.
  public var push: RawJSON?  // opaque
  /// How long to ring, 5,000 to 180,000.
  public var ringTimeoutMs: Int64?  // 5000...180000
  /// What happens to one who is in another call; `ring` when absent, whatever the call's own.
  public var busyPolicy: BusyPolicy?

  /// All fields, in the order of the protocol.
  public init(
    callId: String, users: [String], extra: RawJSON? = nil, push: RawJSON? = nil, ringTimeoutMs: Int64? = nil,
    busyPolicy: BusyPolicy? = nil
  ) {
    self.callId = callId
    self.users = users
    self.extra = extra
    self.push = push
    self.ringTimeoutMs = ringTimeoutMs
    self.busyPolicy = busyPolicy
  }
}

/// Params of `call.cancelInvite`.
public struct CallCancelInviteParams: Codable, Hashable, Sendable {
  /// Which call.
  public var callId: String  // id
  /// Who shall stop ringing.
  public var users: [String]  // names, at most users

  /// All fields, in the order of the protocol.
  public init(callId: String, users: [String]) {
    self.callId = callId
    self.users = users
  }
}

/// Params of `call.join`.
public struct CallJoinParams: Codable, Hashable, Sendable {
  /// Which call.
  public var callId: String  // id
  /// What one sends.
  public var media: MediaClass?
  /// Whether to take the leg of one's other device.
  public var takeover: Bool?
  /// Token of that device's session, where the server does not authenticate users.
  public var resumeToken: String?  // text, at most tokenBytes
  /// What to tell the others of oneself, at most 4 KiB; as in `room.join`.
  public var metadata: RawJSON?  // shown opaque
  /// Whether to receive every track of the call; true when absent.
  public var autoSubscribe: Bool?

  /// All fields, in the order of the protocol.
  public init(
    callId: String, media: MediaClass? = nil, takeover: Bool? = nil, resumeToken: String? = nil,
    metadata: RawJSON? = nil, autoSubscribe: Bool? = nil
  ) {
    self.callId = callId
    self.media = media
    self.takeover = takeover
    self.resumeToken = resumeToken
    self.metadata = metadata
    self.autoSubscribe = autoSubscribe
  }
}

/// Params of `call.history`.
public struct CallHistoryParams: Codable, Hashable, Sendable {
  /// `next` of the page before.
  public var before: String?  // id
  /// How many at most, 1 to 100; 50 when absent.
  public var limit: Int?  // 1...page

  /// All fields, in the order of the protocol.
  public init(before: String? = nil, limit: Int? = nil) {
    self.before = before
    self.limit = limit
  }
}

/// Params of `call.mediaChange`.
public struct MediaChangeParams: Codable, Hashable, Sendable {
  /// Which call; the one that one is in when absent.
  public var callId: String?  // id
  /// Ask, accept, reject or withdraw.
  public var action: MediaChangeAction
  /// What to change to.
  public var media: MediaClass?

  /// All fields, in the order of the protocol.
  public init(callId: String? = nil, action: MediaChangeAction, media: MediaClass? = nil) {
    self.callId = callId
    self.action = action
    self.media = media
  }
}

/// Result of requests that answer with the call.
public struct CallResultObject: Codable, Hashable, Sendable {
  /// The call.
  public var call: Call

  /// All fields, in the order of the protocol.
  public init(call: Call) {
    self.call = call
  }
}

/// Result of `call.accept` and `call.join`.
public struct CallRoomResult: Codable, Hashable, Sendable {
  /// The call.
  public var call: Call
  /// Its room.
  public var room: RoomSnapshot

  /// All fields, in the order of the protocol.
  public init(call: Call, room: RoomSnapshot) {
    self.call = call
    self.room = room
  }
}

/// Result of `call.current`.
public struct CallCurrentResult: Codable, Hashable, Sendable {
  /// The call one is in.
  public var call: Call?

  /// All fields, in the order of the protocol.
  public init(call: Call? = nil) {
    self.call = call
  }
}

/// A user who could not be invited.
public struct InviteFailure: Codable, Hashable, Sendable {
  /// Who.
  public var user: String
  /// Why.
  public var error: ErrorObject

  /// All fields, in the order of the protocol.
  public init(user: String, error: ErrorObject) {
    self.user = user
    self.error = error
  }
}

/// Result of `call.invite`.
public struct CallInviteResult: Codable, Hashable, Sendable {
  /// Who rings, or was in it already.
  public var invited: [String]
  /// Who is in another call.
  public var busy: [BusyUser]
  /// Who could not be rung, and why.
  public var failed: [InviteFailure]

  /// All fields, in the order of the protocol.
  public init(invited: [String], busy: [BusyUser], failed: [InviteFailure]) {
    self.invited = invited
    self.busy = busy
    self.failed = failed
  }
}

/// Result of `call.available`.
public struct CallListResult: Codable, Hashable, Sendable {
  /// Running group calls that one may join.
  public var calls: [Call]

  /// All fields, in the order of the protocol.
  public init(calls: [Call]) {
    self.calls = calls
  }
}

/// Result of `call.history`.
public struct CallHistoryResult: Codable, Hashable, Sendable {
  /// Newest first.
  public var records: [CallRecord]
  /// Give it as `before` for the next page.
  public var next: String?

  /// All fields, in the order of the protocol.
  public init(records: [CallRecord], next: String? = nil) {
    self.records = records
    self.next = next
  }
}
