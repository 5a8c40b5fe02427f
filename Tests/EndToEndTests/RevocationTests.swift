// An operator takes a token back, or grants, at a running server with two people: everybody knows at once.

import Basics
import Configuration
import Foundation
import FoundationNetworking
import RoostClient
import RoostProtocol
import TestSupport
import Testing

extension EndToEnd {
  @Suite struct Revocations {
    private static let operators = "an operator's long random text"
    private let soon = Duration.milliseconds(200 * slowness)

    private func ask(_ server: TestServer, _ method: String, _ path: String) async throws -> HTTPAnswer {
      try await server.ask(
        "/admin/\(path)", method: method, headers: ["Authorization": "Bearer \(Self.operators)"])
    }

    private func connect(_ user: String, _ token: String, _ server: TestServer) async throws -> RoostSession {
      var options = SessionOptions()
      options.reconnect = nil
      return try await RoostSession.connect(
        to: server.url, hello: HelloParams(user: user, token: token), options: options)
    }

    private func publish(_ token: String, _ server: TestServer) async throws -> Int {
      var request = URLRequest(url: try #require(URL(string: "http://127.0.0.1:\(server.server.port)/whip/demo")))
      request.httpMethod = "POST"
      request.allHTTPHeaderFields = ["Content-Type": "application/sdp", "Authorization": "Bearer \(token)"]
      request.httpBody = Data(whipOffer(lines: [ffmpegAudio, vp8Video]).utf8)
      let (_, response) = try await URLSession.shared.data(for: request)
      return (response as? HTTPURLResponse)?.statusCode ?? 0
    }

    private func play(_ token: String, _ server: TestServer) async throws -> HTTPAnswer {
      try await server.send(
        "POST", "/whep/demo", playerOffer,
        headers: ["Content-Type": "application/sdp", "Authorization": "Bearer \(token)"])
    }

    @Test func whoCameByATokenGoesAtOnce() async throws {
      try await TestServer.withTokens({ $0.admin.token = Self.operators }) { server in
        let (annas, bens) = (try token("anna", everyGrant, id: "t/1"), try token("ben", everyGrant, id: "t2"))
        let (anna, ben) = (try await connect("anna", annas, server), try await connect("ben", bens, server))
        for one in [anna, ben] { _ = try await one.join(room: "demo") }
        let camera = try token("camera", [.join, .publishAudio, .publishVideo], id: "t3")
        #expect(try await publish(camera, server) == 201)
        #expect(await eventually { await ben.currentRoom?.participants.count == 3 })
        let heard = await Recorder(anna)

        let start = ContinuousClock.now
        #expect(try await ask(server, "PUT", "revoked?jti=t%2F1").body == "{\"removed\":1}\n")
        #expect(await eventually { await heard.all.contains(.ended(.stopped("token_revoked"))) })
        #expect(await eventually { await ben.currentRoom?.participants.contains { $0.user == "anna" } == false })
        let took = ContinuousClock.now - start
        #expect(took < soon, "\(took)")
        let error = try await refused { try await connect("anna", annas, server) }
        #expect(error?.code == .authFailed && error?.data.reason == "token_invalid")

        // Players and encoders too.
        let wall = try token("wall", [.join, .subscribe], id: "t4")
        let played = try await play(wall, server)
        #expect(played.status == 201, "\(played.body)")
        #expect(await eventually { await ben.currentRoom?.participants.count == 3 })
        #expect(try await ask(server, "PUT", "revoked?jti=t4").body == "{\"removed\":1}\n")
        #expect(await eventually { await ben.currentRoom?.participants.map(\.user).sorted() == ["ben", "camera"] })
        #expect(try await play(wall, server).isProblem(401, "AUTH_FAILED"))
        #expect(try await ask(server, "PUT", "revoked?jti=t3").body == "{\"removed\":1}\n")
        #expect(await eventually { await ben.currentRoom?.participants.map(\.user) == ["ben"] })
        #expect(try await publish(camera, server) == 401)

        let list = try await ask(server, "GET", "revoked")
        #expect(list.status == 200 && list.body.contains(#""jti":"t/1""#) && list.body.contains(#""jti":"t3""#))
        #expect(try await ask(server, "DELETE", "revoked?jti=t%2F1").body == "{\"lifted\":1}\n")
        #expect(try await ask(server, "DELETE", "revoked?jti=t%2F1").status == 404)
        let back = try await connect("anna", annas, server)
        _ = try await back.join(room: "demo")
        await back.close()
        await ben.close()
      }
    }

    /// Most methods of WHIP and WHEP are answered without the conference. A token that is taken back opens none of them, and ends nobody's
    /// session.
    @Test func aTokenThatIsTakenBackOpensNoDoor() async throws {
      try await TestServer.withTokens({ $0.admin.token = Self.operators }) { server in
        let (good, bad) = (try token("camera", everyGrant, id: "good"), try token("camera", everyGrant, id: "bad"))
        var headers = ["Content-Type": "application/sdp", "Authorization": "Bearer \(good)"]
        let whip = try await server.send(
          "POST", "/whip/demo", whipOffer(lines: [ffmpegAudio, vp8Video]), headers: headers)
        let session = try server.path(of: whip, in: "/whip/demo/")
        headers["Authorization"] = "Bearer \(try token("wall", everyGrant, id: "good"))"
        let whep = try await server.send("POST", "/whep/demo", playerOffer, headers: headers)
        let player = try server.path(of: whep, in: "/whep-sessions/")
        let paths: [(String, [String])] = [
          ("/whip/demo", ["GET", "HEAD", "OPTIONS", "POST"]), ("/whep/demo", ["GET", "HEAD", "OPTIONS", "POST"]),
          ("/whep/demo/camera", ["GET", "HEAD", "OPTIONS", "POST"]),
          (session, ["GET", "HEAD", "OPTIONS", "PATCH", "DELETE"]),
          (player, ["GET", "HEAD", "OPTIONS", "PATCH", "DELETE"]),
          ("\(player)/layer", ["OPTIONS", "POST"]), ("\(player)/sse", ["OPTIONS", "POST"]),
          ("/whip/demo/nobody", ["GET", "DELETE"]),
        ]
        func statuses(_ token: String, of methods: Set<String>, first: Int = 8) async throws -> Set<Int> {
          var found: Set<Int> = []
          for (path, all) in paths.prefix(first) {
            for method in all where methods.contains(method) {
              let headers = ["Authorization": "Bearer \(token)"]
              // Only what has content may be sent with some.
              let answer =
                ["POST", "PATCH"].contains(method)
                ? try await server.send(method, path, "{}", headers: headers)
                : try await server.ask(path, method: method, headers: headers)
              found.insert(answer.status)
            }
          }
          return found
        }
        let every: Set = ["GET", "HEAD", "OPTIONS", "POST", "PATCH", "DELETE"]
        #expect(
          try await statuses(bad, of: ["GET", "HEAD", "OPTIONS"], first: 3).isDisjoint(with: [401]), "it is good so far"
        )
        #expect(try await ask(server, "PUT", "revoked?jti=bad").status == 200)
        #expect(try await statuses(bad, of: every) == [401])
        // Nobody's session has ended by it, and others' tokens are as good as before.
        #expect(await statusOf(server, session, good) == 204)
        #expect(try await ask(server, "DELETE", "revoked?jti=bad").status == 200)
        #expect(
          try await statuses(bad, of: ["GET", "HEAD", "OPTIONS"], first: 3).isDisjoint(with: [401]), "believed again")
      }
    }

    private func statusOf(_ server: TestServer, _ path: String, _ token: String) async -> Int? {
      try? await server.ask(path, headers: ["Authorization": "Bearer \(token)"]).status
    }

    /// Whoever is not there, whatever they come by, with a token whose clock goes ahead, in a room alone, and after a restart.
    @Test func grantsThatAreTakenStayAwayAtEveryDoorAndAfterARestart() async throws {
      let folder = try TemporaryFolder()
      let change = { (configuration: inout ServerConfiguration) in
        configuration.admin.token = Self.operators
        configuration.storage.path = folder.path("roost.db")
      }
      let annas = try token("anna", everyGrant, issuedAfter: 45)
      let camera = try token("camera", [.join, .publishAudio, .publishVideo])
      let mayNot = { (server: TestServer) async throws in
        let anna = try await connect("anna", annas, server)
        let room = try await anna.join(room: "demo")
        let error = try await refused { try await room.chat("hello") }
        #expect(error?.code == .forbidden && error?.data.reason == "chat")
        await anna.close()
        #expect(try await publish(annas, server) == 403)
        #expect(try await play(annas, server).status == 403)
      }
      try await TestServer.withTokens(change) { server in
        #expect(try await publish(camera, server) == 201)
        #expect(try await ask(server, "PUT", "grants?user=anna&room=demo&grants=join").body == "{\"narrowed\":0}\n")
        for _ in 0..<2 { try await mayNot(server) }
        let elsewhere = try await connect("anna", annas, server)
        try await elsewhere.join(room: "attic").chat("hello")
        await elsewhere.close()
      }
      try await TestServer.withTokens(change) { server in
        #expect(try await publish(camera, server) == 201)
        try await mayNot(server)
        #expect(try await ask(server, "DELETE", "grants?user=anna&room=demo").body == "{\"lifted\":1}\n")
        #expect(try await publish(annas, server) == 201)
      }
    }

    /// Who did it has no name, so the log says from where it came: behind a trusted proxy that is whom it brings.
    @Test func theLogSaysFromWhereAnOperatorCame() async throws {
      try await TestServer.withTokens({
        $0.admin.token = Self.operators
        $0.listen.trustedProxies = AddressRange("127.0.0.1").map { [$0] } ?? []
      }) { server in
        let headers = ["Authorization": "Bearer \(Self.operators)", "X-Forwarded-For": "203.0.113.9"]
        for (method, status) in [("DELETE", 404), ("PUT", 200), ("DELETE", 200)] {
          let answer = try await server.ask("/admin/locks?room=demo", method: method, headers: headers)
          #expect(answer.status == status, "\(answer.body)")
        }
        for event in ["room_locked", "room_unlocked", "operator_refused"] {
          let line = server.log.all.first { $0.contains(" \(event) ") }
          #expect(line?.contains("peer=203.0.113.9") == true, "\(line ?? event)")
        }
        let refused = server.log.all.first { $0.contains("operator_refused") }
        #expect(refused?.contains("DELETE /admin/locks") == true && refused?.contains("ROOM_NOT_FOUND") == true)
      }
    }

    @Test func grantsThatAreTakenEndAtOnce() async throws {
      try await TestServer.withTokens({ $0.admin.token = Self.operators }) { server in
        let (annas, bens) = (try token("anna", everyGrant), try token("ben", everyGrant))
        let (anna, ben) = (try await connect("anna", annas, server), try await connect("ben", bens, server))
        for one in [anna, ben] { _ = try await one.join(room: "demo") }
        #expect(await eventually { await ben.currentRoom?.participants.count == 2 })
        #expect(try await ask(server, "PUT", "grants?user=anna&grants=join,fly").status == 400)
        let start = ContinuousClock.now
        #expect(try await ask(server, "PUT", "grants?user=anna&grants=subscribe,chat").body == "{\"narrowed\":1}\n")
        #expect(await eventually { await ben.currentRoom?.participants.map(\.user) == ["ben"] })
        let took = ContinuousClock.now - start
        #expect(took < soon, "\(took)")
        let error = try await refused { try await anna.join(room: "demo") }
        #expect(error?.code == .forbidden && error?.data.reason == "join")
        try await anna.renew(token: annas)
        let still = try await refused { try await anna.join(room: "demo") }
        #expect(still?.code == .forbidden, "the same token gives nothing back")
        try await anna.renew(token: token("anna", everyGrant, life: 700_000))
        let longer = try await refused { try await anna.join(room: "demo") }
        #expect(longer?.code == .forbidden, "nor does one of the same minute")
        #expect(try await ask(server, "GET", "grants?user=anna").body.contains(#""grants":["subscribe","chat"]"#))
        #expect(try await ask(server, "DELETE", "grants?user=anna").body == "{\"lifted\":1}\n")
        _ = try await anna.join(room: "demo")
        #expect(try await ask(server, "PUT", "grants?user=nobody&grants=join").body == "{\"narrowed\":0}\n")
        await anna.close()
        await ben.close()
      }
    }
  }
}
