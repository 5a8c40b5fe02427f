// A server that speaks TLS itself: the page over https, and people in a room over wss.

import Configuration
import RoostClient
import SyntheticParticipant
import TestSupport
import Testing

extension EndToEnd {
  @Suite struct SecureDoor {
    @Test func pageAndRoomWorkOverTLS() async throws {
      let folder = try TemporaryFolder()
      try folder.makeCertificate()
      let files = ServerConfiguration.TLSFiles(
        certificate: folder.path("certificate.pem"), key: folder.path("key.pem"))
      try await TestServer.with({ $0.listen.tls = files }) { server in
        #expect(server.server.url == "https://127.0.0.1:\(server.server.port)")
        let page = try openssl(
          ["s_client", "-quiet", "-connect", "127.0.0.1:\(server.server.port)"],
          saying: "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        #expect(page.hasPrefix("HTTP/1.1 200 ") && page.contains("<title>"), "\(page.prefix(200))")
        try Self.headsAreReadUnderTLSToo(server)
        let driver = MediaDriver()
        let (anna, ben) = (try participant("anna", server, driver), try participant("ben", server, driver))
        for one in [anna, ben] { try await one.join() }
        for (one, other) in [(anna, "ben"), (ben, "anna")] {
          #expect(await eventually { await one.received(other, "camera").frames >= 5 })
        }
        for one in [anna, ben] { await one.leave() }
        driver.stop()
        // Who does not encrypt hears nothing.
        let refusal = await #expect(throws: RoostError.self) { try await Client(server.url, "carl") }
        #expect(refusal?.code == nil)
      }
    }

    /// TLS 1.2 takes nothing whose record is opened by the server's key (static RSA), and no CBC; TLS 1.3 has neither. At every listener.
    @Test func oldCiphersAreRefused() async throws {
      let folder = try TemporaryFolder()
      _ = try openssl([
        "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", "-subj", "/CN=localhost", "-keyout",
        folder.path("key.pem"), "-out", folder.path("certificate.pem"),
      ])
      let files = ServerConfiguration.TLSFiles(
        certificate: folder.path("certificate.pem"), key: folder.path("key.pem"))
      let (apps, operators) = (try freePort(), try freePort())
      try await TestServer.with({
        $0.listen.tls = files
        ($0.flashphoner.port, $0.flashphoner.tls) = (apps, files)
        ($0.admin.port, $0.admin.tls) = (operators, files)
      }) { server in
        for port in [server.server.port, apps, operators] {
          for cipher in Self.old { #expect(Self.agreed(port, ["-tls1_2", "-cipher", cipher]) == nil, "\(cipher)") }
          for cipher in Self.good {
            #expect(Self.agreed(port, ["-tls1_2", "-cipher", cipher]) == cipher, "the control")
          }
          let all = Self.agreed(port, ["-tls1_2", "-cipher", "ALL:@SECLEVEL=0"])
          #expect(Self.good.contains(all ?? ""), "of all that there are: \(all ?? "none")")
          for suite in ["TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"] {
            #expect(Self.agreed(port, ["-tls1_3", "-ciphersuites", suite]) == suite)
          }
          for version in ["-tls1", "-tls1_1"] {
            #expect(Self.agreed(port, [version, "-cipher", "ALL:@SECLEVEL=0"]) == nil, "\(version)")
          }
        }
      }
    }

    private static let old = [
      "AES128-SHA", "AES256-SHA", "AES128-SHA256", "AES256-SHA256", "AES128-GCM-SHA256", "AES256-GCM-SHA384",
      "AES128-CCM",
      "CAMELLIA128-SHA", "ECDHE-RSA-AES128-SHA", "ECDHE-RSA-AES256-SHA", "ECDHE-RSA-AES128-SHA256",
      "ECDHE-RSA-AES256-SHA384", "ECDHE-RSA-CAMELLIA128-SHA256", "ECDHE-ARIA128-GCM-SHA256",
      "DHE-RSA-AES128-GCM-SHA256",
      "DHE-RSA-AES256-SHA", "AECDH-AES128-SHA", "ECDHE-RSA-NULL-SHA", "NULL-SHA256",
    ]
    private static let good = [
      "ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-RSA-AES256-GCM-SHA384", "ECDHE-RSA-CHACHA20-POLY1305",
    ]

    /// The cipher that openssl and the server come to; nil where they come to none.
    private static func agreed(_ port: UInt16, _ arguments: [String]) -> String? {
      let arguments = arguments.map {
        $0.contains("-") && !$0.hasPrefix("-") && !$0.contains("@") ? $0 + ":@SECLEVEL=0" : $0
      }
      let answer = (try? openssl(["s_client", "-connect", "127.0.0.1:\(port)"] + arguments, saying: "Q\n")) ?? ""
      let words = answer.split(separator: "\n").first { $0.contains("Cipher is ") }?.split(separator: " ") ?? []
      return words.last.map(String.init).flatMap { $0 == "(NONE)" ? nil : $0 }
    }

    private static func headsAreReadUnderTLSToo(_ server: TestServer) throws {
      func ask(_ lines: String) throws -> String {
        try openssl(["s_client", "-quiet", "-connect", "127.0.0.1:\(server.server.port)"], saying: lines + "\r\n")
      }
      let upgrade =
        "GET /rtc HTTP/1.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
      let foreign = try ask(upgrade + "Host: localhost\r\nX-Auth: 1\r\nOrigin: http://evil.example\r\n")
      #expect(foreign.dropFirst(8).hasPrefix(" 403 "), "\(foreign.prefix(200))")
      let rebound = try ask("GET /healthz HTTP/1.1\r\nHost: rebind.evil\r\n")
      #expect(rebound.dropFirst(8).hasPrefix(" 421 ") && rebound.contains("listen.hosts"), "\(rebound.prefix(200))")
      let folded = try ask("GET /healthz HTTP/1.1\r\nHost: localhost\r\n folded\r\n")
      #expect(folded.dropFirst(8).hasPrefix(" 400 "), "\(folded.prefix(200))")
    }

    private func participant(_ user: String, _ server: TestServer, _ driver: MediaDriver) throws -> SyntheticParticipant
    {
      var plan = SyntheticConfiguration.light(server, room: "demo", user: user)
      plan.url = "wss://127.0.0.1:\(server.server.port)/rtc"
      plan.session.transport = { (url) throws(RoostError) in
        try LibWebSocketsTransport(url: url, trust: .anyCertificate)
      }
      return try SyntheticParticipant(plan, driver: driver)
    }
  }
}
