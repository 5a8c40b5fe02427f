// How often somebody may knock, whatever sessions they begin for it: each knock is told to every moderator of a room.

import Basics
import Members
import RoostProtocol

/// Who has knocked lately.
struct KnockLimits: Sendable {
  private var users: KeyedBuckets<ClaimedUser>
  private var networks: NetworkBuckets

  init(_ rules: ConferenceRules) {
    users = KeyedBuckets(
      burst: rules.knockBurst, perSecond: rules.knocksPerSecond, most: NetworkBuckets.mostNetworks)
    networks = NetworkBuckets(burst: rules.networkKnockBurst, perSecond: rules.networkKnocksPerSecond)
  }

  /// Takes one knock.
  /// - Throws: 1006 where the user, or all from their network together, have knocked too often.
  mutating func take(_ identity: Identity, at now: Instant) throws(ErrorObject) {
    if let network = identity.network, let wait = networks.take(network, at: now) { throw .tooOften("knocking", wait) }
    if let wait = users.take(ClaimedUser(identity), at: now) { throw .tooOften("knocking", wait) }
  }
}
