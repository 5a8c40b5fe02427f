// How fast somebody may write, or raise a hand: each message is told to everybody in a room.

import Basics
import RoostProtocol

/// Who has written lately. Counted by user: one may have any number of sessions.
struct ChatLimits: Sendable {
  private var users: KeyedBuckets<ClaimedUser>

  init(_ rules: ConferenceRules) {
    users = KeyedBuckets(burst: rules.chatBurst, perSecond: rules.chatPerSecond, most: 4 * rules.maxSessions)
  }

  /// Takes so many messages.
  /// - Throws: 1006 where the user has sent too many, with all sessions together.
  mutating func take(_ count: Int = 1, of session: Session?, _ what: String, at now: Instant) throws(ErrorObject) {
    guard let session else { return }
    if let wait = users.take(ClaimedUser(session.identity), count, at: now) { throw .tooOften(what, wait) }
  }
}
