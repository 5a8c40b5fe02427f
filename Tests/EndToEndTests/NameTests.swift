// Names that Swift calls equal and issuers do not, at every door of a running server: nobody becomes somebody else by them.

import Configuration
import Foundation
import RoostClient
import RoostProtocol
import SyntheticParticipant
import TestSupport
import Testing

extension EndToEnd {
  @Suite struct NamesOfOthers {
    private static let operators = "an operator's long random text"

    /// A victim, and who would be taken for them.
    private static let pairs = [
      ("Kim", "\u{212a}im"), ("a;b", "a\u{37e}b"), ("a`b", "a\u{1fef}b"), ("\u{c5}sa", "\u{212b}sa"),
      ("\u{3a9}", "\u{2126}"),
      ("Ren\u{e9}", "Rene\u{301}"), ("\u{ac00}", "\u{1100}\u{1161}"), ("\u{1e69}", "s\u{323}\u{307}"),
    ]

    private static func encoded(_ name: String) -> String {
      name.utf8.map { "%" + String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }

    private func publish(_ server: TestServer, in room: String, _ token: String?, query: String = "") async throws
      -> HTTPAnswer
    {
      var headers = ["Content-Type": "application/sdp"]
      if let token { headers["Authorization"] = "Bearer \(token)" }
      return try await server.send("POST", "/whip/\(Self.encoded(room))\(query)", ffmpegOffer, headers: headers)
    }

    private func play(_ server: TestServer, in room: String, _ token: String) async throws -> HTTPAnswer {
      try await server.send(
        "POST", "/whep/\(Self.encoded(room))", playerOffer,
        headers: ["Content-Type": "application/sdp", "Authorization": "Bearer \(token)"])
    }

    /// Whom a token calls by an equal name is nobody: no list, no seat, no role, no ring of the victim's is theirs.
    @Test(arguments: pairs) func aTokenOfAnEqualNameIsRefusedAtEveryDoor(victim: String, other: String) async throws {
      let port = try freePort()
      try await TestServer.withTokens({ $0.flashphoner.port = port }) { server in
        let room = victim + "-team"
        let holder = try await server.connect(victim, token: token(victim, everyGrant))
        let heard = await Recorder(holder)
        _ = try await holder.join(room: room)
        let forged = [
          try token(other, everyGrant), try token("eve", everyGrant, room: .exactly(other + "-team")),
          try token("eve", everyGrant, room: .prefix(other + "-")), try token("\u{301}" + victim, everyGrant),
          try token("eve", everyGrant, id: other),
        ]
        let good = try token(victim, everyGrant)
        for (number, token) in forged.enumerated() {
          let name = number == 0 || number == 3 ? victim : "eve"
          let error = try await refused { try await server.connect(name, token: token) }
          #expect(error?.code == .authFailed && error?.data.reason == "token_invalid", "\(number)")
          // Another session each time: with a connection's third it would end.
          let second = try await server.connect(victim, token: good)
          let further = try await refused { try await second.renew(token: token) }
          #expect(further?.code == .authFailed && further?.data.reason == "token_invalid")
          await second.close()
          #expect(try await publish(server, in: room, token).status == 401)
          #expect(try await play(server, in: room, token).status == 401)
        }
        for claim in ["sub", "room", "jti"] {
          #expect(server.log.all.contains { $0.contains("token_refused") && $0.contains("claim \(claim)") })
        }
        let shown = try await refused { try await server.connect(other, token: token(other, everyGrant)) }
        #expect(shown?.code == .invalidParams && shown?.data.field == "user")
        _ = try await holder.request(.session(.ping))
        #expect(await holder.currentRoom?.participants.map(\.user) == [victim])
        #expect(await heard.count { $0.isOfRoom } == 0, "the victim has noticed nothing")
        await holder.close()
      }
    }

    /// Who has a good token means nobody by an equal name either.
    @Test func everyRequestSaysWhichNameIsNotTaken() async throws {
      try await TestServer.withTokens({ $0.admin.token = Self.operators }) { server in
        let eve = try await server.connect("eve", token: token("eve", everyGrant))
        _ = try await eve.join(room: "Kim-team")
        let other = "\u{212a}im"
        let requests: [(field: String, request: Request)] = [
          ("room", .room(.join(RoomJoinParams(room: other)))), ("room", .room(.info(RoomParams(room: other)))),
          ("to[0]", .chat(.send(ChatSendParams(room: "Kim-team", text: "t", to: [other])))),
          ("room", .chat(.history(ChatHistoryParams(room: other + "-team")))),
          ("to[0]", .call(.start(CallStartParams(to: [other], kind: .oneToOne, media: .audio)))),
          ("users[0]", .userQuery(UserQueryParams(users: [other]))), ("user", .block(.add(BlockParams(user: other)))),
          ("room", .room(.moderate(ModerateParams(room: other + "-team", action: .lock)))),
          ("user", .room(.moderate(ModerateParams(room: "Kim-team", action: .ban, user: other)))),
        ]
        for (field, request) in requests {
          let error = try await refused { try await eve.request(request) }
          #expect(error?.code == .invalidParams && error?.data.field == field, "\(request.method)")
          #expect(error?.message.contains("in Unicode form C") == true)
        }
        let good = try token("eve", everyGrant)
        for answer in [try await publish(server, in: other, good), try await play(server, in: other, good)] {
          #expect(
            answer.isProblem(400, "INVALID_PARAMS") && answer.body.contains("in Unicode form C"), "\(answer.body)")
        }
        let name = Self.encoded(other)
        let queries = [
          ("DELETE", "rooms?room=\(name)"), ("DELETE", "people?room=Kim-team&user=\(name)"),
          ("PUT", "locks?room=\(name)"),
          ("GET", "bans?room=\(name)"), ("PUT", "bans?room=Kim-team&user=\(name)"), ("GET", "blocks?user=\(name)"),
          ("DELETE", "blocks?user=a&blocked=\(name)"), ("PUT", "revoked?jti=\(name)"),
          ("PUT", "grants?user=\(name)&grants=join"), ("PUT", "bans?address=203.0.113.7&room=\(name)"),
        ]
        for (method, path) in queries {
          let answer = try await server.ask(
            "/admin/\(path)", method: method, headers: ["Authorization": "Bearer \(Self.operators)"])
          #expect(
            answer.status == 400 && answer.body.contains("in Unicode form C"), "\(method) \(path): \(answer.body)")
        }
        await eve.close()
      }
    }

    /// Where nothing is proved, a name holds a seat and a device all the same.
    @Test func anOpenServerTakesNoEqualNamesEither() async throws {
      let port = try freePort()
      try await TestServer.with({
        $0.access.isOpen = true
        $0.flashphoner.port = port
      }) { server in
        let kim = try await Client(server.url, "Kim")
        _ = try await kim.session.join(room: "Kim-team")
        let hellos = [
          ("user", HelloParams(user: "\u{212a}im")), ("user", HelloParams(user: "\u{301}Kim")),
          ("deviceId", HelloParams(user: "Kim", deviceId: "\u{212a}")),
        ]
        for (field, hello) in hellos {
          let error = try await refused { try await RoostSession.connect(to: server.url, hello: hello) }
          #expect(error?.code == .invalidParams && error?.data.field == field)
        }
        let name = Self.encoded("\u{212a}im")
        #expect(try await publish(server, in: "Kim-team", nil, query: "?name=\(name)").isProblem(400, "INVALID_PARAMS"))
        #expect(try await publish(server, in: "\u{212a}im-team", nil).isProblem(400, "INVALID_PARAMS"))
        // By the door for Flashphoner's apps; rooms and streams are in `ClientMessageTests`.
        let old = try await FlashphonerComer("Eve", port: port)
        #expect(try await old.join("Kim-team") == nil)
        #expect(try await FlashphonerComer.refusal(of: "\u{212a}im", port: port).contains("in Unicode form C"))
        #expect(await eventually { await kim.session.currentRoom?.participants.map(\.user) == ["Kim", "Eve"] })
        await kim.session.close()
      }
    }
  }
}
