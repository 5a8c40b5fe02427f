// What rooms know of a session. It comes with each request that needs it, is kept on a seat and where somebody waits at a lobby, and comes
// anew whenever it changes: a room asks nothing of a session.

import Basics
import RoostProtocol

/// Somebody on one of their devices, as rooms know them.
struct MemberFacts: Sendable {
  /// Whom to tell.
  let session: SessionID
  /// Who they are, and what they may do everywhere.
  let identity: Identity
  /// What operators have left of their rights in single rooms.
  let roomRights: [String: Rights]
  /// What the device said of itself and the server acts on.
  let capabilities: Set<ClientCapability>
  /// How they are connected.
  let presence: Presence
  private let token: ResumeToken

  init(
    _ session: SessionID, _ grants: Grants, _ capabilities: Set<ClientCapability>, _ presence: Presence,
    _ token: ResumeToken
  ) {
    (self.session, identity, roomRights) = (session, grants.identity, grants.roomRights)
    (self.capabilities, self.presence, self.token) = (capabilities, presence, token)
  }

  var user: String { identity.user }
  var displayName: String { identity.displayName }

  /// Whether somebody who is the same user may take this one's place: where it is proved that they are, always, else with the resume token.
  func mayBeReplaced(by identity: Identity, token shown: String?) -> Bool {
    identity.isVerified || shown.flatMap(ResumeToken.init) == token
  }
}

/// Whether a session is connected, and since when it is not.
struct Presence: Sendable {
  /// Whether it has a socket.
  var isConnected: Bool
  /// From which network its last connection came; nil: it is not known.
  var reachedFrom: PeerNetwork?
  /// Whether its socket has owed the answer to a ping for too long.
  var isOverdue: Bool
  /// Since when it has had no socket; nil while it has one.
  var lostAt: Instant?
}
