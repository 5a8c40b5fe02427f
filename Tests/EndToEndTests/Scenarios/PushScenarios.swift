// Scenarios 18 to 20 and 50: phones that have to be woken over a webhook, and one that is down.

import Basics
import Configuration
import RoostClient
import RoostProtocol
import TestSupport
import Testing

extension EndToEnd.CallScenarios {
  private func withPush(
    _ change: @escaping (inout ServerConfiguration) -> Void = { _ in },
    _ body: (TestServer, HookReceiver) async throws -> Void
  ) async throws {
    let receiver = try HookReceiver()
    defer { receiver.stop() }
    try await TestServer.calls({
      $0.push(to: receiver.url)
      change(&$0)
    }) { try await body($0, receiver) }
  }

  @Test func scenario18APhoneThatIsWokenRingsForTheTimeThatIsLeft() async throws {
    try await withPush({ $0.calls.ringTimeout = .seconds(5) }) { server, receiver in
      let anna = try await server.phone("anna")
      let started = try await anna.start(["ben"]) {
        $0.push = .object(["title": .string("Anna calls")])
        $0.extra = .object(["ticket": .string("7")])
      }
      let id = started.call.callId
      #expect(started.unreachable == [], "he can be reached by push")
      let ring = try #require(await receiver.first { $0["type"] == "ring" })
      #expect(ring["callId"] == id && ring["to"] == "ben" && ring["from"] == "anna" && ring["kind"] == "one_to_one")
      guard case .object(let body) = ring.json else {
        Issue.record("not an object: \(ring)")
        return
      }
      #expect(body["push"] == .object(["title": .string("Anna calls")]))
      #expect(body["extra"] == .object(["ticket": .string("7")]))
      let told = try await anna.hears(\.memberState, of: id) { $0.push == true }
      #expect(told.member.user == "ben" && told.member.state == .inviting)

      // He comes late, by his own connection.
      try await Task.sleep(for: .seconds(1))
      let ben = try await server.phone("ben")
      let late = try #require(await ben.session.hello.ringing.first)
      #expect(late.callId == id && late.expiresAt == started.call.expiresAt)
      #expect((late.remainingMs ?? .max) <= 4_000)
      try await ben.ringing(id)
      #expect(try await ben.hears(\.stopped, of: id).reason == .noAnswer)
      #expect(try await ben.hears(\.missed, of: id).why == .noAnswer)
      #expect(try await anna.hears(\.ended, of: id).reason == .noAnswer)
      try await ben.settle()
      #expect(await ben.heard(\.missed).count == 1)
      let records = try await ben.session.callHistory().records.filter { $0.callId == id }
      #expect(records.count == 1 && records.first?.result == .missed)
      #expect(receiver.all.count { $0["type"] == "ring" && $0["callId"] == id } == 1)
    }
  }

  @Test func scenario19AStalePushIsToldWhatHappened() async throws {
    try await withPush { server, receiver in
      let anna = try await server.phone("anna")
      let id = try await anna.start(["ben"]).call.callId
      _ = await receiver.first { $0["type"] == "ring" }
      try await anna.cancel(id)
      let ben = try await server.phone("ben")
      #expect(await ben.session.hello.ringing == [], "nothing rings")
      let call = try await ben.get(id)
      #expect(call.state == .ended && call.reason == .cancelled && call.by == "anna" && call.endedAt != nil)
      let refusal = try await refused { try await ben.accept(id) }
      #expect(refusal?.code == .callEnded && refusal?.data.reason == "cancelled")
      try await ben.settle()
      #expect(await ben.heard(\.incoming).isEmpty)
    }
  }

  @Test func scenario20ACancelIsPushedOnlyWhereARingWas() async throws {
    try await withPush { server, receiver in
      let (anna, carl) = (try await server.phone("anna"), try await server.phone("carl"))
      let id = try await anna.start(["ben", "carl"], .oneToMany).call.callId
      try await carl.rings(id)
      _ = try #require(await receiver.first { $0["type"] == "ring" })
      try await anna.cancel(id)
      let cancel = try #require(await receiver.first { $0["type"] == "cancel" })
      #expect(cancel["callId"] == id && cancel["to"] == "ben" && cancel["reason"] == "cancelled")
      let ofCarl = receiver.all.filter { $0["to"] == "carl" && $0["type"] != "missed" }
      #expect(ofCarl.isEmpty, "\(ofCarl)")
      let ofBen = receiver.all.compactMap { $0["to"] == "ben" && $0["type"] != "missed" ? $0["type"] : nil }
      #expect(ofBen == ["ring", "cancel"])
    }
  }

  @Test func scenario50NobodyWaitsForASlowClientOrAWebhook() async throws {
    try await nobodyWaitsForAClientThatStopsReading()
    try await withPush { server, receiver in
      receiver.stop()
      let both = try await server.phones(["anna", "ben"])
      for _ in 1...20 {
        let id = try await both[0].start(["ben", "nobody"], .oneToMany) { $0.rejectPolicy = .ignore }.call.callId
        try await both[1].rings(id)
        try await both[1].accept(id)
        try await both[0].hangup(id)
        _ = try await both[1].hears(\.ended, of: id)
      }
      #expect(try await both[0].current() == nil)
    }
  }
}

extension ServerConfiguration {
  /// Phones are woken there.
  fileprivate mutating func push(to url: String) {
    webhooks.push = Webhooks.Endpoint(url: url, secret: "a secret of the scenarios")
  }
}
