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
