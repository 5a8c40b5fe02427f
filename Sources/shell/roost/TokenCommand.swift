// `roost token`: makes a token with a key of the configuration, for those who try things out and for scripts.
import Basics
import Configuration
import Crypto
import Names
import RoostProtocol
import Threads
import Tokens

/// What a token is to say.
struct TokenRequest: Equatable {
  /// How long it is good unless something else is asked for.
  static let usualLife = TimeDelta.seconds(3600)
  /// What it allows unless something else is asked for: all that a participant may do.
  static let usualGrants: [Grant] = [
    .join, .publishAudio, .publishVideo, .publishScreen, .subscribe, .chat, .call, .invite,
  ]

  var user = ""
  var name: String?
  var room: RoomScope?
  var grants = Self.usualGrants
  var life = Self.usualLife
  var cap: Int?
  /// Which key of the configuration; nil where there is one.
  var key: String?
  /// The private key of ES256 and Ed25519, which no server has.
  var privateKey: String?
}

extension TokenRequest {
  /// The options and what they mean; each has a value.
  static let options = [
    "--user", "--name", "--room", "--grants", "--ttl", "--cap", "--key", "--private-key", "--config",
  ]

  /// Reads the words after `token`. The configuration's file comes beside the request.
  static func parse(_ words: [String]) throws(UsageError) -> (request: TokenRequest, config: String?) {
    var request = TokenRequest()
    var (seen, config): (Set<String>, String?) = ([], nil)
    var rest = words[...]
    while let word = rest.popFirst() {
      let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      let option = parts[0] == "-c" ? "--config" : parts[0]
      guard options.contains(option) else {
        let hint = nearest(option, options + ["--help"]).map { "; did you mean \"\($0)\"?" } ?? ""
        throw UsageError(message: "\"\(word)\" is not expected\(hint)", topic: .token)
      }
      guard let value = parts.count == 2 ? parts[1] : rest.popFirst(), !value.isEmpty else {
        throw UsageError(message: "\(option) needs a value", topic: .token)
      }
      guard seen.insert(option).inserted else { throw UsageError(message: "\(option) is given twice", topic: .token) }
      if option == "--config" { config = value } else { try request.set(option, value) }
    }
    guard seen.contains("--user") else {
      throw UsageError(message: "--user is missing: whose token is it?", topic: .token)
    }
    return (request, config)
  }

  private mutating func set(_ option: String, _ value: String) throws(UsageError) {
    func wrong(_ expected: String) -> UsageError {
      UsageError(message: "\(option): expected \(expected)", topic: .token)
    }
    switch option {
    case "--user", "--name":
      guard ProtocolLimits.isName(value) else { throw wrong("1 to 128 printable bytes without blanks at the ends") }
      guard option == "--name" || NameForm.accepts(value) else { throw wrong(NameForm.rule) }
      if option == "--user" { user = value } else { name = value }
    case "--room":
      guard let scope = RoomScope(value), value.utf8.count <= ProtocolLimits.nameBytes else {
        throw wrong("the name of a room, or the beginning of names with a star behind it")
      }
      guard NameForm.accepts(value) else { throw wrong(NameForm.rule) }
      room = scope
    case "--grants":
      grants = value.split(separator: ",", omittingEmptySubsequences: false).map { Grant(rawValue: String($0)) }
      guard Set(grants).isSubset(of: Grant.known) else {
        throw wrong("some of \(Grant.known.map(\.rawValue).joined(separator: ",")), with commas between them")
      }
    case "--ttl":
      let longest = TimeDelta.milliseconds(Int(TokenVerifier.longestLife))
      guard let time = durationValue(value), (TimeDelta.seconds(1)...longest).contains(time) else {
        throw wrong("a duration such as 15m or 1h, up to 24h")
      }
      life = time
    case "--cap":
      guard let number = Int(value), (1...100_000).contains(number) else { throw wrong("a number from 1 to 100000") }
      cap = number
    case "--key": key = value
    default: privateKey = value
    }
  }
}

/// Prints the token, and on standard error until when it is good and how it is revoked.
func makeToken(_ request: TokenRequest, _ loaded: Loaded) throws -> Int32 {
  let now = WallClock.milliseconds()
  let (token, claims) = try signedToken(request, loaded.configuration.access, at: now)
  // What a server would not take is not handed out.
  _ = try loaded.configuration.access.verifier().verify(token, at: now)
  print(token)
  complain(
    "for \(claims.user), good for \(durationText(request.life)); to take it back: access: {revoked: [\(claims.id ?? "")]}"
  )
  return 0
}

/// A token of a configuration's key, at a time in milliseconds since 1970 UTC.
/// - Throws: `CommandFailure` with what is missing.
func signedToken(
  _ request: TokenRequest, _ access: ServerConfiguration.Access, at now: Int64
) throws -> (token: String, claims: TokenClaims) {
  let key = try access.key(named: request.key)
  let id = randomBytes(8).hexadecimal
  var claims = TokenClaims(
    user: request.user, name: request.name, room: request.room, grants: Set(request.grants), cap: request.cap, id: id,
    expiresAt: now + request.life.milliseconds)
  claims.issuedAt = now
  claims.issuer = access.issuer
  claims.audience = access.audience.map { [$0] } ?? []
  return (try signer(key, request).sign(claims), claims)
}

private func signer(_ key: ServerConfiguration.Access.Key, _ request: TokenRequest) throws -> TokenSigner {
  do {
    if let secret = try key.secret() { return TokenSigner(id: key.kid, secret: secret) }
  } catch {
    throw CommandFailure(message: "access.keys: \(error.message)")
  }
  guard let path = request.privateKey else {
    throw CommandFailure(
      message:
        "the key is a public one, which signs nothing: give the private key that belongs to it with --private-key FILE")
  }
  if isReadByOthers(path) { complain("warning: \(path) can be read by others on this machine: chmod 600") }
  do {
    let name: TokenAlgorithm = key.algorithm == .ed25519 ? .ed25519 : .edDSA
    return try TokenSigner(id: key.kid, privateKey: try fileContents(path), ed25519: name)
  } catch let error as CryptoError {
    throw CommandFailure(message: "\(path): no private key of P-256 or Ed25519 without a pass phrase (\(error))")
  }
}

extension ServerConfiguration.Access {
  fileprivate func key(named name: String?) throws(CommandFailure) -> Key {
    guard let first = keys.first else {
      throw CommandFailure(message: "there are no keys in this configuration: set access.keys (docs/access.md)")
    }
    let names = keys.map { $0.kid ?? "(without a name)" }.joined(separator: ", ")
    guard let name else {
      guard keys.count == 1 else { throw CommandFailure(message: "which key? Say one of \(names) with --key") }
      return first
    }
    guard let found = keys.first(where: { $0.kid == name }) else {
      throw CommandFailure(message: "no key is called \"\(name)\"; there are \(names)")
    }
    return found
  }
}
