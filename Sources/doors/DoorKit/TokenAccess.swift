// Who says hello where there are keys: whoever their token says, with what it allows (docs/access.md).
import Basics
import Members
import Names
import RoostProtocol
import Tokens

/// Tokens that operators have taken back since the start, or before it. The conference says which, and all doors ask: many requests of
/// WHIP and WHEP never get to the conference.
public final class RevokedTokens: Sendable {
  /// Realms name their tokens as they like.
  private struct TokenName: Hashable {
    let realm: Realm
    let id: String
  }

  private let names = Locked<Set<TokenName>>([])

  /// None.
  public init() {}

  /// Notes that the tokens of this `jti` in a realm are taken back, or believed again.
  public func set(_ id: String, in realm: Realm = .default, _ isRevoked: Bool) {
    let name = TokenName(realm: realm, id: id)
    names.withLock { names in
      if isRevoked { names.insert(name) } else { names.remove(name) }
    }
  }

  func contains(_ id: String?, in realm: Realm) -> Bool {
    id.map { id in names.withLock { $0.contains(TokenName(realm: realm, id: id)) } } ?? false
  }
}

/// Believes tokens, and nothing else.
public struct TokenAccess: IdentityVerifier {
  private let tokens: TokenVerifier
  private let revoked: RevokedTokens
  private let wallClock: @Sendable () -> Int64

  /// Believes the tokens that `tokens` believes, but for those of `revoked`.
  /// - Parameter wallClock: milliseconds since 1970 UTC; read for each token.
  public init(
    _ tokens: TokenVerifier, revoked: RevokedTokens = RevokedTokens(), wallClock: @escaping @Sendable () -> Int64
  ) {
    (self.tokens, self.revoked, self.wallClock) = (tokens, revoked, wallClock)
  }

  /// Whoever the token is about. What the hello says of a user is the door's to compare.
  public func verify(_ hello: HelloParams, from peer: SocketAddress?) throws(UnprovenIdentity) -> Identity {
    guard let token = hello.token else { throw .missing }
    return try identity(token, device: hello.deviceId, displayName: hello.displayName)
  }

  /// Whoever a further token is about.
  public func renew(_ token: String, from peer: SocketAddress?) throws(UnprovenIdentity) -> Identity? {
    try identity(token, device: nil, displayName: nil)
  }

  private func identity(
    _ token: String, device: String?, displayName: String?
  ) throws(UnprovenIdentity) -> Identity {
    let claims: TokenClaims
    do throws(TokenError) {
      claims = try tokens.verify(token, at: wallClock())
      if revoked.contains(claims.id, in: claims.realm) { throw .revoked }
    } catch {
      throw UnprovenIdentity(error)
    }
    var identity = Identity(
      user: claims.user, device: device, displayName: claims.name ?? displayName ?? claims.user,
      rights: Rights(claims.grants), isVerified: true)
    identity.realm = claims.realm
    identity.hasGivenName = claims.name != nil
    identity.rooms = claims.room
    identity.cap = claims.cap
    (identity.tokenID, identity.issuedAt) = (claims.id, claims.issuedAt)
    (identity.expiresAt, identity.endsAt) = (claims.expiresAt, claims.expiresAt + TokenVerifier.skew)
    return identity
  }
}

/// Why nobody is believed: what the client is told, and a word more for the log.
public struct UnprovenIdentity: Error, Equatable {
  /// 1004, with a reason.
  public let error: ErrorObject
  /// What is wrong with the token.
  public let detail: String

  /// No token was shown.
  public static let missing = UnprovenIdentity(
    error: refusal("token_missing", "This server asks for a token."), detail: "missing")
  /// The token is about somebody else than the hello, or the session.
  public static let otherUser = UnprovenIdentity(
    error: refusal("token_user", "The token is somebody else's."), detail: "other user")

  /// It was not looked at, since too many come from there. It may be as good as any.
  public static func notNow(wait milliseconds: Int64) -> UnprovenIdentity {
    UnprovenIdentity(
      error: ErrorObject(.rateLimited, "Too many tokens come from this address: this one was not looked at.") {
        $0.retryAfterMs = milliseconds
      }, detail: "not looked at")
  }

  /// Whether the token was looked at, or was missing: not one that has to come again.
  public var isFailure: Bool { error.code != .rateLimited }
  /// Whether it is what a guess would come to. Who shows a token that is over had one.
  public var isGuess: Bool { error.data.reason != Self.expired }

  private static let expired = "token_expired"

  private init(error: ErrorObject, detail: String) { (self.error, self.detail) = (error, detail) }

  /// Nobody is told which check a forged token failed at. A good one that is over is another matter: a client can get the next.
  init(_ problem: TokenError) {
    error =
      problem.isLate
      ? Self.refusal(Self.expired, "The token is expired.")
      : Self.refusal("token_invalid", "The token was not accepted.")
    detail = problem.description
  }

  private static func refusal(_ reason: String, _ message: String) -> ErrorObject {
    ErrorObject(.authFailed, message) { $0.reason = reason }
  }
}

extension Result where Failure == UnprovenIdentity {
  /// What it is for the connection that the token came by.
  public var outcome: TokenTries.Outcome {
    switch self {
    case .success: .believed
    case .failure(let error): error.isFailure ? .failed : .sentAway
    }
  }
}
