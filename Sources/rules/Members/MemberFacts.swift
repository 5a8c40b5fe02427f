// What rooms know of a session. It comes with each request that needs it, is kept on a seat and where somebody waits at a lobby, and comes
// anew whenever it changes: a room asks nothing of a session.

import Basics
import RoostProtocol

/// Somebody on one of their devices, as rooms know them.
package struct MemberFacts: Sendable {
  /// Whom to tell.
  package let session: SessionID
  /// Who they are, and what they may do everywhere.
  package let identity: Identity
  /// What operators have left of their rights in single rooms.
  package let roomRights: [String: Rights]
  /// What the device said of itself and the server acts on.
  package let capabilities: Set<ClientCapability>
  /// How they are connected.
  package let presence: Presence
  /// What the application has changed of the join or the offer that they come with.
  package private(set) var given: QuestionChanges?
  private let token: ResumeToken

  package init(
    _ session: SessionID, _ grants: Grants, _ capabilities: Set<ClientCapability>, _ presence: Presence,
    _ token: ResumeToken
  ) {
    (self.session, identity, roomRights) = (session, grants.identity, grants.roomRights)
    (self.capabilities, self.presence, self.token) = (capabilities, presence, token)
  }

  /// The same with what the application has changed of a request.
  package func with(_ given: QuestionChanges?) -> MemberFacts {
    var facts = self
    facts.given = given
    return facts
  }

  package var user: String { identity.user }
  package var displayName: String { identity.displayName }

  /// Whether somebody who is the same user may take this one's place: where it is proved that they are, always, else with the resume token.
  package func mayBeReplaced(by identity: Identity, token shown: String?) -> Bool {
    identity.isVerified || shown.flatMap(ResumeToken.init) == token
  }
}

/// Whether a session is connected, and since when it is not.
package struct Presence: Sendable {
  /// Whether it has a socket.
  package var isConnected: Bool
  /// From which network its last connection came; nil: it is not known.
  package var reachedFrom: PeerNetwork?
  /// Whether its socket has owed the answer to a ping for too long.
  package var isOverdue: Bool
  /// Since when it has had no socket; nil while it has one.
  package var lostAt: Instant?

  package init(isConnected: Bool, reachedFrom: PeerNetwork? = nil, isOverdue: Bool, lostAt: Instant? = nil) {
    (self.isConnected, self.reachedFrom, self.isOverdue, self.lostAt) = (isConnected, reachedFrom, isOverdue, lostAt)
  }
}

/// What somebody may do, and what their client knows of it.
package struct Grants: Sendable {
  /// Whose they are, and what they may do: what their token gives, less what operators have taken from them everywhere.
  package var identity: Identity
  /// What their token gives.
  package var granted: Rights
  /// What operators have left of their rights in single rooms.
  package var roomRights: [String: Rights] = [:]
  /// What their client takes for its grants where it is now; nil where it may be wrong.
  package var told: Rights?

  package init(identity: Identity, granted: Rights, told: Rights? = nil) {
    (self.identity, self.granted, self.told) = (identity, granted, told)
  }
}

/// A seat, and the name of its room.
package struct MemberPlace: Hashable, Sendable {
  package let seat: SeatID
  package let room: String

  package init(seat: SeatID, room: String) { (self.seat, self.room) = (seat, room) }
}
