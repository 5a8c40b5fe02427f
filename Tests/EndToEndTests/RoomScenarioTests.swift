// Scenarios 1 to 5, 7, 8 and 10 of docs/protocol.md over real WebSockets: rules of rooms that need no media.

import Basics
import RoostClient
import RoostProtocol
import TestSupport
import Testing

extension EndToEnd {
  @Suite struct RoomScenarios {
    /// A small wait behind which "nothing was heard" is said: a reply comes after all events that were sent before it.
    private func settle(_ clients: [Client]) async throws {
      for client in clients { _ = try await client.session.request(.ping) }
      try await Task.sleep(for: .milliseconds(100))
    }

    private func joinedDemo(_ server: TestServer, _ users: [String]) async throws -> [Client] {
      var clients: [Client] = []
      for user in users {
        let client = try await Client(server.url, user)
        _ = try await client.session.join(room: "demo")
        clients.append(client)
      }
      return clients
    }

    @Test func scenario01TheFourthIsRefusedAndNobodyHears() async throws {
      try await TestServer.with { server in
        let inside = try await joinedDemo(server, ["anna", "ben", "carl"])
        try await settle(inside)
        var before: [Int] = []
        for one in inside { before.append(await one.heard.roomEvents.count) }
        #expect(before == [2, 1, 0])

        let dora = try await Client(server.url, "dora")
        let refusal = try await refused { try await dora.session.join(room: "demo") }
        #expect(refusal?.code == .roomFull)
        #expect(refusal?.data.limit == 3 && refusal?.data.count == 3)
        let chat = ChatSendParams(room: "demo", text: "let me in")
        #expect(try await dora.refusal { try await dora.session.request(.chatSend(chat)) } == 2005)
        guard case .roomInfo(let info) = try await dora.session.request(.roomInfo(RoomParams(room: "demo"))) else {
          Issue.record("room.info has another result")
          return
        }
        #expect(info.count == 3 && info.limit == 3 && info.kind == "demo")

        try await settle(inside + [dora])
        var after: [Int] = []
        for one in inside { after.append(await one.heard.roomEvents.count) }
        #expect(after == before)
        #expect(await dora.heard.roomEvents == [])
      }
    }

    /// Fifty at once for one seat, a hundred rooms in turn: the same sessions go from room to room.
    @Test func scenario02FiftyJoinAtOnceAndOneSucceeds() async throws {
      try await TestServer.with({ $0.unknownRooms = .create(kind: "demo") }) { server in
        let seated = [try await Client(server.url, "anna"), try await Client(server.url, "ben")]
        var crowd: [Client] = []
        for number in 0..<50 { crowd.append(try await Client(server.url, "joiner\(number)")) }
        for round in 0..<100 {
          let room = "round\(round)"
          for one in seated { _ = try await one.session.join(room: room) }
          let outcomes = try await rush(crowd, into: room)
          #expect(outcomes.count { $0 == nil } == 1)
          #expect(outcomes.count { $0 == 2002 } == 49)
        }
        // Each of the two heard one join a round of the crowd, and anna one of ben's besides.
        try await settle(seated)
        for (one, others) in zip(seated, [100, 0]) {
          for round in 0..<100 {
            let room = "round\(round)"
            let joined = await one.heard.count {
              if case .participantJoined(let event) = $0 {
                event.room == room && event.participant.user != "ben"
              } else {
                false
              }
            }
            #expect(joined == 1, "round \(round)")
          }
          let ofBen = await one.heard.count {
            if case .participantJoined(let event) = $0 { event.participant.user == "ben" } else { false }
          }
          #expect(ofBen == others)
        }
      }
    }

    private func rush(_ crowd: [Client], into room: String) async throws -> [Int?] {
      try await withThrowingTaskGroup(of: Int?.self) { group in
        for one in crowd {
          group.addTask { try await one.refusal { try await one.session.join(room: room) } }
        }
        var outcomes: [Int?] = []
        for try await outcome in group { outcomes.append(outcome) }
        return outcomes
      }
    }

    @Test(arguments: ["leave", "bye"])
    func scenario03AFreedSeatCanBeTaken(_ way: String) async throws {
      try await TestServer.with { server in
        let inside = try await joinedDemo(server, ["anna", "ben", "carl"])
        let dora = try await Client(server.url, "dora")
        #expect(try await dora.refusal { try await dora.session.join(room: "demo") } == 2002)
        if way == "leave" {
          _ = try await inside[2].session.request(.roomLeave(RoomParams(room: "demo")))
        } else {
          await inside[2].session.close()
        }
        #expect(await eventually { await inside[0].heard.count(\.isLeft) == 1 })
        let room = try await dora.session.join(room: "demo")
        #expect(await room.snapshot?.participants.map(\.user) == ["anna", "ben", "dora"])
        #expect(await eventually { await inside[0].heard.count(\.isJoined) == 3 })
      }
    }

    @Test func scenario04ACutConnectionKeepsItsSeatForTheGrace() async throws {
      try await TestServer.with({ $0.sessions.resumeGrace = .seconds(3) }) { server in
        let proxy = try CuttableProxy(to: server.server.port)
        defer { proxy.stop() }
        let inside = try await joinedDemo(server, ["anna", "ben"])
        let carl = try await Client("ws://127.0.0.1:\(proxy.port)/rtc", "carl", reconnects: true)
        let seat = try await carl.session.join(room: "demo")
        let dora = try await Client(server.url, "dora")

        proxy.cut()
        #expect(await eventually { await inside[0].heard.count(\.isReconnecting) == 1 })
        #expect(try await dora.refusal { try await dora.session.join(room: "demo") } == 2002)
        proxy.mend()
        #expect(await eventually { await inside[0].heard.count(\.isReconnected) == 1 })
        // The same seat, and nobody heard him leave or join.
        #expect(await seat.snapshot?.participants.map(\.user) == ["anna", "ben", "carl"])
        #expect(await seat.snapshot?.selfId == seat.selfId)
        #expect(await eventually { await carl.heard.all.contains { if case .resumed = $0 { true } else { false } } })
        #expect(await inside[0].heard.count(\.isLeft) == 0)
        #expect(await inside[0].heard.count(\.isJoined) == 2)

        // The second time he does not come back in time.
        proxy.cut()
        #expect(await eventually { await inside[0].heard.count(\.isLeft) == 1 })
        #expect(await eventually { await inside[1].heard.count(\.isLeft) == 1 })
        _ = try await dora.session.join(room: "demo")
        await carl.session.close()
      }
    }

    @Test func scenario04AnAbandonedSeatIsRefusedUntilTheGraceIsOver() async throws {
      try await TestServer.with { server in
        let proxy = try CuttableProxy(to: server.server.port)
        defer { proxy.stop() }
        let inside = try await joinedDemo(server, ["anna", "ben"])
        let carl = try await Client("ws://127.0.0.1:\(proxy.port)/rtc", "carl")
        _ = try await carl.session.join(room: "demo")
        let dora = try await Client(server.url, "dora")
        let cutAt = ContinuousClock.now
        proxy.cut()
        var admittedAt: ContinuousClock.Instant?
        var refusals: Set<Int> = []
        let isIn = try await eventually {
          let refusal = try await dora.refusal { try await dora.session.join(room: "demo") }
          if let refusal { refusals.insert(refusal) } else { admittedAt = .now }
          return refusal == nil
        }
        #expect(isIn && refusals == [2002])
        // Not before the grace of 800 ms; the server's clock began a little after ours.
        if let admittedAt { #expect(admittedAt - cutAt >= .milliseconds(750)) }
        #expect(await eventually { await inside[1].heard.count(\.isLeft) == 1 })
      }
    }

    @Test(arguments: [("demo", MediaClass.video, 3), ("big", .video, 16), ("loud", .audio, 32)])
    func scenario05OneMoreThanTheCapIsRefused(_ room: String, _ media: MediaClass, _ cap: Int) async throws {
      try await TestServer.with { server in
        var inside: [Client] = []
        for number in 0..<cap {
          let client = try await Client(server.url, "user\(number)")
          _ = try await client.session.join(room: room, media: media)
          inside.append(client)
        }
        let last = try await Client(server.url, "late")
        let refusal = try await refused { try await last.session.join(room: room, media: media) }
        #expect(refusal?.code == .roomFull)
        #expect(refusal?.data.limit == cap && refusal?.data.count == cap)
        #expect(await inside[0].session.snapshot(of: room)?.media == media)
        #expect(await eventually { await inside[0].heard.count(\.isJoined) == cap - 1 })
      }
    }

    @Test func scenario07LeavingTwiceSucceedsAndIsHeardOnce() async throws {
      try await TestServer.with { server in
        let inside = try await joinedDemo(server, ["anna", "ben"])
        let leave = Request.roomLeave(RoomParams(room: "demo"))
        #expect(try await inside[1].session.request(leave) == .empty)
        #expect(try await inside[1].session.request(leave) == .empty)
        let carl = try await Client(server.url, "carl")
        #expect(try await carl.session.request(leave) == .empty)
        try await settle([inside[0]])
        #expect(await eventually { await inside[0].heard.count(\.isLeft) == 1 })
        try await settle([inside[0]])
        #expect(await inside[0].heard.count(\.isLeft) == 1)
      }
    }

    @Test func scenario08NamesAndDevicesAreOnePersonsOwn() async throws {
      try await TestServer.with { server in
        let ben = try await Client(server.url, "ben")
        _ = try await ben.session.join(room: "demo")
        let first = try await Client(server.url, "a", device: "phone", name: "anna")
        let seat = try await first.session.join(room: "demo")
        let stranger = try await Client(server.url, "b", name: "anna")
        #expect(try await stranger.refusal { try await stranger.session.join(room: "demo") } == 2003)

        let second = try await Client(server.url, "a", device: "laptop", name: "anna")
        #expect(try await second.refusal { try await second.session.join(room: "demo") } == 2004)
        var params = RoomJoinParams(room: "demo", takeover: true)
        #expect(try await second.refusal { try await second.session.join(params) } == 1005)
        params.resumeToken = await first.session.hello.resumeToken
        let taken = try await second.session.join(params)
        #expect(taken.selfId == seat.selfId)
        #expect(await eventually { await first.session.snapshot(of: "demo") == nil })
        try await settle([ben])
        #expect(await ben.heard.count(\.isJoined) == 1)
        #expect(await ben.heard.count(\.isLeft) == 0)
      }
    }

    @Test func scenario10ChatGoesToWhomItIsFor() async throws {
      try await TestServer.with { server in
        let inside = try await joinedDemo(server, ["anna", "ben", "carl"])
        let (anna, ben, carl) = (inside[0], inside[1], inside[2])
        let all = ChatSendParams(room: "demo", text: "to all")
        guard case .chatSent(let toAll) = try await anna.session.request(.chatSend(all)),
          case .chatSent(let toOne) = try await anna.session.request(
            .chatSend(ChatSendParams(room: "demo", text: "to ben", to: ["ben"])))
        else {
          Issue.record("chat.send has another result")
          return
        }
        #expect(toAll.delivered == 2 && toOne.delivered == 1)
        _ = try await ben.session.request(.chatSend(ChatSendParams(room: "demo", text: "from ben")))
        for (one, number) in [(anna, 1), (ben, 2), (carl, 2)] {
          #expect(await eventually { await one.texts.count >= number })
        }
        try await settle(inside)
        #expect(await ben.texts == ["to all", "to ben"])
        #expect(await carl.texts == ["to all", "from ben"])
        #expect(await anna.texts == ["from ben"])
        #expect(await ben.chat.allSatisfy { $0.from == "anna" })
        let late = try await history(ben)
        #expect(late == ["to all", "to ben", "from ben"])
        #expect(try await history(carl) == ["to all", "from ben"])
      }
    }

    private func history(_ client: Client) async throws -> [String] {
      guard case .messages(let result) = try await client.session.request(.chatHistory(ChatHistoryParams(room: "demo")))
      else { return [] }
      return result.messages.map(\.text)
    }
  }
}

extension Client {
  /// The chat messages that came as events.
  var chat: [Message] {
    get async {
      await heard.messages.compactMap { if case .chatMessage(let message) = $0.event { message } else { nil } }
    }
  }
  var texts: [String] { get async { await chat.map(\.text) } }
}
