// Grants that an operator takes from somebody who is there: what is not left to them ends at once, and is theirs again with a newer token.

import Basics
import RoostProtocol

/// What is left of the grants in a user's tokens.
struct Narrowing: Hashable, Sendable {
  let rights: Rights
  /// When it was said, in milliseconds since 1970 UTC.
  let at: Int64
  /// When the tokens are over that it is about.
  let endsAt: Int64

  /// What somebody may do who shows this token. A newer one is the issuer's word, and counts more.
  func applied(to identity: Identity) -> Identity {
    guard identity.isVerified, !isOlder(than: identity) else { return identity }
    var identity = identity
    identity.rights.formIntersection(rights)
    return identity
  }

  /// A token that says when it was made is newer where that is later; another where it is good for longer than those that were there.
  private func isOlder(than identity: Identity) -> Bool {
    if let issuedAt = identity.issuedAt { return issuedAt > at }
    return identity.endsAt.map { $0 > endsAt } ?? true
  }
}

/// Those of users, as long as an older token may be shown.
struct NarrowingTable: Sendable {
  /// Users whose grants are narrowed. Raising it takes so much more memory.
  static let most = 10_000

  private var byUser: [String: Narrowing] = [:]

  subscript(_ user: String) -> Narrowing? { byUser[user] }

  /// - Throws: 1010 where there is no space for this user.
  mutating func insert(_ narrowing: Narrowing, of user: String) throws(ErrorObject) {
    if byUser[user] == nil, byUser.count >= Self.most { byUser = byUser.filter { $0.value.endsAt > narrowing.at } }
    guard byUser[user] != nil || byUser.count < Self.most else {
      throw .tooLarge("user", limit: Self.most, count: byUser.count + 1)
    }
    byUser[user] = narrowing
  }
}

/// The rules of it.
enum Narrowings {
  /// Somebody's token as it counts: less what an operator has taken from them since it was made.
  static func applied(to identity: Identity, of session: SessionID?, _ state: ConferenceState) -> Identity {
    var identity = identity
    for narrowing in [state.narrowings[identity.user], session.flatMap { state.sessions[$0]?.narrowing }] {
      if let narrowing { identity = narrowing.applied(to: identity) }
    }
    return identity
  }

  /// Leaves a user these rights, of those that they have. `room`: in the sessions that have a seat there alone, and as long as these live.
  /// - Returns: in how many sessions.
  /// - Throws: 3008 where they have no session that came by a token, 1010 where no more can be kept.
  static func narrow(
    _ user: String, to rights: Rights, room: String?, _ core: inout ConferenceCore, _ step: inout Step
  ) throws(ErrorObject) -> Int {
    let sessions = core.state.sessions.of(user).filter { session in
      guard session.identity.isVerified else { return false }
      guard let room else { return true }
      return core.state.currentSeat(of: session.id).map { core.state.rooms.name(of: $0.room) } == room
    }
    guard !sessions.isEmpty else {
      throw ErrorObject(.userNotFound, "This user has no session here that came by a token.")
    }
    let end = sessions.compactMap(\.identity.endsAt).max() ?? .max
    let narrowing = Narrowing(rights: rights, at: step.now.wallMilliseconds, endsAt: end)
    if room == nil { try core.state.narrowings.insert(narrowing, of: user) }
    step.log(
      "grants_narrowed",
      ["user": user, "room": room ?? "", "grants": rights.grants.map(\.rawValue).joined(separator: " ")])
    for session in sessions {
      core.state.sessions.narrow(session.id, narrowing)
      var identity = session.identity
      identity.rights.formIntersection(rights)
      // An end of one, in a call, may be the end of another.
      if core.state.sessions[session.id] != nil { try Proofs.renew(identity, of: session.id, &core, &step) }
    }
    return sessions.count
  }
}
