// Where the files of a server of our own lie: its rooms.yaml, a certificate where it speaks TLS, what it stores.

import Basics
import Glibc
import TLSClient
import Threads

struct ServerFolder: Sendable {
  let path: String
  /// Where apps of Flashphoner's SDKs arrive, if the scenario has such.
  let flashphonerPort: UInt16?
  /// Where its web server listens; 0 where its file says so alone.
  let webPort: UInt16
  /// Its configuration.
  var configuration: String { "\(path)/rooms.yaml" }

  /// A folder of its own below /tmp, with all that a server for `scenario` reads.
  init(for scenario: Scenario, _ settings: RunSettings) throws {
    path = try Self.make()
    webPort = 0
    flashphonerPort = scenario.hasPlayers(by: .flashphoner) ? try ServerFile.freePort(SOCK_STREAM) : nil
    let text = try ServerFile.text(
      for: scenario, settings.coalesce, flashphonerPort: flashphonerPort, boundsChecks: settings.boundsChecks)
    try write(text, "rooms.yaml")
    guard scenario.devices?.isTLS == true else { return }
    guard let made = ServerCertificate(name: "127.0.0.1") else {
      throw ServerStartError(description: "OpenSSL makes no certificate for a server with TLS")
    }
    try write(made.certificate, ServerFile.certificate)
    try write(made.key, ServerFile.key)
  }

  /// The same of a server that asks for tokens, and looks at so many of an address in a second.
  init(forTokens perSecond: Int) throws {
    path = try Self.make()
    let port = try ServerFile.freePort(SOCK_STREAM)
    (webPort, flashphonerPort) = (port, try ServerFile.freePort(SOCK_STREAM))
    try write(FloodKeys.publicP256, "es256.pem")
    try write(FloodKeys.publicEd25519, "ed25519.pem")
    let text = """
      access:
        keys:
          - {alg: HS256, kid: h, secret: \(FloodKeys.secret)}
          - {alg: ES256, kid: e, public_key_file: es256.pem}
          - {alg: EdDSA, kid: d, public_key_file: ed25519.pem}
      listen: {address: 127.0.0.1, port: \(port)}
      flashphoner: {port: \(flashphonerPort ?? 0)}
      media: {port: \(try ServerFile.freePort(SOCK_DGRAM)), workers: 1, addresses: [127.0.0.1]}
      limits: {address_tokens_per_second: \(perSecond)}
      storage: {path: none}
      log: {level: warning}

      """
    try write(text, "rooms.yaml")
  }

  /// The same of a server with a hall, and rooms of so many seats that are made by their names.
  init(forMoves seats: Int) throws {
    path = try Self.make()
    (webPort, flashphonerPort) = (try ServerFile.freePort(SOCK_STREAM), nil)
    let text = """
      access: open
      admin: {token: \(Moves.token)}
      listen: {address: 127.0.0.1, port: \(webPort)}
      media: {port: \(try ServerFile.freePort(SOCK_DGRAM)), addresses: [127.0.0.1]}
      kinds:
        hall: {limits: {video: \(Moves.people), audio: \(Moves.people)}, video_last_n: 4}
        small: {limits: {video: \(seats), audio: \(seats)}}
      rooms: {\(Moves.hall): {kind: hall}}
      unknown_rooms: {create: small}
      storage: {path: none}
      log: {level: warning}

      """
    try write(text, "rooms.yaml")
  }

  private static func make() throws -> String {
    let path = "/tmp/roost-loadtest-\(getpid())-\(MonotonicClock.now().nanoseconds)"
    guard mkdir(path, 0o700) == 0 else { throw ServerStartError(description: "cannot make \(path): errno \(errno)") }
    return path
  }

  private func write(_ text: String, _ name: String) throws {
    guard writeFile("\(path)/\(name)", text) else {
      throw ServerStartError(description: "cannot write \(path)/\(name)")
    }
  }

  /// Removes it with all that is in it.
  func remove() {
    for name in namesIn(path) { unlink("\(path)/\(name)") }
    rmdir(path)
  }
}
