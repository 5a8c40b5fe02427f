// How many lines of the log one who comes and goes leaves.

import RoostProtocol
import TestSupport
import Testing

extension EndToEnd {
  @Suite struct LinesOfOneGuest {
    /// Hello and bye as fast as it goes, by one user: what is written is bounded, the rest is counted, and others' lines are there.
    @Test func whoComesAndGoesFillsNoLog() async throws {
      try await TestServer.withTokens { server in
        let start = ContinuousClock.now
        let own = try token("busy", everyGrant)
        for _ in 0..<300 {
          let session = try await server.connect("busy", token: own)
          await session.close()
        }
        let seconds = Int((ContinuousClock.now - start) / .seconds(1)) + 2
        let about = server.log.all.count { $0.contains("user=busy") || $0.contains("connection ") }
        // Three lines each would be 900, and one of the connection while it is a stranger's: those have bounds of their own.
        #expect((300...400 + 4 * seconds).contains(about), "\(about) lines in \(seconds) s")
        #expect(await eventually { server.log.all.contains { $0.contains("session_lines_left_out") } })
        let other = try await server.connect("other", token: token("other", everyGrant))
        #expect(await eventually { server.log.all.contains { $0.contains("session_started") && $0.contains("other") } })
        await other.close()
      }
    }
  }
}
