// What web servers outside are told, by a real server to a real one: pushes, events, signatures, and what becomes of them
// when nobody is there.

import Basics
import Configuration
import Foundation
import RoostClient
import RoostProtocol
import TestSupport
import Testing
import TinyHTTP
import Webhooks

private let secret = "a secret of the test"

private func endpoint(_ url: String) -> ServerConfiguration.Webhooks.Endpoint { .init(url: url, secret: secret) }

extension TinyRequest {
  fileprivate var json: [String: Any] {
    (try? JSONSerialization.jsonObject(with: Data(body)) as? [String: Any]) ?? [:]
  }
  fileprivate var type: String { json["type"] as? String ?? "" }

  /// Whether the signature is right, worked out from what arrived.
  fileprivate var isSigned: Bool {
    let text = headers["roost-signature"] ?? ""
    guard let seconds = Int64(text.dropFirst(2).prefix { $0 != "," }) else { return false }
    return text == signature(of: body, secret: Array(secret.utf8), seconds: seconds)
  }
}

extension EndToEnd {
  @Suite struct WebhookTests {
    @Test func aRingWakesWhoIsNotThereAndItsCancelFollows() async throws {
      let receiver = try Receiver()
      defer { receiver.stop() }
      try await TestServer.with({ $0.webhooks.push = endpoint(receiver.url + "/push") }) { server in
        let anna = try await Client(server.url, "anna")
        let started = try await anna.session.startCall(
          CallStartParams(
            to: ["bert"], kind: .oneToOne, media: .video, extra: ["n": 1], push: ["title": "Anna calls"]))
        #expect(await eventually { receiver.all.count == 1 })
        let ring = try #require(receiver.all.first)
        #expect(ring.path == "/push" && ring.headers["content-type"] == "application/json" && ring.isSigned)
        #expect(ring.type == "ring" && ring.json["callId"] as? String == started.call.callId)
        #expect(ring.json["to"] as? String == "bert" && ring.json["from"] as? String == "anna")
        #expect((ring.json["push"] as? [String: Any])?["title"] as? String == "Anna calls")
        _ = try await started.call.cancel()
        #expect(await eventually { receiver.all.count == 3 })
        #expect(receiver.all.map(\.type) == ["ring", "cancel", "missed"])
        #expect(Set(receiver.all.map { $0.json["callId"] as? String }) == [started.call.callId])
        #expect(
          receiver.all.allSatisfy { $0.isSigned } && Set(receiver.all.map { $0.headers["roost-delivery"] }).count == 3)
      }
    }

    @Test func theLifeOfRoomsAndCallsIsToldInOrder() async throws {
      let receiver = try Receiver()
      defer { receiver.stop() }
      try await TestServer.with({ $0.webhooks.events = endpoint(receiver.url) }) { server in
        let (anna, bert) = (try await Client(server.url, "anna"), try await Client(server.url, "bert"))
        let room = try await anna.session.join(room: "demo")
        try await room.leave()
        let started = try await anna.session.startCall(CallStartParams(to: ["bert"], kind: .oneToOne, media: .audio))
        try await bert.session.call(started.call.callId).accept()
        _ = try await started.call.hangup()
        #expect(await eventually { receiver.all.contains { $0.type == "call.ended" } && receiver.all.count >= 6 })
        let demo = receiver.all.filter { $0.json["room"] as? String == "demo" }.map(\.type)
        #expect(demo.contains("room.joined") && demo.contains("room.left"))
        let call = receiver.all.filter { $0.type.hasPrefix("call.") }.map(\.type)
        #expect(call == ["call.started", "call.accepted", "call.ended"])
        #expect(receiver.all.allSatisfy { $0.isSigned })
      }
    }

    /// Nobody waits for a server that is down, and it gets everything when it is back, across a restart too.
    @Test func aServerThatIsDownHoldsNobodyUpAndMissesNothing() async throws {
      let folder = try TemporaryFolder()
      let down = try Receiver()
      let port = down.port
      down.stop()
      func change(_ configuration: inout ServerConfiguration) {
        configuration.storage.path = folder.path("roost.db")
        configuration.webhooks.events = endpoint("http://127.0.0.1:\(port)")
      }
      try await TestServer.with(change) { server in
        let anna = try await Client(server.url, "anna")
        for _ in 0..<3 { try await anna.session.join(room: "demo").leave() }
        #expect(await eventually { server.log.all.contains { $0.contains("webhook_failing") } })
        await server.shows(
          [
            #"roost_webhook_failed_attempts_total{endpoint="events"}"#: 1,
            #"roost_webhook_waiting{endpoint="events"}"#: 6, #"roost_storage_writes_total{outcome="ok"}"#: 1,
          ], >=)
        await server.shows([
          #"roost_webhook_messages_total{endpoint="events",outcome="delivered"}"#: 0, "roost_storage_on": 1,
        ])
      }
      let receiver = try Receiver(port: port)
      defer { receiver.stop() }
      try await TestServer.with(change) { _ in
        #expect(await eventually { receiver.all.count { $0.type == "room.left" } == 3 })
      }
      let joins = receiver.all.map(\.type).filter { $0 == "room.joined" || $0 == "room.left" }
      #expect(joins == (0..<3).flatMap { _ in ["room.joined", "room.left"] })
      let ids = receiver.all.compactMap { $0.headers["roost-delivery"] }
      #expect(Set(ids).count == ids.count)
    }
  }
}
