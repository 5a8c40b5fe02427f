// Scenarios 3, 4 and 8 of docs/scenarios.md: when a seat is free again, and whose it is.

import Basics
import RoostClient
import RoostProtocol
import TestSupport
import Testing

extension EndToEnd.RoomScenarios {
  /// How somebody goes whose seat is free at once.
  enum Farewell: Sendable {
    case leave, bye
    /// Nothing but the WebSocket's close frame.
    case close(UInt16)
  }

  @Test(arguments: [Farewell.leave, .bye, .close(1000), .close(1001)])
  func scenario03AFreedSeatCanBeTaken(_ farewell: Farewell) async throws {
    // A grace that outlasts the test: a seat that had one would not be free.
    try await TestServer.with({ $0.sessions.resumeGrace = .seconds(3600) }) { server in
      let inside = try await server.inDemo(["anna", "ben"])
      let carl = try RawClient(server.url)
      try await carl.open()
      try await carl.say(#"{"id":1,"method":"session.hello","params":{"user":"carl"}}"#)
      try await carl.say(#"{"id":2,"method":"room.join","params":{"room":"demo"}}"#)
      #expect(try await carl.reply(to: 2).contains(#""count":3"#))
      let dora = try await Client(server.url, "dora")
      #expect(try await dora.refusal { try await dora.session.join(room: "demo") } == 2002)

      switch farewell {
      case .leave: try await carl.say(#"{"id":3,"method":"room.leave","params":{"room":"demo"}}"#)
      case .bye: try await carl.say(#"{"id":3,"method":"session.bye"}"#)
      case .close(let code): carl.close(code: code)
      }
      let story = ["carl joined", "carl left"]
      try await inside[0].hears(["ben joined"] + story)
      try await inside[1].hears(story)
      let room = try await dora.session.join(room: "demo")
      #expect(await room.snapshot?.participants.map(\.user) == ["anna", "ben", "dora"])
      // Never was he thought lost.
      try await inside[0].hears(["ben joined"] + story + ["dora joined"])
      try await inside[1].hears(story + ["dora joined"])
    }
  }

  @Test func scenario04ACutConnectionKeepsItsSeatForTheGrace() async throws {
    try await aCutSeatIsThereForOneWhoResumes()
    try await aCutSeatIsFreeWhenTheGraceIsOver()
  }

  private func aCutSeatIsThereForOneWhoResumes() async throws {
    try await TestServer.with({ $0.sessions.resumeGrace = .seconds(3600) }) { server in
      let proxy = try CuttableProxy(to: server.server.port)
      defer { proxy.stop() }
      let inside = try await server.inDemo(["anna", "ben"])
      let carl = try await Client("ws://127.0.0.1:\(proxy.port)/rtc", "carl", reconnects: true)
      let seat = try await carl.session.join(room: "demo")
      let dora = try await Client(server.url, "dora")

      proxy.cut()
      var story = ["carl joined", "carl reconnecting"]
      try await inside[0].hears(["ben joined"] + story)
      try await inside[1].hears(story)
      let refusal = try await refused { try await dora.session.join(room: "demo") }
      #expect(refusal?.code == .roomFull && refusal?.data.count == 3)

      proxy.mend()
      // One seat all the while, and it is his: nobody heard him leave or join.
      story.append("carl reconnected")
      try await inside[0].hears(["ben joined"] + story)
      try await inside[1].hears(story)
      for one in inside { #expect(await one.heard.participants("carl") == [seat.selfId, seat.selfId, seat.selfId]) }
      #expect(await eventually { await carl.heard.all.contains { if case .resumed = $0 { true } else { false } } })
      try await carl.hears([])
      #expect(try await seat.chat("still here").delivered == 2)
      for (one, before) in zip(inside, [["ben joined"], []]) {
        try await one.hears(before + story + ["carl: still here"])
      }
      #expect(try await dora.refusal { try await dora.session.join(room: "demo") } == 2002)
      let again = try await carl.enter("demo")
      #expect(again.selfId == seat.selfId && again.participants.map(\.user) == ["anna", "ben", "carl"])
      await carl.session.close()
    }
  }

  private func aCutSeatIsFreeWhenTheGraceIsOver() async throws {
    let grace = Duration.seconds(2)
    try await TestServer.with({ $0.sessions.resumeGrace = .seconds(2) }) { server in
      let proxy = try CuttableProxy(to: server.server.port)
      defer { proxy.stop() }
      let inside = try await server.inDemo(["anna", "ben"])
      let carl = try await Client("ws://127.0.0.1:\(proxy.port)/rtc", "carl")
      let seat = try await carl.session.join(room: "demo")
      let dora = try await Client(server.url, "dora")
      let cutAt = ContinuousClock.now
      proxy.cut()
      var refusals: [ErrorObject] = []
      let isIn = try await eventually {
        guard let refusal = try await refused({ try await dora.session.join(room: "demo") }) else { return true }
        refusals.append(refusal)
        return false
      }
      // The server's clock began a little after ours.
      #expect(isIn && ContinuousClock.now - cutAt >= grace - .milliseconds(50))
      #expect(!refusals.isEmpty && refusals.allSatisfy { $0.code == .roomFull && $0.data.count == 3 })
      let story = ["carl joined", "carl reconnecting", "carl lost", "dora joined"]
      try await inside[0].hears(["ben joined"] + story)
      try await inside[1].hears(story)
      // Not sooner and not much later than it was to be, by the server's own clock; and a seat that is free again is taken at once.
      for one in inside {
        let told = await one.heard.messages
        let lostAt = try #require(told.first { $0.event.isReconnecting }?.serverTime)
        let leftAt = try #require(told.first { $0.event.isLeft }?.serverTime)
        expectTime(leftAt - lostAt, 2_000, "his seat")
      }
      // He comes back too late: his token is worth nothing, his seat is hers, and nobody hears of his trying.
      let late = try RawClient(server.url)
      try await late.open()
      let token = await carl.session.hello.resumeToken
      try await late.say(
        #"{"id":1,"method":"session.resume","params":{"resumeToken":"\#(token)","lastSeq":0}}"#)
      #expect(try await late.reply(to: 1).contains("1007"))
      let again = try await Client(server.url, "carl")
      #expect(try await again.refusal { try await again.session.join(room: "demo") } == 2002)
      let room = try await inside[0].info("demo")
      #expect(room.count == 3)
      #expect(
        await inside[0].session.snapshot(of: "demo")?.participants.contains { $0.participantId == seat.selfId } == false
      )
      try await inside[0].hears(["ben joined"] + story)
      try await inside[1].hears(story)
    }
  }

  @Test func scenario08NamesAndDevicesAreOnePersonsOwn() async throws {
    try await TestServer.with { server in
      let ben = try await Client(server.url, "ben")
      _ = try await ben.session.join(room: "demo")
      let first = try await Client(server.url, "a", device: "phone", name: "anna")
      let seat = try await first.session.join(room: "demo")
      try await ben.hears(["a joined"])

      // Whether it is the name of the session or of the seat, and from inside the room too.
      let stranger = try await Client(server.url, "b", name: "anna")
      let other = try await Client(server.url, "c")
      #expect(try await stranger.refusal { try await stranger.session.join(room: "demo") } == 2003)
      for (client, name) in [(other, "anna"), (other, "ANNA"), (ben, "anna")] {
        let named = RoomJoinParams(room: "demo", displayName: name)
        #expect(try await client.refusal { try await client.session.join(named) } == 2003)
      }

      let second = try await Client(server.url, "a", device: "laptop", name: "anna")
      #expect(try await second.refusal { try await second.session.join(room: "demo") } == 2004)
      var params = RoomJoinParams(room: "demo", takeover: true)
      let tokens = [nil, "r1.of nobody", await second.session.hello.resumeToken, await ben.session.hello.resumeToken]
      for token in tokens {
        params.resumeToken = token
        #expect(try await second.refusal { try await second.session.join(params) } == 1005)
      }
      try await first.hears([])
      try await ben.hears(["a joined"])

      params.resumeToken = await first.session.hello.resumeToken
      let taken = try await second.session.join(params)
      #expect(taken.selfId == seat.selfId)
      #expect(await taken.snapshot?.participants.map(\.user) == ["ben", "a"])
      try await first.hears(["closed: replaced"])
      #expect(try await first.refusal { try await seat.chat("am I there?") } == 2005)
      // The others see one person all the while, and learn that his tracks are another device's.
      try await ben.hears(["a joined", "a updated"])
      #expect(await ben.heard.participants("a") == [seat.selfId, seat.selfId])
      let seen = await ben.session.snapshot(of: "demo")
      #expect(seen?.count == 2 && seen?.participants.map(\.displayName) == ["ben", "anna"])
      #expect(try await taken.chat("it is me").delivered == 1)
      try await ben.hears(["a joined", "a updated", "a: it is me"])
    }
  }
}

extension Recorder {
  /// The participants that events about a user named, one an event.
  fileprivate func participants(_ user: String) -> [String] {
    messages.compactMap { message in
      switch message.event {
      case .participantJoined(let event), .participantUpdated(let event), .participantReconnecting(let event),
        .participantReconnected(let event):
        event.participant.user == user ? event.participant.participantId : nil
      default: nil
      }
    }
  }
}
