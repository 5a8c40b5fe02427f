// What a server checks of a request beyond its shape and beyond the bounds of single fields: what one field says of another. Bounds of
// fields stand behind their declarations, and scripts/wire makes `FieldBounds.swift` of them, which asks for these rules too.

/// Params with a rule of their own. Of a field that it looks at, and that has no bound besides, the declaration says `// rule`.
protocol HasRule {
  /// - Throws: −32602 or 1010 for what the rule forbids.
  func checkRule() throws(ErrorObject)
}

extension ModerateParams: HasRule {
  /// - Throws: −32602 where an action lacks what it needs.
  func checkRule() throws(ErrorObject) {
    switch action {
    case .kick, .ban, .unban, .role:
      if user == nil { throw .parameter("user", expected: "a user") }
    case .media:
      if media == nil {
        throw .parameter("media", expected: MediaClass.allCases.map(\.rawValue).joined(separator: ", "))
      }
    case .mute, .stopVideo, .lock, .unlock, .lobby, .admit, .deny, .disableChat, .enableChat, .lowerHand, .end: break
    }
    if action == .role, role == nil {
      throw .parameter("role", expected: RoomRole.allCases.map(\.rawValue).joined(separator: ", "))
    }
  }
}

extension ChatSendParams: HasRule {
  func checkRule() throws(ErrorObject) {
    try Check.size((to ?? []).reduce(0) { $0 + $1.utf8.count }, ProtocolLimits.recipientBytes, "to")
  }
}

extension MessageSendParams: HasRule {
  /// - Throws: −32602 for a message that is for both a room and a call, or for neither, and for `null`, which is nothing to say.
  func checkRule() throws(ErrorObject) {
    try Check.place(room, callId)
    try Check.isSomething(data)
    try Check.size((to ?? []).reduce(0) { $0 + $1.utf8.count }, ProtocolLimits.recipientBytes, "to")
  }
}

extension MessageRequestParams: HasRule {
  /// - Throws: as `message.send`.
  func checkRule() throws(ErrorObject) {
    try Check.place(room, callId)
    try Check.isSomething(data)
  }
}

extension MessageAnswerParams: HasRule {
  /// - Throws: −32602 for `null`, which is nothing to say.
  func checkRule() throws(ErrorObject) { try Check.isSomething(data) }
}

extension Check {
  fileprivate static func place(_ room: String?, _ callId: String?) throws(ErrorObject) {
    guard (room == nil) != (callId == nil) else { throw .parameter("room", expected: "a room, or a callId") }
  }

  fileprivate static func isSomething(_ data: RawJSON) throws(ErrorObject) {
    if data.text == "null" { throw .parameter("data", expected: "JSON that is not null") }
  }
}

extension RestartParams: HasRule {
  func checkRule() throws(ErrorObject) { if pc != .subscribe { throw .parameter("pc", expected: "subscribe") } }
}

extension PublishOfferParams: HasRule {
  func checkRule() throws(ErrorObject) {
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

extension ViewShowParams: HasRule {
  func checkRule() throws(ErrorObject) {
    try Check.range(views.count, 1...ProtocolLimits.views, "views")
    for (index, view) in views.enumerated() { try view.validate("views[\(index)]") }
  }
}

extension ViewWish {
  fileprivate func validate(_ path: String) throws(ErrorObject) {
    try Check.identifier(subscriptionId, "\(path).subscriptionId")
    try Check.identifier(trackId, "\(path).trackId")
    if trackId != nil && follow != nil { throw .parameter("\(path).follow", expected: "nothing beside a trackId") }
  }
}

extension CallRejectParams: HasRule {
  func checkRule() throws(ErrorObject) { try Check.said(reason) }
}

extension CallHangupParams: HasRule {
  func checkRule() throws(ErrorObject) { try Check.said(reason) }
}
