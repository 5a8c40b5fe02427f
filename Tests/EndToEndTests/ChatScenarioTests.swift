// Scenario 10 of docs/scenarios.md: who gets a message, from whom it is, in which order, and what is kept of it.

import Basics
import Configuration
import RoostClient
import RoostProtocol
import TestSupport
import Testing

extension EndToEnd.RoomScenarios {
  @Test func scenario10ChatGoesToWhomItIsFor() async throws {
    try await chatIsForAllOrForOne()
    try await nobodyWritesAsAnother()
    try await everybodyReadsInOneOrder()
    try await historyIsAsTheRoomAllows()
  }

  private func chatIsForAllOrForOne() async throws {
    try await TestServer.with { server in
      let inside = try await server.inDemo(["anna", "ben", "carl"])
      let (anna, ben, carl) = (inside[0], inside[1], inside[2])
      #expect(try await anna.say("to all").delivered == 2)
      #expect(try await anna.say("to ben", to: ["ben"]).delivered == 1)
      try await anna.hears(["ben joined", "carl joined"])
      try await ben.hears(["carl joined", "anna: to all", "anna: to ben"])
      try await carl.hears(["anna: to all"])

      _ = try await ben.say("from ben")
      try await anna.hears(["ben joined", "carl joined", "ben: from ben"])
      try await carl.hears(["anna: to all", "ben: from ben"])
      for one in [anna, ben] { #expect(try await one.history("demo").map(\.text) == ["to all", "to ben", "from ben"]) }
      #expect(try await carl.history("demo").map(\.text) == ["to all", "from ben"])
    }
  }

  private func nobodyWritesAsAnother() async throws {
    try await TestServer.with { server in
      let inside = try await server.inDemo(["anna", "ben"])
      let carl = try RawClient(server.url)
      try await carl.open()
      try await carl.say(#"{"id":1,"method":"session.hello","params":{"user":"carl","displayName":"Carl"}}"#)
      try await carl.say(#"{"id":2,"method":"room.join","params":{"room":"demo"}}"#)
      let anna = try #require(await inside[0].session.snapshot(of: "demo")?.selfId)
      try await carl.say(
        """
        {"id":3,"method":"chat.send","from":"anna","params":{"room":"demo","text":"I am anna","from":"anna",\
        "displayName":"anna","user":"anna","participantId":"\(anna)","msgId":"m1","ts":1}}
        """)
      #expect(try await carl.reply(to: 3).contains(#""delivered":2"#))
      try await inside[0].hears(["ben joined", "carl joined", "carl: I am anna"])
      try await inside[1].hears(["carl joined", "carl: I am anna"])
      for one in inside {
        let kept = try await one.history("demo")
        #expect(kept.map(\.from) == ["carl"] && kept.map(\.displayName) == ["Carl"])
        #expect(await one.chat == kept, "the event says what the history does")
      }
    }
  }

  /// All three write at once; each hears the others in the order of the history, which is everybody's.
  private func everybodyReadsInOneOrder() async throws {
    let each = 30
    try await TestServer.with({ ($0.chat.messagesPerSecond, $0.chat.burst) = (100_000, 100_000) }) { server in
      let inside = try await server.inDemo(["anna", "ben", "carl"])
      try await withThrowingTaskGroup(of: Void.self) { group in
        for one in inside {
          group.addTask { for number in 1...each { _ = try await one.say("\(number)") } }
        }
        try await group.waitForAll()
      }
      try await inside.settle()
      let order = try await inside[0].history("demo")
      #expect(order.count == 3 * each && Set(order.map(\.msgId)).count == 3 * each)
      for one in inside {
        #expect(try await one.history("demo") == order)
        let user = await one.session.hello.user
        #expect(await one.chat == order.filter { $0.from != user })
      }
    }
  }

  private func historyIsAsTheRoomAllows() async throws {
    let lengths = ["short": 2, "silent": 0]
    try await TestServer.with({
      for (name, length) in lengths {
        var room = RoomSettings.demo
        room.chatHistory = length
        $0.rooms[name] = room
      }
    }) { server in
      for (room, length) in lengths {
        let (anna, ben) = (try await Client(server.url, "anna \(room)"), try await Client(server.url, "ben \(room)"))
        let outsider = try await Client(server.url, "carl \(room)")
        for one in [anna, ben] { _ = try await one.session.join(room: room) }
        for text in ["one", "two", "three"] { _ = try await anna.say(text, in: room) }
        try await ben.hears(["one", "two", "three"].map { "anna \(room): \($0)" })
        let kept = Array(["one", "two", "three"].suffix(length))
        for one in [anna, ben] { #expect(try await one.history(room).map(\.text) == kept) }
        // It is for those inside, and for who joins later.
        #expect(try await outsider.refusal { try await outsider.history(room) } == 2005)
        #expect(try await outsider.enter(room).chat.map(\.text) == kept)
        #expect(try await outsider.history(room).map(\.text) == kept)
        _ = try await outsider.session.request(.room(.leave(RoomParams(room: room))))
        #expect(try await outsider.refusal { try await outsider.history(room) } == 2005)
      }
    }
  }
}

extension Client {
  /// Writes to all, or to some.
  fileprivate func say(_ text: String, to: [String]? = nil, in room: String = "demo") async throws -> ChatSendResult {
    let reply = try await session.request(.chat(.send(ChatSendParams(room: room, text: text, to: to))))
    guard case .chatSent(let result) = reply else { throw Phone.Wrong.reply }
    return result
  }

  /// The chat messages that came as events.
  fileprivate var chat: [Message] {
    get async {
      await heard.messages.compactMap { if case .chatMessage(let message) = $0.event { message } else { nil } }
    }
  }
}
