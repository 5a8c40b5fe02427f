// swift-format-ignore-file
// Made by scripts/wire of Sources/wire/RoostProtocol/messages; `make wire` makes it again. Do not edit.

extension BlockParams: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("user", user)
  }
}

extension BlockedResult: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("users", users)
  }
}

extension CallEvent: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    try json.field("call", call)
  }
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
  public func writeFields(to json: inout JSONWriter) throws {
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

extension CallAccepted: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("callId", callId)
    json.field("rev", rev)
    json.field("user", user)
    json.field("media", media)
  }
}

extension CallActive: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("callId", callId)
    json.field("rev", rev)
    json.field("startedAt", startedAt)
  }
}

extension CallAlone: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("callId", callId)
    json.field("rev", rev)
    json.field("endsAt", endsAt)
    json.field("remainingMs", remainingMs)
  }
}

extension CallInvited: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("callId", callId)
    json.field("rev", rev)
    json.field("inviter", inviter)
    json.field("users", users)
  }
}

extension CallTypeChanged: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("callId", callId)
    json.field("rev", rev)
    json.field("from", from)
    json.field("to", to)
  }
}

extension CallMediaChange: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("callId", callId)
    json.field("rev", rev)
    json.field("by", by)
    json.field("media", media)
    json.field("result", result)
  }
}

extension CallMissed: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("callId", callId)
    json.field("why", why)
    try json.field("call", call)
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

extension Member: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
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

extension MediaRequest: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("by", by)
    json.field("media", media)
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
    try json.field("mediaRequest", mediaRequest)
    json.field("extra", extra)
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
  public func writeFields(to json: inout JSONWriter) throws {
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

extension CallStartParams: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("to", to)
    json.field("kind", kind)
    json.field("media", media)
    json.field("ringTimeoutMs", ringTimeoutMs)
    json.field("rejectPolicy", rejectPolicy)
    json.field("answerPolicy", answerPolicy)
    json.field("busyPolicy", busyPolicy)
    json.field("extra", extra)
    json.field("push", push)
    json.field("clientCallId", clientCallId)
    json.field("replace", replace)
    json.field("metadata", metadata)
    json.field("autoSubscribe", autoSubscribe)
  }
}

extension BusyUser: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("user", user)
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

extension CallParams: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("callId", callId)
  }
}

extension CallAcceptParams: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("callId", callId)
    json.field("media", media)
    json.field("takeover", takeover)
    json.field("resumeToken", resumeToken)
    json.field("push", push)
    json.field("metadata", metadata)
    json.field("autoSubscribe", autoSubscribe)
  }
}

extension CallRejectParams: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("callId", callId)
    json.field("reason", reason)
    json.field("text", text)
    json.field("scope", scope)
    json.field("push", push)
  }
}

extension CallCancelParams: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("callId", callId)
    json.field("push", push)
  }
}

extension CallHangupParams: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("callId", callId)
    json.field("reason", reason)
    json.field("text", text)
    json.field("push", push)
  }
}

extension CallInviteParams: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("callId", callId)
    json.field("users", users)
    json.field("extra", extra)
    json.field("push", push)
    json.field("ringTimeoutMs", ringTimeoutMs)
    json.field("busyPolicy", busyPolicy)
  }
}

extension CallCancelInviteParams: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("callId", callId)
    json.field("users", users)
  }
}

extension CallJoinParams: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("callId", callId)
    json.field("media", media)
    json.field("takeover", takeover)
    json.field("resumeToken", resumeToken)
    json.field("metadata", metadata)
    json.field("autoSubscribe", autoSubscribe)
  }
}

extension CallHistoryParams: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("before", before)
    json.field("limit", limit)
  }
}

extension MediaChangeParams: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("callId", callId)
    json.field("action", action)
    json.field("media", media)
  }
}

extension CallResultObject: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    try json.field("call", call)
  }
}

extension CallRoomResult: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    try json.field("call", call)
    try json.field("room", room)
  }
}

extension CallCurrentResult: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    try json.field("call", call)
  }
}

extension InviteFailure: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("user", user)
    try json.field("error", error)
  }
}

extension CallInviteResult: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("invited", invited)
    try json.field("busy", busy)
    try json.field("failed", failed)
  }
}

extension CallListResult: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    try json.field("calls", calls)
  }
}

extension CallHistoryResult: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    try json.field("records", records)
    json.field("next", next)
  }
}

extension ChatSendParams: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("room", room)
    json.field("text", text)
    json.field("to", to)
    json.field("clientMsgId", clientMsgId)
  }
}

extension ChatSendResult: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("msgId", msgId)
    json.field("ts", ts)
    json.field("delivered", delivered)
    json.field("stored", stored)
  }
}

extension ChatHistoryParams: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("room", room)
    json.field("before", before)
    json.field("limit", limit)
  }
}

extension ChatHistoryResult: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    try json.field("messages", messages)
  }
}

extension MessageSendParams: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("room", room)
    json.field("callId", callId)
    json.field("to", to)
    json.field("topic", topic)
    json.field("data", data)
  }
}

extension MessageSendResult: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("delivered", delivered)
  }
}

extension MessageReceived: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("room", room)
    json.field("callId", callId)
    json.field("from", from)
    json.field("displayName", displayName)
    json.field("topic", topic)
    json.field("data", data)
  }
}

extension MessageRequestParams: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("room", room)
    json.field("callId", callId)
    json.field("to", to)
    json.field("topic", topic)
    json.field("data", data)
    json.field("timeoutMs", timeoutMs)
  }
}

extension MessageAnswered: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("from", from)
    json.field("data", data)
  }
}

extension MessageAnswerParams: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("requestId", requestId)
    json.field("data", data)
  }
}

extension MessageRequested: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("requestId", requestId)
    json.field("room", room)
    json.field("callId", callId)
    json.field("from", from)
    json.field("displayName", displayName)
    json.field("topic", topic)
    json.field("data", data)
    json.field("expiresAt", expiresAt)
    json.field("remainingMs", remainingMs)
  }
}

extension ErrorObject: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("code", code.rawValue)
    json.field("message", message)
    try json.field("data", data)
  }
}

extension ErrorData: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("name", name)
    json.field("retryable", retryable)
    json.field("retryAfterMs", retryAfterMs)
    json.field("step", step)
    json.field("field", field)
    json.field("expected", expected)
    json.field("mid", mid)
    json.field("limit", limit)
    json.field("count", count)
    json.field("joined", joined)
    json.field("ringing", ringing)
    json.field("reason", reason)
    json.field("by", by)
    json.field("endedAt", endedAt)
    json.field("until", until)
  }
}

extension AnnouncedTrack: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("mid", mid)
    json.field("kind", kind)
    json.field("label", label)
    json.field("source", source)
    json.field("viewIndex", viewIndex)
    try json.field("split", encoding: split)
    json.field("definitions", definitions)
    json.field("heights", heights)
    json.field("muted", muted)
    json.field("pausesLayers", pausesLayers)
  }
}

extension PublishOfferParams: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("pc", pc)
    json.field("sdp", sdp)
    try json.field("tracks", tracks)
  }
}

extension PublishedLine: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("mid", mid)
    json.field("trackId", trackId)
  }
}

extension DeclinedLine: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("mid", mid)
    json.field("attribute", attribute)
    try json.field("error", error)
  }
}

extension PublishResult: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("sdp", sdp)
    try json.field("tracks", tracks)
    try json.field("declined", declined)
  }
}

extension SubscribeAnswerParams: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("offerId", offerId)
    json.field("sdp", sdp)
  }
}

extension RestartParams: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("pc", pc)
  }
}

extension OfferedTrack: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("mid", mid)
    json.field("subscriptionId", subscriptionId)
    json.field("trackId", trackId)
    json.field("participantId", participantId)
    json.field("kind", kind)
  }
}

extension SubscribeOffer: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("offerId", offerId)
    json.field("sdp", sdp)
    try json.field("tracks", tracks)
    try json.field("views", views)
  }
}

extension TrackParams: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("trackId", trackId)
  }
}

extension MuteResult: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("muted", muted)
  }
}

extension SubscribeParams: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("trackId", trackId)
    json.field("definition", definition)
    json.field("view", view)
    json.field("priority", priority)
    json.field("maxHeight", maxHeight)
  }
}

extension SubscribeResult: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("subscriptionId", subscriptionId)
  }
}

extension SubscriptionParams: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("subscriptionId", subscriptionId)
  }
}

extension SubscriptionUpdateParams: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("subscriptionId", subscriptionId)
    json.field("definition", definition)
    json.field("paused", paused)
    json.field("priority", priority)
    json.field("maxHeight", maxHeight)
  }
}

extension SwapParams: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("a", a)
    json.field("b", b)
  }
}

extension Layer: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("definition", definition)
    json.field("rid", rid)
    json.field("spatial", spatial)
    json.field("temporal", temporal)
    json.field("width", width)
    json.field("height", height)
  }
}

extension SubscriptionEvent: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("subscriptionId", subscriptionId)
    json.field("reason", reason)
    json.field("step", step)
    try json.field("layer", layer)
  }
}

extension TrackLayersEvent: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("trackId", trackId)
    json.field("layers", layers)
  }
}

extension MediaEvent: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("pc", pc)
    json.field("step", step)
    json.field("reason", reason)
  }
}

extension ModerateParams: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("room", room)
    json.field("action", action)
    json.field("user", user)
    json.field("kind", kind)
    json.field("role", role)
    json.field("until", until)
    json.field("hold", hold)
    json.field("address", address)
    json.field("media", media)
  }
}

extension RaiseHandParams: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("room", room)
    json.field("raised", raised)
  }
}

extension RoomModerated: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("room", room)
    json.field("by", by)
    json.field("action", action)
    json.field("user", user)
    json.field("kind", kind)
    json.field("role", role)
    json.field("until", until)
    json.field("hold", hold)
    json.field("media", media)
    json.field("limit", limit)
  }
}

extension RoomKnock: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("room", room)
    json.field("user", user)
    json.field("displayName", displayName)
    json.field("gone", gone)
  }
}

extension Waiting: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("user", user)
    json.field("displayName", displayName)
  }
}

extension RoomBan: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("user", user)
    json.field("until", until)
  }
}

extension TrackHold: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("kind", kind)
    json.field("everybody", everybody)
    json.field("users", users)
  }
}

extension RoomModeration: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("locked", locked)
    json.field("lobby", lobby)
    json.field("chatDisabled", chatDisabled)
    json.field("held", held)
    try json.field("holds", holds)
    try json.field("waiting", waiting)
    try json.field("bans", bans)
  }
}

extension PersonQuality: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("participantId", participantId)
    json.field("level", level)
    json.field("reason", reason)
  }
}

extension OwnTrackQuality: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("trackId", trackId)
    try json.field("loss", loss)
    json.field("jitter", jitter)
    json.field("rate", rate)
  }
}

extension OwnQuality: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("level", level)
    json.field("reason", reason)
    json.field("way", way)
    json.field("rtt", rtt)
    json.field("estimate", estimate)
    try json.field("loss", loss)
    json.field("rate", rate)
    json.field("paused", paused)
    json.field("freezes", freezes)
    try json.field("tracks", tracks)
  }
}

extension RoomQuality: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("room", room)
    try json.field("people", people)
    try json.field("own", own)
  }
}

extension RoomJoinParams: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("room", room)
    json.field("displayName", displayName)
    json.field("media", media)
    json.field("metadata", metadata)
    json.field("autoSubscribe", autoSubscribe)
    json.field("views", views)
    json.field("takeover", takeover)
    json.field("resumeToken", resumeToken)
  }
}

extension RoomParams: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("room", room)
  }
}

extension RoomListParams: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("after", after)
    json.field("limit", limit)
  }
}

extension RoomListResult: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    try json.field("rooms", rooms)
    json.field("next", next)
  }
}

extension ParticipantEvent: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("room", room)
    try json.field("participant", participant)
  }
}

extension ParticipantLeft: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("room", room)
    json.field("participantId", participantId)
    json.field("user", user)
    json.field("reason", reason)
  }
}

extension TrackPublished: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("room", room)
    json.field("participantId", participantId)
    try json.field("track", track)
  }
}

extension TrackChange: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("room", room)
    json.field("participantId", participantId)
    json.field("trackId", trackId)
  }
}

extension Speaker: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("participantId", participantId)
    json.field("level", level)
  }
}

extension ActiveSpeakers: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("room", room)
    try json.field("speakers", speakers)
  }
}

extension RoomSwitched: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("from", from)
    try json.field("snapshot", snapshot)
    json.field("reconnect", reconnect)
  }
}

extension RoomClosed: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("room", room)
    json.field("reason", reason)
  }
}

extension Track: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("trackId", trackId)
    json.field("kind", kind)
    json.field("label", label)
    json.field("source", source)
    json.field("muted", muted)
    json.field("viewIndex", viewIndex)
    try json.field("split", encoding: split)
    json.field("definitions", definitions)
  }
}

extension Participant: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("participantId", participantId)
    json.field("user", user)
    json.field("displayName", displayName)
    json.field("state", state)
    json.field("metadata", metadata)
    try json.field("tracks", tracks)
    json.field("role", role)
    json.field("handRaisedAt", handRaisedAt)
  }
}

extension Message: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("msgId", msgId)
    json.field("room", room)
    json.field("ts", ts)
    json.field("from", from)
    json.field("displayName", displayName)
    json.field("to", to)
    json.field("text", text)
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
    try json.field("chat", chat)
    json.field("views", views)
    try json.field("moderation", moderation)
  }
}

extension RoomInfo: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("name", name)
    json.field("kind", kind)
    json.field("media", media)
    json.field("limit", limit)
    json.field("count", count)
    json.field("publishers", publishers)
    try json.field("moderation", moderation)
  }
}

extension ICEServer: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("urls", urls)
    json.field("username", username)
    json.field("credential", credential)
  }
}

extension ServerLimits: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("messageBytes", messageBytes)
    json.field("chatBytes", chatBytes)
    json.field("metadataBytes", metadataBytes)
    json.field("tracks", tracks)
    json.field("replayEvents", replayEvents)
    json.field("resumeGraceMs", resumeGraceMs)
    json.field("idlePingMs", idlePingMs)
  }
}

extension HelloParams: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("user", user)
    json.field("token", token)
    json.field("deviceId", deviceId)
    json.field("displayName", displayName)
    try json.field("capabilities", encoding: capabilities)
    json.field("callable", callable)
    json.field("resumeToken", resumeToken)
    json.field("takeover", takeover)
  }
}

extension HelloResult: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("sessionId", sessionId)
    json.field("resumeToken", resumeToken)
    json.field("user", user)
    json.field("deviceId", deviceId)
    json.field("serverTime", serverTime)
    try json.field("limits", limits)
    try json.field("iceServers", iceServers)
    try json.field("ringing", ringing)
    try json.field("current", current)
    json.field("missed", missed)
  }
}

extension ResumeParams: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("resumeToken", resumeToken)
    json.field("lastSeq", lastSeq)
  }
}

extension TokenParams: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("token", token)
  }
}

extension SessionGrants: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("grants", grants)
    json.field("room", room)
  }
}

extension SessionExpiring: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("expiresAt", expiresAt)
    json.field("remainingMs", remainingMs)
  }
}

extension Resync: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("seq", seq)
    try json.field("room", room)
    try json.field("call", call)
    try json.field("current", current)
    try json.field("ringing", ringing)
  }
}

extension UserQueryParams: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("users", users)
  }
}

extension UserPresence: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("user", user)
    json.field("reachable", reachable)
    json.field("inCall", inCall)
    json.field("devices", devices)
    try json.field("capabilities", encoding: capabilities)
  }
}

extension UserQueryResult: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    try json.field("users", users)
  }
}

extension SessionClosing: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("action", action)
    json.field("reason", reason)
    json.field("retryAfterMs", retryAfterMs)
  }
}

extension ViewOpenParams: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("count", count)
    json.field("kind", kind)
  }
}

extension ViewOpenResult: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("views", views)
  }
}

extension ViewWish: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("subscriptionId", subscriptionId)
    json.field("trackId", trackId)
    json.field("follow", follow)
  }
}

extension ViewShowParams: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    try json.field("views", views)
  }
}

extension OfferedView: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("mid", mid)
    json.field("subscriptionId", subscriptionId)
  }
}

extension ViewChanged: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("subscriptionId", subscriptionId)
    json.field("trackId", trackId)
    json.field("participantId", participantId)
    json.field("rtpTimestamp", rtpTimestamp)
    json.field("reason", reason)
  }
}

extension ResumeResult: JSONWritable {
  /// The fields, in the order of the protocol.
  public func writeFields(to json: inout JSONWriter) throws {
    switch self {
    case .replayed(let value): json.field("replayed", value)
    case .resync(let value): try json.field("resync", value)
    }
  }
}
