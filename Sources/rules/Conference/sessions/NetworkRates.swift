// What everybody behind one address asks for, together. Names cost nothing on an open server, and so each of a thousand connections may be
// a user of its own: here they are one.

import Basics
import RoostProtocol

/// What requests take from the budgets of their user and of their network.
enum Budgets {
  /// Takes what a request weighs. What only ends something weighs nothing here.
  /// - Throws: 1006 with the time to wait. What is refused has taken from neither.
  static func take(
    _ weight: Int, of identity: Identity?, _ core: inout ConferenceCore, at now: Now
  ) throws(ErrorObject) {
    guard weight > 0, let identity else { return }
    if let network = identity.network, let wait = core.networkRates.wait(of: network, for: weight, at: now.instant) {
      throw .tooMuch(wait)
    }
    try core.userRates.take(weight, of: identity, at: now)
    if let network = identity.network { _ = core.networkRates.take(network, weight, at: now.instant) }
  }

  /// Takes what a hello weighs, from the network alone: it begins a session, and may be that of any user.
  /// - Throws: 1006 with the time to wait.
  static func take(
    hello params: HelloParams, of identity: Identity, _ core: inout ConferenceCore, at now: Now
  ) throws(ErrorObject) {
    guard let network = identity.network else { return }
    let weight = Request.session(.hello(params)).weight
    if let wait = core.networkRates.take(network, weight, at: now.instant) { throw .tooMuch(wait) }
  }
}

extension ErrorObject {
  /// Clients at this address ask too often.
  fileprivate static func tooMuch(_ wait: Int64) -> ErrorObject {
    ErrorObject(.rateLimited, "Too many requests come from your address; try again later.") { $0.retryAfterMs = wait }
  }
}
