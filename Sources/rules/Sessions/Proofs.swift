// Further tokens: what somebody may do changes while they are there, and what they may not do any more ends at once. A proof that is
// over ends its session (docs/access.md).

import Basics
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

/// What further proofs of a session's user do, and their end.
enum Proofs {
  /// So long before a proof is over its client is told: raise it, and clients fetch the next one sooner.
  static let notice = TimeDelta.seconds(60)
  /// No sooner is a client told again that has shown a further proof.
  static let shortestNotice = TimeDelta.seconds(5)
}

extension Sessions {
  // MARK: - Further proofs

  /// Takes another proof of the same user: their rights are from now on what it says, less what operators have taken.
  mutating func renew(_ key: RequestKey, _ identity: Identity, _ step: inout Step) {
    do throws(ErrorObject) {
      try Revoking.check(identity, revocations)
      try checkOwner(of: key.session, identity)
    } catch {
      step.send(.sessions(.noteRefusal(key, method: Method.sessionToken.rawValue, room: nil, error)))
      return step.answer(key, .failure(error))
    }
    change(key.session, &step) { $0.renew(key.session, identity) }
    table.setProof(
      of: key.session, until: step.now.end(of: identity), warning: step.now.warning(of: identity, isFurther: true))
    step.send(.sessions(.renewed(key, identity.rights)))
  }

  /// - Throws: 1004 for somebody else's, or where the session's user was not proved at all.
  private func checkOwner(of id: SessionID, _ identity: Identity) throws(ErrorObject) {
    guard let before = table[id]?.identity else { throw ErrorObject(.notLoggedIn) }
    guard before.isVerified, identity.isVerified, before.user == identity.user else {
      throw ErrorObject(.authFailed, "The token is somebody else's.") { $0.reason = "token_user" }
    }
  }

  // MARK: - What becomes of rights

  /// What operators have left of a session's rights may be another.
  mutating func limit(_ id: SessionID, _ step: inout Step) { change(id, &step) { _ in } }

  /// A session has a seat. Where it had that already, the application has left it something else there.
  mutating func seated(_ id: SessionID, _ place: MemberPlace, left: Rights?, _ step: inout Step) {
    if table[id]?.place == place { return change(id, &step) { $0.assign(place, left: left, to: id) } }
    table.assign(place, left: left, to: id)
    // What was said of it before it sat down may come to the room behind its seat.
    if left != nil, let facts = table.facts(of: id) { step.send(.rooms(.note(facts))) }
  }

  /// Takes from a session's rights what operators have taken from its user.
  mutating func limitRights(of id: SessionID, _ now: Now) {
    guard let identity = table[id]?.identity else { return }
    table.limit(id, narrowings.limits(of: identity, at: now))
  }

  /// Whatever becomes of a session's rights takes effect at once.
  private mutating func change(_ id: SessionID, _ step: inout Step, _ change: (inout SessionTable) -> Void) {
    guard let before = table[id] else { return }
    change(&table)
    limitRights(of: id, step.now)
    guard let session = table[id] else { return }
    step.send(.setMayCall(id, session.identity.rights.contains(.call)))
    let (rights, now) = (before.rightsNow, session.rightsNow)
    let isElsewhere = before.identity.rooms != session.identity.rooms
    let isNews =
      rights != now || isElsewhere || before.identity.rights != session.identity.rights
      || before.grants.roomRights != session.grants.roomRights
    if rights != now || isElsewhere { tellGrants(id, &step) }
    let change = RightsChange(
      session.facts, sessions: isNews ? table.of(session.user).map(\.facts) : [], lost: rights.subtracting(now),
      gained: now.subtracting(rights), isNews: isNews)
    step.send(.rightsChanged(change))
  }

  /// Tells a client what it may do where it is now.
  private mutating func tellGrants(_ id: SessionID, _ step: inout Step) {
    guard let session = table[id] else { return }
    let rights = session.rightsNow
    let grants = SessionGrants(grants: rights.grants, room: session.identity.rooms?.text)
    table.send(.sessionGrants(grants), to: CollectionOfOne(id), &step)
    table.noteTold(rights, id)
    step.log(
      "grants_changed",
      ["session": "\(id)", "user": session.user, "grants": grants.grants.map(\.rawValue).joined(separator: " ")])
  }

  /// At the end of a step those clients are told who know something else: they have come into a room where less is left to them, have left it,
  /// or have shown a token that gives more than what is left.
  mutating func tellMisinformed(_ step: inout Step) {
    for id in table.takeMisinformed() {
      guard let session = table[id], session.grants.told != session.rightsNow else { continue }
      tellGrants(id, &step)
    }
  }

  // MARK: - The end of a proof

  /// The proof of who a session's user is, is over soon: its client is told while it can still show a further one.
  mutating func warn(_ id: SessionID, _ step: inout Step) {
    guard let identity = table[id]?.identity, let expiresAt = identity.expiresAt, let endsAt = identity.endsAt,
      let end = table.proofs[id]
    else { return }
    // By the clock that ends the session, which nobody sets.
    let left = (end - step.now.instant).milliseconds - (endsAt - expiresAt)
    let expiring = SessionExpiring(expiresAt: expiresAt, remainingMs: max(0, left))
    table.send(.sessionExpiring(expiring), to: CollectionOfOne(id), &step)
  }

  /// The proof of who a session's user is, is over, and no further one has come.
  mutating func expired(_ id: SessionID, _ step: inout Step) {
    guard let session = table[id] else { return }
    step.log("token_expired", ["session": "\(id)", "user": session.user])
    stop(session, .tokenExpired, .lost, .tokenExpired, &step)
  }

  /// Its token was taken back. One that keeps a place in a call ends with the session that it keeps it for.
  mutating func revoked(_ id: SessionID, _ step: inout Step) {
    guard let session = table[id] else { return }
    stop(session, .tokenRevoked, .removed, .tokenRevoked, &step)
  }

  private mutating func stop(
    _ session: Session, _ reason: ClosingReason, _ leave: LeaveReason, _ close: CloseReason, _ step: inout Step
  ) {
    let closing = SessionClosing(action: .stop, reason: reason)
    table.send(.sessionClosing(closing), to: CollectionOfOne(session.id), &step)
    end(session.id, leave, &step)
    if let connection = session.connection { step.add(.closeConnection(connection, close)) }
  }
}
