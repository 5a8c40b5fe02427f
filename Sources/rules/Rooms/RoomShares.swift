// Which rooms one user, and one network, hold open alone. Counted as people come and go, so that nothing is ever looked for among all.

import Basics
import Members
import RoostProtocol

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
