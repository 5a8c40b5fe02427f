// What a token says, once it is believed: who somebody is, what they may do, where, and for how long.

import Names
import RoostProtocol

/// The claims of a token (RFC 7519 §4). Times are in milliseconds since 1970 UTC.
public struct TokenClaims: Hashable, Sendable {
  /// Bounds of claims beyond those of the protocol.
  enum Bounds {
    /// Bytes of `iss`, of one `aud`, of `jti` and `kid`.
    static let textBytes = 256
    /// Receivers that a token may be for.
    static let audiences = 16
    /// People that `cap` may allow.
    static let cap = 1...100_000
  }

  /// Who it is about (`sub`), a name as the protocol takes them.
  public var user: String
  /// What others see of them (`name`); nil: they choose it.
  public var name: String?
  /// Which rooms it is good for (`room`); nil: all.
  public var room: RoomScope?
  /// What they may do (`grants`), all of them known.
  public var grants: Set<Grant>
  /// How many people there may be in a room or call that they join or begin (`cap`), themselves included; nil: as many as the room takes.
  public var cap: Int?
  /// Its name (`jti`), by which it can be revoked.
  public var id: String?
  /// Until when it is good (`exp`).
  public var expiresAt: Int64
  /// From when on (`nbf`); nil: from its making.
  public var notBefore: Int64?
  /// When it was made (`iat`).
  public var issuedAt: Int64?
  /// Who made it (`iss`).
  public var issuer: String?
  /// Whom it is for (`aud`); none: everybody.
  public var audience: [String] = []
  /// The realm of the key that it was signed with. No claim says it: who has one key cannot make tokens of another's realm.
  public var realm = Realm.default

  /// A token about somebody that is good until a time.
  public init(
    user: String, name: String? = nil, room: RoomScope? = nil, grants: Set<Grant>, cap: Int? = nil, id: String? = nil,
    expiresAt: Int64
  ) {
    (self.user, self.name, self.room) = (user, name, room)
    (self.grants, self.cap, self.id, self.expiresAt) = (grants, cap, id, expiresAt)
  }
}

/// The claims as they are written (RFC 7519 §4.1, docs/access.md). Those that are not named here say nothing to us.
struct WrittenClaims: Codable {
  var sub: String
  var name: String?
  var room: String?
  var grants: [Grant]
  var cap: Int?
  var jti: String?
  var exp: Double
  var nbf: Double?
  var iat: Double?
  var iss: String?
  var aud: Audience?

  /// One text, or several (RFC 7519 §4.1.3).
  enum Audience: Codable {
    case one(String)
    case several([String])

    init(from decoder: any Decoder) throws {
      let value = try decoder.singleValueContainer()
      if let one = try? value.decode(String.self) {
        self = .one(one)
      } else {
        self = .several(try value.decode([String].self))
      }
    }

    func encode(to encoder: any Encoder) throws {
      var value = encoder.singleValueContainer()
      switch self {
      case .one(let text): try value.encode(text)
      case .several(let texts): try value.encode(texts)
      }
    }

    var all: [String] {
      switch self {
      case .one(let text): [text]
      case .several(let texts): texts
      }
    }
  }
}

extension TokenClaims {
  /// Names that the server compares are in Unicode's form C: its own `==` would else take one user for another (`NameForm`).
  /// - Throws: `.claim` with the name of the first that cannot be.
  init(_ written: WrittenClaims) throws(TokenError) {
    guard ProtocolLimits.isName(written.sub), NameForm.accepts(written.sub) else { throw .claim("sub") }
    guard written.name.map(ProtocolLimits.isName) ?? true else { throw .claim("name") }
    guard let expiresAt = Self.milliseconds(written.exp) else { throw .claim("exp") }
    self.init(user: written.sub, name: written.name, grants: Set(written.grants), expiresAt: expiresAt)
    if let text = written.room {
      guard text.utf8.count <= ProtocolLimits.nameBytes, NameForm.accepts(text), let scope = RoomScope(text) else {
        throw .claim("room")
      }
      room = scope
    }
    guard written.grants.count <= Grant.known.count, grants.isSubset(of: Grant.known) else { throw .claim("grants") }
    guard written.cap.map(Bounds.cap.contains) ?? true else { throw .claim("cap") }
    cap = written.cap
    notBefore = try Self.time(written.nbf, "nbf")
    issuedAt = try Self.time(written.iat, "iat")
    (id, issuer) = (try Self.text(written.jti, "jti"), try Self.text(written.iss, "iss"))
    audience = written.aud?.all ?? []
    guard audience.count <= Bounds.audiences else { throw .claim("aud") }
    for one in audience { _ = try Self.text(one, "aud") }
  }

  private static func text(_ text: String?, _ claim: String) throws(TokenError) -> String? {
    guard let text else { return nil }
    guard !text.isEmpty, text.utf8.count <= Bounds.textBytes, NameForm.accepts(text) else { throw .claim(claim) }
    return text
  }

  private static func time(_ seconds: Double?, _ claim: String) throws(TokenError) -> Int64? {
    guard let seconds else { return nil }
    guard let time = milliseconds(seconds) else { throw .claim(claim) }
    return time
  }

  /// A NumericDate (RFC 7519 §2): seconds since 1970, with fractions where its maker likes; nil for what is no time of ours.
  private static func milliseconds(_ seconds: Double) -> Int64? {
    // Up to the year 5138.
    guard seconds.isFinite, (0...100_000_000_000).contains(seconds) else { return nil }
    return Int64(seconds * 1000)
  }
}

extension WrittenClaims {
  /// Whole seconds, rounded down: a token says no more than it is given.
  init(_ claims: TokenClaims) {
    let seconds = { (time: Int64) in Double(time / 1000) }
    sub = claims.user
    (name, room, cap, jti) = (claims.name, claims.room?.text, claims.cap, claims.id)
    grants = Grant.known.filter(claims.grants.contains)
    exp = seconds(claims.expiresAt)
    (nbf, iat, iss) = (claims.notBefore.map(seconds), claims.issuedAt.map(seconds), claims.issuer)
    switch claims.audience.count {
    case 0: aud = nil
    case 1: aud = .one(claims.audience[0])
    default: aud = .several(claims.audience)
    }
  }
}
