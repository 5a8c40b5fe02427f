// Who may do what. Every rule about a person's right is here: the rights of their identity, and what a room allows whom. What
// a rule may change, and whether there is space, is decided where it is served.

import Basics
import Members
import RoostProtocol

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
  /// Whether a seat may publish tracks of these kinds, with what was announced of them: by its user's rights, and where only so
  /// many may publish at once.
  /// - Throws: 1005.
  static func checkPublish(
    _ tracks: [(kind: TrackKind, source: TrackSource?)], from seat: Seat, _ seating: Seating, at now: Instant
  ) throws(ErrorObject) {
    if tracks.isEmpty { return }
    let rights = rights(of: seat, seating.table)
    if seat.isPlayer { throw ErrorObject(.forbidden, "Who only plays takes no seat here, and publishes nothing.") }
    for track in tracks {
      for right in Rights.toPublish(track.kind, track.source).grants {
        try rights.check(right, right.rawValue)
      }
    }
    if seating.media[seat.id].tracks.isEmpty { try Places(for: seat, seating, at: now)?.check() }
  }

  // MARK: - On one's seat

  /// What somebody may do on their seat.
  static func rights(of seat: Seat, _ table: RoomTable) -> Rights { seat.member.rights(in: table.name(of: seat.room)) }

  /// - Throws: 1005 without the right to write.
  static func checkChat(_ seat: Seat, _ table: RoomTable) throws(ErrorObject) {
    try rights(of: seat, table).check(.chat, "chat")
  }

  /// - Throws: 1005 without the right to receive.
  static func checkSubscribe(_ seat: Seat, _ table: RoomTable) throws(ErrorObject) {
    try rights(of: seat, table).check(.subscribe, "subscribe")
  }

  /// Whether somebody may receive a track.
  /// - Throws: 1005 without the right, and for one's own track.
  static func checkSubscribe(_ seat: Seat, to track: PublishedTrack, _ table: RoomTable) throws(ErrorObject) {
    try checkSubscribe(seat, table)
    guard track.seat != seat.id else { throw ErrorObject(.forbidden, "This is your own track.") }
  }

  /// Whether somebody receives what others publish without asking for it.
  static func maySubscribe(_ seat: Seat, _ table: RoomTable) -> Bool { rights(of: seat, table).contains(.subscribe) }

  /// What somebody is in their room: a moderator by their grant or as a call's host, or what a moderator has made them; nil for all others.
  static func role(of seat: Seat, _ table: RoomTable) -> RoomRole? {
    guard let room = table[seat.room] else { return nil }
    if moderatesByGrant(seat, table) { return .moderator }
    return room.moderation.roles[seat.user]
  }

  // MARK: - Moderators

  /// - Throws: 1005 for who is no moderator of the room.
  static func checkModerate(_ seat: Seat, _ table: RoomTable) throws(ErrorObject) {
    guard Access.role(of: seat, table) != .moderator else { return }
    throw ErrorObject(.forbidden, "You do not moderate this room.") { $0.reason = "moderate" }
  }

  /// Who was given a role is no match for who has the grant.
  /// - Throws: 1005.
  static func checkRank(of seat: Seat, over target: Seat?, _ table: RoomTable) throws(ErrorObject) {
    guard let target, target.id != seat.id, moderatesByGrant(target, table), !moderatesByGrant(seat, table) else {
      return
    }
    throw ErrorObject(.forbidden, "This user moderates the room by a grant.") { $0.reason = "moderator" }
  }

  /// Nor for the host of a call who has no seat, as they are not back after a restart.
  /// - Throws: 1005.
  static func checkRank(
    of seat: Seat, overAbsent user: String?, in room: Room, _ table: RoomTable
  ) throws(ErrorObject) {
    guard let host = room.host, host == user, host != seat.user, !moderatesByGrant(seat, table) else { return }
    throw ErrorObject(.forbidden, "This user is the host.") { $0.reason = "moderator" }
  }

  /// Nobody bans themselves, nor who has the grant: they would be let in all the same.
  /// - Throws: 1005.
  static func checkBan(
    by seat: Seat, of user: String, _ target: Seat?, _ table: RoomTable
  ) throws(ErrorObject) {
    if user == seat.user { throw ErrorObject(.forbidden, "This is yourself.") { $0.reason = "self" } }
    guard let target, moderatesByGrant(target, table) else { return }
    throw ErrorObject(.forbidden, "This user moderates the room by a grant.") { $0.reason = "moderator" }
  }

  /// Whether somebody moderates the room that they are in without having been given a role, which would add nothing: by their grant, or
  /// as the host of a group call. In other calls nobody does.
  static func moderatesByGrant(_ seat: Seat, _ table: RoomTable) -> Bool {
    table[seat.room].map { moderatesByGrant(seat.member, $0) } ?? false
  }

  /// The same of a session of the user, on the seat or about to take it.
  private static func moderatesByGrant(_ session: MemberFacts, _ room: Room) -> Bool {
    guard room.isOfCall else { return session.mayModerate(room.name) }
    return room.host == session.user || room.host != nil && session.mayModerateCalls
  }

  /// - Throws: 1005 where moderators alone may write.
  static func checkChatOpen(_ seat: Seat, _ table: RoomTable) throws(ErrorObject) {
    guard table[seat.room]?.moderation.isChatDisabled == true, Access.role(of: seat, table) != .moderator else {
      return
    }
    throw ErrorObject(.forbidden, "Moderators alone may write now.") { $0.reason = "chat_disabled" }
  }

  /// Whether a session might write in the place of another one of its user.
  static func mayWrite(_ session: MemberFacts, on seat: Seat, _ table: RoomTable) -> Bool {
    guard let room = table[seat.room], session.rights(in: room.name).contains(.chat) else { return false }
    return !room.moderation.isChatDisabled || moderatesByGrant(session, room)
      || room.moderation.roles[seat.user] == .moderator
  }

  /// Whether somebody's tracks of a kind stay muted until a moderator says otherwise.
  static func isHeld(_ seat: Seat, _ kind: TrackKind, _ table: RoomTable) -> Bool {
    table[seat.room]?.moderation.isHeld(seat.user, kind) == true && Access.role(of: seat, table) != .moderator
  }

  /// Nobody moderates a call but from a seat in it, and where two talk nobody does.
  /// - Throws: 1005.
  static func checkModerated(_ room: String, from session: SessionID, _ table: RoomTable) throws(ErrorObject) {
    guard CallRoom.isName(room) else { return }
    guard let seat = table.currentSeat(of: session), let own = table[seat.room], own.name == room, own.host != nil
    else { throw ErrorObject(.forbidden) }
  }
}
