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

  /// Whom is rung. Those who have blocked a caller do not hear it: such rings are counted as well, each by themselves, so that callers
  /// who are blocked meet the same bound as others, and take nothing from what others may ring.
  private struct Callee: Hashable, Sendable {
    let user: String
    let isHidden: Bool
  }

  private var callers: KeyedBuckets<String>?
  private var callees: KeyedBuckets<Callee>?
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

  /// Who of `users` may not be rung now, as others do it too often. `isHidden`: whether they have blocked the caller.
  /// - Throws: 1006 with the time until all of `users` may be rung where the caller is too often, or until one of them may where none may be
  ///   rung, and whose bound it is; 3014 for more at once than may ever be rung.
  func check(
    _ caller: String, rings users: [String], isHidden: (String) -> Bool, at now: Now
  ) throws(ErrorObject) -> Set<String> {
    guard !users.isEmpty else { return [] }
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
    }
    let waits = users.compactMap { user in
      callees?.wait(of: Callee(user: user, isHidden: isHidden(user)), at: now).map { (user: user, wait: $0) }
    }
    if waits.count == users.count, let first = waits.min(by: { $0.wait < $1.wait }) {
      throw .tooManyRings("\(first.user) is being called too often; wait a moment.", "callee", first.wait)
    }
    return Set(waits.map(\.user))
  }

  /// Counts an attempt to ring each of these.
  mutating func spend(_ caller: String, rings users: [String], isHidden: (String) -> Bool, at now: Now) {
    guard !users.isEmpty else { return }
    let now = now.instant
    _ = callers?.take(caller, users.count, at: now)
    for user in users {
      _ = pairs?.take(Pair(caller: caller, callee: user), at: now)
      _ = callees?.take(Callee(user: user, isHidden: isHidden(user)), at: now)
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
