// Scenario 60 of docs/scenarios.md: whom custom messages reach, in which order, and how many may be sent; and who is asked
// something.

import Basics
import Configuration
import RoostClient
import RoostProtocol
import TestSupport
import Testing

extension EndToEnd.RoomScenarios {
  @Test func scenario60CustomMessagesComeOnceAndInOrder() async throws {
    try await sixteenHearEachOther()
    try await soManyAtOnceAndNotOneMore()
    try await severalBurstsCutNobodyOff()
    try await soManyWaitForAnAnswerAndNotOneMore()
  }

  /// Forty a second of each, of 1 KiB. (`Tests/browser/test_messages.py` has a hundred thousand deliveries.)
  private func sixteenHearEachOther() async throws {
    let each = 20
    let fill = String(repeating: "x", count: 1_000)
    try await TestServer.with { server in
      var people: [Client] = []
      for number in 0..<16 {
        let client = try await Client(server.url, "u\(number)")
        _ = try await client.session.join(room: "group-1")
        people.append(client)
      }
      try await withThrowingTaskGroup(of: Void.self) { group in
        for one in people {
          group.addTask {
            for number in 0..<each {
              let data: RawJSON = ["n": RawJSON(.integer(Int64(number))), "fill": RawJSON(.string(fill))]
              let params = MessageSendParams(room: "group-1", topic: "pointer", data: data)
              guard case .messageSent(let result) = try await one.session.request(.message(.send(params))) else {
                throw Phone.Wrong.reply
              }
              #expect(result.delivered == 15)
              try await Task.sleep(for: .milliseconds(25))
            }
          }
        }
        try await group.waitForAll()
      }
      try await people.settle()
      var orders: [[String]] = []
      for one in people {
        let user = await one.session.hello.user
        let heard = await one.heard.messages.compactMap { message -> (from: String, number: Int64)? in
          guard case .messageReceived(let sent) = message.event, case .object(let data) = sent.data.value,
            case .integer(let number)? = data["n"], data["fill"] == .string(fill)
          else { return nil }
          return (sent.from, number)
        }
        #expect(heard.count == 15 * each && heard.allSatisfy { $0.from != user })
        for sender in Set(heard.map(\.from)) {
          #expect(heard.filter { $0.from == sender }.map(\.number) == (0..<Int64(each)).map { $0 })
        }
        orders.append(heard.map { "\($0.from) \($0.number)" })
      }
      let (first, second) = (orders[0], orders[1])
      #expect(
        first.filter { !$0.hasPrefix("u1 ") } == second.filter { !$0.hasPrefix("u0 ") }, "one order for everybody")
      for one in people { await one.session.close() }
    }
  }

  /// All in one go, without waiting for a reply; and some of it to one who was away.
  private func soManyAtOnceAndNotOneMore() async throws {
    try await TestServer.with { server in
      let ben = try await Client(server.url, "ben")
      _ = try await ben.session.join(room: "demo")
      let anna = try RawClient(server.url)
      try await anna.open()
      try await anna.say(#"{"id":1001,"method":"session.hello","params":{"user":"anna"}}"#)
      try await anna.say(#"{"id":1002,"method":"room.join","params":{"room":"demo"}}"#)
      _ = try await anna.reply(to: 1002)
      let start = ContinuousClock.now
      for number in 0..<400 {
        try await anna.say(
          #"{"id":\#(number),"method":"message.send","params":{"room":"demo","topic":"t","data":[\#(number), 1e2]}}"#)
      }
      var taken: [Int] = []
      for number in 0..<400 {
        let reply = try await anna.reply(to: number)
        if reply.contains(#""delivered":1"#) {
          taken.append(number)
        } else {
          #expect(reply.contains("RATE_LIMITED") && reply.contains("retryAfterMs"))
        }
      }
      let passed = start.duration(to: .now)
      let most = 200 + Int((passed / .milliseconds(10)).rounded(.up))
      #expect(taken.count >= 200 && taken.count <= most && taken.prefix(200) == Array(0..<200)[...])
      try await ben.settle()
      let heard = await ben.heard.messages.compactMap { message -> String? in
        if case .messageReceived(let sent) = message.event { sent.data.text } else { nil }
      }
      #expect(heard == taken.map { "[\($0), 1e2]" }, "byte for byte")
      await ben.session.close()
    }
  }

  /// Four send at once what each may. That is more than may wait for one who hears it, so the room hears half of it, and nobody is cut off.
  private func severalBurstsCutNobodyOff() async throws {
    try await TestServer.with { server in
      let ben = try await Client(server.url, "ben")
      _ = try await ben.session.join(room: "group-1")
      var people: [RawClient] = []
      for number in 0..<4 {
        let one = try RawClient(server.url)
        try await one.open()
        try await one.say(#"{"id":1001,"method":"session.hello","params":{"user":"u\#(number)"}}"#)
        try await one.say(#"{"id":1002,"method":"room.join","params":{"room":"group-1"}}"#)
        _ = try await one.reply(to: 1002)
        people.append(one)
      }
      let fill = String(repeating: "x", count: 1_600)
      let start = ContinuousClock.now
      try await withThrowingTaskGroup(of: Void.self) { group in
        for one in people {
          group.addTask {
            for number in 0..<200 {
              try await one.say(
                #"{"id":\#(number),"method":"message.send","params":{"room":"group-1","topic":"t","data":"\#(fill)"}}"#)
            }
          }
        }
        try await group.waitForAll()
      }
      func replies(_ one: RawClient) -> [String] { one.all.filter { $0.hasPrefix(#"{"jsonrpc":"2.0","id":"#) } }
      for one in people { #expect(await eventually(within: .seconds(60)) { replies(one).count == 202 }) }
      let most = 401 + Int((start.duration(to: .now) / .milliseconds(1) * 0.8).rounded(.up))
      let taken = people.reduce(0) { $0 + replies($1).count { $0.contains(#""delivered":4"#) } }
      let refused = people.reduce(0) { $0 + replies($1).count { $0.contains("room is told too much") } }
      #expect(taken >= 400 && taken <= most && taken + refused == 800, "\(taken) of \(most), \(refused)")
      try await ben.settle()
      let heard = await ben.heard.messages.count { $0.event.name == .messageReceived }
      #expect(heard == taken && people.allSatisfy { !$0.isClosed })
      await ben.session.close()
    }
  }

  /// Each answer comes to the question that it is for, also to one who was away; and one question more than may wait is refused.
  private func soManyWaitForAnAnswerAndNotOneMore() async throws {
    try await TestServer.with { server in
      let anna = try await Client(server.url, "anna", reconnects: true)
      let ben = try await Client(server.url, "ben")
      let room = try await anna.session.join(room: "demo")
      let other = try await ben.session.join(room: "demo")
      let answers = Task {
        await withTaskGroup(of: RawJSON?.self) { group in
          for number in 0..<16 {
            group.addTask { try? await room.ask("ben", "count", RawJSON(.integer(Int64(number)))).data }
          }
          return await group.reduce(into: []) { $0.append($1?.text ?? "none") }
        }
      }
      func asked() async -> [MessageRequested] {
        await ben.heard.messages.compactMap { if case .messageRequested(let asked) = $0.event { asked } else { nil } }
      }
      #expect(await eventually { await asked().count == 16 })
      await #expect(throws: RoostError.self) { try await room.ask("ben", "more", 16) }
      await anna.session.dropConnection()
      for question in await asked() { try await other.answer(question.requestId, question.data) }
      #expect(Set(await answers.value) == Set((0..<16).map { "\($0)" }))
      #expect(await asked().count == 16, "each was asked once")
      for one in [anna, ben] { await one.session.close() }
    }
  }
}
