// Who somebody is and what they may do, as a value: a front door's verifier makes it of what the client shows, and the
// core believes it.

import Basics
import RoostProtocol

/// By which protocol somebody came. Operators are shown it; no rule asks for it.
public enum Entrance: String, Hashable, Sendable {
  /// The protocol of docs/protocol.md.
  case native
  /// As a publisher (RFC 9725).
  case whip
  /// As a player.
  case whep
  /// As an app of Flashphoner's SDKs.
  case flashphoner
}

/// Somebody on one of their devices.
public struct Identity: Hashable, Sendable {
  /// The user.
  public var user: String
  /// Which of the user's devices it is; nil: the core makes a name up.
  public var device: String?
  /// What others see.
  public var displayName: String
  /// What the user may do.
  public var rights: Rights
  /// Whether it has been proved that they are this user. Where not (the open demo, where anybody may say any name), nobody can
  /// put another session out without showing its resume token.
  public var isVerified: Bool
  /// Whether `displayName` is not theirs to choose.
  public var hasGivenName = false
  /// In which rooms `rights` hold; nil: in all. Calls have no part in it.
  public var rooms: RoomScope?
  /// How many people there may be in a room or call when they come in or begin it, themselves included; nil: as many as it takes.
  public var cap: Int?
  /// Whether rooms that come to be by their joining are each for one stream (`ConferenceRules.streamRooms`).
  public var opensStreamRooms = false
  /// How they came.
  public var entrance = Entrance.native
  /// From which network they said so; nil: it is not known where from, and nothing is counted by it.
  public var network: PeerNetwork?
  /// Whether `network` is that of an address; not so where all whose address is unknown count as one.
  public var hasAddress = true
  /// Which client of its front door it is of, where one has a session for each of its rooms; nil: it has this one alone.
  public var client: ConnectionID?
  /// The user whose limits it uses up, where its front door has made the user's name of theirs; nil: its own.
  public var countsAs: String?
  /// Whether its front door lets it play and nothing else. In rooms with `RoomRules.players` it takes no seat.
  public var onlyPlays = false
  /// The name of the token that proves it (`jti`), by which an operator takes it back; nil: it has none.
  public var tokenID: String?
  /// When that token was made, in milliseconds since 1970 UTC; nil: it does not say.
  public var issuedAt: Int64?
  /// When the proof is over and its sessions end, in milliseconds since 1970 UTC; nil: never.
  public var endsAt: Int64?
  /// What the proof itself says of its end (`exp`), so long before `endsAt` as clocks may be apart; nil: its clients are not warned.
  public var expiresAt: Int64?

  /// An identity with all its facts.
  public init(user: String, device: String?, displayName: String, rights: Rights, isVerified: Bool) {
    (self.user, self.device, self.displayName) = (user, device, displayName)
    (self.rights, self.isVerified) = (rights, isVerified)
  }
}

extension Identity {
  /// From where they said so; nil where that is anybody's guess.
  package var knownNetwork: PeerNetwork? { hasAddress ? network : nil }
}
