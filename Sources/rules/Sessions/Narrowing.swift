// Grants that an operator takes from a user, everywhere or in one room, whether they are there or not. What is not left to them ends at once,
// and no token of before gives it back: not shown again, not at a new hello by any door, not after a restart.
//
//   operator ── user, room? ──▶ NarrowingTable ──▶ hello, session.token, sessions that are there: `Limits` of their rights
//                                    └──▶ record file

import Basics
import Members
import RoostProtocol

/// All of them, as long as a token may be shown that they are about.
struct NarrowingTable: Sendable {
  /// How many there are at most. Raising it takes so much more memory, and time at a start.
  static let most = 10_000
  /// How many one user has at most: each of their sessions looks at all of them.
  static let mostOfUser = 100

  /// One of them has ended: for tokens without a date, or altogether.
  private struct End: Hashable {
    let subject: KeptNarrowing.Subject
    let isForgotten: Bool
  }

  private var users: [String: [KeptNarrowing.Subject: KeptNarrowing]] = [:]
  private var ends = Deadlines<End>()
  private(set) var count = 0

  /// When the first of them ends in some way; nil where there is none.
  var nextEnd: Instant? { ends.next }

  /// Those of a user, everywhere first, then by room; without a user all, by user.
  func list(of user: String?) -> [KeptNarrowing] {
    let all = user.map { users[$0].map { Array($0.values) } ?? [] } ?? users.values.flatMap(\.values)
    return all.sorted { ($0.subject.user, $0.subject.room ?? "") < ($1.subject.user, $1.subject.room ?? "") }
  }

  /// A page of them.
  func page(_ page: Int, of user: String?) -> OperatorAnswer {
    let (shown, next) = OperatorAnswer.page(page, of: list(of: user))
    return .narrowings(shown, next: next)
  }

  /// What they leave to who shows this token.
  func limits(of identity: Identity, at now: Now) -> Limits {
    var limits = Limits()
    for narrowing in (users[identity.user] ?? [:]).values where narrowing.holds(for: identity, at: now) {
      if let room = narrowing.subject.room {
        limits.rooms[room] = narrowing.rights.union(.ofNoRoom)
      } else {
        limits.everywhere = narrowing.rights
      }
    }
    return limits
  }

  /// Keeps one in place of an earlier one of the same subject. What that was about, this is about, whatever the clock says by now.
  /// - Throws: 1010 where there is no space.
  mutating func insert(_ narrowing: KeptNarrowing, at now: Now) throws(ErrorObject) -> KeptNarrowing {
    let (subject, old) = (narrowing.subject, users[narrowing.subject.user]?[narrowing.subject])
    if old == nil {
      let own = users[subject.user]?.count ?? 0
      guard own < Self.mostOfUser else { throw .tooLarge("room", limit: Self.mostOfUser, count: own + 1) }
      guard count < Self.most else { throw .tooLarge("user", limit: Self.most, count: count + 1) }
    }
    var kept = narrowing
    kept.at = max(kept.at, old?.at ?? kept.at)
    keep(kept, at: now)
    return kept
  }

  private mutating func keep(_ narrowing: KeptNarrowing, at now: Now) {
    let subject = narrowing.subject
    if users[subject.user, default: [:]].updateValue(narrowing, forKey: subject) == nil { count += 1 }
    for (time, isForgotten) in [(KeptNarrowing.undatedTime, false), (KeptNarrowing.time, true)] {
      let end = min(narrowing.at.saturating(adding: time), now.wallMilliseconds.saturating(adding: time))
      let left = TimeDelta.milliseconds(Int(max(end - now.wallMilliseconds, 0)))
      ends.set(End(subject: subject, isForgotten: isForgotten), at: now.instant + left)
    }
  }

  /// Whether it was there.
  mutating func remove(_ subject: KeptNarrowing.Subject) -> Bool {
    for isForgotten in [false, true] { ends.cancel(End(subject: subject, isForgotten: isForgotten)) }
    guard users[subject.user]?.removeValue(forKey: subject) != nil else { return false }
    if users[subject.user]?.isEmpty == true { users[subject.user] = nil }
    count -= 1
    return true
  }

  /// One that has ended in some way. It is gone where it is forgotten.
  mutating func takeDue(at now: Instant) -> (subject: KeptNarrowing.Subject, isForgotten: Bool)? {
    guard let end = ends.popDue(at: now) else { return nil }
    if end.isForgotten { _ = remove(end.subject) }
    return (end.subject, end.isForgotten)
  }

  /// Takes what an earlier process kept; returns those that are to be forgotten.
  mutating func restore(_ kept: [KeptNarrowing], at now: Now) -> [KeptNarrowing.Subject] {
    for one in kept.prefix(Self.most) where one.until > now.wallMilliseconds { keep(one, at: now) }
    return kept.filter { $0.until <= now.wallMilliseconds }.map(\.subject)
  }
}

/// What operators have left of somebody's rights.
struct Limits: Hashable, Sendable {
  /// Everywhere.
  var everywhere = Rights.everything
  /// In single rooms, beside that.
  var rooms: [String: Rights] = [:]
}

extension Sessions {
  /// Leaves a user these rights, of those that their tokens give: everywhere, or in a room.
  /// - Returns: to how many of their sessions that is news.
  /// - Throws: −32602 for what is no name, 3008 where names prove nothing, 1010 where no more can be kept.
  mutating func narrow(
    _ subject: KeptNarrowing.Subject, to rights: Rights, _ step: inout Step
  ) throws(ErrorObject) -> Int {
    guard rules.provesUsers else {
      throw ErrorObject(.userNotFound, "Nobody proves here who they are, so that nothing can be taken from them.")
    }
    guard ProtocolLimits.isName(subject.user) else { throw .parameter("user", expected: "the name of a user") }
    if let room = subject.room, !ProtocolLimits.isName(room) || CallRoom.isName(room) {
      throw .parameter("room", expected: "the name of a room that is no call's")
    }
    let wanted = KeptNarrowing(subject, rights: rights, at: step.now.wallMilliseconds)
    let kept = try narrowings.insert(wanted, at: step.now)
    step.keep([.narrowing(kept)])
    step.log(
      "grants_narrowed",
      [
        "user": subject.user, "room": subject.room ?? "",
        "grants": rights.grants.map(\.rawValue).joined(separator: " "),
      ])
    let concerned = table.of(subject.user).filter { session in
      guard kept.holds(for: session.identity, at: step.now) else { return false }
      guard let room = subject.room else { return true }
      return session.place?.room == room
    }
    limitAll(of: subject.user, &step)
    return concerned.count
  }

  /// Gives a user back what their tokens give: in a room, or everywhere and in all rooms.
  /// - Returns: how many were taken back.
  /// - Throws: 3008 where nothing was taken from them.
  mutating func liftNarrowings(
    of user: String, room: String?, _ step: inout Step
  ) throws(ErrorObject) -> Int {
    let gone = narrowings.list(of: user).map(\.subject).filter { room == nil || $0.room == room }
    guard !gone.isEmpty else { throw ErrorObject(.userNotFound, "No grants of this user are taken back here.") }
    for subject in gone { _ = narrowings.remove(subject) }
    step.keep(gone.map { .forgetNarrowing($0) })
    step.log("grants_restored", ["user": user, "room": room ?? "", "count": "\(gone.count)"])
    limitAll(of: user, &step)
    return gone.count
  }

  /// Those that no token is about any more are forgotten.
  mutating func endNarrowings(_ step: inout Step) {
    while let (subject, isForgotten) = narrowings.takeDue(at: step.now.instant) {
      if isForgotten { step.keep([.forgetNarrowing(subject)]) }
      limitAll(of: subject.user, &step)
    }
  }

  /// An end of one, in a call, may be the end of another.
  private func limitAll(of user: String, _ step: inout Step) {
    for session in table.of(user) { step.send(.sessions(.limit(session.id))) }
  }
}
