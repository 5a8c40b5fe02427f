// How often somebody may have others rung, be rung, and ring one and the same user: a stranger must not keep a phone ringing.

import Basics
import RoostProtocol

/// Attempts to ring, counted for each caller, each callee and each pair of them.
struct RingPace: Equatable, Sendable {
  /// Users, and pairs of them, that are remembered. Raising it costs memory alone.
  static let most = 16_384

  private struct Pair: Hashable, Sendable {
    let caller: String
    let callee: String
  }

  private var callers: KeyedBuckets<String>?
  private var callees: KeyedBuckets<String>?
  private var pairs: KeyedBuckets<Pair>?

  init(_ rules: CallRules) {
    callers = Self.buckets(rules.ringsPerCaller)
    callees = Self.buckets(rules.ringsPerCallee)
    pairs = Self.buckets(rules.ringsPerPair)
  }

  /// So many a minute, and at once; none for 0.
  private static func buckets<Key: Hashable & Sendable>(_ aMinute: Int) -> KeyedBuckets<Key>? {
    aMinute > 0 ? KeyedBuckets(burst: aMinute, perSecond: Double(aMinute) / 60, most: most) : nil
  }

  /// - Throws: 1006 with the time until all of `users` may be rung, and whose bound it is; 3014 for more at once than may ever be rung.
  func check(_ caller: String, rings users: [String], at now: Now) throws(ErrorObject) {
    guard !users.isEmpty else { return }
    let now = now.instant
    if let callers, users.count > callers.burst {
      throw .limit(.tooManyInvitees, limit: callers.burst, count: users.count)
    }
    if let wait = callers?.wait(of: caller, for: users.count, at: now) {
      throw .tooManyRings("You are calling too often; wait a moment.", "caller", wait)
    }
    for user in users {
      if let wait = pairs?.wait(of: Pair(caller: caller, callee: user), at: now) {
        throw .tooManyRings("You are calling \(user) too often; wait a moment.", "pair", wait)
      }
      if let wait = callees?.wait(of: user, at: now) {
        throw .tooManyRings("\(user) is being called too often; wait a moment.", "callee", wait)
      }
    }
  }

  /// Counts an attempt to ring each of these; those who are not `reached`, as they have blocked the caller, are spared.
  mutating func take(_ caller: String, rings users: [String], reached: (String) -> Bool, at now: Now) {
    guard !users.isEmpty else { return }
    let now = now.instant
    _ = callers?.take(caller, users.count, at: now)
    for user in users {
      _ = pairs?.take(Pair(caller: caller, callee: user), at: now)
      if reached(user) { _ = callees?.take(user, at: now) }
    }
  }
}

extension ErrorObject {
  fileprivate static func tooManyRings(_ message: String, _ reason: String, _ milliseconds: Int64) -> ErrorObject {
    ErrorObject(.rateLimited, message) {
      $0.retryAfterMs = milliseconds
      $0.reason = reason
    }
  }
}
