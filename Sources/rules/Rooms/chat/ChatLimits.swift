// How fast somebody may write, or raise a hand: each message is told to everybody in a room.

import Basics
import Members
import RoostProtocol

/// Who has written lately. Counted by user: one may have any number of sessions.
struct ChatLimits: Sendable {
  /// Times that somebody may unmute at once before it costs what a message costs. Raising it lets one tell a room so much more.
  static let freeUnmutes = 20

  private var users: KeyedBuckets<ClaimedUser>
  private var unmutes: KeyedBuckets<ClaimedUser>

  init(_ rules: ConferenceRules) {
    users = KeyedBuckets(burst: rules.chatBurst, perSecond: rules.chatPerSecond, most: 4 * rules.maxSessions)
    unmutes = KeyedBuckets(burst: Self.freeUnmutes, perSecond: 1, most: 4 * rules.maxSessions)
  }

  /// Takes an unmute: free at first, then as a message.
  /// - Throws: 1006 where the user has said too much, with all sessions together.
  mutating func takeUnmute(of identity: Identity, at now: Instant) throws(ErrorObject) {
    guard unmutes.take(ClaimedUser(identity), at: now) != nil else { return }
    try take(of: identity, "unmuting", at: now)
  }

  /// Takes so many messages.
  /// - Throws: 1006 where the user has sent too many, with all sessions together.
  mutating func take(_ count: Int = 1, of identity: Identity, _ what: String, at now: Instant) throws(ErrorObject) {
    if let wait = users.take(ClaimedUser(identity), count, at: now) { throw .tooOften(what, wait) }
  }
}
