// How a session is resumed, and how it ends.

import Basics
import Members
import RoostProtocol

extension Sessions {
  // MARK: - Resume

  /// Binds a session to another connection and repeats what it missed.
  mutating func resume(
    _ params: ResumeParams, _ id: RequestID, on connection: ConnectionID, from network: PeerNetwork?, _ step: inout Step
  ) {
    do throws(ErrorObject) {
      resume(try table.sessionToResume(params), params, id, on: connection, from: network, &step)
    } catch {
      step.add(.reply(connection, id, .failure(error)))
    }
  }

  private mutating func resume(
    _ session: Session, _ params: ResumeParams, _ id: RequestID, on connection: ConnectionID,
    from network: PeerNetwork?, _ step: inout Step
  ) {
    step.subject = LineSubject(session.identity)
    if let old = session.connection { step.add(.closeConnection(old, .resumedElsewhere)) }
    table.connect(session.id, to: connection, from: network)
    if let facts = table.facts(of: session.id) { step.send(.note(facts)) }
    step.log("session_resumed", ["session": "\(session.id)", "user": session.user])
    let missed = session.log.events(after: params.lastSeq)
    if let missed {
      step.count(.resumed)
      step.add(.reply(connection, id, .success(.resumed(.replayed(missed.count)))))
      for message in missed { step.add(.event(connection, message)) }
    } else {
      step.count(.resynced)
      step.send(.resync(session.id, id, connection))
    }
    step.send(.resumed(session.id))
    step.send(.connected(session.id, isAnew: missed == nil))
    step.send(.actions(.back(session.id)))
  }

  /// Tells a session how things stand that has lost events.
  mutating func resynced(
    _ id: SessionID, _ request: RequestID, on connection: ConnectionID, _ resync: Resync, _ step: inout Step
  ) {
    guard let session = table[id] else { return }
    var resync = resync
    resync.seq = session.log.seq
    resync.room?.seq = session.log.seq
    step.add(.reply(connection, request, .success(.resumed(.resync(resync)))))
    // What is told once may be among the events that are gone.
    if session.identity.expiresAt != nil, table.warnings[id] == nil { warn(id, &step) }
    // So may the offer that waits for an answer, pauses and layers.
    step.send(.repeatState(id))
  }

  // MARK: - The end

  /// A clean close ends the session; anything else starts its grace.
  mutating func connectionClosed(_ connection: ConnectionID, clean: Bool, _ step: inout Step) {
    takeovers.forget(.hello(connection))
    step.send(.actions(.closed(connection)))
    guard let id = table[on: connection] else { return }
    table.disconnect(id)
    if clean {
      step.send(.keepPlace(id))
      return end(id, .left, &step)
    }
    let place = table[id]?.place
    let placeBefore = table.keeper(for: id).flatMap { table[$0]?.place }
    table.setGrace(of: id, rules.grace(of: place ?? placeBefore), at: step.now.instant)
    if let facts = table.facts(of: id) { step.send(.disconnected(facts)) }
    if place == nil { table.noteWaiting(id, at: step.now.instant) }
    step.send(.disconnected(id))
  }

  /// Whether a socket owes the answer to a ping for too long.
  mutating func setOverdue(_ isOverdue: Bool, on connection: ConnectionID, _ step: inout Step) {
    table.setOverdue(isOverdue, on: connection)
    if let facts = table[on: connection].flatMap({ table.facts(of: $0) }) { step.send(.note(facts)) }
  }

  /// Ends a session: what it has in calls and rooms goes first. Its connection, if it has one, is the caller's to close.
  mutating func end(_ id: SessionID, _ reason: LeaveReason, _ step: inout Step) {
    // Nothing is said to it any more, whatever its end leads to.
    table.disconnect(id)
    if table[id]?.place != nil, let facts = table.facts(of: id) { step.send(.note(facts)) }
    step.send(.actions(.over(id)))
    let keeper = table.keeper(for: id)
    let wasSuperseded = table.endSupersession(id)
    step.send(.gone(id, reason))
    step.send(.over(id, reason))
    step.send(.sessions(.forget(id, reason, keeper: keeper, wasSuperseded: wasSuperseded)))
  }

  /// Removes a session that has nothing left.
  mutating func forget(
    _ id: SessionID, _ reason: LeaveReason, keeper: SessionID?, wasSuperseded: Bool, _ step: inout Step
  ) {
    guard let session = table.remove(id) else { return }
    // Nobody else is left to take up the leg of the session before.
    if reason != .replaced, let keeper { step.send(.sessions(.end(keeper, reason))) }
    if wasSuperseded { table.noteWaitingSuccessors(of: session, at: step.now.instant) }
    step.log("session_ended", ["session": "\(id)", "user": session.user, "reason": reason.rawValue])
  }

  /// A session's seat is gone, and with it what one lived for that its successor has replaced.
  mutating func unseated(_ id: SessionID, _ step: inout Step) {
    table.unseat(id, at: step.now.instant)
    if table.superseded.contains(id) { end(id, .replaced, &step) }
  }

  /// Tells every session that the server is about to stop; new ones are refused from now on.
  mutating func drain(retryAfter: Int64?, _ step: inout Step) {
    guard !isDraining else { return }
    isDraining = true
    let closing = Event.sessionClosing(
      SessionClosing(action: .reconnect, reason: .draining, retryAfterMs: retryAfter))
    step.tell(closing, to: table.all.keys.sorted())
    step.send(CallMessage.drain)
  }
}

extension SessionTable {
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
