// Scenarios 47, 48 and one half of 50: what clients say on the wire, and one who does not listen.

import Basics
import Glibc
import RoostProtocol
import TestSupport
import Testing

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
      #expect(Set(anna.replies(to: 2).map { $0.contains("\"result\"") }) == [true])

      for (index, garbage) in [
        "{", "[]", "null", #"{"jsonrpc":"2.0","id":10,"method":"call.nonsense","params":{}}"#,
        #"{"jsonrpc":"2.0","id":11,"method":"call.start","params":{"to":"dora","kind":7}}"#,
        #"{"jsonrpc":"2.0","id":12,"method":"call.accept","params":{"callId":"nobody knows it"}}"#,
      ].enumerated() {
        let errors = anna.all.count { $0.contains("\"error\"") }
        try await anna.say(garbage)
        #expect(await eventually { anna.all.count { $0.contains("\"error\"") } == errors + 1 }, "\(index)")
      }
      let large = String(repeating: "x", count: 1 << 20)
      try await anna.say(
        """
        {"jsonrpc":"2.0","id":20,"method":"call.start","params":{"to":["dora"],"kind":"group","media":"audio",\
        "extra":"\(large)"}}
        """)
      #expect(await eventually { anna.all.contains { $0.contains("1010") } || anna.isClosed })
      #expect(!anna.isClosed, "an oversized message gets an error")
      let four = String(repeating: "x", count: 5_000)
      try await anna.say(
        #"{"jsonrpc":"2.0","id":21,"method":"call.invite","params":{"callId":"c","users":["dora"],"extra":"\#(four)"}}"#
      )
      #expect(try await anna.reply(to: 21).contains("1010"))

      try await dora.settle()
      #expect(await dora.heard(\.incoming).count == 1, "one effect")
      try await both.settle()
      #expect(try await both[0].get(talk).state == .active)
      for one in both {
        #expect(await one.heard(\.ended).isEmpty)
        #expect(await one.heard(\.left).isEmpty)
      }
      anna.close(code: 1000)
    }
  }

  /// A client reckons with what the server says, whatever its own clock shows: absolute times are the server's, and each comes
  /// with the same counted from the message.
  @Test(arguments: [Int64(-3_600_000), 3_600_000])
  func scenario48TimesAreRightWhateverTheClientsClockShows(_ skew: Int64) async throws {
    try await TestServer.calls({ $0.calls.ringTimeout = .seconds(20) }) { server in
      let both = try await server.talkers(["anna", "ben"])
      let (anna, ben) = (both[0], both[1])
      let id = try await anna.start(["ben"]).call.callId
      let ring = try await ben.rings(id).call
      let heardAt = wallMilliseconds() + skew
      let message = try #require(await ben.log.messages.first { $0.event.incoming != nil })
      let (expiresAt, remaining) = (try #require(ring.expiresAt), try #require(ring.remainingMs))
      #expect(abs(expiresAt - message.serverTime - remaining) <= 100)
      #expect(remaining > 15_000 && remaining <= 20_000)
      // The offset of the two clocks comes from any message; with it the absolute time is right too.
      let offset = message.serverTime - heardAt
      #expect(abs(offset + skew) < 5_000)
      #expect(abs((expiresAt - offset) - (heardAt + remaining)) <= 100)

      try await ben.accept(id)
      let startedAt = try await ben.hears(\.active, of: id).startedAt
      try await anna.hangup(id)
      let end = try await ben.hears(\.ended, of: id)
      let record = try #require(try await ben.record(of: id))
      #expect(abs(startedAt - (heardAt - skew)) < 30_000, "times are the server's")
      #expect(record.durationMs == end.durationMs && record.durationMs >= 0 && record.durationMs < 30_000)
      #expect(record.startedAt <= record.answeredAt ?? 0 && record.answeredAt ?? 0 <= record.endedAt)
      await both.close()
    }
  }

  private func wallMilliseconds() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
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

      // More than his socket and his outbox hold; the others get every message.
      let text = String(repeating: "x", count: 4_000)
      var sent = 0
      while await anna.heard(\.reconnecting).isEmpty, await anna.heard(\.leftRoom).isEmpty, sent < 5_000 {
        _ = try await anna.session.request(.chatSend(ChatSendParams(room: "call:\(id)", text: text)))
        sent += 1
      }
      try await ben.settle()
      let heard = await ben.log.messages.count { if case .chatMessage = $0.event { true } else { false } }
      #expect(heard == sent && sent < 5_000)
      withExtendedLifetime(stalled) {}
      #expect(server.log.all.contains { $0.contains("too_slow") || $0.contains("slow") }, "\(server.log.all.suffix(5))")
      // He is out after the grace, as anybody who is lost.
      #expect(try await anna.hears(\.left, of: id).member.user == "carl")
      #expect(try await anna.get(id).state == .active)
    }
  }
}
