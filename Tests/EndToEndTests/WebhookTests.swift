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
  fileprivate var number: Int { json["number"] as? Int ?? 0 }

  /// Whether the signature is right, worked out from what arrived.
  fileprivate var isSigned: Bool {
    let text = headers["roost-signature"] ?? ""
    guard let seconds = Int64(text.dropFirst(2).prefix { $0 != "," }) else { return false }
    return text == signature(of: body, secrets: [Array(secret.utf8)], seconds: seconds)
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
        let call = receiver.all.filter { $0.type.hasPrefix("call.") && $0.type != "call.legEnded" }.map(\.type)
        #expect(call == ["call.started", "call.accepted", "call.ended"])
        #expect(receiver.all.allSatisfy { $0.isSigned })
      }
    }

    /// Nobody waits for a server that is down, and it gets everything when it is back, across a restart too.
    @Test func scenario56AnEventServerThatIsDownHoldsNobodyUpAndMissesNothing() async throws {
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

    /// Who bills by events knows when each seat ended, and that one which nobody ended is over; and takes no seat for that of an earlier process.
    @Test func aStopAndAStartAreTold() async throws {
      let folder = try TemporaryFolder()
      let receiver = try Receiver()
      defer { receiver.stop() }
      // They stay to the end.
      var clients: [Client] = []
      for _ in 0..<2 {
        try await TestServer.with({
          $0.storage.path = folder.path("roost.db")
          $0.webhooks.events = endpoint(receiver.url)
        }) { server in
          clients.append(try await Client(server.url, "anna"))
          _ = try await clients.last?.session.join(room: "demo")
        }
      }
      #expect(await eventually { receiver.all.count == 10 }, "\(receiver.all.map(\.type))")
      let told = receiver.all.sorted { $0.number < $1.number }
      let seats = told.filter { $0.type == "room.joined" }.compactMap { $0.json["participantId"] as? String }
      let life = ["server.started", "room.opened", "room.joined", "room.left", "room.closed"]
      #expect(told.map(\.type) == life + life && told.map(\.number) == Array(1...10))
      #expect(told[3].json["reason"] as? String == "stopped" && told[3].json["participantId"] as? String == seats.first)
      #expect(told[0].json["room"] == nil && told[0].json["realm"] as? String == "default")
      #expect(seats.count == 2 && Set(seats).count == 2)
    }

    /// 410 drops one event and the next says so; a redirect is tried again and not followed; numbers have no gaps.
    @Test func goneDropsOneEventAndTheNextSaysSo() async throws {
      let folder = try TemporaryFolder()
      let seen = Locked<[String: Int]>([:])
      let receiver = try Receiver { request in
        let tries = seen.withLock { seen in
          seen[request["id"] ?? "", default: 0] += 1
          return seen[request["id"] ?? "", default: 0]
        }
        switch request.json["number"] as? Int {
        case 1: return "200 OK"
        case 3: return "410 Gone"
        default: return tries == 1 ? "302 Found\r\nlocation: /elsewhere" : "200 OK"
        }
      }
      defer { receiver.stop() }
      func change(_ configuration: inout ServerConfiguration) {
        configuration.storage.path = folder.path("roost.db")
        configuration.webhooks.events = .init(url: receiver.url + "/events", secrets: ["another secret", secret])
      }
      try await TestServer.with(change) { server in
        let anna = try await Client(server.url, "anna")
        try await anna.session.join(room: "demo").leave()
        try await anna.session.join(room: "demo").leave()
        #expect(await eventually { receiver.all.contains { $0.json["number"] as? Int == 9 } })
        #expect(await eventually { seen.withLock { $0.count == 9 && $0.values.reduce(0, +) == 16 } })
      }
      let all = receiver.all.filter { $0.type != "server.started" }
      #expect(all.allSatisfy { $0.path == "/events" && $0["id"] == $0.headers["roost-delivery"] })
      let signed = signature(
        of: all[0].body, secrets: [Array("another secret".utf8), Array(secret.utf8)],
        seconds: Int64((all[0].headers["roost-signature"] ?? "").dropFirst(2).prefix { $0 != "," }) ?? 0)
      #expect(all[0].headers["roost-signature"] == signed)
      #expect(all.map { $0.json["number"] as? Int } == [2, 2, 3] + (4...9).flatMap { [$0, $0] })
      let dropped = all.map { ($0.json["dropped"] as? [[String: Any]])?.compactMap { $0["number"] as? Int } ?? [] }
      #expect(dropped.prefix(6) == [[], [], [], [3], [3], []] && dropped.dropFirst(6).allSatisfy(\.isEmpty))
    }
  }
}
