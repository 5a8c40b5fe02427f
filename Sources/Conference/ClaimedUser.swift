// Whom limits of a user count. A name that nobody has proven is no user: whoever says it would use up what somebody else may do.

import Basics

/// A user; where nothing is proven, together with the network that says so.
struct ClaimedUser: Hashable, Sendable {
  private let user: String
  private let network: PeerNetwork?

  init(_ identity: Identity) {
    user = identity.user
    network = identity.isVerified ? nil : identity.network
  }
}
