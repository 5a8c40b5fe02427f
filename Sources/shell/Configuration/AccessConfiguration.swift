// Who may come in: everybody, or who shows a token (docs/access.md).
import Basics
import Glibc
import Names
import Tokens

extension ServerConfiguration {
  /// What somebody has to show.
  public struct Access: Hashable, Sendable {
    /// One key that tokens may be signed with.
    public struct Key: Hashable, Sendable {
      /// Where the key itself is.
      public enum Source: Hashable, Sendable {
        /// A shared secret, in rooms.yaml.
        case secret(String)
        /// A shared secret, in a file of its own. A line end behind it does not count.
        case secretFile(String)
        /// A public key in PEM.
        case publicKeyFile(String)
      }

      /// What tokens call it; nil where it is the only one.
      public var kid: String?
      /// How tokens are signed with it.
      public var algorithm: TokenAlgorithm
      /// Where it is.
      public var source: Source
      /// The realm of whoever shows a token of it.
      public var realm: Realm

      /// One key.
      public init(kid: String?, algorithm: TokenAlgorithm, source: Source, realm: Realm = .default) {
        (self.kid, self.algorithm, self.source, self.realm) = (kid, algorithm, source, realm)
      }
    }

    /// Everybody may come, as whoever they say: it is written so.
    public var isOpen = false
    /// The keys. With any, a token is asked for.
    public var keys: [Key] = []
    /// Who must have issued tokens; nil: anybody with a key.
    public var issuer: String?
    /// Whom tokens must be for; nil: anybody.
    public var audience: String?
    /// Tokens that are taken back, by their `jti`.
    public var revoked: [String] = []

    /// Neither keys nor the word that none are wanted: only for what is bound to loopback.
    public init() {}
  }

  /// Whether both ways in are for this machine alone.
  public var isLocal: Bool {
    listen.address.isLoopback && (media.isForThisMachine || media.addresses.allSatisfy(\.isLoopback))
  }

  /// Whether nothing but its place keeps strangers out: no keys, and nobody has written that none are wanted.
  public var isOpenByPlace: Bool { access.keys.isEmpty && !access.isOpen }

  /// Why such a server must not start; nil where it may.
  public var accessProblem: String? {
    guard isOpenByPlace, !isLocal else { return nil }
    let wide =
      listen.address.isLoopback
      ? "media.addresses are reached from other machines" : "listen.address is reached from other machines"
    return
      "\(wide), and nobody needs a token: set access.keys (docs/access.md), or write access: open to let in everybody, or bind both to 127.0.0.1"
  }

  /// What is served without a file: the demo, for this machine alone. Media is bound to its IPv4 addresses all the same, since Firefox
  /// sends nothing to 127.0.0.1, and takes nobody in who has another. Of IPv6 there is none: the kernel takes packets from outside that
  /// say they come from this machine.
  public static var withoutFile: ServerConfiguration {
    var configuration = ServerConfiguration()
    configuration.media.addresses = [SocketAddress(v4: 0, port: 0)]
    configuration.media.isForThisMachine = true
    return configuration
  }
}

/// Why a key of the configuration cannot be used, in words for the operator. Nothing of the key is in them.
public struct UnusableKey: Error, Hashable, Sendable, CustomStringConvertible {
  /// The key under `access.keys[…]` that is to be changed.
  public var field: String
  /// What is wrong.
  public var message: String

  /// Both on one line.
  public var description: String { "\(field): \(message)" }
}

extension ServerConfiguration.Access.Key {
  /// The key under `access.keys[…]` that says where it is.
  public var field: String {
    switch source {
    case .secret: "secret"
    case .secretFile: "secret_file"
    case .publicKeyFile: "public_key_file"
    }
  }

  /// The shared secret; nil for a public key.
  /// - Throws: where its file cannot be read.
  public func secret() throws(UnusableKey) -> [UInt8]? {
    switch source {
    case .secret(let text): return Array(text.utf8)
    case .secretFile(let path):
      var bytes = try contents(of: path)
      while bytes.last == 10 || bytes.last == 13 { bytes.removeLast() }
      return bytes
    case .publicKeyFile: return nil
    }
  }

  /// The key as tokens are checked with it. Reads its file.
  /// - Throws: what is wrong with it.
  public func load() throws(UnusableKey) -> TokenKey {
    do {
      if let secret = try secret() { return try TokenKey(id: kid, secret: secret, realm: realm) }
      guard case .publicKeyFile(let path) = source else { throw TokenKeyError.noPublicKey }
      return try TokenKey(id: kid, algorithm, publicKey: try contents(of: path), realm: realm)
    } catch let error as UnusableKey {
      throw error
    } catch {
      throw UnusableKey(field: field, message: "\(error)")
    }
  }

  private func contents(of path: String) throws(UnusableKey) -> [UInt8] {
    do throws(InvalidConfiguration) {
      return try readFile(path)
    } catch {
      throw UnusableKey(field: field, message: "\(path) \(error.issues.first?.message ?? "cannot be read")")
    }
  }
}

/// What is in a file of at most 1 MiB.
/// - Throws: why it cannot be read, in words for the operator.
public func fileContents(_ path: String) throws(InvalidConfiguration) -> [UInt8] { try readFile(path) }

extension ServerConfiguration.Access {
  /// Who believes the tokens of these keys. Reads their files.
  /// - Throws: what is wrong with the first that cannot be used, with its number from 1.
  public func verifier() throws(UnusableKey) -> TokenVerifier {
    var loaded: [TokenKey] = []
    for (index, key) in keys.enumerated() {
      do throws(UnusableKey) {
        loaded.append(try key.load())
      } catch {
        throw UnusableKey(field: "access.keys[\(index + 1)].\(error.field)", message: error.message)
      }
    }
    return TokenVerifier(keys: loaded, issuer: issuer, audience: audience, revoked: revoked)
  }
}
