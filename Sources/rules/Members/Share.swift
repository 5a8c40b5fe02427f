// What one user, and one network, have of what there is for all: whose it is, and what they are told who have as much as they may.

import Basics
import RoostProtocol

/// Whose something is where shares are counted.
package struct ShareHolder: Hashable, Sendable {
  /// The user; nil where nobody has proved the name: one costs nothing then, and the network alone counts.
  package var user: String?
  /// From where they said hello; nil where that is not known.
  package var network: PeerNetwork?

  /// Nobody.
  package init() {}

  package init(_ identity: Identity) {
    user = identity.isVerified ? identity.user : nil
    network = identity.network
  }
}

/// How many of each there are; what is counted down to nothing is forgotten. Inlinable: made for each kind of key where it is used.
package struct Tally<Key: Hashable & Sendable>: Sendable {
  @usableFromInline var counts: [Key: Int] = [:]

  @inlinable package init() {}

  @inlinable package subscript(_ key: Key) -> Int { counts[key] ?? 0 }

  /// The only key there is; nil where there are several, or none.
  @inlinable package var only: Key? { counts.count == 1 ? counts.first?.key : nil }
  /// How many keys there are.
  @inlinable package var keys: Int { counts.count }

  /// One more, or one less.
  @inlinable package mutating func count(_ key: Key, _ change: Int) {
    let count = self[key] + change
    counts[key] = count > 0 ? count : nil
  }
}

/// Bounds of shares by their keys in rooms.yaml.
package enum Share: String {
  case sessionsPerUser = "sessions_per_user"
  case sessionsPerAddress = "sessions_per_address"
  case roomsPerUser = "rooms_per_user"
  case roomsPerAddress = "rooms_per_address"

  package var words: String {
    switch self {
    case .sessionsPerUser: "You have as many sessions as one user may"
    case .sessionsPerAddress: "Your address has as many sessions as one address may"
    case .roomsPerUser: "You hold as many rooms open alone as one user may"
    case .roomsPerAddress: "Your address holds as many rooms open alone as one address may"
    }
  }
}

extension ErrorObject {
  /// A share is used up.
  package static func share(_ share: Share, _ limit: Int, wait milliseconds: Int64? = nil) -> ErrorObject {
    ErrorObject(.overloaded, "\(share.words): \(limit).") {
      ($0.reason, $0.limit, $0.retryAfterMs) = (share.rawValue, limit, milliseconds.map { max($0, 1) })
    }
  }
}
