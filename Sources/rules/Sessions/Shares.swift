// What one user, and one network, have of what there is for all: sessions, and rooms that they alone hold open. Counted as people come
// and go, so that nothing is ever looked for among all.

import Basics
import Members
import RoostProtocol

/// How many sessions each has. One that was superseded counts for nobody: its place is its successor's.
struct SessionShares: Sendable {
  /// What counts as one session of its user.
  private enum Unit: Hashable, Sendable {
    case session(SessionID)
    case client(ConnectionID)

    init(_ id: SessionID, _ identity: Identity) { self = identity.client.map { .client($0) } ?? .session(id) }
  }

  private var users: [String: Tally<Unit>] = [:]
  private var networks = Tally<PeerNetwork>()

  /// How many a user has; all of one client of a front door are one.
  func count(of user: String) -> Int { users[user]?.keys ?? 0 }

  /// How many all from a network have.
  func count(of network: PeerNetwork) -> Int { networks[network] }

  /// Whether another session of this client would be no more than it has.
  func includes(_ identity: Identity) -> Bool {
    guard let client = identity.client else { return false }
    return users[identity.user].map { $0[.client(client)] > 0 } ?? false
  }

  mutating func count(_ id: SessionID, _ identity: Identity, _ change: Int) {
    let holder = ShareHolder(identity)
    if let user = holder.user {
      users[user, default: Tally()].count(Unit(id, identity), change)
      if users[user]?.keys == 0 { users[user] = nil }
    }
    if let network = holder.network { networks.count(network, change) }
  }
}

extension Sessions {
  /// Whether a network may have one session more, in the place of another where there is one.
  /// - Throws: 5002.
  func checkShare(of identity: Identity, insteadOf gone: SessionID?) throws(ErrorObject) {
    guard let network = ShareHolder(identity).network else { return }
    let isFreed = gone.flatMap { table[$0]?.identity.network } == network
    guard table.shares.count(of: network) - (isFreed ? 1 : 0) < rules.maxSessionsPerNetwork else {
      throw .share(.sessionsPerAddress, rules.maxSessionsPerNetwork, wait: rules.resumeGrace.milliseconds)
    }
  }

  /// The session that makes space for one more of a user: the one that has been without a socket for longest, unless it has a seat. Nil where
  /// there is space.
  /// - Throws: 5002.
  func evicted(for identity: Identity, _ now: Now) throws(ErrorObject) -> SessionID? {
    guard let user = ShareHolder(identity).user, !table.shares.includes(identity),
      table.shares.count(of: user) >= rules.maxSessionsPerUser
    else { return nil }
    if let oldest = table.longestWaiting(of: user) { return oldest }
    let wait = table.firstGrace(of: user).map { ($0 - now.instant).milliseconds }
    throw .share(.sessionsPerUser, rules.maxSessionsPerUser, wait: wait)
  }
}
