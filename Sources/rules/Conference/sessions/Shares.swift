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

/// Who holds a room open that is not configured.
struct RoomHolders: Sendable {
  private var users = Tally<String?>()
  private var networks = Tally<PeerNetwork?>()

  /// The user, and the network, that all in the room are of.
  var alone: ShareHolder {
    var holder = ShareHolder()
    (holder.user, holder.network) = (users.only ?? nil, networks.only ?? nil)
    return holder
  }

  mutating func count(_ holder: ShareHolder, _ change: Int) {
    users.count(holder.user, change)
    networks.count(holder.network, change)
  }
}

/// How many rooms each holds open alone.
struct RoomShares: Sendable {
  private var users = Tally<String>()
  private var networks = Tally<PeerNetwork>()

  /// How many one user does.
  func count(of user: String) -> Int { users[user] }

  /// How many all from one network do.
  func count(of network: PeerNetwork) -> Int { networks[network] }

  /// Another holds a room alone, or nobody any more.
  mutating func move(from before: ShareHolder, to after: ShareHolder) {
    if before.user != after.user {
      if let user = before.user { users.count(user, -1) }
      if let user = after.user { users.count(user, 1) }
    }
    if before.network != after.network {
      if let network = before.network { networks.count(network, -1) }
      if let network = after.network { networks.count(network, 1) }
    }
  }
}

/// The bounds of shares.
enum Shares {
  /// Sees to it that a user and their network may have one session more, in the place of `old` where there is one. Where it is too many
  /// for the user, the one that has been without a socket for longest makes space, unless it has a seat.
  /// - Throws: 5002.
  static func makeSpace(
    for identity: Identity, insteadOf old: SessionID?, _ core: inout ConferenceCore, _ step: inout Step
  ) throws(ErrorObject) {
    let evicted = old == nil ? try Self.evicted(for: identity, core, step.now) : nil
    if let network = ShareHolder(identity).network {
      let isFreed = (old ?? evicted).flatMap { core.sessions.table[$0]?.identity.network } == network
      let limit = core.rules.maxSessionsPerNetwork
      guard core.sessions.table.shares.count(of: network) - (isFreed ? 1 : 0) < limit else {
        throw .share(.sessionsPerAddress, limit, wait: core.rules.resumeGrace.milliseconds)
      }
    }
    // A client of several sessions has gone with the last of them.
    var next = evicted
    while let gone = next {
      step.count(.sessionEvicted)
      core.end(gone, .lost, &step)
      next = try Self.evicted(for: identity, core, step.now)
    }
  }

  /// The session that makes space for one more of a user; nil where there is space.
  private static func evicted(
    for identity: Identity, _ core: ConferenceCore, _ now: Now
  ) throws(ErrorObject) -> SessionID? {
    let limit = core.rules.maxSessionsPerUser
    guard let user = ShareHolder(identity).user, !core.sessions.table.shares.includes(identity),
      core.sessions.table.shares.count(of: user) >= limit
    else { return nil }
    if let oldest = core.sessions.table.longestWaiting(of: user) { return oldest }
    let wait = core.sessions.table.firstGrace(of: user).map { ($0 - now.instant).milliseconds }
    throw .share(.sessionsPerUser, limit, wait: wait)
  }

  /// Whether somebody may open one room more. The one that they leave for it, where nobody else is in it, is free then.
  /// - Throws: 5002.
  static func checkRoom(_ session: MemberFacts, _ rooms: Rooms) throws(ErrorObject) {
    let holder = ShareHolder(session.identity)
    let freed = rooms.table.isHeldBySeatAlone(rooms.table.stays[session.session]?.seat) ? 1 : 0
    if let user = holder.user, rooms.table.shares.count(of: user) - freed >= rooms.rules.maxRoomsPerUser {
      throw .share(.roomsPerUser, rooms.rules.maxRoomsPerUser)
    }
    if let network = holder.network, rooms.table.shares.count(of: network) - freed >= rooms.rules.maxRoomsPerNetwork {
      throw .share(.roomsPerAddress, rooms.rules.maxRoomsPerNetwork, wait: rooms.rules.resumeGrace.milliseconds)
    }
  }
}
