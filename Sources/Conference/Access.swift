// Who may do what. Every rule about a person's right is here: the rights of their identity, and what a room allows whom. What
// a rule may change, and whether there is space, is decided where it is served.

import RoostProtocol

extension Identity {
  /// - Throws: 1005 where the right is missing; `reason` says what it was wanted for.
  fileprivate func check(_ right: Rights, _ reason: String) throws(ErrorObject) {
    guard rights.contains(right) else {
      throw ErrorObject(.forbidden, "You do not have the right to do this.") { $0.reason = reason }
    }
  }
}

extension Session {
  /// Whether one may join rooms, this one among them: calls' rooms are entered through their calls.
  /// - Throws: 1005.
  func checkJoin(_ room: String) throws(ErrorObject) {
    try identity.check(.join, "join")
    try Access.checkNamed(room)
  }

  /// - Throws: 1005 without the right to write.
  func checkChat() throws(ErrorObject) { try identity.check(.chat, "chat") }

  /// - Throws: 1005 without the right to start and join calls.
  func checkCall() throws(ErrorObject) { try identity.check(.call, "call") }

  /// - Throws: 1005 without the right to invite others.
  func checkInvite() throws(ErrorObject) { try identity.check(.invite, "invite") }

  /// - Throws: 1005 without the right to receive.
  func checkSubscribe() throws(ErrorObject) { try identity.check(.subscribe, "subscribe") }

  /// Whether one may receive a track.
  /// - Throws: 1005 without the right, and for one's own track.
  func checkSubscribe(_ track: PublishedTrack, from seat: Seat) throws(ErrorObject) {
    try checkSubscribe()
    guard track.seat != seat.id else { throw ErrorObject(.forbidden, "This is your own track.") }
  }

  /// Whether one receives what others publish without asking for it.
  var maySubscribe: Bool { identity.rights.contains(.subscribe) }
}

extension ConferenceState {
  /// Whether a seat may publish tracks of these kinds, with what was announced of them: by its user's rights, and where only so
  /// many may publish at once.
  /// - Throws: 1005.
  func checkPublish(_ tracks: [(kind: TrackKind, source: TrackSource?)], from seat: Seat) throws(ErrorObject) {
    guard let identity = sessions[seat.session]?.identity, let room = rooms[seat.room], !tracks.isEmpty else { return }
    for track in tracks {
      switch track.kind {
      case .audio: try identity.check(.publishAudio, "publish:audio")
      case .video where track.source == .screen: try identity.check(.publishScreen, "publish:screen")
      case .video: try identity.check(.publishVideo, "publish:video")
      }
    }
    guard let limit = room.rules.publishers, seat.tracks.isEmpty else { return }
    let publishing = rooms.members(of: seat.room).count { !$0.tracks.isEmpty }
    guard publishing >= limit else { return }
    throw ErrorObject(.forbidden, "This room takes no further publisher.") {
      $0.reason = "publishers"
      $0.limit = limit
      $0.count = publishing
    }
  }

  /// Whether somebody who is the same user may take a session's place: where it is proved that they are, always, else with the
  /// session's resume token.
  func mayReplace(_ session: SessionID, _ identity: Identity, token: String?) -> Bool {
    if identity.isVerified { return true }
    guard let shown = token.flatMap(ResumeToken.init), let held = sessions[session]?.token else { return false }
    return shown == held
  }
}

extension Room {
  /// - Throws: 2007 where an operator lets nobody more in.
  func checkOpen() throws(ErrorObject) { if isLocked { throw ErrorObject(.roomLocked) } }
}

extension PublishedTrack {
  /// - Throws: 1005 for somebody else's track.
  func checkOwner(_ seat: Seat) throws(ErrorObject) {
    guard self.seat == seat.id else { throw ErrorObject(.forbidden, "This track is somebody else's.") }
  }
}

enum Access {
  /// Rooms of calls are not to be looked at or entered by name.
  /// - Throws: 1005.
  static func checkNamed(_ room: String) throws(ErrorObject) {
    guard !CallRoom.isName(room) else { throw ErrorObject(.forbidden) }
  }
}
