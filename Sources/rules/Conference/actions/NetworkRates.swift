// What everybody behind one address asks for, together. Names cost nothing on an open server, and so each of a thousand connections may be
// a user of its own: here they are one.

import Basics
import Members
import RoostProtocol

/// The budgets of users and of networks, and what requests take from them.
struct Budgets: Sendable {
  /// What users may still ask for.
  private var userRates: KeyedBuckets<ClaimedUser>
  /// What everybody behind one address may still ask for: on an open server anybody is as many users as they like.
  private var networkRates: NetworkBuckets
  /// Whom users may still block whose names nobody has proven.
  var unprovenBlocks: NetworkBuckets

  /// Nobody has asked for anything.
  init(_ rules: ConferenceRules) {
    userRates = KeyedBuckets(
      burst: rules.userRequestBurst, perSecond: rules.userRequestsPerSecond, most: 4 * rules.maxSessions)
    networkRates = NetworkBuckets(burst: rules.networkRequestBurst, perSecond: rules.networkRequestsPerSecond)
    unprovenBlocks = NetworkBuckets(burst: rules.networkBlockBurst, perSecond: rules.networkBlocksPerSecond)
  }

  /// Takes what a request weighs. What only ends something weighs nothing here.
  /// - Throws: 1006 with the time to wait. What is refused has taken from neither.
  mutating func take(_ weight: Int, of identity: Identity?, at now: Now) throws(ErrorObject) {
    guard weight > 0, let identity else { return }
    if let network = identity.network, let wait = networkRates.wait(of: network, for: weight, at: now.instant) {
      throw .tooMuch(wait)
    }
    try userRates.take(weight, of: identity, at: now)
    if let network = identity.network { _ = networkRates.take(network, weight, at: now.instant) }
  }

  /// Takes what a request weighs from the network alone: a hello begins a session, and may be that of any user; of custom messages users have
  /// budgets of their own.
  /// - Throws: 1006 with the time to wait.
  mutating func take(_ request: Request, ofNetworkOf identity: Identity?, at now: Now) throws(ErrorObject) {
    guard let network = identity?.network else { return }
    let weight = request.weight
    if let wait = networkRates.take(network, weight, at: now.instant) { throw .tooMuch(wait) }
  }
}

extension ErrorObject {
  /// Clients at this address ask too often.
  fileprivate static func tooMuch(_ wait: Int64) -> ErrorObject {
    ErrorObject(.rateLimited, "Too many requests come from your address; try again later.") { $0.retryAfterMs = wait }
  }
}
