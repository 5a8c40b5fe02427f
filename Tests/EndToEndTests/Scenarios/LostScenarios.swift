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
      let (cutAt, cutTime) = (ContinuousClock.now, wallMilliseconds())
      proxy.cut()
      let stop = try await ben.hears(\.stopped, of: id)
      #expect(ContinuousClock.now - cutAt >= .seconds(2), "not before the grace is over")
      #expect(stop.reason == .callerLost && stop.code == 6013)
      let stoppedAt = try #require(await ben.log.time { $0.stopped != nil })
      expectTime(stoppedAt - cutTime, 2_000, "and not long after it")
      #expect(try await ben.hears(\.missed, of: id).callId == id)
      #expect(try await ben.get(id).reason == .callerLost)
      let record = try await ben.record(of: id)
      #expect(record?.result == .missed && record?.reason == .callerLost && record?.endedAt == stoppedAt)
      try await ben.settle()
      let his = await ben.log.all { $0.callId == id ? $0.name : nil }
      #expect(his == [.callIncoming, .callStopped, .callMissed, .callRecord], "each of it once")
      await anna.session.close()
    }
    try await returnsThatMeetTheEndOfTheGrace()
  }

  /// Callers who come back a little before the grace is over, and a little after. Whichever it is, both are told the same: it rings on and
  /// nobody has noticed, or it is over for both.
  private func returnsThatMeetTheEndOfTheGrace() async throws {
    try await TestServer.calls({
      $0.calls.callerGrace = .seconds(1)
      $0.calls.resumeGrace = .seconds(60)
      $0.sessions.resumeGrace = .seconds(60)
    }) { server in
      let away: [Int] = [0, 860, 900, 940, 980, 1_020, 1_060, 2_000]
      let isOver = try await withThrowingTaskGroup(of: Bool.self) { group in
        for (number, time) in away.enumerated() {
          group.addTask { try await isOverForBoth(server, number, away: .milliseconds(time)) }
        }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      #expect(Set(isOver) == [true, false], "some came in time, and some did not")
    }
  }

  /// Whether the call of one who was away for so long is over.
  private func isOverForBoth(_ server: TestServer, _ number: Int, away: Duration) async throws -> Bool {
    let proxy = try CuttableProxy(to: server.server.port)
    defer { proxy.stop() }
    let callee = try await server.phone("callee \(number)")
    let caller = try await Phone("ws://127.0.0.1:\(proxy.port)/rtc", "caller \(number)", reconnects: true)
    let id = try await caller.start([callee.user]).call.callId
    try await callee.rings(id)
    proxy.cut()
    try await Task.sleep(for: away)
    proxy.mend()
    #expect(await caller.log.turn { if case .resumed = $0 { true } else { false } })
    let call = try await caller.get(id)
    try await [caller, callee].settle()
    let (hers, his) = (await caller.heard(\.ended, of: id), await callee.heard(\.stopped, of: id))
    let missed = await callee.heard(\.missed, of: id)
    if call.state == .ringing {
      #expect(hers.isEmpty && his.isEmpty && missed.isEmpty, "\(away)")
      #expect(try await caller.cancel(id).reason == .cancelled)
      #expect(try await callee.hears(\.stopped, of: id).reason == .cancelled)
    } else {
      #expect(call.state == .ended && call.reason == .callerLost, "\(away)")
      #expect(hers.map(\.code) == [6013] && his.map(\.code) == [6013] && missed.count == 1, "\(away)")
    }
    for one in [caller, callee] { #expect(try await one.current() == nil) }
    return call.state == .ended
  }

  @Test func scenario29AnAcceptedCallWithoutMediaFailsForBoth() async throws {
    try await TestServer.calls({ $0.calls.connectTimeout = .seconds(1) }) { server in
      try await failsForBoth(try await server.phones(["anna", "ben"]))
      // Whichever of the two has media: it takes both.
      let (carl, dora) = (try await Phone(talking: server.url, "carl"), try await server.phone("dora"))
      try await failsForBoth([carl, dora])
      try await failsForBoth([dora, carl])
      await carl.close()
      // And where both have, nothing fails when the time is over.
      let talkers = try await server.talkers(["emil", "finn"])
      let id = try await talkers[0].start(["finn"]).call.callId
      try await talkers[1].rings(id)
      try await talkers[1].accept(id)
      for one in talkers { _ = try await one.hears(\.active, of: id) }
      try await Task.sleep(for: .milliseconds(1_200))
      try await talkers.settle()
      for one in talkers { #expect(await one.heard(\.ended).isEmpty) }
      #expect(try await talkers[0].get(id).state == .active)
      await talkers.close()
    }
  }

  /// The first calls the second, who answers; media of one of them at least never comes.
  private func failsForBoth(_ both: [Phone]) async throws {
    let id = try await both[0].start([both[1].user]).call.callId
    try await both[1].rings(id)
    try await both[1].accept(id)
    for phone in both {
      let end = try await phone.hears(\.ended, of: id)
      #expect(end.reason == .connectFailed && end.code == 6008)
      expectTime(end.durationMs, 1_000, "from the answer on")
      try await phone.settle()
      #expect(await phone.heard(\.ended, of: id).count == 1)
      #expect(await phone.heard(\.active, of: id).isEmpty)
      #expect(await phone.heard(\.missed, of: id).isEmpty)
    }
    for phone in both {
      let record = try #require(try await phone.record(of: id))
      #expect(record.result == .failed && record.reason == .connectFailed && record.durationMs == 0)
      let acceptedAt = try #require(await both[0].log.messages.first { $0.event.accepted?.callId == id }?.serverTime)
      expectTime(record.endedAt - acceptedAt, 1_000, "from the answer on, and no longer")
      #expect(try await phone.current() == nil)
    }
    let again = try await both[0].start([both[1].user])
    #expect(again.busy == [])
    try await both[0].cancel(again.call.callId)
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
    try await oneWhoVanishesEndsTheCall()
    // Servers of their own at once, since they wait most of the time.
    try await withThrowingTaskGroup(of: Void.self) { group in
      for end in ListenersEnd.allCases { group.addTask { try await aListenerWithoutMediaEndsTheCall(end) } }
      try await group.waitForAll()
    }
  }

  /// How the media of somebody end whose session goes on.
  private enum ListenersEnd: CaseIterable { case closes, fallsSilent }

  /// Nobody sends, so that nothing but the listener's checks comes; their socket lives. Once they close the connection, once the checks that came
  /// so far stop.
  private func aListenerWithoutMediaEndsTheCall(_ end: ListenersEnd) async throws {
    try await TestServer.calls({
      $0.calls.resumeGrace = .seconds(1)
      $0.calls.mediaTimeout = end == .closes ? .seconds(600) : .seconds(5)
    }) { server in
      let both = try await server.talkers(["anna", "ben"])
      let (anna, ben) = (both[0], both[1])
      let id = try await anna.start(["ben"]).call.callId
      try await ben.rings(id)
      try await ben.accept(id)
      _ = try await anna.hears(\.active, of: id)
      let media = try #require(ben.media)
      switch end {
      case .closes:
        // The server may be up first. Before the client is, it has nothing to say a word by.
        #expect(await eventually { await media.statistics.subscribe.connectedAt != nil })
        await media.closeConnections(politely: true)
      case .fallsSilent:
        #expect(await eventually(within: .seconds(60)) { await media.statistics.subscribe.consents >= 3 })
        #expect(await anna.heard(\.reconnecting).isEmpty)
        var silence = Impairments()
        silence.isBlackout = true
        await media.setImpairments(silence)
      }
      _ = try await anna.hears(\.reconnecting)
      let ended = try await anna.hears(\.ended, of: id)
      #expect(ended.reason == .disconnected && ended.code == 6009 && ended.by == "ben", "\(end)")
      let times = (await anna.log.time { $0.reconnecting != nil }, await anna.log.time { $0.ended != nil })
      expectTime(try #require(times.1) - #require(times.0), 1_000, "after the grace, and not long after it")
      #expect(try await ben.hears(\.ended, of: id).reason == .disconnected, "their session is there")
      #expect(try await ben.current() == nil)
      await both.close()
    }
  }

  private func oneWhoVanishesEndsTheCall() async throws {
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
      let (goneAt, goneTime) = (ContinuousClock.now, wallMilliseconds())
      await ben.media?.vanish()
      _ = try await anna.hears(\.reconnecting)
      let end = try await anna.hears(\.ended, of: id)
      #expect(ContinuousClock.now - goneAt >= .seconds(1))
      #expect(end.reason == .disconnected && end.code == 6009 && end.by == "ben" && end.record?.result == .answered)
      let lostAt = try #require(await anna.log.time { $0.reconnecting != nil })
      let endedAt = try #require(await anna.log.time { $0.ended != nil })
      expectTime(endedAt - lostAt, 1_000, "after the grace, and not long after it")
      expectTime(endedAt - goneTime, 1_000, "he was missed at once")
      #expect(try await anna.current() == nil)
      try await anna.settle()
      #expect(await anna.heard(\.reconnecting).count == 1)
      #expect(await anna.heard(\.reconnected).isEmpty)
      #expect(await anna.heard(\.ended, of: id).count == 1)
      // For him it is over as well, and so he is told when he comes after all.
      let late = try await server.phone("ben")
      #expect(await late.session.hello.current == nil)
      let call = try await late.get(id)
      #expect(call.state == .ended && call.reason == .disconnected && call.by == "ben" && call.endedAt == endedAt)
      let records = [try await anna.record(of: id), try await late.record(of: id)]
      for record in records {
        #expect(record?.result == .answered && record?.reason == .disconnected && record?.endedAt == endedAt)
        #expect(record?.durationMs == end.durationMs)
      }
      #expect(try await anna.start(["ben"]).busy == [], "nobody stays busy")
      await anna.close()
    }
  }
}
