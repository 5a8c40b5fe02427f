// Further tokens: what somebody may do changes while they are there, and what they may not do any more ends at once. A proof that is
// over ends its session (docs/access.md).

import Basics
import Calls
import RoostProtocol

extension Now {
  /// When a proof is over; nil where it never is. Later changes of the wall clock do not move it.
  func end(of identity: Identity) -> Instant? {
    identity.endsAt.map { instant + .milliseconds(Int(max(0, $0 - wallMilliseconds))) }
  }
}

/// What further proofs of a session's user, and their end, do to what runs.
enum Proofs {
  /// Takes another proof of the same user: their rights are from now on what it says.
  /// - Throws: 1004 for somebody else's, or where the session's user was not proved at all.
  static func renew(_ identity: Identity, of id: SessionID, _ core: inout ConferenceCore, _ step: inout Step)
    throws(ErrorObject)
  {
    guard let before = core.state.sessions[id]?.identity else { throw ErrorObject(.notLoggedIn) }
    guard before.isVerified, identity.isVerified, before.user == identity.user else {
      throw ErrorObject(.authFailed, "The token is somebody else's.") { $0.reason = "token_user" }
    }
    let role = core.state.currentSeat(of: id).flatMap { core.state.role(of: $0) }
    core.state.sessions.renew(id, identity)
    if let seat = core.state.currentSeat(of: id) { core.state.grantReplacesRole(of: seat) }
    core.calls.setMayCall(id.device, identity.rights.contains(.call))
    core.state.sessions.setProof(of: id, until: step.now.end(of: identity))
    guard before.rights != identity.rights || before.rooms != identity.rooms else { return }
    let grants = SessionGrants(grants: identity.rights.grants, room: identity.rooms?.text)
    core.state.sessions.send(.sessionGrants(grants), to: id, &step)
    step.log(
      "grants_changed",
      ["session": "\(id)", "user": identity.user, "grants": grants.grants.map(\.rawValue).joined(separator: " ")])
    enforce(lost: before.rights.subtracting(identity.rights), on: id, &core, &step)
    enforceGained(identity.rights.subtracting(before.rights), on: id, &core, &step)
    roleChanged(from: role, on: id, &core, &step)
  }

  /// Others see who moderates.
  private static func roleChanged(
    from before: RoomRole?, on id: SessionID, _ core: inout ConferenceCore, _ step: inout Step
  ) {
    guard let seat = core.state.currentSeat(of: id), core.state.role(of: seat) != before else { return }
    Moderating.roleChanged(of: seat, &core.state, &step)
  }

  /// Ends what runs and needs a right that was lost, the greatest first: with a seat all goes that hangs on it.
  private static func enforce(lost: Rights, on id: SessionID, _ core: inout ConferenceCore, _ step: inout Step) {
    endSeat(of: id, &core, &step)
    Doors.leaveForbidden(id, &core.state, &step)
    if lost.contains(.call) { endCall(of: id, &core, &step) }
    if lost.contains(.invite) { endInvitations(of: id, &core, &step) }
    guard let seat = core.state.currentSeat(of: id) else { return }
    core.state.endForbiddenTracks(of: seat, &step)
    if lost.contains(.subscribe) { core.state.endSubscriptions(of: seat.id, &step) }
  }

  /// Who receives everything unasked does so again.
  private static func enforceGained(
    _ gained: Rights, on id: SessionID, _ core: inout ConferenceCore, _ step: inout Step
  ) {
    guard gained.contains(.subscribe), let seat = core.state.currentSeat(of: id), seat.autoSubscribe else { return }
    core.state.subscribeToAll(seat.id, &step)
  }

  /// A seat in a room that one may not be in any more. Those of calls are the calls' matter.
  private static func endSeat(of id: SessionID, _ core: inout ConferenceCore, _ step: inout Step) {
    guard let seat = core.state.currentSeat(of: id), !core.state.isInCall(seat), let session = core.state.sessions[id]
    else { return }
    let room = core.state.rooms.name(of: seat.room)
    guard !session.mayBeIn(room) else { return }
    Eviction.putOut(seat, &core, &step)
  }

  /// The call that one is in on this device, whether it rings or runs.
  private static func endCall(of id: SessionID, _ core: inout ConferenceCore, _ step: inout Step) {
    guard let user = core.state.sessions[id]?.user, core.calls.hasLeg(id.device),
      let call = core.calls.current(of: user, at: step.now),
      let effects = try? core.calls.remove(user, from: call.callId, at: step.now)
    else { return }
    core.carry(effects, &step)
  }

  /// Those whom one has invited, and who still ring.
  private static func endInvitations(of id: SessionID, _ core: inout ConferenceCore, _ step: inout Step) {
    guard let user = core.state.sessions[id]?.user, core.calls.hasLeg(id.device),
      let call = core.calls.current(of: user, at: step.now)
    else { return }
    for member in call.members where member.invitedBy == user && member.isBeingRung {
      guard let effects = try? core.calls.remove(member.user, from: call.callId, at: step.now) else { continue }
      core.carry(effects, &step)
    }
  }

  /// The proof of who a session's user is, is over, and no further one has come.
  static func expired(_ id: SessionID, _ core: inout ConferenceCore, _ step: inout Step) {
    guard let session = core.state.sessions[id] else { return }
    step.log("token_expired", ["session": "\(id)", "user": session.user])
    let closing = SessionClosing(action: .stop, reason: .tokenExpired)
    core.state.sessions.send(.sessionClosing(closing), to: id, &step)
    core.end(id, .lost, &step)
    if let connection = session.connection { step.add(.closeConnection(connection, .tokenExpired)) }
  }
}

extension ConferenceState {
  /// Tracks that their publisher may not publish any more. They hear of it too, as it was not their doing.
  fileprivate mutating func endForbiddenTracks(of seat: Seat, _ step: inout Step) {
    guard let rights = sessions[seat.session]?.identity.rights else { return }
    for track in rooms.tracks(of: seat.id) where !rights.contains(.toPublish(track.wire.kind, track.wire.source)) {
      endTrack(track.id, &step)
      announceEnd(of: track.id, seat: seat.id, toAll: true, &step)
    }
  }

  /// All that a seat receives, its views too.
  fileprivate mutating func endSubscriptions(of id: SeatID, _ step: inout Step) {
    guard let seat = rooms.seats[id] else { return }
    for subscription in (seat.subscriptions.values + seat.views).sorted() {
      endSubscription(subscription, .forbidden, &step)
    }
  }
}
