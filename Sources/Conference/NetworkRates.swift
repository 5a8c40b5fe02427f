// What everybody behind one address asks for, together. Names cost nothing on an open server, and so each of a thousand connections may be
// a user of its own: here they are one.

import Basics
import RoostProtocol

extension ConferenceCore {
  /// Takes what a request weighs from the budgets of its user and of their network. What only ends something weighs nothing here.
  /// - Throws: 1006 with the time to wait. What is refused has taken from neither.
  mutating func takeBudget(for weight: Int, of identity: Identity?, at now: Now) throws(ErrorObject) {
    guard weight > 0, let identity else { return }
    if let network = identity.network, let wait = networkRates.wait(of: network, for: weight, at: now.instant) {
      throw .tooMuch(wait)
    }
    try userRates.take(weight, of: identity, at: now)
    takeBudget(ofNetwork: identity.network, weight, now)
  }

  /// The same of a hello, which begins a session, and may be that of any user.
  /// - Throws: 1006 with the time to wait.
  mutating func takeBudget(forHello params: HelloParams, of identity: Identity, at now: Now) throws(ErrorObject) {
    guard let network = identity.network else { return }
    let weight = Request.session(.hello(params)).weight
    if let wait = networkRates.take(network, weight, at: now.instant) { throw .tooMuch(wait) }
  }

  private mutating func takeBudget(ofNetwork network: PeerNetwork?, _ weight: Int, _ now: Now) {
    if let network { _ = networkRates.take(network, weight, at: now.instant) }
  }
}

extension ErrorObject {
  /// Clients at this address ask too often.
  fileprivate static func tooMuch(_ wait: Int64) -> ErrorObject {
    ErrorObject(.rateLimited, "Too many requests come from your address; try again later.") { $0.retryAfterMs = wait }
  }
}
