// Where the files of a server of our own lie: its rooms.yaml, a certificate where it speaks TLS, what it stores.

import Basics
import Glibc
import TLSClient
import Threads

struct ServerFolder: Sendable {
  let path: String
  /// Where apps of Flashphoner's SDKs arrive, if the scenario has such.
  let flashphonerPort: UInt16?
  /// Its configuration.
  var configuration: String { "\(path)/rooms.yaml" }

  /// A folder of its own below /tmp, with all that a server for `scenario` reads.
  init(for scenario: Scenario, _ settings: RunSettings) throws {
    path = "/tmp/roost-loadtest-\(getpid())-\(MonotonicClock.now().nanoseconds)"
    guard mkdir(path, 0o700) == 0 else { throw ServerStartError(description: "cannot make \(path): errno \(errno)") }
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
