// Whom limits of a user count. A name that nobody has proven is no user: whoever says it would use up what somebody else may do.

import Basics
import Names
import RoostProtocol

/// A user; where nothing is proven, together with the network that says so.
public struct ClaimedUser: Hashable, Sendable {
  private let user: String
  private let network: PeerNetwork?

  /// Somebody of this name who is not there any more.
  package init(named user: String) { (self.user, network) = (user, nil) }

  package init(_ identity: Identity) {
    user = identity.countsAs ?? identity.user
    network = identity.isVerified ? nil : identity.network
  }
}

/// Whose doing a line of the log is, for its bounds.
public struct LineSubject: Hashable, Sendable {
  /// The user; nil where that is not known.
  public let user: ClaimedUser?
  /// From where they came; nil where that is not known.
  public let network: PeerNetwork?
  /// In which realm; `default` where that is not known.
  public let realm: Realm

  /// Somebody of whom only the network is known.
  public init(network: PeerNetwork?) { (user, self.network, realm) = (nil, network, .default) }

  /// Somebody of this name who is not there any more.
  package init(named user: String) {
    (self.user, network, realm) = (ClaimedUser(named: user), nil, .default)
  }

  /// Somebody who has said hello.
  public init(_ identity: Identity) {
    (user, network, realm) = (ClaimedUser(identity), identity.network, identity.realm)
  }
}

extension KeyedBuckets where Key == ClaimedUser {
  /// Whoever has many connections may ask for no more than so much on all of them together. `weight` is 0 for what is never refused, as it
  /// ends something.
  /// - Throws: 1006 with the time to wait.
  package mutating func take(_ weight: Int, of identity: Identity?, at now: Now) throws(ErrorObject) {
    guard weight > 0, let identity else { return }
    if let wait = take(ClaimedUser(identity), weight, at: now.instant) { throw .tooOften("asking", wait) }
  }
}
