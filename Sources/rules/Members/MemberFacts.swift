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
  private var word: Word?
  private let token: ResumeToken

  /// What an application has said of them. It is rare, and kept by reference: facts are copied often.
  private final class Word: Sendable {
    let stay: StayRights?
    let given: QuestionChanges?
    /// The room that they are about to join.
    let joins: String?

    init?(_ stay: StayRights?, _ given: QuestionChanges? = nil, joins: String? = nil) {
      if stay == nil, given == nil { return nil }
      (self.stay, self.given, self.joins) = (stay, given, joins)
    }
  }

  package init(
    _ session: SessionID, _ grants: Grants, _ capabilities: Set<ClientCapability>, _ presence: Presence,
    _ token: ResumeToken
  ) {
    (self.session, identity, roomRights, word) = (session, grants.identity, grants.roomRights, Word(grants.stay))
    (self.capabilities, self.presence, self.token) = (capabilities, presence, token)
  }

  /// What the application has left of their rights in the room that they are in; nil: all.
  package var stay: StayRights? { word?.stay }
  /// What the application has changed of the join or the offer that they come with.
  package var given: QuestionChanges? { word?.given }

  /// The same with what the application has changed of a request. `room`: the one that it joins.
  package func with(_ given: QuestionChanges?, joining room: String?) -> MemberFacts {
    var facts = self
    facts.word = Word(stay, given, joins: room)
    return facts
  }

  /// The same on a seat in a room: of what the application has changed that is left which holds for the stay.
  package func settled(in room: String) -> MemberFacts {
    guard word != nil else { return self }
    var facts = self
    facts.word = Word(left(in: room).map { StayRights(room: room, rights: $0) })
    return facts
  }

  /// The same in another room, to which they are moved. Nobody was asked about it: what is left to them goes along.
  package func moved(to room: String) -> MemberFacts {
    guard word != nil else { return self }
    var facts = self
    facts.word = Word(stay.map { StayRights(room: room, rights: $0.rights) })
    return facts
  }

  /// What the application has left of their rights in a room, or would; nil: all.
  package func left(in room: String) -> Rights? {
    guard let word else { return nil }
    if let grants = word.given?.grants, word.joins == room { return grants.union(.ofEveryStay) }
    return word.stay?.room == room ? word.stay?.rights : nil
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
  /// What the application has left of them in the room that they are in; nil: all.
  package var stay: StayRights?
  /// What their client takes for its grants where it is now; nil where it may be wrong.
  package var told: Rights?

  package init(identity: Identity, granted: Rights, told: Rights? = nil) {
    (self.identity, self.granted, self.told) = (identity, granted, told)
  }
}

/// What an application has left of somebody's rights in one room, as long as they stay there. It is rare, and kept by reference.
package final class StayRights: Equatable, Sendable {
  package let room: String
  package let rights: Rights

  package init(room: String, rights: Rights) { (self.room, self.rights) = (room, rights) }

  package static func == (one: StayRights, other: StayRights) -> Bool {
    one.room == other.room && one.rights == other.rights
  }
}

extension Rights {
  /// What no room is asked for: calls are not in it.
  package static let ofNoRoom: Rights = [.call, .invite, .admin]
  /// What an answer to a join takes from nobody: a yes lets them in.
  fileprivate static let ofEveryStay = ofNoRoom.union(.join)
}

/// A seat, and the name of its room.
package struct MemberPlace: Hashable, Sendable {
  package let seat: SeatID
  package let room: String

  package init(seat: SeatID, room: String) { (self.seat, self.room) = (seat, room) }
}
