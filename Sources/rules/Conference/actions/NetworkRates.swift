// What everybody behind one address asks for, together. Names cost nothing on an open server, and so each of a thousand connections may be
// a user of its own: here they are one.

import Basics
import Members
import Rooms
import RoostProtocol

/// The budgets of users and of networks, and what requests take from them.
struct Budgets: Sendable {
  /// What users may still ask for.
  private var userRates: KeyedBuckets<ClaimedUser>
  /// What everybody behind one address may still ask for: on an open server anybody is as many users as they like.
  private var networkRates: NetworkBuckets
  /// Custom messages that users may still send, by weight.
  private var messageRates: KeyedBuckets<ClaimedUser>
  /// Answers to questions that users may still send: twice as many as they may be asked.
  private var answerRates: KeyedBuckets<ClaimedUser>
  /// Whom users may still block whose names nobody has proven.
  var unprovenBlocks: NetworkBuckets

  /// Answers to `message.request` that a user may send a second, over all sessions …
  static let answersPerSecond = 100.0
  /// … and at once after a pause.
  static let answerBurst = 128

  /// Nobody has asked for anything.
  init(_ rules: ConferenceRules) {
    userRates = KeyedBuckets(
      burst: rules.userRequestBurst, perSecond: rules.userRequestsPerSecond, most: 4 * rules.maxSessions)
    networkRates = NetworkBuckets(burst: rules.networkRequestBurst, perSecond: rules.networkRequestsPerSecond)
    messageRates = KeyedBuckets(burst: rules.dataBurst, perSecond: rules.dataPerSecond, most: 4 * rules.maxSessions)
    answerRates = KeyedBuckets(
      burst: Self.answerBurst, perSecond: Self.answersPerSecond, most: 4 * rules.maxSessions)
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

  /// Takes what a hello weighs from the network alone: it begins a session, and may be that of any user.
  /// - Throws: 1006 with the time to wait.
  mutating func take(_ hello: Request, ofNetworkOf identity: Identity, at now: Now) throws(ErrorObject) {
    guard let network = identity.network else { return }
    if let wait = networkRates.take(network, hello.weight, at: now.instant) { throw .tooMuch(wait) }
  }

  /// Takes what a custom message weighs by its bytes, from the network and from the budget that its user has for these alone. An answer is
  /// paid by who asks: it takes one of a budget of its own, and from the network what any request does.
  /// - Throws: 1006 with the time to wait. What is refused has taken from neither.
  mutating func take(_ message: MessageRequest, of identity: Identity?, at now: Now) throws(ErrorObject) {
    guard let identity else { return }
    let user = ClaimedUser(identity)
    let isAnswer = if case .answer = message { true } else { false }
    let weight = isAnswer ? 1 : MessageWeight.of(message, from: identity)
    if let network = identity.network, let wait = networkRates.wait(of: network, for: weight, at: now.instant) {
      throw .tooMuch(wait)
    }
    let wait = isAnswer ? answerRates.take(user, at: now.instant) : messageRates.take(user, weight, at: now.instant)
    if let wait { throw .tooOften("sending messages", wait) }
    if let network = identity.network { _ = networkRates.take(network, weight, at: now.instant) }
  }
}

extension ErrorObject {
  /// Clients at this address ask too often.
  fileprivate static func tooMuch(_ wait: Int64) -> ErrorObject {
    ErrorObject(.rateLimited, "Too many requests come from your address; try again later.") { $0.retryAfterMs = wait }
  }
}
