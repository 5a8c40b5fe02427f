// Scenarios 21 and 29 to 31: sockets that die, media that never comes, an address that changes.

import Basics
import RoostClient
import RoostProtocol
import SyntheticParticipant
import TestSupport
import Testing

extension EndToEnd.CallScenarios {
  @Test func scenario21ACallerWhoIsLostWhileItRingsStopsTheRing() async throws {
    try await TestServer.calls({
      $0.calls.callerGrace = .seconds(2)
      $0.calls.resumeGrace = .seconds(60)
      $0.sessions.resumeGrace = .seconds(60)
    }) { server in
      let proxy = try CuttableProxy(to: server.server.port)
      defer { proxy.stop() }
      let ben = try await server.phone("ben")
      let anna = try await Phone("ws://127.0.0.1:\(proxy.port)/rtc", "anna", reconnects: true)
      let id = try await anna.start(["ben"]).call.callId
      try await ben.rings(id)
      _ = try await anna.hears(\.ringing, of: id)

      // Back inside the grace: nobody notices.
      proxy.cut()
      #expect(await anna.log.turn { if case .reconnecting = $0 { true } else { false } })
      proxy.mend()
      #expect(await anna.log.turn { if case .resumed = $0 { true } else { false } })
      try await [anna, ben].settle()
      #expect(await ben.log.all { $0.name } == [.callIncoming])
      #expect(try await anna.get(id).state == .ringing)

      // Away for longer.
      let cutAt = ContinuousClock.now
      proxy.cut()
      let stop = try await ben.hears(\.stopped, of: id)
      #expect(ContinuousClock.now - cutAt >= .seconds(2), "not before the grace is over")
      #expect(stop.reason == .callerLost && stop.code == 6013)
      #expect(try await ben.hears(\.missed, of: id).callId == id)
      #expect(try await ben.get(id).reason == .callerLost)
      let record = try await ben.record(of: id)
      #expect(record?.result == .missed && record?.reason == .callerLost)
      await anna.session.close()
    }
  }

  @Test func scenario29AnAcceptedCallWithoutMediaFailsForBoth() async throws {
    try await TestServer.calls({ $0.calls.connectTimeout = .milliseconds(800) }) { server in
      let both = try await server.phones(["anna", "ben"])
      let (anna, ben) = (both[0], both[1])
      let id = try await anna.start(["ben"]).call.callId
      try await ben.rings(id)
      let acceptedAt = ContinuousClock.now
      try await ben.accept(id)
      for phone in both {
        let end = try await phone.hears(\.ended, of: id)
        #expect(end.reason == .connectFailed && end.code == 6008)
        #expect(await phone.heard(\.active, of: id).isEmpty)
      }
      #expect(ContinuousClock.now - acceptedAt >= .milliseconds(800))
      for phone in both {
        let record = try await phone.record(of: id)
        #expect(record?.result == .failed && record?.reason == .connectFailed && record?.durationMs == 0)
        #expect(try await phone.current() == nil)
      }
      #expect(try await anna.start(["ben"]).busy == [])
    }
  }

  @Test func scenario30ANewAddressIsTheSameParticipantWithMediaAgain() async throws {
    try await TestServer.calls({
      $0.calls.resumeGrace = .seconds(60)
      $0.sessions.resumeGrace = .seconds(60)
    }) { server in
      let proxy = try CuttableProxy(to: server.server.port)
      defer { proxy.stop() }
      let anna = try await Phone(talking: server.url, "anna", sends: true)
      let ben = try await Phone(talking: "ws://127.0.0.1:\(proxy.port)/rtc", "ben", reconnects: true, sends: true)
      let id = try await anna.start(["ben"]).call.callId
      try await ben.rings(id)
      let seat = try await ben.accept(id).room.selfId
      _ = try await anna.hears(\.active, of: id)
      let (his, hers) = (try #require(ben.media), try #require(anna.media))
      #expect(await eventually { await his.received("anna", "camera").frames >= 5 })
      #expect(await eventually { await hers.received("ben", "camera").frames >= 5 })

      proxy.cut()
      #expect(try await anna.hears(\.reconnecting).participant.participantId == seat)
      // While he is away something happens, which he hears once and behind nothing that he has heard.
      let chat = ChatSendParams(room: "call:\(id)", text: "are you there?")
      _ = try await anna.session.request(.chat(.send(chat)))
      await his.changeAddress()
      proxy.mend()
      #expect(try await anna.hears(\.reconnected).participant.participantId == seat)
      for role in PeerRole.allCases { try await his.restartICE(role) }
      let (before, after) = (await his.received("anna", "camera").frames, await hers.received("ben", "camera").frames)
      #expect(await eventually { await his.received("anna", "camera").frames >= before + 5 })
      #expect(await eventually { await hers.received("ben", "camera").frames >= after + 5 })

      try await [anna, ben].settle()
      #expect(await ben.log.messages.count { if case .chatMessage = $0.event { true } else { false } } == 1)
      let seqs = await ben.log.messages.map(\.seq)
      #expect(seqs == Array(1...max(1, seqs.count)), "every event once, none missing")
      #expect(await ben.session.currentRoom?.selfId == seat)
      #expect(await anna.heard(\.leftRoom).isEmpty)
      #expect(await anna.heard(\.joinedRoom).count == 1)
      #expect(try await anna.get(id).state == .active)
      await [anna, ben].close()
    }
  }

  @Test func scenario31OneWhoNeverReturnsEndsTheCallAfterTheGrace() async throws {
    try await TestServer.calls({
      $0.calls.resumeGrace = .seconds(1)
      $0.sessions.resumeGrace = .seconds(1)
    }) { server in
      let both = try await server.talkers(["anna", "ben"])
      let (anna, ben) = (both[0], both[1])
      let id = try await anna.start(["ben"]).call.callId
      try await ben.rings(id)
      try await ben.accept(id)
      _ = try await anna.hears(\.active, of: id)
      let goneAt = ContinuousClock.now
      await ben.media?.vanish()
      _ = try await anna.hears(\.reconnecting)
      let end = try await anna.hears(\.ended, of: id)
      #expect(ContinuousClock.now - goneAt >= .seconds(1))
      #expect(end.reason == .disconnected && end.code == 6009 && end.by == "ben" && end.record?.result == .answered)
      #expect(try await anna.current() == nil)
      await anna.close()
    }
  }
}
