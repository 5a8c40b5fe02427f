// Whom limits of a user count. A name that nobody has proven is no user: whoever says it would use up what somebody else may do.

import Basics
import RoostProtocol

/// A user; where nothing is proven, together with the network that says so.
struct ClaimedUser: Hashable, Sendable {
  private let user: String
  private let network: PeerNetwork?

  init(_ identity: Identity) {
    user = identity.countsAs ?? identity.user
    network = identity.isVerified ? nil : identity.network
  }
}

extension KeyedBuckets where Key == ClaimedUser {
  /// Whoever has many connections may ask for no more than so much on all of them together. `weight` is 0 for what is never refused, as it
  /// ends something.
  /// - Throws: 1006 with the time to wait.
  mutating func take(_ weight: Int, of identity: Identity?, at now: Now) throws(ErrorObject) {
    guard weight > 0, let identity else { return }
    if let wait = take(ClaimedUser(identity), weight, at: now.instant) { throw .tooOften("asking", wait) }
  }
}
