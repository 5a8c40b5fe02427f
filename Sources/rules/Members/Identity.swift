// Who somebody is and what they may do, as a value: a front door's verifier makes it of what the client shows, and the
// core believes it.

import Basics
import Names
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

/// Somebody on one of their devices. It is handed on with each request and each message about them, so what it says is kept once and
/// copied when it is changed.
public struct Identity: Hashable, Sendable {
  private var shared: Shared

  /// An identity with all its facts.
  public init(user: String, device: String?, displayName: String, rights: Rights, isVerified: Bool) {
    shared = Shared(
      Facts(user: user, device: device, displayName: displayName, rights: rights, isVerified: isVerified))
  }

  /// Whether both say the same.
  public static func == (a: Identity, b: Identity) -> Bool { a.shared === b.shared || a.shared.facts == b.shared.facts }
  /// Over all that it says.
  public func hash(into hasher: inout Hasher) { hasher.combine(shared.facts) }

  private mutating func set<Value>(_ fact: WritableKeyPath<Facts, Value>, _ value: Value) {
    var facts = shared.facts
    facts[keyPath: fact] = value
    shared = Shared(facts)
  }

  /// What several identities share.
  private final class Shared: Sendable {
    let facts: Facts
    init(_ facts: Facts) { self.facts = facts }
  }

  private struct Facts: Hashable, Sendable {
    var user: String
    var device: String?
    var displayName: String
    var rights: Rights
    var isVerified: Bool
    var realm = Realm.default
    var hasGivenName = false
    var rooms: RoomScope?
    var cap: Int?
    var opensStreamRooms = false
    var entrance = Entrance.native
    var network: PeerNetwork?
    var hasAddress = true
    var client: ConnectionID?
    var countsAs: String?
    var onlyPlays = false
    var tokenID: String?
    var issuedAt: Int64?
    var endsAt: Int64?
    var expiresAt: Int64?
    var allowance: Allowance?
  }
}

extension Identity {
  /// The user.
  public var user: String {
    get { shared.facts.user }
    set { set(\.user, newValue) }
  }
  /// Which of the user's devices it is; nil: the core makes a name up.
  public var device: String? {
    get { shared.facts.device }
    set { set(\.device, newValue) }
  }
  /// What others see.
  public var displayName: String {
    get { shared.facts.displayName }
    set { set(\.displayName, newValue) }
  }
  /// What the user may do.
  public var rights: Rights {
    get { shared.facts.rights }
    set { set(\.rights, newValue) }
  }
  /// Whether it has been proved that they are this user. Where not (the open demo, where anybody may say any name), nobody can
  /// put another session out without showing its resume token.
  public var isVerified: Bool {
    get { shared.facts.isVerified }
    set { set(\.isVerified, newValue) }
  }
  /// The realm of whoever vouches for them: outside of it nobody knows them.
  public var realm: Realm {
    get { shared.facts.realm }
    set { set(\.realm, newValue) }
  }
  /// Whether `displayName` is not theirs to choose.
  public var hasGivenName: Bool {
    get { shared.facts.hasGivenName }
    set { set(\.hasGivenName, newValue) }
  }
  /// In which rooms `rights` hold; nil: in all. Calls have no part in it.
  public var rooms: RoomScope? {
    get { shared.facts.rooms }
    set { set(\.rooms, newValue) }
  }
  /// How many people there may be in a room or call when they come in or begin it, themselves included; nil: as many as it takes.
  public var cap: Int? {
    get { shared.facts.cap }
    set { set(\.cap, newValue) }
  }
  /// Whether rooms that come to be by their joining are each for one stream (`ConferenceRules.streamRooms`).
  public var opensStreamRooms: Bool {
    get { shared.facts.opensStreamRooms }
    set { set(\.opensStreamRooms, newValue) }
  }
  /// How they came.
  public var entrance: Entrance {
    get { shared.facts.entrance }
    set { set(\.entrance, newValue) }
  }
  /// From which network they said so; nil: it is not known where from, and nothing is counted by it.
  public var network: PeerNetwork? {
    get { shared.facts.network }
    set { set(\.network, newValue) }
  }
  /// Whether `network` is that of an address; not so where all whose address is unknown count as one.
  public var hasAddress: Bool {
    get { shared.facts.hasAddress }
    set { set(\.hasAddress, newValue) }
  }
  /// Which client of its front door it is of, where one has a session for each of its rooms; nil: it has this one alone.
  public var client: ConnectionID? {
    get { shared.facts.client }
    set { set(\.client, newValue) }
  }
  /// The user whose limits it uses up, where its front door has made the user's name of theirs; nil: its own.
  public var countsAs: String? {
    get { shared.facts.countsAs }
    set { set(\.countsAs, newValue) }
  }
  /// Whether its front door lets it play and nothing else. In rooms with `RoomRules.players` it takes no seat.
  public var onlyPlays: Bool {
    get { shared.facts.onlyPlays }
    set { set(\.onlyPlays, newValue) }
  }
  /// The name of the token that proves it (`jti`), by which an operator takes it back; nil: it has none.
  public var tokenID: String? {
    get { shared.facts.tokenID }
    set { set(\.tokenID, newValue) }
  }
  /// When that token was made, in milliseconds since 1970 UTC; nil: it does not say.
  public var issuedAt: Int64? {
    get { shared.facts.issuedAt }
    set { set(\.issuedAt, newValue) }
  }
  /// When the proof is over and its sessions end, in milliseconds since 1970 UTC; nil: never.
  public var endsAt: Int64? {
    get { shared.facts.endsAt }
    set { set(\.endsAt, newValue) }
  }
  /// What the proof itself says of its end (`exp`), so long before `endsAt` as clocks may be apart; nil: its clients are not warned.
  public var expiresAt: Int64? {
    get { shared.facts.expiresAt }
    set { set(\.expiresAt, newValue) }
  }
  /// What the application has left to it; nil: all that its token says.
  public var allowance: Allowance? {
    get { shared.facts.allowance }
    set { set(\.allowance, newValue) }
  }
}

extension Identity {
  /// From where they said so; nil where that is anybody's guess.
  package var knownNetwork: PeerNetwork? { hasAddress ? network : nil }
}
