// `api:` of rooms.yaml: what an application's own servers are served, and whom. What is wrong with a secret is said without it.
import Basics
import Names
import RoostProtocol

extension ServerConfiguration {
  /// The API for an application's own servers (docs/api.md).
  public struct API: Hashable, Sendable {
    /// Bytes that a secret has at least.
    public static let leastSecretBytes = 32
    /// Bytes that it has at most: more would not fit into the head of a request.
    static let mostSecretBytes = 1_000
    /// Keys at once.
    static let mostKeys = 64

    /// One key: who shows its secret may use the API.
    public struct Key: Hashable, Sendable {
      /// What lines in the log call it.
      public var name: String
      /// The file with the secret. A line end behind it does not count.
      public var secretFile: String
      /// Where it may act.
      public var realm: Realm

      /// One key.
      public init(name: String, secretFile: String, realm: Realm = .default) {
        (self.name, self.secretFile, self.realm) = (name, secretFile, realm)
      }
    }

    /// Its TCP port; nil: there is none.
    public var port: UInt16?
    /// The address to listen on, port 0.
    public var address = SocketAddress(v4: 0x7f00_0001, port: 0)
    /// Certificate and key; nil: it speaks plain HTTP.
    public var tls: TLSFiles?
    /// Who may use it, beside who shows `admin.token`.
    public var keys: [Key] = []

    /// None.
    public init() {}

    /// Where it listens, with the port; nil: nowhere.
    public var ownAddress: SocketAddress? {
      port.map { SocketAddress(high: address.high, low: address.low, port: $0) }
    }
  }
}

extension ServerConfiguration.API.Key {
  /// The secret. Reads its file.
  /// - Throws: what is wrong with it.
  public func secret() throws(UnusableKey) -> [UInt8] {
    var bytes: [UInt8]
    do throws(InvalidConfiguration) {
      bytes = try readFile(secretFile)
    } catch {
      throw UnusableKey(
        field: "secret_file", message: "\(secretFile) \(error.issues.first?.message ?? "cannot be read")")
    }
    while bytes.last == 10 || bytes.last == 13 { bytes.removeLast() }
    let (least, most) = (ServerConfiguration.API.leastSecretBytes, ServerConfiguration.API.mostSecretBytes)
    guard (least...most).contains(bytes.count), bytes.allSatisfy({ (0x21...0x7e).contains($0) }) else {
      throw UnusableKey(
        field: "secret_file",
        message:
          "\(secretFile) has no secret of \(least) to \(most) letters, digits and signs of ASCII; make one with: openssl rand -hex 32"
      )
    }
    return bytes
  }
}

extension ServerConfiguration.API {
  /// `others`: the ports of the other listeners by their keys.
  mutating func read(_ keys: inout Section, besides others: [(key: String, port: UInt16)], realms: [Realm]) {
    port = keys.value("port", .integer(1...65_535)).map { UInt16(truncatingIfNeeded: $0) }
    if let taken = others.first(where: { $0.port == port }) {
      keys.complain("port", "\(taken.port) is \(taken.key); the API needs one of its own")
    }
    keys.read("address", .boundAddress, &address)
    let hasTLS = keys.mark(of: "tls") != nil
    keys.section("tls") { tls = ServerConfiguration.TLSFiles(&$0, isGiven: hasTLS) }
    keys.read("keys", .list(of: .apiKey(realms: realms), atMost: Self.mostKeys), &self.keys)
    if Set(self.keys.map(\.name)).count < self.keys.count { keys.complain("keys", "two have one name") }
    if port == nil, !self.keys.isEmpty || hasTLS {
      keys.complain("port", "expected a TCP port: without one there is no API")
    }
  }
}

extension ValueKind where Value == ServerConfiguration.API.Key {
  fileprivate static func apiKey(realms: [Realm]) -> Self {
    Self { node, context in
      guard node.text == nil else {
        context.complain(node, "expected a block with name and secret_file")
        return nil
      }
      var keys = Section(element: node, context)
      let name = keys.value("name", .text(64, bytes: 64))
      let file = keys.value("secret_file", .readableFile)
      let realm = keys.value("realm", .realm(of: realms))
      keys.finish()
      for needed in ["name", "secret_file"] where keys.mark(of: needed) == nil {
        context.complain(node, "needs \(needed)")
      }
      guard let name, let file else { return nil }
      guard name != "admin.token" else {
        keys.complain("name", "admin.token is the operators' own; expected another name")
        return nil
      }
      let key = ServerConfiguration.API.Key(name: name, secretFile: file, realm: realm ?? .default)
      guard context.report.interfaces != nil else { return key }
      do throws(UnusableKey) { _ = try key.secret() } catch { keys.complain(error.field, error.message) }
      return key
    }
  }
}
