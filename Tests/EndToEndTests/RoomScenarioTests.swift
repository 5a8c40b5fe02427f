// Scenarios 1, 2, 5 and 7 of docs/scenarios.md: how many a room takes, and what leaving is.

import Basics
import RoostClient
import RoostProtocol
import TestSupport
import Testing

extension EndToEnd {
  /// Scenarios 1 to 5, 7, 8 and 10: rules of rooms that need no media.
  @Suite struct RoomScenarios {}
}

extension EndToEnd.RoomScenarios {
  @Test func scenario01TheFourthIsRefusedAndNobodyHears() async throws {
    try await TestServer.with { server in
      let inside = try await server.inDemo(["anna", "ben", "carl"])
      let stories = [["ben joined", "carl joined"], ["carl joined"], []]
      for (one, story) in zip(inside, stories) { try await one.hears(story) }
      var before: [[EventMessage]] = []
      for one in inside { before.append(await one.heard.messages) }

      let dora = try await Client(server.url, "dora")
      let refusal = try await refused { try await dora.session.join(room: "demo") }
      #expect(refusal?.code == .roomFull)
      #expect(refusal?.data.limit == 3 && refusal?.data.count == 3)
      let chat = ChatSendParams(room: "demo", text: "let me in")
      #expect(try await dora.refusal { try await dora.session.request(.chat(.send(chat))) } == 2005)
      let info = try await dora.info("demo")
      #expect(info.count == 3 && info.limit == 3 && info.kind == "demo")

      // Nothing at all, whatever it is about.
      try await (inside + [dora]).settle()
      for (one, then) in zip(inside, before) { #expect(await one.heard.messages == then) }
      #expect(await dora.heard.messages == [])
      #expect(try await inside[0].history("demo") == [])
    }
  }

  /// Fifty at once for one seat, a hundred rooms in turn: the same sessions go from room to room.
  @Test func scenario02FiftyJoinAtOnceAndOneSucceeds() async throws {
    try await TestServer.with({ $0.unknownRooms = .create(kind: "demo") }) { server in
      let (anna, ben) = (try await Client(server.url, "anna"), try await Client(server.url, "ben"))
      var crowd: [Client] = []
      for number in 0..<50 { crowd.append(try await Client(server.url, "joiner\(number)")) }
      for round in 1...100 {
        let room = "round\(round)"
        for one in [anna, ben] { _ = try await one.session.join(room: room) }
        let outcomes = try await rush(crowd, into: room)
        let winners = outcomes.filter { $0.refusal == nil }.map(\.user)
        #expect(winners.count == 1, "round \(round)")
        let refusals = outcomes.compactMap(\.refusal)
        #expect(refusals.count == 49)
        #expect(refusals.allSatisfy { $0.code == .roomFull && $0.data.limit == 3 && $0.data.count == 3 })
        // Both heard of the one who got in, and of nobody else.
        let joined = winners.map { "\($0) joined" }
        try await anna.hears(["ben joined"] + joined, of: room)
        try await ben.hears(joined, of: room)
        #expect(try await anna.info(room).count == 3)
      }
    }
  }

  private typealias Outcome = (user: String, refusal: ErrorObject?)

  private func rush(_ crowd: [Client], into room: String) async throws -> [Outcome] {
    try await withThrowingTaskGroup(of: Outcome.self) { group in
      for one in crowd {
        group.addTask {
          (await one.session.hello.user, try await refused { try await one.session.join(room: room) })
        }
      }
      var outcomes: [Outcome] = []
      for try await outcome in group { outcomes.append(outcome) }
      return outcomes
    }
  }

  /// With media it is in `FullRoomTests.swift`.
  @Test(arguments: [("demo", MediaClass.video, 3), ("big", .video, 16), ("loud", .audio, 32)])
  func scenario05OneMoreThanTheCapIsRefused(_ room: String, _ media: MediaClass, _ cap: Int) async throws {
    try await TestServer.with { server in
      var inside: [Client] = []
      for number in 1...cap {
        let client = try await Client(server.url, "user\(number)")
        _ = try await client.session.join(room: room, media: media)
        inside.append(client)
      }
      let last = try await Client(server.url, "late")
      let refusal = try await refused { try await last.session.join(room: room, media: media) }
      #expect(refusal?.code == .roomFull)
      #expect(refusal?.data.limit == cap && refusal?.data.count == cap)
      let info = try await last.info(room)
      #expect(info.media == media && info.limit == cap && info.count == cap)
      // The first has heard all others come, and the last is among them.
      try await inside[0].hears((2...cap).map { "user\($0) joined" })
      #expect(await inside[cap - 1].session.snapshot(of: room)?.participants.count == cap)
    }
  }

  @Test func scenario07LeavingTwiceSucceedsAndIsHeardOnce() async throws {
    try await TestServer.with { server in
      let inside = try await server.inDemo(["anna", "ben"])
      let (anna, ben) = (inside[0], inside[1])
      let leave = Request.room(.leave(RoomParams(room: "demo")))
      #expect(try await ben.session.request(leave) == .empty)
      #expect(try await ben.session.request(leave) == .empty)
      let carl = try await Client(server.url, "carl")
      #expect(try await carl.session.request(leave) == .empty)
      // And it costs nothing where one sits in another room.
      _ = try await carl.session.join(room: "lobby")
      #expect(try await carl.session.request(leave) == .empty)
      try await anna.hears(["ben joined", "ben left"])
      try await ben.hears([])
      try await carl.hears([])
      #expect(try await anna.info("demo").count == 1)
      #expect(try await anna.info("lobby").count == 1)
    }
  }
}
