// How fast somebody may write, or raise a hand: each message is told to everybody in a room.

import Basics
import RoostProtocol

/// Who has written lately. Sessions have a bound of their own (`Session.chatRate`); a user may have any number of them.
struct ChatLimits: Sendable {
  private var users: KeyedBuckets<ClaimedUser>

  init(_ rules: ConferenceRules) {
    users = KeyedBuckets(burst: rules.chatBurst, perSecond: rules.chatPerSecond, most: 4 * rules.maxSessions)
  }

  /// Takes so many messages.
  /// - Throws: 1006 where the session, or its user in all sessions, has sent too many.
  mutating func take(
    _ count: Int = 1, of id: SessionID, _ sessions: inout SessionTable, _ what: String, at now: Instant
  ) throws(ErrorObject) {
    guard let identity = sessions[id]?.identity else { return }
    if let wait = sessions.takeChat(count, of: id, at: now) ?? users.take(ClaimedUser(identity), count, at: now) {
      throw .tooOften(what, wait)
    }
  }
}
