// Who may use the API: those who show the secret of a key. Pure but for the clock that it is given.
import Basics
import Crypto
import Names
import WebSockets

/// One key.
public struct APIKey: Sendable {
  /// What lines in the log call whoever shows it.
  public var name: String
  /// What is shown. Nothing of it is ever said.
  public var secret: [UInt8]
  /// Its realm; nil: any, as the request says.
  public var realm: Realm?

  /// A key.
  public init(name: String, secret: [UInt8], realm: Realm?) {
    (self.name, self.secret, self.realm) = (name, secret, realm)
  }
}

/// All keys, and how often wrong ones were shown. Of one address ten at once and six a minute are looked into; the right one is taken at any
/// time, since somebody else's guesses must not keep an application out.
final class APIKeys: Sendable {
  /// What a request may.
  enum Permission: Sendable {
    case granted(APIKey)
    /// 401.
    case refused
    /// 429, with seconds until it may be tried again.
    case refusedForNow(seconds: Int64)
  }

  private let keys: [APIKey]
  private let clock: @Sendable () -> Instant
  private let failures = Locked(NetworkBuckets(burst: 10, perSecond: 0.1))

  init(_ keys: [APIKey], clock: @escaping @Sendable () -> Instant) { (self.keys, self.clock) = (keys, clock) }

  /// Compares with each key in the same time, whichever it is. The scheme's name is written in any case (RFC 9110 §11.1).
  func permission(of request: HTTPRequest) -> Permission {
    guard let authorization = request.authorization else { return .refused }
    let words = authorization.split(separator: " ", maxSplits: 1)
    if words.count == 2, words[0].lowercased() == "bearer" {
      let shown = Array(words[1].utf8.drop { $0 == UInt8(ascii: " ") })
      var found: APIKey?
      for key in keys where constantTimeEquals(shown.span, key.secret.span) { found = key }
      if let found { return .granted(found) }
    }
    let wait = failures.withLock { $0.take(PeerNetwork(request.peer), at: clock()) }
    return wait.map { .refusedForNow(seconds: ($0 + 999) / 1000) } ?? .refused
  }
}
