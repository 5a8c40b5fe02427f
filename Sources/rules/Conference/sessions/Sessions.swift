// Sessions: hello, resume, bye, and what becomes of one whose socket is gone (docs/protocol.md, sessions).

import Basics
import Members
import RoostProtocol

/// All of sessions: those there are, and what operators have taken back from those who come.
struct Sessions: Sendable {
  var table: SessionTable
  /// Tokens that are not believed any more.
  var revocations = RevocationTable()
  /// What operators have left of users' grants.
  var narrowings = NarrowingTable()

  init(_ rules: ConferenceRules) { table = SessionTable(replayBytesPerNetwork: rules.replayBytesPerNetwork) }

  /// Takes what a request of a door takes of the offers and views of its session. `views`: how many are on its connection.
  /// - Throws: 1006 with the time to wait.
  mutating func takeBudget(
    of request: StreamRequest, views: Int, _ id: SessionID, at now: Instant
  ) throws(ErrorObject) {
    switch request {
    case .publish: try table.takeOffer(of: id, at: now)
    case .play(_, _, let lines, _): try table.takeShows(lines.count, "beginning to play", of: id, at: now)
    case .show: try table.takeShows(max(views, 1), "changing what you play", of: id, at: now)
    case .close: break
    }
  }
}

extension ConferenceCore {
  /// What rooms know of a session is another: they are told at once.
  mutating func tellRooms(of id: SessionID) {
    if let facts = sessions.table.facts(of: id) { rooms.table.note(facts) }
  }

  // MARK: - Hello

  /// Begins a session. It takes the place of one of the same user and device, if the client may do that; where that depends on how
  /// silent the media of that one are, it begins when it is known, and `silence` says it then.
  mutating func hello(
    _ params: HelloParams, of identity: Identity, id: RequestID, on connection: ConnectionID, _ silence: MediaSilence?,
    _ step: inout Step
  ) throws(ErrorObject) {
    let old: SessionID?
    do throws(ErrorObject) {
      try Revoking.check(identity, sessions)
      old = sessions.table.sessionToReplace(identity)
      if let old, let held = sessions.table[old], !held.facts.mayBeReplaced(by: identity, token: params.resumeToken) {
        let refusal = sessions.table.deviceInUse(by: old, step.now)
        guard params.takeover == true else { throw refusal }
        let returner = Returner(
          identity: identity, network: identity.knownNetwork, old: held.facts, seat: held.seat, silence: silence)
        let isAdmitted = try takeovers.admits(
          returner, .hello(connection), refusal: refusal, { .hello(id, params, identity, about: $0) }, rules, &step)
        guard isAdmitted == true else { return }
      }
      guard !isDraining else { throw ErrorObject(.draining) }
      try Shares.makeSpace(for: identity, insteadOf: old, &self, &step)
      if old == nil { try makeSpace(&step) }
    } catch {
      step.count(.sessionRefused(error.code))
      RefusalLog.leave(
        "hello_refused", ["user": identity.user, "code": error.code.name], of: identity, &refusalLines, &step)
      throw error
    }
    let predecessor = old.flatMap { calls.hasLeg($0.device) ? $0 : sessions.table[$0]?.predecessor }
    let session = Session(
      SessionID(step.makeNumber()), identity, params, on: connection, predecessor, rules, random: &random, at: step.now
    )
    sessions.table.insert(session, &step)
    Narrowings.limit(session.id, &sessions, step.now)
    let mayCall = sessions.table[session.id]?.identity.rights.contains(.call) ?? false
    sessions.table.setProof(
      of: session.id, until: step.now.end(of: identity), warning: step.now.warning(of: identity, isFurther: false))
    _ = sessions.table.begin(.session(.hello(params)), id, of: session.id)
    step.count(.sessionStarted)
    step.log("session_started", ["session": "\(session.id)", "user": session.user, "device": session.deviceId])
    let rings = calls.arrived(
      session.id.device, user: session.user, name: session.deviceId, displayName: session.displayName,
      isCallable: session.device.isCallable, mayCall: mayCall, predecessor: predecessor?.device,
      at: step.now)
    if let old { replace(old, &step) }
    let result = HelloResult(session, self, step.now)
    step.answer(RequestKey(session: session.id, id: id), .success(.hello(result)))
    // What its token gives, its client has read.
    if sessions.table.rightsNow(of: session.id) != identity.rights { sessions.table.noteTold(nil, session.id) }
    carry(rings, &step)
  }

  /// Sees to it that there is space for one session more: where there is none, the one that has been without a socket for
  /// longest goes, unless it has a seat. Clients that died leave such sessions behind, and must not keep others out.
  private mutating func makeSpace(_ step: inout Step) throws(ErrorObject) {
    guard sessions.table.counted >= rules.maxSessions else { return }
    guard let oldest = sessions.table.takeLongestWaiting(at: step.now.instant) else {
      throw ErrorObject(.overloaded, "All \(rules.maxSessions) sessions are in use; try again later.") {
        $0.limit = rules.maxSessions
        $0.retryAfterMs = rules.resumeGrace.milliseconds
      }
    }
    step.count(.sessionEvicted)
    end(oldest, .lost, &step)
  }

  /// The next session of the same device takes this one's place. A leg in a call waits for that, as one whose socket broke.
  private mutating func replace(_ old: SessionID, _ step: inout Step) {
    guard let session = sessions.table[old] else { return }
    Places.keep(session.seat, &rooms, &step)
    step.tell(.sessionReplaced, to: old)
    sessions.table.noteReplaced(session.token)
    if calls.hasLeg(old.device) {
      sessions.table.supersede(session.id, &step)
      sessions.table.setGrace(of: session.id, rooms.grace(of: session.seat), at: step.now.instant)
      tellRooms(of: session.id)
      if let seat = session.seat { rooms.seatDisconnected(seat, &step) }
      carry(calls.replaced(session.id.device, at: step.now), &step)
    } else {
      end(old, .replaced, &step)
    }
    if let connection = session.connection { step.add(.closeConnection(connection, .replaced)) }
  }

  // MARK: - Resume

  /// Binds a session to another connection and repeats what it missed.
  mutating func resume(
    _ params: ResumeParams, from network: PeerNetwork?, id: RequestID, on connection: ConnectionID, _ step: inout Step
  ) throws(ErrorObject) {
    let session = try sessions.table.sessionToResume(params)
    step.subject = LineSubject(session.identity)
    if let old = session.connection { step.add(.closeConnection(old, .resumedElsewhere)) }
    sessions.table.connect(session.id, to: connection, from: network, &step)
    tellRooms(of: session.id)
    step.log("session_resumed", ["session": "\(session.id)", "user": session.user])
    let missed = session.log.events(after: params.lastSeq)
    if let missed {
      step.count(.resumed)
      step.add(.reply(connection, id, .success(.resumed(.replayed(missed.count)))))
      for message in missed { step.add(.event(connection, message)) }
    } else {
      step.count(.resynced)
      resync(session, id: id, on: connection, &step)
    }
    if let seat = session.seat { rooms.seatResumed(seat, &step) }
    carry(calls.connected(session.id.device, isAnew: missed == nil, at: step.now), &step)
  }

  private mutating func resync(
    _ session: Session, id: RequestID, on connection: ConnectionID, _ step: inout Step
  ) {
    let current = calls.current(of: session.user, at: step.now)
    let isHere = calls.hasLeg(session.id.device)
    var room = session.seat.flatMap { rooms.snapshot($0, at: step.now.wallMilliseconds) }
    room?.seq = session.log.seq
    let resync = Resync(
      seq: session.log.seq, room: room,
      call: isHere ? current : nil,
      current: isHere ? nil : current,
      ringing: calls.ringing(for: session.user, on: session.deviceId, at: step.now))
    step.add(.reply(connection, id, .success(.resumed(.resync(resync)))))
    // What is told once may be among the events that are gone.
    if session.identity.expiresAt != nil, sessions.table.warnings[session.id] == nil {
      Proofs.warn(session.id, sessions.table, &step)
    }
    guard let seat = rooms.table.currentSeat(of: session.id) else { return }
    // The offer that waits for an answer may be among the events that are gone, and so may pauses and layers.
    if let offer = seat.outstandingOffer { step.tell(.pcOffer(offer), to: session.id) }
    subscribing.tellPauses(of: seat.id, &rooms.media, rooms.table, &step)
    publishing.tellLayers(of: seat.id, rooms, &step)
  }

  // MARK: - The end

  /// A clean close ends the session; anything else starts its grace.
  mutating func connectionClosed(_ connection: ConnectionID, clean: Bool, _ step: inout Step) {
    takeovers.forget(.hello(connection))
    guard let id = sessions.table[on: connection] else { return }
    sessions.table.disconnect(id, &step)
    if clean {
      tellRooms(of: id)
      Places.keep(rooms.table.stays[id]?.seat, &rooms, &step)
      return end(id, .left, &step)
    }
    let seat = sessions.table[id]?.seat
    let legBefore = sessions.table.keeper(for: id).flatMap { sessions.table[$0]?.seat }
    sessions.table.setGrace(of: id, rooms.grace(of: seat ?? legBefore), at: step.now.instant)
    tellRooms(of: id)
    if let seat {
      rooms.seatDisconnected(seat, &step)
    } else {
      sessions.table.noteWaiting(id, at: step.now.instant)
    }
    carry(calls.disconnected(id.device, at: step.now), &step)
  }

  /// Removes a session with its seat. Its connection, if it has one, is the caller's to close.
  mutating func end(_ id: SessionID, _ reason: LeaveReason, _ step: inout Step) {
    // Nothing is said to it any more, whatever its end leads to.
    sessions.table.disconnect(id, &step)
    tellRooms(of: id)
    let keeper = sessions.table.keeper(for: id)
    let wasSuperseded = sessions.table.endSupersession(id)
    carry(calls.gone(id.device, reason, at: step.now), &step)
    if let seat = rooms.table.currentSeat(of: id) { leave(seat.id, reason, &step) }
    Doors.leaveLobby(id, &rooms.table, &step)
    rooms.table.forget(id)
    guard let session = sessions.table.remove(id, &step) else { return }
    // Nobody else is left to take up the leg of the session before.
    if reason != .replaced, let keeper { end(keeper, reason, &step) }
    if wasSuperseded { sessions.table.noteWaitingSuccessors(of: session, at: step.now.instant) }
    step.log("session_ended", ["session": "\(id)", "user": session.user, "reason": reason.rawValue])
  }

  /// Tells every session that the server is about to stop; new sessions and joins are refused from now on.
  mutating func drain(retryAfter: Int64?, _ step: inout Step) {
    guard !isDraining else { return }
    isDraining = true
    let closing = Event.sessionClosing(
      SessionClosing(action: .reconnect, reason: .draining, retryAfterMs: retryAfter))
    step.tell(closing, to: sessions.table.all.keys.sorted())
    carry(calls.drain(at: step.now), &step)
  }
}

extension SessionTable {
  /// The session that a hello replaces; nil when there is none.
  fileprivate func sessionToReplace(_ identity: Identity) -> SessionID? {
    identity.device.flatMap { current(of: identity.user, on: $0) }
  }

  /// 1005 for a hello that does not show the token of the session that its device has.
  fileprivate func deviceInUse(by old: SessionID, _ now: Now) -> ErrorObject {
    ErrorObject(.forbidden, "This device of this user has a session; show its resumeToken to replace it.") {
      $0.reason = "device_in_use"
      if let end = graces[old] {
        $0.retryable = true
        $0.retryAfterMs = max((end - now.instant).milliseconds, 0)
      }
    }
  }

  /// The session of a resume.
  /// - Throws: 1007 where it is gone, 1008 where another has replaced it, −32602 for an event that was never sent.
  fileprivate func sessionToResume(_ params: ResumeParams) throws(ErrorObject) -> Session {
    guard let token = ResumeToken(params.resumeToken) else { throw ErrorObject(.resumeExpired) }
    if wasReplaced(token) { throw ErrorObject(.sessionReplaced) }
    guard let session = self[token.session], session.token == token,
      !superseded.contains(session.id)
    else { throw ErrorObject(.resumeExpired) }
    guard params.lastSeq <= session.log.seq else {
      throw .parameter("lastSeq", expected: "a number that was sent, at most \(session.log.seq)")
    }
    return session
  }
}

extension HelloResult {
  /// What one is told who has said hello.
  fileprivate init(_ session: Session, _ core: ConferenceCore, _ now: Now) {
    let (rules, calls) = (core.rules, core.calls)
    self.init(
      sessionId: "\(session.id)", resumeToken: session.token.text, user: session.user, deviceId: session.deviceId,
      serverTime: now.wallMilliseconds,
      limits: ServerLimits(
        messageBytes: min(rules.messageBytes, ProtocolLimits.messageBytes), chatBytes: core.rooms.chatBytes,
        metadataBytes: ProtocolLimits.opaqueBytes,
        tracks: rules.mostTracks, replayEvents: rules.replayEvents,
        resumeGraceMs: rules.resumeGrace.milliseconds, idlePingMs: rules.idlePing.milliseconds),
      iceServers: rules.iceServers, ringing: calls.ringing(for: session.user, on: session.deviceId, at: now),
      current: calls.current(of: session.user, at: now), missed: calls.missed(session.user))
  }
}
