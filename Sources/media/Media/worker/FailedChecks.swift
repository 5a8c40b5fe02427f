// Whom the server tells that their connectivity check failed. Such an answer helps a peer with old credentials, and nobody needs many.

import Basics
import ICE

/// Bounds of answers to checks that are not authentic.
struct FailedChecks {
  /// Answers to one network, at once and in a second …
  static let networkBurst = 20
  static let networkPerSecond = 5.0
  /// … and of the worker to all. Raise it and a flood of checks costs more: an answer takes as long as the check.
  static let burst = 200
  static let perSecond = 100.0

  private var all = TokenBucket(perSecond: perSecond, burst: burst, now: .zero)
  private var networks = NetworkBuckets(burst: networkBurst, perSecond: networkPerSecond)
  /// What answers to checks are written in.
  var reply = [UInt8](repeating: 0, count: ICELiteAgent.replyCapacity)

  /// Whether one from this network would be answered. In a flood the first question settles it.
  func answers(_ network: PeerNetwork, at now: Instant) -> Bool {
    all.wait(at: now) == nil && networks.wait(of: network, at: now) == nil
  }

  /// One was answered.
  mutating func answered(_ network: PeerNetwork, at now: Instant) {
    _ = all.take(at: now)
    _ = networks.take(network, at: now)
  }
}
