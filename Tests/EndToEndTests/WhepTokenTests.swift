// WHEP at a server that asks for tokens: who may play, whose session it is, and what ends a player that may not go on.

import Foundation
import RoostClient
import RoostProtocol
import TestSupport
import Testing
import Tokens

extension EndToEnd {
  @Suite struct WhepTokens {
    private static let grants: Set<Grant> = [.join, .subscribe]

    private static func bearer(_ token: String) -> [String: String] { ["Authorization": "Bearer \(token)"] }

    private static func play(_ server: TestServer, _ path: String, _ authorization: String?) async throws -> HTTPAnswer
    {
      var headers = ["Content-Type": "application/sdp"]
      headers["Authorization"] = authorization
      return try await server.send("POST", path, playerOffer, headers: headers)
    }

    /// A server with a publisher in `stage`, and a player's session there.
    private static func with(
      life: Int64 = 600_000, _ body: (TestServer, _ player: String, _ token: String) async throws -> Void
    ) async throws {
      try await TestServer.withTokens { server in
        try await publish(server)
        let own = try token("wall", grants, room: .exactly("stage"), life: life)
        let created = try await play(server, "/whep/stage", "Bearer \(own)")
        #expect(created.status == 201, "\(created.status) \(created.body)")
        try await body(server, try server.path(of: created, in: "/whep-sessions/"), own)
      }
    }

    private static func publish(_ server: TestServer) async throws {
      let studio = try token("studio", [.join, .publishAudio, .publishVideo])
      let headers = bearer(studio).merging(["Content-Type": "application/sdp"]) { $1 }
      let answer = try await server.send(
        "POST", "/whip/stage", whipOffer(lines: [ffmpegAudio, vp8Video]), headers: headers)
      #expect(answer.status == 201, "\(answer.body)")
    }

    private static func people(_ server: TestServer) async -> Double? {
      (try? await server.metrics())?["roost_participants"]
    }

    @Test func onlyWhoMayPlays() async throws {
      try await TestServer.withTokens { server in
        try await Self.publish(server)
        let good = try token("wall", Self.grants, room: .exactly("stage"))
        let elsewhere = try token("wall", Self.grants, room: .exactly("demo"))
        let (deaf, outside) = (try token("wall", [.join]), try token("wall", [.subscribe]))
        let over = try token("wall", Self.grants, life: -120_000)
        let cases: [(authorization: String?, status: Int, code: String?)] = [
          (nil, 401, "AUTH_FAILED"), ("Bearer \(good.dropLast())", 401, "AUTH_FAILED"),
          ("Bearer a.b.c", 401, "AUTH_FAILED"), ("Basic \(good)", 401, "AUTH_FAILED"),
          ("Bearer \(over)", 401, "AUTH_FAILED"), ("Bearer \(elsewhere)", 403, "FORBIDDEN"),
          ("Bearer \(deaf)", 403, "FORBIDDEN"), ("Bearer \(outside)", 403, "FORBIDDEN"),
        ]
        for (authorization, status, code) in cases {
          for path in ["/whep/stage", "/whep/stage/studio", "/whep/stage/studio/camera"] {
            let answer = try await Self.play(server, path, authorization)
            #expect(answer.isProblem(status, code), "\(path) \(authorization ?? "nothing"): \(answer.body)")
            #expect((answer.header("WWW-Authenticate") == "Bearer") == (status == 401))
          }
        }
        #expect(await eventually { await Self.people(server) == 1 }, "and nobody of them is in the room")
        #expect(try await Self.play(server, "/whep/stage", "Bearer \(good)").status == 201)
        #expect(try await Self.play(server, "/whep/stage", "bearer \(good)").isProblem(403), "one session of a user")
        #expect(await Self.people(server) == 2)
      }
    }

    @Test func aSessionIsItsOwners() async throws {
      try await Self.with { server, player, own in
        let other = try token("other", Self.grants)
        let cases: [([String: String], Int)] = [([:], 401), (Self.bearer(other), 403), (Self.bearer(own), 204)]
        for (headers, status) in cases {
          #expect(try await server.ask(player, headers: headers).status == status)
        }
        for headers in [[String: String](), Self.bearer(other)] {
          let wish = headers.merging(["Content-Type": "application/json"]) { $1 }
          for part in ["layer", "sse"] {
            #expect(try await server.send("POST", "\(player)/\(part)", "[]", headers: wish).status >= 401)
          }
          #expect(try await server.ask(player, method: "DELETE", headers: headers).status >= 401)
        }
        #expect(try await server.ask(player, headers: Self.bearer(own)).status == 204, "nobody else could end it")
        #expect(try await server.ask(player, method: "DELETE", headers: Self.bearer(own)).status == 200)
        #expect(await eventually { await Self.people(server) == 1 })
      }
    }

    /// A further token of the same user, shown at the session's URL, counts from then on.
    @Test(arguments: [Grant.subscribe, .join])
    func aGrantThatIsTakenBackEndsThePlayer(_ lost: Grant) async throws {
      try await Self.with { server, player, own in
        let same = try token("wall", Self.grants.union([.chat]), room: .exactly("stage"))
        #expect(try await server.ask(player, headers: Self.bearer(same)).status == 204)
        #expect(try await server.ask(player, headers: Self.bearer(own)).status == 204, "it goes on by another")
        #expect(await Self.people(server) == 2)
        let less = try token("wall", Self.grants.subtracting([lost]), room: .exactly("stage"))
        _ = try await server.ask(player, headers: Self.bearer(less))
        #expect(await eventually { (try? await server.ask(player, headers: Self.bearer(own)).status) == 404 })
        #expect(await eventually { await Self.people(server) == 1 }, "and the seat is free")
      }
    }

    /// Clocks may be a minute apart, so the token is one that is over for nearly so long.
    @Test func aTokenThatIsOverEndsThePlayer() async throws {
      try await Self.with(life: -57_000) { server, player, _ in
        let further = try token("wall", Self.grants)
        #expect(await Self.people(server) == 2)
        #expect(await eventually { await Self.people(server) == 1 })
        #expect(try await server.ask(player, headers: Self.bearer(further)).isProblem(404))
      }
    }

    @Test func aModeratorPutsAPlayerOut() async throws {
      try await Self.with { server, player, own in
        var options = SessionOptions()
        options.reconnect = nil
        let boss = try await RoostSession.connect(
          to: server.url, hello: HelloParams(user: "boss", token: token("boss", everyGrant)), options: options)
        try await boss.join(room: "stage").moderate(.kick, user: "wall")
        #expect(await eventually { (try? await server.ask(player, headers: Self.bearer(own)).status) == 404 })
        await boss.close()
      }
    }
  }
}
