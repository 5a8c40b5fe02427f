// Scenarios 47, 48 and one half of 50: what clients say on the wire, and one who does not listen.

import Basics
import Foundation
import Glibc
import RoostProtocol
import TestSupport
import Testing

/// The reply to `call.start`.
private struct Started: Decodable { var result: CallStartResult }

extension EndToEnd.CallScenarios {
  @Test func scenario47RepeatedAndBrokenRequestsHarmNobody() async throws {
    try await TestServer.calls { server in
      let both = try await server.phones(["ben", "carl"])
      let talk = try await both[0].start(["carl"], .group).call.callId
      try await both[1].accept(talk)
      let dora = try await server.phone("dora")

      let anna = try RawClient(server.url)
      try await anna.open()
      try await anna.say(#"{"jsonrpc":"2.0","id":1,"method":"session.hello","params":{"user":"anna"}}"#)
      _ = try await anna.reply(to: 1)
      let start =
        #"{"jsonrpc":"2.0","id":2,"method":"call.start","params":{"to":["dora"],"kind":"one_to_one","media":"audio"}}"#
      for _ in 1...3 { try await anna.say(start) }
      #expect(await eventually { anna.replies(to: 2).count == 3 })
      // The call and its room as they are by then: somebody may have said meanwhile that it rings.
      let results = try anna.replies(to: 2).map {
        try JSONDecoder().decode(Started.self, from: Data($0.utf8)).result
      }
      // All that does not change by itself: not the time that is left, how far the room is, how dora rings.
      let fixed = results.map { result in
        var (call, room) = (result.call, result.room)
        (call.remainingMs, call.rev, room.seq) = (nil, 0, 0)
        for index in call.members.indices where call.members[index].user == "dora" {
          call.members[index].state = .inviting
        }
        return CallStartResult(
          call: call, room: room, busy: result.busy, unreachable: result.unreachable, glare: result.glare)
      }
      #expect(Set(fixed).count == 1, "one call and one seat, three times")
      #expect(zip(results, results.dropFirst()).allSatisfy { $0.call.rev <= $1.call.rev && $0.room.seq <= $1.room.seq })
      try await dora.settle()
      #expect(await dora.heard(\.incoming).count == 1, "one effect")

      let before = [await both[0].log.count, await both[1].log.count]
      let revs = try await both[0].get(talk).rev
      let (large, five) = (String(repeating: "x", count: 1 << 20), String(repeating: "x", count: 5_000))
      for (index, (garbage, code)) in [
        ("{", -32700), ("garbage", -32700), ("[]", -32600), ("null", -32600), (#"{"id":9}"#, -32600),
        (#"{"jsonrpc":"2.0","id":10,"method":"call.nonsense","params":{}}"#, -32601),
        (#"{"jsonrpc":"2.0","id":11,"method":"call.start","params":{"to":"dora","kind":7}}"#, -32602),
        (#"{"jsonrpc":"2.0","id":12,"method":"call.accept","params":{"callId":"nobody knows it"}}"#, 3001),
        (Self.start(id: 13, extra: large), 1010), (Self.start(id: 14, extra: five), 1010),
      ].enumerated() {
        let errors = anna.errorCodes
        try await anna.say(garbage)
        #expect(
          await eventually { anna.errorCodes == errors + [code] || anna.isClosed }, "\(index): \(anna.errorCodes)")
        // What is well-formed is served as ever, and what is not is no reason to go.
        try await anna.say(#"{"jsonrpc":"2.0","id":\#(100 + index),"method":"ping"}"#)
        #expect(try await anna.reply(to: 100 + index).contains("\"result\""))
      }

      try await dora.settle()
      #expect(await dora.heard(\.incoming).count == 1, "nobody is rung by any of it")
      try await both.settle()
      #expect([await both[0].log.count, await both[1].log.count] == before, "the others hear nothing")
      #expect(try await both[0].get(talk).rev == revs)
      #expect(try await both[0].get(talk).state == .active)
      try await both[0].hangup(talk)
      #expect(try await both[1].hears(\.left, of: talk).member.user == "ben")
      anna.close(code: 1000)
    }
  }

  private static func start(id: Int, extra: String) -> String {
    """
    {"jsonrpc":"2.0","id":\(id),"method":"call.start","params":{"to":["dora"],"kind":"group","media":"audio",\
    "replace":true,"extra":"\(extra)"}}
    """
  }

  /// Clients whose clocks are an hour fast and an hour slow; one even says so. Each reckons by its own clock and what the
  /// messages say: the ring ends when it has reckoned, and the call has the length that it has.
  @Test(arguments: [Int64(-3_600_000), 3_600_000])
  func scenario48TimesAreRightWhateverTheClientsClockShows(_ skew: Int64) async throws {
    try await TestServer.calls({ $0.calls.ringTimeout = .seconds(2) }) { server in
      let (anna, ben) = (Watch(skew: skew), Watch(skew: -skew))
      let caller = try RawClient(server.url)
      try await caller.open()
      try await caller.say(#"{"jsonrpc":"2.0","id":1,"method":"session.hello","params":{"user":"anna"}}"#)
      let callee = try await server.phone("ben")
      // What the client thinks of the time is nothing that the server listens to.
      try await caller.say(
        """
        {"jsonrpc":"2.0","id":2,"method":"call.start","serverTime":\(anna.now),"params":{"to":["ben"],"kind":"one_to_one",\
        "media":"audio","createdAt":\(anna.now),"expiresAt":\(anna.now + 2_000),"ringTimeoutMs":5000}}
        """)
      let ring = try await callee.rings().call
      let heardAt = ben.now
      let message = try #require(await callee.log.messages.first { $0.event.incoming != nil })
      let (expiresAt, remaining) = (try #require(ring.expiresAt), try #require(ring.remainingMs))
      #expect(expiresAt - message.serverTime == remaining && remaining > 4_000 && remaining <= 5_000)
      #expect(expiresAt - ring.createdAt == 5_000)
      // By the time that is left, and by the absolute time less how far his clock is from the server's.
      let ends = [heardAt + remaining, expiresAt - (message.serverTime - heardAt)]
      #expect(ends[0] == ends[1])

      #expect(try await callee.hears(\.stopped).reason == .noAnswer)
      let late = ben.now - ends[0]
      #expect(late > -1_000 && late < 60_000, "it stops when he has reckoned: \(late) ms after it")
      let stopped = try #require(await callee.log.messages.first { $0.event.stopped != nil })
      #expect(stopped.serverTime >= expiresAt && stopped.serverTime < expiresAt + 60_000)
      let record = try #require(try await callee.record(of: ring.callId))
      #expect(record.startedAt == ring.createdAt && record.endedAt == stopped.serverTime)
      #expect(abs(record.endedAt - (ben.now - ben.skew)) < 60_000, "the server's time, and neither client's")
      caller.close(code: 1000)
      try await theLengthOfACallIsRight(server, skew)
    }
  }

  private func theLengthOfACallIsRight(_ server: TestServer, _ skew: Int64) async throws {
    let both = try await server.talkers(["carl", "dora"])
    let watch = Watch(skew: skew)
    let askedAt = watch.now
    let id = try await both[0].start(["dora"]).call.callId
    try await both[1].rings(id)
    try await both[1].accept(id)
    let startedAt = try await both[1].hears(\.active, of: id).startedAt
    let message = try #require(await both[1].log.messages.first { $0.event.active != nil })
    #expect(message.serverTime == startedAt)
    try await both[0].hangup(id)
    let end = try await both[1].hears(\.ended, of: id)
    let elapsed = watch.now - askedAt
    for phone in both {
      let record = try #require(try await phone.record(of: id))
      let answeredAt = try #require(record.answeredAt)
      #expect(record.startedAt <= answeredAt && answeredAt <= startedAt && startedAt <= record.endedAt)
      #expect(record.lasted(since: answeredAt) && record.durationMs == end.durationMs)
      #expect(record.durationMs >= 0 && record.durationMs <= elapsed + 1_000, "as long as it was by anybody's clock")
      #expect(abs(record.startedAt - (askedAt - skew)) < 60_000)
    }
    await both.close()
  }

  /// Scenario 50, for a client; for a webhook it is in `PushScenarios.swift`.
  func nobodyWaitsForAClientThatStopsReading() async throws {
    try await TestServer.calls({
      $0.limits.outboxBytes = 64 << 10
      $0.chat.messagesPerSecond = 100_000
      $0.chat.burst = 100_000
    }) { server in
      let people = try await server.phones(["anna", "ben"])
      let (anna, ben) = (people[0], people[1])
      // A small buffer, so that it is full soon; nothing is read after the handshake.
      let stalled = try RawSocket(port: server.server.port, receiveBuffer: 4_096)
      stalled.upgrade()
      stalled.say(#"{"jsonrpc":"2.0","id":1,"method":"session.hello","params":{"user":"carl"}}"#)
      #expect(
        try await eventually {
          try await anna.session.presence(of: ["carl"]).first?.reachable == true
        })
      let id = try await anna.start(["ben", "carl"], .group).call.callId
      try await ben.accept(id)
      stalled.say(#"{"jsonrpc":"2.0","id":2,"method":"call.accept","params":{"callId":"\#(id)"}}"#)
      #expect(try await anna.hears(\.accepted, of: id) { $0.user == "carl" }.user == "carl")

      // More than his socket and his outbox hold; the others get every message, and nobody waits for him.
      let text = String(repeating: "x", count: 4_000)
      var sent = 0
      var longest = Duration.zero
      while await anna.heard(\.reconnecting).isEmpty, await anna.heard(\.leftRoom).isEmpty, sent < 5_000 {
        let start = ContinuousClock.now
        _ = try await anna.session.request(.chat(.send(ChatSendParams(room: "call:\(id)", text: text))))
        try await ben.settle()
        longest = max(longest, ContinuousClock.now - start)
        sent += 1
        #expect(await ben.chats == sent)
      }
      // Not before his outbox is full, and not long after it: the kernel keeps at most a few megabytes for a socket.
      #expect(sent * text.utf8.count > 64 << 10 && sent * text.utf8.count < 12 << 20, "\(sent) messages")
      #expect(longest < .seconds(10), "a socket that is silent is dead after 15 s: nobody waited for that")
      withExtendedLifetime(stalled) {}
      // It is dropped, for that reason alone.
      await server.shows([#"roost_websockets_closed_total{cause="slow_reader"}"#: 1])
      let lines = server.log.all.filter { $0.contains("slow_reader") }
      #expect(lines.count == 1 && lines[0].contains("unread"), "\(lines)")
      // It says how much he had not read: as much as one may, so that one message more was too much.
      let words = lines.first?.split(whereSeparator: { !$0.isNumber && !$0.isLetter }) ?? []
      let unread = try #require(words.firstIndex(of: "bytes").flatMap { Int(words[$0 - 1]) }, "\(lines)")
      #expect(unread <= 64 << 10 && unread + text.utf8.count + 1_000 > 64 << 10, "\(unread)")
      // He is out after the grace, as anybody who is lost.
      let left = try await anna.hears(\.left, of: id).member
      #expect(left.user == "carl" && left.state == .lost && left.reason == .disconnected)
      let lostAt = try #require(await anna.log.time { $0.reconnecting != nil })
      let leftAt = try #require(await anna.log.time { $0.left != nil })
      expectTime(leftAt - lostAt, 800, "after the grace, and not long after it")
      #expect(try await anna.get(id).state == .active)
      try await people.settle()
      for one in people {
        #expect(await one.heard(\.left, of: id).count == 1)
        #expect(await one.heard(\.ended, of: id).isEmpty)
        #expect(await one.log.turns.isEmpty, "nobody else has lost anything")
      }
    }
  }
}

extension Phone {
  fileprivate var chats: Int {
    get async { await log.messages.count { if case .chatMessage = $0.event { true } else { false } } }
  }
}

/// What a client takes for the time.
private struct Watch {
  /// Milliseconds it is fast.
  var skew: Int64
  /// Milliseconds since 1970, it believes.
  var now: Int64 { wallMilliseconds() + skew }
}
