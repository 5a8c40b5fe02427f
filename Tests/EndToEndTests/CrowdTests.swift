// More clients than there is space for, and clients that die without a word.

import Basics
import RoostClient
import RoostProtocol
import TestSupport
import Testing

extension EndToEnd {
  @Suite struct Crowds {
    /// Sockets that die by a reset leave sessions behind; those must not keep others out until their grace is over.
    @Test func theDeadMakeSpaceForTheLiving() async throws {
      try await TestServer.with({
        ($0.limits.sessions, $0.limits.sessionsPerAddress) = (6, 100)
        $0.sessions.resumeGrace = .seconds(600)
      }) { server in
        let proxy = try CuttableProxy(to: server.server.port)
        defer { proxy.stop() }
        let broken = "ws://127.0.0.1:\(proxy.port)/rtc"
        let watcher = try await Client(server.url, "watcher")
        _ = try await watcher.session.join(room: "demo")
        let seated = try await Client(broken, "seated")
        _ = try await seated.session.join(room: "demo")
        var clients: [Client] = []
        for number in 0..<4 { clients.append(try await Client(broken, "dead\(number)")) }
        let refusal = try await refused { try await Client(server.url, "early") }
        #expect(refusal?.code == .overloaded && refusal?.data.retryable == true)
        #expect(refusal?.data.retryAfterMs == 600_000)

        proxy.cut()
        for number in 0..<4 {
          let came = await eventually(within: .seconds(60)) {
            guard let client = try? await Client(server.url, "new\(number)") else { return false }
            clients.append(client)
            return true
          }
          #expect(came, "new\(number)")
        }
        #expect(try await refused { try await Client(server.url, "late") }?.code == .overloaded)
        #expect(await eventually { await watcher.heard.count(\.isReconnecting) == 1 })
        #expect(await watcher.heard.count(\.isLeft) == 0, "the seat of one who is away stays his")
      }
    }
  }
}
