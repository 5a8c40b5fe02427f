// Who may do what by the rights of their identity. What a room allows whom is the room's to say (`Access`).

import Basics
import RoostProtocol

extension Rights {
  /// - Throws: 1005 where the right is missing; `reason` says what it was wanted for.
  package func check(_ right: Grant, _ reason: String) throws(ErrorObject) {
    guard contains(right) else {
      throw ErrorObject(.forbidden, "You do not have the right to do this.") { $0.reason = reason }
    }
  }
}

extension MemberFacts {
  /// What one may do in a room, or would: operators, and the application, may have left less there than elsewhere.
  package func rights(in room: String) -> Rights {
    let rights = identity.rights.intersection(roomRights[room] ?? identity.rights)
    return left(in: room).map { rights.intersection($0) } ?? rights
  }

  /// Whether one may join rooms, this one among them: calls' rooms are entered through their calls.
  /// - Throws: 1005.
  package func checkJoin(_ room: String) throws(ErrorObject) {
    try rights(in: room).check(.join, "join")
    try CallRoom.checkNamed(room)
    guard mayBeIn(room) else {
      throw ErrorObject(.forbidden, "Your token is not good for this room.") { $0.reason = "room" }
    }
  }

  /// Whether one may have a seat in a room that is no call's.
  package func mayBeIn(_ room: String) -> Bool {
    rights(in: room).contains(.join) && identity.rooms?.contains(room) ?? true
  }

  /// Whether that is so of all rooms.
  package var mayBeInAll: Bool { identity.rights.contains(.join) && identity.rooms == nil && roomRights.isEmpty }

  /// Whether one moderates a room that is no call's by one's grant.
  package func mayModerate(_ room: String) -> Bool {
    rights(in: room).contains(.moderate) && !CallRoom.isName(room) && mayBeIn(room)
  }

  /// Whether one moderates group calls by one's grant: a token for some rooms has no part in calls.
  package var mayModerateCalls: Bool { identity.rights.contains(.moderate) && identity.rooms == nil }

  /// Whether one may ask who can be called: oneself always, others by the right to call or invite them.
  /// - Throws: 1005.
  package func checkQuery(_ users: [String]) throws(ErrorObject) {
    if users.allSatisfy({ $0 == user }) || identity.rights.contains(.invite) { return }
    try identity.rights.check(.call, "call")
  }

  /// - Throws: 2002 where there are as many people in a room already as one's token, or the application, allows.
  package func checkCap(inRoom occupied: Int) throws(ErrorObject) {
    guard let cap = [identity.cap, given?.cap].compactMap(\.self).min(), occupied >= cap else { return }
    throw .limit(.roomFull, limit: cap, count: occupied)
  }

  /// - Throws: 3014 where a call would begin with more people than one's token allows.
  package func checkCap(calling others: [String]) throws(ErrorObject) {
    let count = Set(others).subtracting([user]).count + 1
    guard let cap = identity.cap, count > cap else { return }
    throw .limit(.tooManyInvitees, limit: cap, count: count)
  }

  /// - Throws: 3013 where so many more would be too many people in a call for one's token.
  package func checkCap(_ call: Call?, adding others: [String]) throws(ErrorObject) {
    guard let cap = identity.cap, let call else { return }
    let joined = Set(call.members.filter(\.isThere).map(\.user)).union([user])
    let ringing = Set(call.members.filter(\.isBeingRung).map(\.user)).subtracting(joined)
    guard joined.union(ringing).union(others).count > cap else { return }
    throw ErrorObject(.callFull) {
      $0.limit = cap
      $0.joined = joined.count
      $0.ringing = ringing.count
    }
  }

  /// - Throws: 1005 without the right to start and join calls.
  package func checkCall() throws(ErrorObject) { try identity.rights.check(.call, "call") }

  /// - Throws: 1005 without the right to invite others.
  package func checkInvite() throws(ErrorObject) { try identity.rights.check(.invite, "invite") }
}

extension Member {
  /// Whether they are in the call.
  package var isThere: Bool { ([.joined, .connecting, .reconnecting] as [MemberState]).contains(state) }
  /// Whether they are rung, or are about to be.
  package var isBeingRung: Bool { ([.inviting, .ringing, .busyRinging] as [MemberState]).contains(state) }
}

extension Rights {
  /// What publishing a track needs. The sound of a screen needs both: with one of them gone it would be a microphone by another name,
  /// or a screen that goes on.
  package static func toPublish(_ kind: TrackKind, _ source: TrackSource?) -> Rights {
    switch kind {
    case .audio: source == .screenAudio ? [.publishAudio, .publishScreen] : [.publishAudio]
    case .video: source == .screen ? [.publishScreen] : [.publishVideo]
    }
  }
}
