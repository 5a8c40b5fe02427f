// How what every call needs is written (`JSONWriter.swift`): the objects of calls, and the events and results that carry them.

extension Member: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) {
    json.field("user", user)
    json.field("displayName", displayName)
    json.field("state", state)
    json.field("reason", reason)
    json.field("media", media)
    json.field("invitedBy", invitedBy)
    json.field("joinedAt", joinedAt)
    json.field("leftAt", leftAt)
    json.field("role", role)
  }
}

extension Call: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("callId", callId)
    json.field("room", room)
    json.field("kind", kind)
    json.field("media", media)
    json.field("answerPolicy", answerPolicy)
    json.field("rejectPolicy", rejectPolicy)
    json.field("busyPolicy", busyPolicy)
    json.field("state", state)
    json.field("rev", rev)
    json.field("caller", caller)
    try json.field("members", members)
    try json.field("mediaRequest", encoding: mediaRequest)
    try json.field("extra", encoding: extra)
    json.field("createdAt", createdAt)
    json.field("startedAt", startedAt)
    json.field("endedAt", endedAt)
    json.field("reason", reason)
    json.field("by", by)
    json.field("expiresAt", expiresAt)
    json.field("remainingMs", remainingMs)
  }
}

extension CallRecord: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) {
    json.field("callId", callId)
    json.field("direction", direction)
    json.field("result", result)
    json.field("why", why)
    json.field("elsewhere", elsewhere)
    json.field("startedAt", startedAt)
    json.field("answeredAt", answeredAt)
    json.field("endedAt", endedAt)
    json.field("durationMs", durationMs)
    json.field("peers", peers)
    json.field("kind", kind)
    json.field("media", media)
    json.field("inviter", inviter)
    json.field("reason", reason)
  }
}

extension RoomSnapshot: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("room", room)
    json.field("kind", kind)
    json.field("media", media)
    json.field("limit", limit)
    json.field("count", count)
    json.field("seq", seq)
    json.field("self", selfId)
    try json.field("participants", participants)
    try json.field("chat", encoding: chat)
    json.field("views", views)
    try json.field("moderation", encoding: moderation)
  }
}

extension Participant: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("participantId", participantId)
    json.field("user", user)
    json.field("displayName", displayName)
    json.field("state", state)
    try json.field("metadata", encoding: metadata)
    try json.field("tracks", encoding: tracks)
    json.field("role", role)
    json.field("handRaisedAt", handRaisedAt)
  }
}

extension SubscribeOffer: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("offerId", offerId)
    json.field("sdp", sdp)
    try json.field("tracks", encoding: tracks)
    try json.field("views", encoding: views)
  }
}

// MARK: Results

extension CallResultObject: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws { try json.field("call", call) }
}

extension CallRoomResult: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    try json.field("call", call)
    try json.field("room", room)
  }
}

extension CallStartResult: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    try json.field("call", call)
    try json.field("room", room)
    try json.field("busy", busy)
    try json.field("unreachable", unreachable)
    json.field("glare", glare)
  }
}

extension BusyUser: JSONWritable {
  /// The field.
  public func writeFields(to json: inout JSONWriter) { json.field("user", user) }
}

// MARK: Events

extension CallEvent: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws { try json.field("call", call) }
}

extension CallIncoming: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    try json.field("call", call)
    json.field("from", from)
    json.field("inProgress", inProgress)
    json.field("waiting", waiting)
    try json.field("participants", participants)
  }
}

extension CallStopped: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) {
    json.field("callId", callId)
    json.field("rev", rev)
    json.field("reason", reason)
    json.field("code", code)
    json.field("by", by)
    json.field("text", text)
  }
}

extension CallEnded: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("callId", callId)
    json.field("rev", rev)
    json.field("reason", reason)
    json.field("code", code)
    json.field("by", by)
    json.field("text", text)
    json.field("durationMs", durationMs)
    try json.field("record", record)
  }
}

extension CallRecordEvent: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    try json.field("record", record)
    json.field("stored", stored)
  }
}

extension MemberEvent: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("callId", callId)
    json.field("rev", rev)
    try json.field("member", member)
    json.field("by", by)
    json.field("text", text)
    json.field("push", push)
  }
}
