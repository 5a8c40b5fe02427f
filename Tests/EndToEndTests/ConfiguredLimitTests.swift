// Limits that other tests have out of their way, as the configuration says them.

import RoostClient
import RoostProtocol
import TestSupport
import Testing

extension EndToEnd {
  @Suite struct ConfiguredLimits {
    /// Three bounds of different sizes: each refuses in its own name.
    @Test func ringsAreHeldToTheirBounds() async throws {
      try await TestServer.with({
        ($0.calls.ringsPerCaller, $0.calls.ringsPerCallee, $0.calls.ringsPerPair) = (4, 2, 1)
      }) { server in
        var phones: [String: Phone] = [:]
        for user in ["anna", "ben", "carl"] { phones[user] = try await Phone(server.url, user) }
        func reason(_ caller: String, calling callee: String) async throws -> String? {
          let error = try await refused { try await phones[caller]?.start([callee]) { $0.replace = true } }
          #expect(error == nil || error?.code == .rateLimited)
          return error?.data.reason
        }
        #expect(try await reason("anna", calling: "x") == nil)
        #expect(try await reason("anna", calling: "x") == "pair")
        #expect(try await reason("ben", calling: "x") == nil)
        #expect(try await reason("carl", calling: "x") == "callee")
        for callee in ["y", "z", "w"] { #expect(try await reason("anna", calling: callee) == nil) }
        #expect(try await reason("anna", calling: "v") == "caller")
      }
    }

    @Test func requestsOfAUserAreHeldToTheirBudget() async throws {
      try await TestServer.with({ ($0.limits.userRequestBurst, $0.limits.userRequestsPerSecond) = (20, 1) }) { server in
        let anna = try await Client(server.url, "anna")
        // Four that weigh five.
        for _ in 0..<4 { #expect(try await anna.refusal { try await anna.session.request(.room(.list())) } == nil) }
        #expect(try await anna.refusal { try await anna.session.request(.room(.list())) } == 1006)
        await anna.session.close()
      }
    }

    /// Forty at once and two a second for each connection that an address may have, whoever its clients say they are.
    @Test func requestsOfAnAddressAreHeldToTheirBudget() async throws {
      try await TestServer.with({
        ($0.limits.addressRequestsPerSecond, $0.limits.addressRequestBurst) = (nil, nil)
        $0.limits.connectionsPerAddress = 3
      }) { server in
        let start = ContinuousClock.now
        let (anna, ben) = (try await Client(server.url, "anna"), try await Client(server.url, "ben"))
        var (served, refused): (Int, Int?) = (0, nil)
        while refused == nil, served < 1_000 {
          let client = served % 2 == 0 ? anna : ben
          refused = try await client.refusal { try await client.session.request(.room(.list())) }
          if refused == nil { served += 1 }
        }
        // Hellos and lists weigh five.
        let seconds = Int((ContinuousClock.now - start) / .seconds(1)) + 1
        #expect(refused == 1006 && (22...22 + 2 * seconds).contains(served), "\(served) in \(seconds) s")
        for one in [anna, ben] { await one.session.close() }
      }
    }
  }
}
