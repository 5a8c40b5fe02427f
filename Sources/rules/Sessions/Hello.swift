// How a session begins: who may come, who makes space, and whose place it takes.
//
//   hello ─▶ taken back? whose device? draining? space? ─▶ checkLeg (calls) ─▶ begin ─▶ arrived (calls) ─▶ replace ─▶ welcome ─▶ rings

import Basics
import Members
import RoostProtocol

extension Sessions {
  /// Begins a session. It takes the place of one of the same user and device, if the client may do that; where that depends on how
  /// silent the media of that one are, it begins when it is known, and `hello.silence` says it then.
  mutating func hello(_ hello: Hello, _ step: inout Step) {
    do throws(ErrorObject) {
      try takeovers.checkHello(on: hello.connection, table)
      try open(hello, &step)
    } catch {
      step.add(.reply(hello.connection, hello.id, .failure(error)))
    }
  }

  /// - Throws: what is counted, and has a line in the log.
  private mutating func open(_ hello: Hello, _ step: inout Step) throws(ErrorObject) {
    do throws(ErrorObject) {
      try admit(hello, &step)
    } catch {
      step.count(.sessionRefused(error.code))
      RefusalLog.leave(
        "hello_refused", [("user", hello.identity.user), ("code", error.code.name)], of: hello.identity, &refusalLines,
        &step)
      throw error
    }
  }

  private mutating func admit(_ hello: Hello, _ step: inout Step) throws(ErrorObject) {
    var hello = hello
    try Revoking.check(hello.identity, revocations)
    let old = table.sessionToReplace(hello.identity)
    if !hello.isAdmitted, let seat = try checkOwner(of: old, hello, &step) {
      return takeovers.hold(hello.action, about: seat, &step)
    }
    hello.isAdmitted = true
    guard !isDraining else { throw ErrorObject(.draining) }
    if let gone = try makesSpace(for: hello, insteadOf: old, step.now) {
      // A client of several sessions has gone with the last of them.
      hello.hasMadeSpace = true
      step.count(.sessionEvicted)
      end(gone, .lost, &step)
      return step.send(.hello(hello))
    }
    if let old { step.send(.checkLeg(hello, insteadOf: old)) } else { begin(hello, insteadOf: nil, &step) }
  }

  /// Whether it may take the place of another one. Nil: yes; else whose media are to be asked about first.
  /// - Throws: 1005.
  private func checkOwner(
    of old: SessionID?, _ hello: Hello, _ step: inout Step
  ) throws(ErrorObject) -> SeatID? {
    guard let old, let held = table[old],
      !held.facts.mayBeReplaced(by: hello.identity, token: hello.params.resumeToken)
    else { return nil }
    let refusal = table.deviceInUse(by: old, step.now)
    guard hello.params.takeover == true else { throw refusal }
    let returner = Returner(
      identity: hello.identity, network: hello.identity.knownNetwork, old: held.facts, seat: held.seat,
      silence: hello.silence)
    return try returner.seatToAsk(orRefuse: refusal, rules, &step)
  }

  /// The session that goes so that there is space for one more; nil where there is space.
  /// - Throws: 5002.
  private mutating func makesSpace(
    for hello: Hello, insteadOf old: SessionID?, _ now: Now
  ) throws(ErrorObject) -> SessionID? {
    let evicted = old == nil ? try evicted(for: hello.identity, now) : nil
    if !hello.hasMadeSpace { try checkShare(of: hello.identity, insteadOf: old ?? evicted) }
    if let evicted { return evicted }
    let isQuotaFull = rules.quotas.sessions.map { table.counted >= $0 } ?? false
    guard old == nil, isQuotaFull || table.counted + others.sessions >= rules.maxSessions else { return nil }
    // The one that has been without a socket for longest goes, unless it has a seat. Clients that died leave such sessions behind, and must
    // not keep others out.
    guard let oldest = table.takeLongestWaiting(at: now.instant) else {
      if isQuotaFull, let quota = rules.quotas.sessions {
        throw .quota(.sessions, quota, wait: rules.resumeGrace.milliseconds)
      }
      throw ErrorObject(.overloaded, "All \(rules.maxSessions) sessions are in use; try again later.") {
        $0.limit = rules.maxSessions
        $0.retryAfterMs = rules.resumeGrace.milliseconds
      }
    }
    return oldest
  }

  /// The session is there.
  mutating func begin(_ hello: Hello, insteadOf old: SessionID?, _ step: inout Step) {
    let identity = hello.identity
    let predecessor = old.flatMap { hello.hasLeg ? $0 : table[$0]?.predecessor }
    let session = Session(
      SessionID(step.makeNumber()), identity, hello.params, on: hello.connection, predecessor, rules,
      random: &step.numbers.random, at: step.now)
    table.insert(session)
    limitRights(of: session.id, step.now)
    let mayCall = table[session.id]?.identity.rights.contains(.call) ?? false
    table.setProof(
      of: session.id, until: step.now.end(of: identity), warning: step.now.warning(of: identity, isFurther: false))
    _ = table.begin(.session(.hello(hello.params)), hello.id, of: session.id)
    step.count(.sessionStarted)
    step.log("session_started", ["session": "\(session.id)", "user": session.user, "device": session.deviceId])
    step.send(
      .arrived(
        Arrival(
          session.id, user: session.user, device: session.deviceId, displayName: session.displayName,
          isCallable: session.device.isCallable, mayCall: mayCall, predecessor: predecessor, insteadOf: old,
          request: hello.id)))
  }

  /// The next session of the same device takes this one's place. A leg in a call waits for that, as one whose socket broke.
  mutating func replace(_ old: SessionID, hasLeg: Bool, _ step: inout Step) {
    guard let session = table[old] else { return }
    step.send(.keepPlace(old))
    table.send(.sessionReplaced, to: CollectionOfOne(old), &step)
    table.noteReplaced(session.token)
    if hasLeg {
      table.supersede(old)
      table.setGrace(of: old, rules.grace(of: session.place), at: step.now.instant)
      if let facts = table.facts(of: old) { step.send(.disconnected(facts)) }
      step.send(.replaced(old))
    } else {
      end(old, .replaced, &step)
    }
    if let connection = session.connection { step.add(.closeConnection(connection, .replaced)) }
  }

  /// What one is told who has said hello.
  mutating func welcome(_ id: SessionID, _ request: RequestID, _ calls: CallOverview, _ step: inout Step) {
    guard let session = table[id] else { return }
    let result = HelloResult(session, rules, calls, step.now)
    table.finish(RequestKey(session: id, id: request), .success(.hello(result)), &step)
    // What its token gives, its client has read; what the application has left, it has not.
    if session.identity.allowance?.grants != nil { table.noteTold(nil, id) }
    table.compareGrants(of: id, session.grants.granted)
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
}

extension HelloResult {
  fileprivate init(_ session: Session, _ rules: ConferenceRules, _ calls: CallOverview, _ now: Now) {
    self.init(
      sessionId: "\(session.id)", resumeToken: session.token.text, user: session.user, deviceId: session.deviceId,
      serverTime: now.wallMilliseconds,
      limits: ServerLimits(
        messageBytes: min(rules.messageBytes, ProtocolLimits.messageBytes), chatBytes: rules.mostChatBytes,
        metadataBytes: ProtocolLimits.opaqueBytes,
        tracks: rules.mostTracks, replayEvents: rules.replayEvents,
        resumeGraceMs: rules.resumeGrace.milliseconds, idlePingMs: rules.idlePing.milliseconds),
      iceServers: rules.iceServers, ringing: calls.ringing, current: calls.current, missed: calls.missed)
  }
}

extension Hello {
  /// The action that it is.
  fileprivate var action: Action { Action(.connection(connection, id), .hello(params, identity)) }
}
