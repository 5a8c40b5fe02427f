// Further tokens: what somebody may do changes while they are there, and what they may not do any more ends at once. A proof that is
// over ends its session (docs/access.md).

import Basics
import Calls
import Members
import RoostProtocol

extension Now {
  /// When a proof is over; nil where it never is. Later changes of the wall clock do not move it.
  func end(of identity: Identity) -> Instant? {
    identity.endsAt.map { instant + .milliseconds(Int(max(0, $0 - wallMilliseconds))) }
  }

  /// When the client is told that its proof ends; nil where it never does. Where less is left than `Proofs.notice`, it is told at once; of a
  /// further proof when half of that is over, as a client that answers each warning would do nothing else.
  func warning(of identity: Identity, isFurther: Bool) -> Instant? {
    guard let expiresAt = identity.expiresAt else { return nil }
    let left = TimeDelta.milliseconds(Int(max(0, expiresAt - wallMilliseconds)))
    if left >= Proofs.notice { return instant + (left - Proofs.notice) }
    return isFurther ? instant + max(left / 2, Proofs.shortestNotice) : instant
  }
}

/// What further proofs of a session's user, and their end, do to what runs.
enum Proofs {
  /// So long before a proof is over its client is told: raise it, and clients fetch the next one sooner.
  static let notice = TimeDelta.seconds(60)
  /// No sooner is a client told again that has shown a further proof.
  static let shortestNotice = TimeDelta.seconds(5)

  /// Takes another proof of the same user: their rights are from now on what it says, less what operators have taken.
  /// - Throws: 1004 for somebody else's, or where the session's user was not proved at all.
  static func renew(_ identity: Identity, of id: SessionID, _ core: inout ConferenceCore, _ step: inout Step)
    throws(ErrorObject)
  {
    guard let before = core.sessions.table[id]?.identity else { throw ErrorObject(.notLoggedIn) }
    guard before.isVerified, identity.isVerified, before.user == identity.user else {
      throw ErrorObject(.authFailed, "The token is somebody else's.") { $0.reason = "token_user" }
    }
    change(id, &core, &step) { $0.renew(id, identity) }
    core.sessions.table.setProof(
      of: id, until: step.now.end(of: identity), warning: step.now.warning(of: identity, isFurther: true))
    // Its client has read the token, and takes that for what holds.
    if core.sessions.table.rightsNow(of: id) != identity.rights { core.sessions.table.noteTold(nil, id) }
  }

  /// What operators have left of a session's rights may be another.
  static func limit(_ id: SessionID, _ core: inout ConferenceCore, _ step: inout Step) {
    change(id, &core, &step) { _ in }
  }

  /// Whatever becomes of a session's rights takes effect at once.
  private static func change(
    _ id: SessionID, _ core: inout ConferenceCore, _ step: inout Step, _ change: (inout SessionTable) -> Void
  ) {
    // What was done before may have taken its seat.
    core.sessions.table.settle(&step)
    guard let before = core.sessions.table[id] else { return }
    let rights = before.rightsNow
    let role = core.rooms.table.currentSeat(of: id).flatMap { Access.role(of: $0, core.rooms.table) }
    change(&core.sessions.table)
    Narrowings.limit(id, &core.sessions, step.now)
    core.tellRooms(of: id)
    guard let session = core.sessions.table[id] else { return }
    if let seat = core.rooms.table.currentSeat(of: id) { core.rooms.table.grantReplacesRole(of: seat) }
    core.calls.setMayCall(id.device, session.identity.rights.contains(.call))
    let now = session.rightsNow
    guard
      rights != now || before.identity.rights != session.identity.rights
        || before.grants.roomRights != session.grants.roomRights
        || before.identity.rooms != session.identity.rooms
    else { return }
    if rights != now || before.identity.rooms != session.identity.rooms { tell(id, &core.sessions.table, &step) }
    enforce(lost: rights.subtracting(now), on: id, &core, &step)
    enforceGained(now.subtracting(rights), on: id, &core, &step)
    roleChanged(from: role, on: id, &core.rooms, &step)
    // And this may have taken it.
    core.sessions.table.settle(&step)
  }

  /// Tells a client what it may do where it is now.
  private static func tell(_ id: SessionID, _ sessions: inout SessionTable, _ step: inout Step) {
    guard let session = sessions[id] else { return }
    let rights = session.rightsNow
    let grants = SessionGrants(grants: rights.grants, room: session.identity.rooms?.text)
    step.tell(.sessionGrants(grants), to: id)
    sessions.noteTold(rights, id)
    step.log(
      "grants_changed",
      ["session": "\(id)", "user": session.user, "grants": grants.grants.map(\.rawValue).joined(separator: " ")])
  }

  /// At the end of a step those clients are told who know something else: they have come into a room where less is left to them, have left it,
  /// or have shown a token that gives more than what is left.
  static func tellMisinformed(_ sessions: inout SessionTable, _ step: inout Step) {
    sessions.settle(&step)
    for id in sessions.takeMisinformed() {
      guard let session = sessions[id], session.grants.told != session.rightsNow else { continue }
      tell(id, &sessions, &step)
    }
  }

  /// Others see who moderates.
  private static func roleChanged(
    from before: RoomRole?, on id: SessionID, _ rooms: inout Rooms, _ step: inout Step
  ) {
    guard let seat = rooms.table.currentSeat(of: id), Access.role(of: seat, rooms.table) != before else { return }
    Moderating.roleChanged(of: seat, &rooms, &step)
  }

  /// Ends what runs and needs a right that was lost, the greatest first: with a seat all goes that hangs on it.
  private static func enforce(lost: Rights, on id: SessionID, _ core: inout ConferenceCore, _ step: inout Step) {
    endSeat(of: id, &core, &step)
    if let member = core.sessions.table.facts(of: id) {
      let all = core.sessions.table.of(member.user).map(\.facts)
      Doors.leaveForbidden(member, allOfUser: all, &core.rooms.table, &step)
    }
    if lost.contains(.call) { endCall(of: id, &core, &step) }
    if lost.contains(.invite) { endInvitations(of: id, &core, &step) }
    guard let seat = core.rooms.table.currentSeat(of: id) else { return }
    core.rooms.endForbiddenTracks(of: seat, &step)
    if lost.contains(.subscribe) { core.rooms.endSubscriptions(of: seat.id, &step) }
  }

  /// Who receives everything unasked does so again.
  private static func enforceGained(
    _ gained: Rights, on id: SessionID, _ core: inout ConferenceCore, _ step: inout Step
  ) {
    guard gained.contains(.subscribe), let seat = core.rooms.table.currentSeat(of: id), seat.autoSubscribe else {
      return
    }
    Subscribing.toAll(seat.id, &core.rooms.media, core.rooms.table, &step)
  }

  /// A seat in a room that one may not be in any more. Those of calls are the calls' matter.
  private static func endSeat(of id: SessionID, _ core: inout ConferenceCore, _ step: inout Step) {
    guard let seat = core.rooms.table.currentSeat(of: id), !core.rooms.table.isInCall(seat) else { return }
    let room = core.rooms.table.name(of: seat.room)
    // A ban holds for whoever has the grant `moderate` no more.
    let isBanned = (try? Doors.checkBan(seat.member, in: room, core.rooms, step.now)) == nil
    guard isBanned || !seat.member.mayBeIn(room) else { return }
    Eviction.putOut(seat, &core, &step)
  }

  /// The call that one is in on this device, whether it rings or runs.
  private static func endCall(of id: SessionID, _ core: inout ConferenceCore, _ step: inout Step) {
    guard let user = core.sessions.table[id]?.user, core.calls.hasLeg(id.device),
      let call = core.calls.current(of: user, at: step.now),
      let effects = try? core.calls.remove(user, from: call.callId, isPutOut: false, at: step.now)
    else { return }
    core.carry(effects, &step)
  }

  /// Those whom one has invited, and who still ring.
  private static func endInvitations(of id: SessionID, _ core: inout ConferenceCore, _ step: inout Step) {
    guard let user = core.sessions.table[id]?.user, core.calls.hasLeg(id.device),
      let call = core.calls.current(of: user, at: step.now)
    else { return }
    for member in call.members where member.invitedBy == user && member.isBeingRung {
      guard let effects = try? core.calls.remove(member.user, from: call.callId, isPutOut: false, at: step.now) else {
        continue
      }
      core.carry(effects, &step)
    }
  }

  /// The proof of who a session's user is, is over soon: its client is told while it can still show a further one.
  static func warn(_ id: SessionID, _ sessions: SessionTable, _ step: inout Step) {
    guard let identity = sessions[id]?.identity, let expiresAt = identity.expiresAt, let endsAt = identity.endsAt,
      let end = sessions.proofs[id]
    else { return }
    // By the clock that ends the session, which nobody sets.
    let left = (end - step.now.instant).milliseconds - (endsAt - expiresAt)
    step.tell(
      .sessionExpiring(SessionExpiring(expiresAt: expiresAt, remainingMs: max(0, left))), to: id)
  }

  /// The proof of who a session's user is, is over, and no further one has come.
  static func expired(_ id: SessionID, _ core: inout ConferenceCore, _ step: inout Step) {
    guard let session = core.sessions.table[id] else { return }
    step.log("token_expired", ["session": "\(id)", "user": session.user])
    let closing = SessionClosing(action: .stop, reason: .tokenExpired)
    step.tell(.sessionClosing(closing), to: id)
    core.end(id, .lost, &step)
    if let connection = session.connection { step.add(.closeConnection(connection, .tokenExpired)) }
  }
}

extension Rooms {
  /// Tracks that their publisher may not publish any more. They hear of it too, as it was not their doing.
  fileprivate mutating func endForbiddenTracks(of seat: Seat, _ step: inout Step) {
    let rights = Access.rights(of: seat, table)
    for track in media.tracks(of: seat.id) where !rights.contains(.toPublish(track.wire.kind, track.wire.source)) {
      Publishing.end(track.id, &media, table, &step)
      Publishing.announceEnd(of: track.id, seat: seat.id, toAll: true, table, &step)
    }
  }

  /// All that a seat receives, its views too.
  fileprivate mutating func endSubscriptions(of id: SeatID, _ step: inout Step) {
    for subscription in media[id].received {
      Subscribing.end(subscription, .forbidden, &media, table, &step)
    }
  }
}
