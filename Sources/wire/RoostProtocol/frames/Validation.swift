// What a server checks of a request beyond its shape: bounds and characters, never rights.

extension Request {
  /// Whether every parameter keeps its bounds (`ProtocolLimits`).
  /// - Throws: 1010 for what is too large, −32602 for what has the wrong characters or an impossible value.
  public func validate() throws(ErrorObject) {
    switch self {
    case .session(let request): try request.validate()
    case .userQuery(let params): try Check.users(params.users, "users", max: ProtocolLimits.queriedUsers)
    case .block(.add(let params)), .block(.remove(let params)): try Check.name(params.user, "user")
    case .block(.list): break
    case .room(let request): try request.validate()
    case .chat(let request): try request.validate()
    case .peerConnection(let request): try request.validate()
    case .track(let request): try request.validate()
    case .subscription(let request): try request.validate()
    case .view(let request): try request.validate()
    case .call(let request): try request.validate()
    }
  }
}

extension SessionRequest {
  fileprivate func validate() throws(ErrorObject) {
    switch self {
    case .hello(let params): try params.validate()
    case .resume(let params): try params.validate()
    case .token(let params): try Check.text(params.token, "token", max: ProtocolLimits.tokenBytes)
    case .bye, .ping: break
    }
  }
}

extension RoomRequest {
  fileprivate func validate() throws(ErrorObject) {
    switch self {
    case .join(let params): try params.validate()
    case .leave(let params), .info(let params): try Check.name(params.room, "room")
    case .list(let params):
      try Check.name(params.after, "after")
      try Check.range(params.limit, 1...ProtocolLimits.page, "limit")
    case .moderate(let params): try params.validate()
    case .raiseHand(let params): try Check.name(params.room, "room")
    }
  }
}

extension ChatRequest {
  fileprivate func validate() throws(ErrorObject) {
    switch self {
    case .send(let params): try params.validate()
    case .history(let params): try params.validate()
    }
  }
}

extension PeerConnectionRequest {
  fileprivate func validate() throws(ErrorObject) {
    switch self {
    case .offer(let params): try params.validate()
    case .answer(let params): try Check.text(params.sdp, "sdp", max: ProtocolLimits.answerBytes)
    case .restart(let params):
      if params.pc != .subscribe { throw .parameter("pc", expected: "subscribe") }
    }
  }
}

extension TrackRequest {
  fileprivate func validate() throws(ErrorObject) {
    switch self {
    case .unpublish(let params), .mute(let params), .unmute(let params): try Check.identifier(params.trackId, "trackId")
    }
  }
}

extension SubscriptionRequest {
  fileprivate func validate() throws(ErrorObject) {
    switch self {
    case .subscribe(let params): try params.validate()
    case .unsubscribe(let params): try Check.identifier(params.subscriptionId, "subscriptionId")
    case .update(let params): try params.validate()
    case .swap(let params):
      try Check.identifier(params.a, "a")
      try Check.identifier(params.b, "b")
    }
  }
}

extension CallRequest {
  fileprivate func validate() throws(ErrorObject) {
    switch self {
    case .start(let params): try params.validate()
    case .ringing(let params), .get(let params), .end(let params): try Check.identifier(params.callId, "callId")
    case .accept(let params):
      try Check.call(params.callId, push: params.push)
      try Check.text(params.resumeToken, "resumeToken", max: ProtocolLimits.tokenBytes)
      try Check.opaque(params.metadata, "metadata")
    case .reject(let params):
      try Check.call(params.callId, push: params.push)
      try Check.said(params.reason)
      try Check.text(params.text, "text")
    case .cancel(let params): try Check.call(params.callId, push: params.push)
    case .hangup(let params):
      try Check.call(params.callId, push: params.push)
      try Check.said(params.reason)
      try Check.text(params.text, "text")
    case .invite(let params): try params.validate()
    case .cancelInvite(let params):
      try Check.identifier(params.callId, "callId")
      try Check.users(params.users, "users")
    case .join(let params):
      try Check.identifier(params.callId, "callId")
      try Check.text(params.resumeToken, "resumeToken", max: ProtocolLimits.tokenBytes)
      try Check.opaque(params.metadata, "metadata")
    case .history(let params):
      try Check.identifier(params.before, "before")
      try Check.range(params.limit, 1...ProtocolLimits.page, "limit")
    case .mediaChange(let params): try Check.identifier(params.callId, "callId")
    case .current, .available: break
    }
  }
}

extension Check {
  fileprivate static func call(_ callId: String?, push: RawJSON?) throws(ErrorObject) {
    try identifier(callId, "callId")
    try opaque(push, "push")
  }

  fileprivate static func ring(_ milliseconds: Int64?) throws(ErrorObject) {
    try range(milliseconds, 5_000...180_000, "ringTimeoutMs")
  }
}

extension HelloParams {
  fileprivate func validate() throws(ErrorObject) {
    try Check.name(user, "user")
    try Check.name(deviceId, "deviceId")
    try Check.name(displayName, "displayName")
    try Check.text(token, "token", max: ProtocolLimits.tokenBytes)
    try Check.text(resumeToken, "resumeToken", max: ProtocolLimits.tokenBytes)
    try Check.opaque(capabilities, "capabilities")
  }
}

extension ResumeParams {
  fileprivate func validate() throws(ErrorObject) {
    try Check.text(resumeToken, "resumeToken", max: ProtocolLimits.tokenBytes)
    try Check.range(lastSeq, 0...Int.max, "lastSeq")
  }
}

extension RoomJoinParams {
  fileprivate func validate() throws(ErrorObject) {
    try Check.name(room, "room")
    try Check.name(displayName, "displayName")
    try Check.opaque(metadata, "metadata")
    try Check.text(resumeToken, "resumeToken", max: ProtocolLimits.tokenBytes)
    try Check.range(views, 0...ProtocolLimits.views, "views")
  }
}

extension ChatSendParams {
  fileprivate func validate() throws(ErrorObject) {
    try Check.name(room, "room")
    try Check.text(text, "text")
    try Check.users(to, "to", min: 0)
    try Check.size((to ?? []).reduce(0) { $0 + $1.utf8.count }, ProtocolLimits.recipientBytes, "to")
    try Check.name(clientMsgId, "clientMsgId")
  }
}

extension ChatHistoryParams {
  fileprivate func validate() throws(ErrorObject) {
    try Check.name(room, "room")
    try Check.identifier(before, "before")
    try Check.range(limit, 1...ProtocolLimits.page, "limit")
  }
}

extension PublishOfferParams {
  fileprivate func validate() throws(ErrorObject) {
    try Check.text(sdp, "sdp", max: ProtocolLimits.sdpBytes)
    let tracks = tracks ?? []
    if pc == .subscribe, !tracks.isEmpty {
      throw .parameter("tracks", expected: "none: nothing is published on this connection")
    }
    try Check.size(tracks.count, ProtocolLimits.announcedTracks, "tracks")
    var mids: Set<String> = []
    for (index, track) in tracks.enumerated() {
      let path = "tracks[\(index)]"
      try track.validate(path)
      guard mids.insert(track.mid).inserted else {
        throw .parameter("\(path).mid", expected: "a line that is announced once")
      }
    }
  }
}

extension AnnouncedTrack {
  fileprivate func validate(_ path: String) throws(ErrorObject) {
    try Check.identifier(mid, "\(path).mid")
    if let label, !label.isEmpty { try Check.name(label, "\(path).label") }
    if let source, !TrackSource.known.contains(source) {
      let words = TrackSource.known.map(\.rawValue).joined(separator: ", ")
      throw .parameter("\(path).source", expected: "one of \(words)")
    }
    try Check.range(viewIndex, 0...ProtocolLimits.smallNumber, "\(path).viewIndex")
    try Check.opaque(split, "\(path).split")
    try Check.size(definitions?.count ?? 0, Definition.allCases.count, "\(path).definitions")
    try Check.size(heights?.count ?? 0, Definition.allCases.count, "\(path).heights")
    for (index, height) in (heights ?? []).enumerated() {
      try Check.range(height, 1...ProtocolLimits.pictureLines, "\(path).heights[\(index)]")
    }
  }
}

extension SubscribeParams {
  fileprivate func validate() throws(ErrorObject) {
    try Check.identifier(trackId, "trackId")
    try Check.range(view, 0...ProtocolLimits.smallNumber, "view")
    try Check.range(priority, 0...ProtocolLimits.smallNumber, "priority")
    try Check.range(maxHeight, 0...ProtocolLimits.pictureLines, "maxHeight")
  }
}

extension SubscriptionUpdateParams {
  fileprivate func validate() throws(ErrorObject) {
    try Check.identifier(subscriptionId, "subscriptionId")
    try Check.range(priority, 0...ProtocolLimits.smallNumber, "priority")
    try Check.range(maxHeight, 0...ProtocolLimits.pictureLines, "maxHeight")
  }
}

extension ViewRequest {
  fileprivate func validate() throws(ErrorObject) {
    switch self {
    case .open(let params): try Check.range(params.count, 1...ProtocolLimits.views, "count")
    case .show(let params):
      try Check.range(params.views.count, 1...ProtocolLimits.views, "views")
      for (index, view) in params.views.enumerated() { try view.validate("views[\(index)]") }
    }
  }
}

extension ViewWish {
  fileprivate func validate(_ path: String) throws(ErrorObject) {
    try Check.identifier(subscriptionId, "\(path).subscriptionId")
    try Check.identifier(trackId, "\(path).trackId")
    if trackId != nil && follow != nil { throw .parameter("\(path).follow", expected: "nothing beside a trackId") }
  }
}

extension CallStartParams {
  fileprivate func validate() throws(ErrorObject) {
    try Check.users(to, "to")
    try Check.ring(ringTimeoutMs)
    try Check.opaque(extra, "extra")
    try Check.opaque(push, "push")
    try Check.opaque(metadata, "metadata")
    try Check.name(clientCallId, "clientCallId")
  }
}

extension CallInviteParams {
  fileprivate func validate() throws(ErrorObject) {
    try Check.identifier(callId, "callId")
    try Check.users(users, "users")
    try Check.opaque(extra, "extra")
    try Check.opaque(push, "push")
    try Check.ring(ringTimeoutMs)
  }
}
