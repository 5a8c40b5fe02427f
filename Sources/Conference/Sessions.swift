// Sessions: hello, resume, bye, and what becomes of one whose socket is gone (docs/protocol.md, sessions).

import Basics
import RoostProtocol

extension ConferenceCore {
  // MARK: - Hello

  /// Begins a session. One of the same user and device makes room for it, if the client may do that.
  mutating func hello(_ params: HelloParams, id: RequestID, on connection: ConnectionID) throws(ErrorObject) {
    let old: SessionID?
    do throws(ErrorObject) {
      old = try sessionToReplace(params)
      guard !isDraining else { throw ErrorObject(.draining) }
      if old == nil { try makeSpace() }
    } catch {
      count(.sessionRefused(error.code))
      log("hello_refused", ["user": params.user, "code": error.code.name], level: .warning)
      throw error
    }
    let predecessor = old.flatMap { calls.hasLeg($0.device) ? $0 : sessions[$0]?.predecessor }
    let session = makeSession(params, on: connection, predecessor)
    _ = sessions[session.id]?.requests.begin(id, .session(.hello(params)))
    count(.sessionStarted)
    log("session_started", ["session": "\(session.id)", "user": session.user, "device": session.deviceId])
    let rings = calls.arrived(
      session.id.device, user: session.user, name: session.deviceId, displayName: session.displayName,
      isCallable: session.isCallable, predecessor: predecessor?.device, at: now)
    if let old { replace(old) }
    finish(RequestKey(session: session.id, id: id), .success(.hello(helloResult(session))))
    carry(rings)
  }

  /// The session that this hello replaces; nil when there is none.
  /// - Throws: 1005 where users are not authenticated and the right resume token was not shown.
  private func sessionToReplace(_ params: HelloParams) throws(ErrorObject) -> SessionID? {
    guard let device = params.deviceId,
      let old = users[params.user]?.first(where: {
        sessions[$0]?.deviceId == device && !madeWay.contains($0)
      })
    else { return nil }
    guard mayReplace(old, token: params.resumeToken) else {
      throw ErrorObject(.forbidden, "This device of this user has a session; show its resumeToken to replace it.") {
        $0.reason = "device_in_use"
        if let end = deadlines[.session(old)] {
          $0.retryable = true
          $0.retryAfterMs = max((end - now.instant).milliseconds, 0)
        }
      }
    }
    return old
  }

  /// Whether somebody who is the same user may take a session's place: where users are authenticated always, else with
  /// the session's resume token.
  func mayReplace(_ session: SessionID, token: String?) -> Bool {
    if rules.usersAreAuthenticated { return true }
    guard let shown = token.flatMap(ResumeToken.init), let held = sessions[session]?.token else { return false }
    return shown == held
  }

  /// Sees to it that there is space for one session more: where there is none, the one that has been without a socket for
  /// longest goes, unless it has a seat. Clients that died leave such sessions behind, and must not keep others out. One that
  /// made way does not count: its place is its successor's, and as a user has one leg there is one such for each.
  private mutating func makeSpace() throws(ErrorObject) {
    guard sessions.count - madeWay.count >= rules.maxSessions else { return }
    guard let oldest = waiting.popDue(at: now.instant) else {
      throw ErrorObject(.overloaded, "All \(rules.maxSessions) sessions are in use; try again later.") {
        $0.limit = rules.maxSessions
        $0.retryAfterMs = rules.resumeGrace.milliseconds
      }
    }
    count(.sessionEvicted)
    end(oldest, .lost)
  }

  private mutating func makeSession(
    _ params: HelloParams, on connection: ConnectionID, _ predecessor: SessionID?
  ) -> Session {
    let id = SessionID(makeNumber())
    let session = Session(
      id: id, user: params.user, deviceId: params.deviceId ?? "d" + String(random.next(), radix: 16),
      displayName: params.displayName ?? params.user, capabilities: params.capabilities,
      isCallable: params.callable ?? true, token: ResumeToken(session: id, random: &random), connection: connection,
      predecessor: predecessor,
      log: EventLog(capacity: rules.replayEvents), requests: RequestWindow(capacity: rules.requestWindow),
      chatRate: TokenBucket(perSecond: rules.chatPerSecond, burst: rules.chatBurst, now: now.instant),
      offerRate: TokenBucket(perSecond: rules.offersPerSecond, burst: rules.offerBurst, now: now.instant))
    sessions[id] = session
    connections[connection] = id
    users[session.user, default: []].insert(id)
    return session
  }

  private mutating func helloResult(_ session: Session) -> HelloResult {
    HelloResult(
      sessionId: "\(session.id)", resumeToken: session.token.text, user: session.user, deviceId: session.deviceId,
      serverTime: now.wallMilliseconds,
      limits: ServerLimits(
        messageBytes: min(rules.messageBytes, ProtocolLimits.messageBytes), chatBytes: chatBytes,
        metadataBytes: ProtocolLimits.opaqueBytes,
        tracks: rules.mostTracks, replayEvents: rules.replayEvents,
        resumeGraceMs: rules.resumeGrace.milliseconds),
      iceServers: rules.iceServers, ringing: calls.ringing(for: session.user, on: session.deviceId, at: now),
      current: calls.current(of: session.user, at: now), missed: calls.missed(session.user))
  }

  /// Makes way for the next session of the same device. A leg in a call waits for that, as one whose socket broke.
  private mutating func replace(_ old: SessionID) {
    guard let session = sessions[old] else { return }
    send(.sessionReplaced, to: old)
    replaced.insert(session.token)
    if calls.hasLeg(old.device) { detach(session) } else { end(old, .replaced) }
    if let connection = session.connection { effects.append(.client(.closeConnection(connection, .replaced))) }
  }

  private mutating func detach(_ session: Session) {
    if let connection = session.connection { connections[connection] = nil }
    sessions[session.id]?.connection = nil
    madeWay.insert(session.id)
    deadlines.set(.session(session.id), at: now.instant + grace(of: session.seat))
    if let seat = session.seat { seatDisconnected(seat) }
    carry(calls.replaced(session.id.device, at: now))
  }

  // MARK: - Resume

  /// Binds a session to another connection and repeats what it missed.
  mutating func resume(_ params: ResumeParams, id: RequestID, on connection: ConnectionID) throws(ErrorObject) {
    guard let token = ResumeToken(params.resumeToken) else { throw ErrorObject(.resumeExpired) }
    if replaced.contains(token) { throw ErrorObject(.sessionReplaced) }
    guard let session = sessions[token.session], session.token == token, !madeWay.contains(session.id) else {
      throw ErrorObject(.resumeExpired)
    }
    guard params.lastSeq <= session.log.seq else {
      throw .parameter("lastSeq", expected: "a number that was sent, at most \(session.log.seq)")
    }
    if let old = session.connection {
      connections[old] = nil
      effects.append(.client(.closeConnection(old, .resumedElsewhere)))
    }
    sessions[session.id]?.connection = connection
    connections[connection] = session.id
    deadlines.cancel(.session(session.id))
    waiting.cancel(session.id)
    log("session_resumed", ["session": "\(session.id)", "user": session.user])
    let missed = session.log.events(after: params.lastSeq)
    if let missed {
      count(.resumed)
      effects.append(.client(.reply(connection, id, .success(.resumed(.replayed(missed.count))))))
      effects += missed.map { .client(.event(connection, $0)) }
    } else {
      count(.resynced)
      resync(session, id: id, on: connection)
    }
    if let seat = session.seat { seatResumed(seat) }
    carry(calls.connected(session.id.device, isAnew: missed == nil, at: now))
  }

  private mutating func resync(_ session: Session, id: RequestID, on connection: ConnectionID) {
    let current = calls.current(of: session.user, at: now)
    let isHere = calls.hasLeg(session.id.device)
    let resync = Resync(
      seq: session.log.seq, room: session.seat.flatMap(snapshot), call: isHere ? current : nil,
      current: isHere ? nil : current, ringing: calls.ringing(for: session.user, on: session.deviceId, at: now))
    effects.append(.client(.reply(connection, id, .success(.resumed(.resync(resync))))))
    // The offer that waits for an answer may be among the events that are gone.
    if let offer = session.seat.flatMap({ seats[$0]?.outstandingOffer }) { send(.pcOffer(offer), to: session.id) }
  }

  // MARK: - The end

  /// Ends a session on its own wish.
  mutating func bye(_ session: SessionID, id: RequestID, on connection: ConnectionID) {
    end(session, .left)
    effects.append(.client(.reply(connection, id, .success(.empty))))
    effects.append(.client(.closeConnection(connection, .bye)))
  }

  /// A clean close ends the session; anything else starts its grace.
  mutating func connectionClosed(_ connection: ConnectionID, clean: Bool) {
    guard let session = connections.removeValue(forKey: connection) else { return }
    sessions[session]?.connection = nil
    if clean { return end(session, .left) }
    let legBefore = before(session).flatMap { sessions[$0]?.seat }
    deadlines.set(.session(session), at: now.instant + grace(of: sessions[session]?.seat ?? legBefore))
    if let seat = sessions[session]?.seat { seatDisconnected(seat) } else { noteWaiting(session) }
    carry(calls.disconnected(session.device, at: now))
  }

  /// The session of the same device that keeps its leg for this one.
  private func before(_ session: SessionID) -> SessionID? {
    sessions[session]?.predecessor.flatMap { madeWay.contains($0) ? $0 : nil }
  }

  /// A session with neither a socket nor a seat, nor a leg that waits for it, may make space for another.
  mutating func noteWaiting(_ id: SessionID) {
    guard let session = sessions[id], session.connection == nil, session.seat == nil, before(id) == nil else { return }
    waiting.set(id, at: now.instant)
  }

  /// The grace is over.
  mutating func sessionExpired(_ session: SessionID) {
    guard sessions[session] != nil else { return }
    count(.sessionExpired)
    end(session, .lost)
  }

  /// Removes a session with its seat. Its connection, if it has one, is the caller's to close.
  mutating func end(_ id: SessionID, _ reason: LeaveReason) {
    // Nothing is said to it any more, whatever its end leads to.
    if let connection = sessions[id]?.connection { connections[connection] = nil }
    sessions[id]?.connection = nil
    let before = before(id)
    let hadMadeWay = madeWay.remove(id) != nil
    carry(calls.gone(id.device, reason, at: now))
    if let seat = sessions[id]?.seat { leave(seat, reason) }
    guard let session = sessions.removeValue(forKey: id) else { return }
    // Nobody else is left to take up the leg of the session before.
    if reason != .replaced, let before { end(before, reason) }
    deadlines.cancel(.session(id))
    waiting.cancel(id)
    users[session.user]?.remove(id)
    if users[session.user]?.isEmpty == true { users[session.user] = nil }
    if hadMadeWay {
      for next in users[session.user] ?? [] where sessions[next]?.predecessor == id { noteWaiting(next) }
    }
    log("session_ended", ["session": "\(id)", "user": session.user, "reason": reason.rawValue])
  }

  /// Tells every session that the server is about to stop; new sessions and joins are refused from now on.
  mutating func drain(retryAfter: Int64?) {
    guard !isDraining else { return }
    isDraining = true
    let closing = Event.sessionClosing(
      SessionClosing(action: .reconnect, reason: .draining, retryAfterMs: retryAfter))
    send(closing, to: sessions.keys.sorted())
    carry(calls.drain(at: now))
  }
}
