// swift-format-ignore-file
// Made by scripts/wire of Sources/wire/RoostProtocol/messages; `make wire` makes it again. Do not edit.

extension Request {
  /// Whether every parameter keeps its bounds (`ProtocolLimits`).
  /// - Throws: 1010 for what is too large, −32602 for what has the wrong characters or an impossible value.
  public func validate() throws(ErrorObject) {
    switch self {
    case .session(.hello(let params)):
      try params.checkFields()
    case .session(.resume(let params)):
      try params.checkFields()
    case .session(.token(let params)):
      try params.checkFields()
    case .userQuery(let params):
      try params.checkFields()
    case .block(.add(let params)):
      try params.checkFields()
    case .block(.remove(let params)):
      try params.checkFields()
    case .room(.join(let params)):
      try params.checkFields()
    case .room(.leave(let params)):
      try params.checkFields()
    case .room(.list(let params)):
      try params.checkFields()
    case .room(.info(let params)):
      try params.checkFields()
    case .room(.moderate(let params)):
      try params.checkFields()
      try params.checkRule()
    case .room(.raiseHand(let params)):
      try params.checkFields()
    case .chat(.send(let params)):
      try params.checkFields()
      try params.checkRule()
    case .chat(.history(let params)):
      try params.checkFields()
    case .message(.send(let params)):
      try params.checkFields()
      try params.checkRule()
    case .message(.request(let params)):
      try params.checkFields()
      try params.checkRule()
    case .message(.answer(let params)):
      try params.checkFields()
      try params.checkRule()
    case .peerConnection(.offer(let params)):
      try params.checkFields()
      try params.checkRule()
    case .peerConnection(.answer(let params)):
      try params.checkFields()
    case .peerConnection(.restart(let params)):
      try params.checkRule()
    case .track(.unpublish(let params)):
      try params.checkFields()
    case .track(.mute(let params)):
      try params.checkFields()
    case .track(.unmute(let params)):
      try params.checkFields()
    case .subscription(.subscribe(let params)):
      try params.checkFields()
    case .subscription(.unsubscribe(let params)):
      try params.checkFields()
    case .subscription(.update(let params)):
      try params.checkFields()
    case .subscription(.swap(let params)):
      try params.checkFields()
    case .view(.open(let params)):
      try params.checkFields()
    case .view(.show(let params)):
      try params.checkRule()
    case .call(.start(let params)):
      try params.checkFields()
    case .call(.ringing(let params)):
      try params.checkFields()
    case .call(.accept(let params)):
      try params.checkFields()
    case .call(.reject(let params)):
      try params.checkFields()
      try params.checkRule()
    case .call(.cancel(let params)):
      try params.checkFields()
    case .call(.hangup(let params)):
      try params.checkFields()
      try params.checkRule()
    case .call(.invite(let params)):
      try params.checkFields()
    case .call(.cancelInvite(let params)):
      try params.checkFields()
    case .call(.join(let params)):
      try params.checkFields()
    case .call(.get(let params)):
      try params.checkFields()
    case .call(.history(let params)):
      try params.checkFields()
    case .call(.mediaChange(let params)):
      try params.checkFields()
    case .call(.end(let params)):
      try params.checkFields()
    case .session(.bye), .session(.ping), .block(.list), .call(.current), .call(.available): break
    }
  }

  /// Hands on each name of somebody or something, with its field and its place in a list.
  /// - Throws: what `look` throws.
  public func forEachName(_ look: (_ name: String, _ field: String, _ index: Int?) throws(ErrorObject) -> Void) throws(ErrorObject) {
    switch self {
    case .session(.hello(let params)):
      try look(params.user, "user", nil)
      if let name = params.deviceId { try look(name, "deviceId", nil) }
    case .userQuery(let params):
      for (index, name) in params.users.enumerated() { try look(name, "users", index) }
    case .block(.add(let params)):
      try look(params.user, "user", nil)
    case .block(.remove(let params)):
      try look(params.user, "user", nil)
    case .room(.join(let params)):
      try look(params.room, "room", nil)
    case .room(.leave(let params)):
      try look(params.room, "room", nil)
    case .room(.list(let params)):
      if let name = params.after { try look(name, "after", nil) }
    case .room(.info(let params)):
      try look(params.room, "room", nil)
    case .room(.moderate(let params)):
      try look(params.room, "room", nil)
      if let name = params.user { try look(name, "user", nil) }
    case .room(.raiseHand(let params)):
      try look(params.room, "room", nil)
    case .chat(.send(let params)):
      try look(params.room, "room", nil)
      for (index, name) in (params.to ?? []).enumerated() { try look(name, "to", index) }
      if let name = params.clientMsgId { try look(name, "clientMsgId", nil) }
    case .chat(.history(let params)):
      try look(params.room, "room", nil)
    case .message(.send(let params)):
      if let name = params.room { try look(name, "room", nil) }
      for (index, name) in (params.to ?? []).enumerated() { try look(name, "to", index) }
    case .message(.request(let params)):
      if let name = params.room { try look(name, "room", nil) }
      try look(params.to, "to", nil)
    case .call(.start(let params)):
      for (index, name) in params.to.enumerated() { try look(name, "to", index) }
      if let name = params.clientCallId { try look(name, "clientCallId", nil) }
    case .call(.invite(let params)):
      for (index, name) in params.users.enumerated() { try look(name, "users", index) }
    case .call(.cancelInvite(let params)):
      for (index, name) in params.users.enumerated() { try look(name, "users", index) }
    case .session(.resume), .session(.token), .session(.bye), .session(.ping), .block(.list), .message(.answer),
      .peerConnection(.offer), .peerConnection(.answer), .peerConnection(.restart), .track(.unpublish), .track(.mute),
      .track(.unmute), .subscription(.subscribe), .subscription(.unsubscribe), .subscription(.update),
      .subscription(.swap), .view(.open), .view(.show), .call(.ringing), .call(.accept), .call(.reject),
      .call(.cancel), .call(.hangup), .call(.join), .call(.get), .call(.current), .call(.available), .call(.history),
      .call(.mediaChange), .call(.end): break
    }
  }

  /// The room that it names, where it names one.
  public var roomName: String? {
    switch self {
    case .session(.hello), .session(.resume), .session(.token), .session(.bye), .session(.ping), .userQuery,
      .block(.add), .block(.remove), .block(.list), .room(.list), .message(.answer), .peerConnection(.offer),
      .peerConnection(.answer), .peerConnection(.restart), .track(.unpublish), .track(.mute), .track(.unmute),
      .subscription(.subscribe), .subscription(.unsubscribe), .subscription(.update), .subscription(.swap),
      .view(.open), .view(.show), .call(.start), .call(.ringing), .call(.accept), .call(.reject), .call(.cancel),
      .call(.hangup), .call(.invite), .call(.cancelInvite), .call(.join), .call(.get), .call(.current),
      .call(.available), .call(.history), .call(.mediaChange), .call(.end): nil
    case .room(.join(let params)): params.room
    case .room(.leave(let params)): params.room
    case .room(.info(let params)): params.room
    case .room(.moderate(let params)): params.room
    case .room(.raiseHand(let params)): params.room
    case .chat(.send(let params)): params.room
    case .chat(.history(let params)): params.room
    case .message(.send(let params)): params.room
    case .message(.request(let params)): params.room
    }
  }
}

extension BlockParams {
  fileprivate func checkFields() throws(ErrorObject) {
    try Check.name(user, "user")
  }
}

extension CallAcceptParams {
  fileprivate func checkFields() throws(ErrorObject) {
    try Check.identifier(callId, "callId")
    try Check.text(resumeToken, "resumeToken", max: ProtocolLimits.tokenBytes)
    try Check.opaque(push, "push")
    try Check.shownOpaque(metadata, "metadata")
  }
}

extension CallCancelInviteParams {
  fileprivate func checkFields() throws(ErrorObject) {
    try Check.identifier(callId, "callId")
    try Check.users(users, "users", max: ProtocolLimits.users, min: 1)
  }
}

extension CallCancelParams {
  fileprivate func checkFields() throws(ErrorObject) {
    try Check.identifier(callId, "callId")
    try Check.opaque(push, "push")
  }
}

extension CallHangupParams {
  fileprivate func checkFields() throws(ErrorObject) {
    try Check.identifier(callId, "callId")
    try Check.text(text, "text", max: ProtocolLimits.textBytes)
    try Check.opaque(push, "push")
  }
}

extension CallHistoryParams {
  fileprivate func checkFields() throws(ErrorObject) {
    try Check.identifier(before, "before")
    try Check.range(limit, 1...ProtocolLimits.page, "limit")
  }
}

extension CallInviteParams {
  fileprivate func checkFields() throws(ErrorObject) {
    try Check.identifier(callId, "callId")
    try Check.users(users, "users", max: ProtocolLimits.users, min: 1)
    try Check.opaque(extra, "extra")
    try Check.opaque(push, "push")
    try Check.range(ringTimeoutMs, 5000...180000, "ringTimeoutMs")
  }
}

extension CallJoinParams {
  fileprivate func checkFields() throws(ErrorObject) {
    try Check.identifier(callId, "callId")
    try Check.text(resumeToken, "resumeToken", max: ProtocolLimits.tokenBytes)
    try Check.shownOpaque(metadata, "metadata")
  }
}

extension CallParams {
  fileprivate func checkFields() throws(ErrorObject) {
    try Check.identifier(callId, "callId")
  }
}

extension CallRejectParams {
  fileprivate func checkFields() throws(ErrorObject) {
    try Check.identifier(callId, "callId")
    try Check.text(text, "text", max: ProtocolLimits.textBytes)
    try Check.opaque(push, "push")
  }
}

extension CallStartParams {
  fileprivate func checkFields() throws(ErrorObject) {
    try Check.users(to, "to", max: ProtocolLimits.users, min: 1)
    try Check.range(ringTimeoutMs, 5000...180000, "ringTimeoutMs")
    try Check.opaque(extra, "extra")
    try Check.opaque(push, "push")
    try Check.name(clientCallId, "clientCallId")
    try Check.shownOpaque(metadata, "metadata")
  }
}

extension ChatHistoryParams {
  fileprivate func checkFields() throws(ErrorObject) {
    try Check.name(room, "room")
    try Check.identifier(before, "before")
    try Check.range(limit, 1...ProtocolLimits.page, "limit")
  }
}

extension ChatSendParams {
  fileprivate func checkFields() throws(ErrorObject) {
    try Check.name(room, "room")
    try Check.text(text, "text", max: ProtocolLimits.textBytes)
    try Check.users(to, "to", max: ProtocolLimits.users, min: 0)
    try Check.name(clientMsgId, "clientMsgId")
  }
}

extension HelloParams {
  fileprivate func checkFields() throws(ErrorObject) {
    try Check.name(user, "user")
    try Check.text(token, "token", max: ProtocolLimits.tokenBytes)
    try Check.name(deviceId, "deviceId")
    try Check.name(displayName, "displayName")
    try Check.opaque(capabilities, "capabilities")
    try Check.text(resumeToken, "resumeToken", max: ProtocolLimits.tokenBytes)
  }
}

extension MediaChangeParams {
  fileprivate func checkFields() throws(ErrorObject) {
    try Check.identifier(callId, "callId")
  }
}

extension MessageAnswerParams {
  fileprivate func checkFields() throws(ErrorObject) {
    try Check.identifier(requestId, "requestId")
    try Check.shownOpaque(data, "data", max: ProtocolLimits.dataBytes)
  }
}

extension MessageRequestParams {
  fileprivate func checkFields() throws(ErrorObject) {
    try Check.name(room, "room")
    try Check.identifier(callId, "callId")
    try Check.name(to, "to")
    try Check.name(topic, "topic", max: ProtocolLimits.topicBytes)
    try Check.shownOpaque(data, "data", max: ProtocolLimits.dataBytes)
    try Check.range(timeoutMs, 1000...ProtocolLimits.answerMilliseconds, "timeoutMs")
  }
}

extension MessageSendParams {
  fileprivate func checkFields() throws(ErrorObject) {
    try Check.name(room, "room")
    try Check.identifier(callId, "callId")
    try Check.users(to, "to", max: ProtocolLimits.users, min: 0)
    try Check.name(topic, "topic", max: ProtocolLimits.topicBytes)
    try Check.shownOpaque(data, "data", max: ProtocolLimits.dataBytes)
  }
}

extension ModerateParams {
  fileprivate func checkFields() throws(ErrorObject) {
    try Check.name(room, "room")
    try Check.name(user, "user")
    try Check.range(until, 0...9007199254740991, "until")
  }
}

extension PublishOfferParams {
  fileprivate func checkFields() throws(ErrorObject) {
    try Check.text(sdp, "sdp", max: ProtocolLimits.sdpBytes)
  }
}

extension RaiseHandParams {
  fileprivate func checkFields() throws(ErrorObject) {
    try Check.name(room, "room")
  }
}

extension ResumeParams {
  fileprivate func checkFields() throws(ErrorObject) {
    try Check.text(resumeToken, "resumeToken", max: ProtocolLimits.tokenBytes)
    try Check.range(lastSeq, 0...Int.max, "lastSeq")
  }
}

extension RoomJoinParams {
  fileprivate func checkFields() throws(ErrorObject) {
    try Check.name(room, "room")
    try Check.name(displayName, "displayName")
    try Check.shownOpaque(metadata, "metadata")
    try Check.range(views, 0...ProtocolLimits.views, "views")
    try Check.text(resumeToken, "resumeToken", max: ProtocolLimits.tokenBytes)
  }
}

extension RoomListParams {
  fileprivate func checkFields() throws(ErrorObject) {
    try Check.name(after, "after")
    try Check.range(limit, 1...ProtocolLimits.page, "limit")
  }
}

extension RoomParams {
  fileprivate func checkFields() throws(ErrorObject) {
    try Check.name(room, "room")
  }
}

extension SubscribeAnswerParams {
  fileprivate func checkFields() throws(ErrorObject) {
    try Check.text(sdp, "sdp", max: ProtocolLimits.answerBytes)
  }
}

extension SubscribeParams {
  fileprivate func checkFields() throws(ErrorObject) {
    try Check.identifier(trackId, "trackId")
    try Check.range(view, 0...ProtocolLimits.smallNumber, "view")
    try Check.range(priority, 0...ProtocolLimits.smallNumber, "priority")
    try Check.range(maxHeight, 0...ProtocolLimits.pictureLines, "maxHeight")
  }
}

extension SubscriptionParams {
  fileprivate func checkFields() throws(ErrorObject) {
    try Check.identifier(subscriptionId, "subscriptionId")
  }
}

extension SubscriptionUpdateParams {
  fileprivate func checkFields() throws(ErrorObject) {
    try Check.identifier(subscriptionId, "subscriptionId")
    try Check.range(priority, 0...ProtocolLimits.smallNumber, "priority")
    try Check.range(maxHeight, 0...ProtocolLimits.pictureLines, "maxHeight")
  }
}

extension SwapParams {
  fileprivate func checkFields() throws(ErrorObject) {
    try Check.identifier(a, "a")
    try Check.identifier(b, "b")
  }
}

extension TokenParams {
  fileprivate func checkFields() throws(ErrorObject) {
    try Check.text(token, "token", max: ProtocolLimits.tokenBytes)
  }
}

extension TrackParams {
  fileprivate func checkFields() throws(ErrorObject) {
    try Check.identifier(trackId, "trackId")
  }
}

extension UserQueryParams {
  fileprivate func checkFields() throws(ErrorObject) {
    try Check.users(users, "users", max: ProtocolLimits.queriedUsers, min: 1)
  }
}

extension ViewOpenParams {
  fileprivate func checkFields() throws(ErrorObject) {
    try Check.range(count, 1...ProtocolLimits.views, "count")
  }
}
