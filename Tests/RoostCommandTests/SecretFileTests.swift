// Files with secrets: `roost check` tells of each that others on the machine can read, and a service reads its own as credentials.

import Configuration
import Foundation
import TestSupport
import Testing

@Suite struct SecretFileTests {
  private static let secret = "Zm9yIHRoZSB0ZXN0cyBvZiByb29zdCBhbG9uZQ"

  private func warnings(_ folder: TemporaryFolder) throws -> [String] {
    let outcome = try Outcome(["check", "--config", folder.path("rooms.yaml")])
    #expect(outcome.status == 0, "\(outcome.errors)")
    #expect(!outcome.output.contains(Self.secret))
    return outcome.output.split(separator: "\n").filter { $0.hasPrefix("warning:") && $0.contains("can be read by") }
      .map(String.init)
  }

  /// Each file that has one, by the key that says so; a file without one may be read by everybody.
  @Test(arguments: [
    ("access: {keys: [{alg: HS256, secret: \(secret)}]}", "access.keys[1].secret", "rooms.yaml"),
    ("admin: {token: \(secret)}", "admin.token", "rooms.yaml"),
    ("webhooks: {push: {url: \"https://a.example/\", secret: \(secret)}}", "webhooks.push.secret", "rooms.yaml"),
    ("webhooks: {events: {url: \"https://a.example/\", secret: \(secret)}}", "webhooks.events.secret", "rooms.yaml"),
    (
      "ice_servers: [{urls: [\"turn:a.example\"], username: a, credential: \(secret)}]", "ice_servers[1].credential",
      "rooms.yaml"
    ),
    ("access: {keys: [{alg: HS256, secret_file: token.key}]}", "access.keys[1].secret_file", "token.key"),
    ("listen: {tls: {certificate: certificate.pem, key: key.pem}}", "listen.tls.key", "key.pem"),
    (
      "flashphoner: {port: 8443, tls: {certificate: certificate.pem, key: key.pem}}", "flashphoner.tls.key", "key.pem"
    ),
    ("admin: {port: 9090, tls: {certificate: certificate.pem, key: key.pem}}", "admin.tls.key", "key.pem"),
  ])
  func everyFileWithASecretIsTold(text: String, key: String, name: String) throws {
    let folder = try TemporaryFolder()
    try folder.makeCertificate()
    try folder.write(text + "\nmedia: {addresses: [127.0.0.1]}\n")
    try folder.write(Self.secret, to: "token.key")
    for file in folder.names { chmod(folder.path(file), 0o600) }
    #expect(try warnings(folder) == [], "the control: nobody else can read any of them")
    for mode: mode_t in [0o644, 0o640, 0o604] {
      chmod(folder.path(name), mode)
      let told = try warnings(folder)
      #expect(told.count == 1 && told[0].contains(" \(key): \(folder.path(name)) "), "\(told)")
      #expect(told.first?.contains("chmod 600") == true && told.first?.contains("LoadCredential") == true)
    }
    chmod(folder.path(name), 0o600)
    for file in folder.names where file != name { chmod(folder.path(file), 0o644) }
    #expect(try warnings(folder).allSatisfy { !$0.contains(folder.path(name)) })
  }

  /// Two things may have one key: that is one file, and one warning.
  @Test func aFileIsToldOnce() throws {
    let folder = try TemporaryFolder()
    try folder.makeCertificate()
    let tls = "tls: {certificate: certificate.pem, key: key.pem}"
    try folder.write("listen: {\(tls)}\nadmin: {port: 9090, \(tls)}\nmedia: {addresses: [127.0.0.1]}")
    chmod(folder.path("key.pem"), 0o644)
    let told = try warnings(folder)
    #expect(told.count == 1 && told[0].contains("listen.tls.key") && told[0].contains("admin.tls.key"), "\(told)")
  }

  @Test func aFileWithoutASecretMayBeReadByAll() throws {
    let folder = try TemporaryFolder()
    try folder.write("rooms: {hall: {kind: demo}}\nmedia: {addresses: [127.0.0.1]}")
    chmod(folder.path("rooms.yaml"), 0o644)
    #expect(try warnings(folder) == [])
  }

  /// As the unit of docs/operations.md has it: what root alone reads is put into a folder of the service's own.
  @Test func aServiceReadsItsCredentials() throws {
    let (folder, credentials) = (try TemporaryFolder(), try TemporaryFolder())
    try credentials.makeCertificate()
    try credentials.write(Self.secret, to: "token.key")
    try folder.write(
      """
      access: {keys: [{alg: HS256, secret_file: $CREDENTIALS_DIRECTORY/token.key}]}
      listen: {tls: {certificate: $CREDENTIALS_DIRECTORY/certificate.pem, key: $CREDENTIALS_DIRECTORY/key.pem}}
      """)
    // systemd gives its files to the service by a list of who may read, which looks like a group that may.
    for file in credentials.names { chmod(credentials.path(file), 0o440) }
    let asked = ["check", "--config", folder.path("rooms.yaml")]
    let with = try Outcome(asked, environment: ["CREDENTIALS_DIRECTORY": credentials.path()])
    #expect(with.status == 0 && !with.output.contains("can be read by"), "\(with.output)\(with.errors)")
    // What all may read is no such list.
    chmod(credentials.path("token.key"), 0o444)
    let open = try Outcome(asked, environment: ["CREDENTIALS_DIRECTORY": credentials.path()])
    #expect(open.output.contains("\(credentials.path("token.key")) can be read by"), "\(open.output)")
    let without = try Outcome(asked)
    #expect(
      without.status == 1 && without.errors.contains("access.keys[1].secret_file: $CREDENTIALS_DIRECTORY/token.key"))
    #expect(without.errors.contains("LoadCredential"), "\(without.errors)")
    let elsewhere = try Outcome(asked, environment: ["CREDENTIALS_DIRECTORY": folder.path()])
    #expect(elsewhere.status == 1 && elsewhere.errors.contains("\(folder.path("token.key")) cannot be read"))
    // Names beside the file are the credentials' too, where the file is one of them.
    try credentials.write("access: {keys: [{alg: HS256, secret_file: token.key}]}")
    #expect(try Outcome(["check", "--config", credentials.path("rooms.yaml")]).status == 0)
  }

  @Test func aPrivateKeyThatOthersReadIsTold() throws {
    let folder = try TemporaryFolder()
    _ = try openssl(["genpkey", "-algorithm", "ed25519", "-out", folder.path("private.pem")])
    _ = try openssl(["pkey", "-in", folder.path("private.pem"), "-pubout", "-out", folder.path("public.pem")])
    try folder.write("access: {keys: [{alg: Ed25519, public_key_file: public.pem}]}")
    let words = [
      "token", "--config", folder.path("rooms.yaml"), "--user", "anna", "--grants", "join", "--private-key",
      folder.path("private.pem"),
    ]
    for (mode, isTold) in [(0o644, true), (0o600, false)] as [(mode_t, Bool)] {
      chmod(folder.path("private.pem"), mode)
      let outcome = try Outcome(words)
      #expect(outcome.status == 0 && outcome.errors.contains("can be read by others") == isTold, "\(outcome.errors)")
      let header = outcome.output.split(separator: ".").first.map(String.init) ?? ""
      #expect(header == "eyJhbGciOiJFZDI1NTE5IiwidHlwIjoiSldUIn0", "alg is Ed25519, as the key is called: \(header)")
    }
  }
}
