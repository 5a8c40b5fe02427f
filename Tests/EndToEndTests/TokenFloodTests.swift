// Somebody forges tokens at an address as fast as they can: others notice nothing, and whoever has a good one there gets in.

import Basics
import RoostClient
import RoostProtocol
import Server
import DoorKit
import TestSupport
import Testing
import Threads

extension EndToEnd {
  @Suite struct TokenFloods {
    private static let forged: [UInt8] = {
      let token = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJtYWxsb3J5In0." + String(repeating: "x", count: 43)
      return RawSocket.frame(
        1,
        Array(#"{"id":1,"method":"session.hello","params":{"user":"mallory","token":"\#(token)"}}"#.utf8))
    }()

    /// Sockets that say hello with forged tokens as often as those without a session may, until they are told to stop.
    private static func flood(_ port: UInt16, _ isOver: Locked<Bool>) async {
      var sockets = (0..<100).compactMap { _ in try? RawSocket(port: port) }
      for socket in sockets { socket.upgrade() }
      while !isOver.withLock({ $0 }) {
        for socket in sockets { socket.write(forged) }
        // New ones for those that were closed.
        for index in sockets.indices where sockets[index].isOver {
          guard let socket = try? RawSocket(port: port) else { continue }
          socket.upgrade()
          sockets[index] = socket
        }
        try? await Task.sleep(for: .seconds(1))
      }
    }

    /// Says hello until it is let in, and heeds what it is told.
    private static func arrive(_ url: String, _ user: String) async throws -> Duration {
      let start = ContinuousClock.now
      let token = try token(user, everyGrant)
      while true {
        do {
          let session = try await RoostSession.connect(to: url, hello: HelloParams(user: user, token: token))
          await session.close()
          return ContinuousClock.now - start
        } catch {
          guard case .refused(let refusal) = error, let wait = refusal.data.retryAfterMs else { throw error }
          #expect(refusal.code == .rateLimited, "a good token is never called bad")
          try await Task.sleep(for: .milliseconds(wait))
        }
      }
    }

    /// The bar with what a build that is not optimised may take, four times as long as a release.
    @Test func whoForgesTokensKeepsNobodyOut() async throws {
      try await TestServer.withTokens { server in
        let anna = try await server.connect("anna", token: token("anna", everyGrant))
        let isOver = Locked(false)
        let port = server.server.port
        let floods = (0..<4).map { _ in Task { await Self.flood(port, isOver) } }
        #expect(await eventually { server.log.all.contains { $0.contains("tokens_slowed") } })
        var pings: [Duration] = []
        let arrivals = try await withThrowingTaskGroup(of: Duration.self) { group in
          for number in 0..<20 { group.addTask { try await Self.arrive(server.url, "good\(number)") } }
          for _ in 0..<100 {
            let start = ContinuousClock.now
            _ = try await anna.request(.session(.ping))
            pings.append(ContinuousClock.now - start)
            try await Task.sleep(for: .milliseconds(10))
          }
          return try await group.reduce(into: []) { $0.append($1) }
        }
        isOver.withLock { $0 = true }
        for flood in floods { await flood.value }
        let slowest = arrivals.max() ?? .zero
        #expect(arrivals.count == 20 && slowest < .seconds(5 * slowness), "\(slowest)")
        let late = pings.sorted()[98]
        #expect(late < .milliseconds(200 * slowness), "\(late)")
        let metrics = try await server.metrics()
        #expect(metrics["roost_token_failures_total{what=\"refused\"}"] ?? 0 >= 500)
        await anna.close()
      }
    }
  }
}
