// `access:` of rooms.yaml: what is taken, what each mistake is told, and what is weak. No message has anything of a secret in it.

import Basics
import Foundation
import TestSupport
import Testing
import Tokens

@testable import Configuration

@Suite struct AccessTests {
  private static let secret = "Zm9yIHRoZSB0ZXN0cyBvZiByb29zdCBhbG9uZQ"
  private static let publicKey = """
    -----BEGIN PUBLIC KEY-----
    MCowBQYDK2VwAyEAouRvgE3jbRJp9BRPdjD4/Ikg9iw7xkezHCMwSoKEDL8=
    -----END PUBLIC KEY-----

    """

  private func parse(_ text: String) throws -> ServerConfiguration {
    try ServerConfiguration.parse(Array(text.utf8), file: "rooms.yaml")
  }

  @Test func everythingIsTaken() throws {
    let access = try parse(
      """
      access:
        keys:
          - {kid: "2026", alg: HS256, secret: \(Self.secret)}
          - {kid: next, alg: EdDSA, public_key_file: keys/next.pem}
          - {kid: file, alg: HS256, secret_file: /etc/roost/key}
        issuer: app.example
        audience: conf.example
        revoked: [a, b]
      """
    ).access
    #expect(!access.isOpen && access.keys.map(\.kid) == ["2026", "next", "file"])
    #expect(access.keys.map(\.algorithm) == [.hs256, .edDSA, .hs256])
    #expect(
      access.keys.map(\.source) == [
        .secret(Self.secret), .publicKeyFile("keys/next.pem"), .secretFile("/etc/roost/key"),
      ])
    #expect(access.issuer == "app.example" && access.audience == "conf.example" && access.revoked == ["a", "b"])
    #expect(try parse("access: open").access.isOpen)
    #expect(try parse("log: {level: info}").access == .init())
  }

  /// So many, and not one more.
  @Test func keysAndRevokedTokensAreBounded() throws {
    func access(keys: Int, revoked: Int) throws -> ServerConfiguration.Access {
      let list = (0..<keys).map { "{kid: k\($0), alg: HS256, secret: \(Self.secret)\($0)}" }.joined(separator: ", ")
      let gone = (0..<revoked).map { "t\($0)" }.joined(separator: ", ")
      return try parse("access: {keys: [\(list)], revoked: [\(gone)]}").access
    }
    let most = try access(keys: 64, revoked: 1_000)
    #expect(most.keys.count == 64 && most.revoked.count == 1_000)
    #expect(throws: InvalidConfiguration.self) { try access(keys: 65, revoked: 1) }
    #expect(throws: InvalidConfiguration.self) { try access(keys: 1, revoked: 1_001) }
  }

  @Test(arguments: [
    ("access: closed", "expected open, or a block with keys"),
    ("access: {}", "expected a list of keys"),
    ("access: {keys: []}", "expected a list of 1 to 64 values"),
    ("access: {keys: thisisasecret}", "expected a list of keys"),
    ("access: {keys: [thisisasecret]}", "expected a block with kid"),
    ("access: {keys: [{kid: a}]}", "needs alg: one of HS256, ES256, EdDSA, Ed25519"),
    ("access: {keys: [{alg: none, secret: thisisasecret}]}", "expected one of HS256, ES256, EdDSA, Ed25519"),
    ("access: {keys: [{alg: HS256}]}", "a key of HS256 needs secret or secret_file, and nothing else"),
    ("access: {keys: [{alg: ES256, secret: thisisasecret}]}", "a key of ES256 needs public_key_file"),
    ("access: {keys: [{alg: HS256, secret: thisisasecret}]}", "needs 32 bytes or more, and this one has 13"),
    ("access: {keys: [{alg: HS256, secret: thisisasecret, public_key_file: a}]}", "and nothing else"),
    ("access: {keys: [{alg: HS256, secret: thisisasecret, sub: a}]}", "unknown key"),
    ("access: {key: []}", "did you mean \"keys\"?"),
  ])
  func eachMistakeIsToldWithoutTheSecret(text: String, words: String) {
    let said = complaints(text)
    #expect(said.contains { $0.contains(words) && $0.hasPrefix("f:1:") && $0.contains("access") }, "\(said)")
    #expect(!said.contains { $0.contains("thisisasecret") }, "\(said)")
  }

  @Test func severalKeysNeedNamesOfTheirOwn() {
    let key = { (kid: String) in "{\(kid)alg: HS256, secret: \(Self.secret)\(kid.count)}" }
    #expect(complaints("access: {keys: [\(key(""))]}") == [])
    let bare = complaints("access: {keys: [\(key("kid: a, ")), \(key(""))]}")
    #expect(bare.count == 1 && bare[0].contains("key 2 has no kid"), "\(bare)")
    let same = complaints("access: {keys: [\(key("kid: a, ")), {kid: a, alg: HS256, secret: \(Self.secret)}]}")
    #expect(same.count == 1 && same[0].contains("key 2 has the kid of another"), "\(same)")
  }

  // MARK: - Files

  @Test func keysAreReadFromTheirFiles() throws {
    let folder = try TemporaryFolder()
    try folder.write(Self.secret + "\n", to: "secret")
    try folder.write(Self.publicKey, to: "key.pem")
    let file = try folder.write(
      """
      access:
        keys:
          - {kid: a, alg: HS256, secret_file: secret}
          - {kid: b, alg: EdDSA, public_key_file: key.pem}
      media: {addresses: [127.0.0.1]}
      """)
    let access = try ServerConfiguration.load(file: file).access
    let signer = TokenSigner(id: "a", secret: Array(Self.secret.utf8))
    let token = try signer.sign(TokenClaims(user: "anna", grants: [], expiresAt: 3_600_000))
    #expect(try access.verifier().verify(token, at: 0).user == "anna", "the line end is no part of the secret")
  }

  @Test func whatIsWrongWithAFileIsToldAtItsPlace() throws {
    let folder = try TemporaryFolder()
    try folder.write("short", to: "secret")
    try folder.write(Self.publicKey, to: "key.pem")
    let file = try folder.write(
      """
      access:
        keys:
          - {kid: a, alg: HS256, secret_file: secret}
          - {kid: b, alg: ES256, public_key_file: key.pem}
          - {kid: c, alg: ES256, public_key_file: nothing.pem}
          - {kid: d, alg: ES256, public_key_file: secret}
      """)
    do {
      _ = try ServerConfiguration.load(file: file)
      Issue.record("nothing is wrong")
    } catch {
      let said = error.issues.map { "\($0.line) \($0.key): \($0.message)" }
      #expect(said.count == 4, "\(said)")
      #expect(said[0].hasPrefix("3 access.keys[1].secret_file: ") && said[0].contains("this one has 5"))
      #expect(said[1].hasPrefix("4 access.keys[2].public_key_file: ") && said[1].contains("no key of P-256"))
      #expect(said[2].hasPrefix("5 access.keys[3].public_key_file: ") && said[2].contains("cannot be read"))
      #expect(said[3].hasPrefix("6 access.keys[4].public_key_file: ") && said[3].contains("BEGIN PUBLIC KEY"))
    }
  }

  // MARK: - Where a server may do without

  @Test(arguments: [
    ("listen: {address: 127.0.0.1}\nmedia: {addresses: [127.0.0.1]}", nil),
    ("listen: {address: \"::1\"}\nmedia: {addresses: [\"::1\", 127.0.0.2]}", nil),
    ("listen: {address: 127.0.0.1}", "media.addresses"),
    ("media: {addresses: [127.0.0.1, 192.0.2.1]}", "media.addresses"),
    ("listen: {address: 0.0.0.0}\nmedia: {addresses: [127.0.0.1]}", "listen.address"),
    ("listen: {address: 192.0.2.1}", "listen.address"),
    ("listen: {address: 0.0.0.0}\naccess: open", nil),
    ("listen: {address: 0.0.0.0}\naccess: {keys: [{alg: HS256, secret: \(secret)}]}", nil),
  ])
  func onlyAServerOfItsOwnMachineDoesWithout(text: String, problem: String?) throws {
    let configuration = try parse(text)
    let said = configuration.accessProblem
    #expect((said == nil) == (problem == nil), "\(said ?? "nothing")")
    if let problem { #expect(said?.contains(problem) == true && said?.contains("access: open") == true) }
  }

  @Test func withoutAFileTheServerIsForThisMachine() {
    #expect(ServerConfiguration.withoutFile.accessProblem == nil && ServerConfiguration.withoutFile.isOpenByPlace)
    #expect(ServerConfiguration().accessProblem != nil, "a file that leaves everything out binds media widely")
    // Firefox wants another address than 127.0.0.1, and of IPv6 strangers could say that they have one of this machine.
    let own = ["127.0.0.1", "192.0.2.7", "::1", "2001:db8::7"].compactMap { SocketAddress(host: $0, port: 0) }
    let told = ServerConfiguration.withoutFile.advertisedAddresses(interfaces: own)
    #expect(told.map(\.host) == ["127.0.0.1", "192.0.2.7"] && ServerConfiguration.withoutFile.media.isForThisMachine)
    var wide = ServerConfiguration.withoutFile
    wide.media.isForThisMachine = false
    #expect(wide.accessProblem != nil, "the control")
    wide = .withoutFile
    wide.listen.address = SocketAddress(v4: 0, port: 8080)
    #expect(wide.accessProblem != nil)
  }

  // MARK: - Weak keys

  @Test(arguments: [
    ("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "few different"),
    ("0123012301230123012301230123012301230123", "few different"),
    ("abcdefghijklabcdefghijklabcdefghijkl", "repeats"), ("my-secret-key-for-the-conference-server", "tried first"),
    ("Password of the best server of them all", "tried first"),
  ])
  func weakSecretsAreToldAndNotShown(secret: String, words: String) throws {
    let configuration = try parse("access: {keys: [{alg: HS256, secret: \(secret)}]}")
    let advice = configuration.advice.filter { $0.key == "access.keys[1].secret" }
    #expect(advice.count == 1 && advice[0].message.contains(words), "\(advice)")
    #expect(!advice[0].message.contains(secret.prefix(8)))
  }

  @Test(arguments: [
    ("aaaaaaaaaaaaaaaa", "few different"), ("changeme-changeme", "tried first"), ("qzpmfkwuqzpmfkwu", "repeats"),
    ("password12345678", "tried first"),
  ])
  func aWeakTokenOfOperatorsIsToldAndNotShown(token: String, words: String) throws {
    let advice = try parse("admin: {token: \(token)}").advice
    #expect(advice.map(\.key) == ["admin.token"] && advice[0].message.contains(words), "\(advice)")
    #expect(!advice[0].message.contains(token.prefix(8)))
    #expect(try parse("admin: {token: \(Self.secret)}").advice == [])
  }

  /// What no header says as it is written would let nobody in.
  @Test(arguments: ["ü0123456789abcdef", "\" 0123456789abcdef\"", "'0123456789abcdef '", "0123456789abcdef\u{200b}"])
  func aTokenThatNoHeaderSaysIsRefused(token: String) throws {
    let failure = #expect(throws: InvalidConfiguration.self) { try parse("admin: {token: \(token)}") }
    let words = "\(String(describing: failure))"
    #expect(words.contains("admin.token") && words.contains("ASCII") && !words.contains("0123456789"), "\(words)")
    #expect(
      try parse("admin: {token: 01234 6789abcdef}").admin.token == "01234 6789abcdef", "blanks within it are said")
  }

  @Test func goodSecretsAreNot() throws {
    var generator = SystemRandomNumberGenerator()
    for _ in 0..<200 {
      let secret = (0..<64).map { _ in String(UInt8.random(in: 0..<16, using: &generator), radix: 16) }.joined()
      #expect(ServerConfiguration.weakness(of: Array(secret.utf8)) == nil, "\(secret)")
    }
    #expect(try parse("access: {keys: [{alg: HS256, secret: \(Self.secret)}]}").advice == [])
  }

  @Test func aSecretWithTwoUsesIsTold() throws {
    let text = "access: {keys: [{alg: HS256, secret: \(Self.secret)}]}\nadmin: {token: \(Self.secret)}"
    let advice = try parse(text).advice
    #expect(advice.contains { $0.key == "access.keys[1].secret" && $0.message.contains("something else") })
  }

  @Test func aFileThatOthersReadIsTold() throws {
    let folder = try TemporaryFolder()
    let path = try folder.write(Self.secret, to: "secret")
    let configuration = try parse("access: {keys: [{alg: HS256, secret_file: \(path)}]}")
    chmod(path, 0o640)
    #expect(configuration.advice.contains { $0.message.contains("chmod 600") })
    chmod(path, 0o600)
    #expect(configuration.advice == [])
  }

  @Test func openToTheWorldIsTold() throws {
    #expect(try parse("access: open").advice == [])
    let advice = try parse("access: open\nlisten: {address: 0.0.0.0}").advice
    #expect(advice.contains { $0.key == "access" && $0.message.contains("any name") })
  }
}
