// Scenarios 11 to 14, 16 and 17: a call between two, from the ring to the end.

import Basics
import RoostProtocol
import SyntheticParticipant
import TestSupport
import Testing

extension EndToEnd.CallScenarios {
  @Test func scenario11TwoTalkAndBothAreToldTheSame() async throws {
    try await TestServer.calls { server in
      let both = try await server.talkers(["anna", "ben"])
      let (anna, ben) = (both[0], both[1])
      let started = try await anna.start(["ben"])
      let id = started.call.callId
      #expect(started.call.state == .ringing && started.call.caller == "anna" && started.room.room == "call:\(id)")
      #expect(started.busy == [] && started.unreachable == [] && started.glare != true)
      let ring = try await ben.hears(\.incoming, of: id)
      #expect(ring.from == "anna" && !ring.inProgress && !ring.waiting)
      for _ in 1...2 { try await ben.ringing(id) }
      #expect(try await anna.hears(\.ringing, of: id).member.user == "ben")

      // It rings, and nothing else, until he answers; no part of that is talking time.
      let ringTime: Int64 = 300
      try await Task.sleep(for: .milliseconds(ringTime))
      try await both.settle()
      #expect(try await anna.get(id).state == .ringing)
      for one in both {
        #expect(await one.heard(\.accepted).isEmpty)
        #expect(await one.heard(\.active).isEmpty)
      }
      let answered = try await ben.accept(id)
      #expect(answered.call.callId == id && answered.room.room == "call:\(id)")
      #expect(try await anna.hears(\.accepted, of: id).user == "ben")
      let starts = [try await anna.hears(\.active, of: id), try await ben.hears(\.active, of: id)]
      #expect(starts[0] == starts[1])
      try await both.settle()
      #expect(await anna.heard(\.ringing, of: id).count == 1)

      let over = try await anna.hangup(id, text: "bye")
      #expect(over.state == .ended && over.reason == .hangup && over.by == "anna")
      #expect(over.startedAt == starts[0].startedAt)
      let end = try await ben.hears(\.ended, of: id)
      for ended in [end, try await anna.hears(\.ended, of: id)] {
        #expect(ended.reason == .hangup && ended.code == 6000 && ended.by == "anna" && ended.text == "bye")
        #expect(ended.rev == over.rev && ended.durationMs == end.durationMs)
      }
      #expect(try await ben.hangup(id).reason == .hangup, "hanging up an ended call succeeds")
      try await both.settle()
      for one in both { #expect(await one.heard(\.ended).count == 1) }

      let mine = try #require(try await anna.record(of: id))
      let his = try #require(try await ben.record(of: id))
      #expect(mine.direction == .outgoing && his.direction == .incoming)
      #expect(mine.result == .answered && his.result == .answered)
      #expect(mine.peers == ["ben"] && his.peers == ["anna"])
      for record in [mine, his] {
        #expect(record.reason == .hangup && !record.elsewhere && record.kind == .oneToOne && record.media == .video)
        let answeredAt = try #require(record.answeredAt)
        #expect(answeredAt >= record.startedAt + ringTime && record.lasted(since: answeredAt))
        #expect(answeredAt <= starts[0].startedAt && record.endedAt == over.endedAt)
      }
      #expect(mine.durationMs == his.durationMs && end.durationMs == his.durationMs)
      await both.close()
    }
  }

  @Test func scenario12AVideoCallIsAnsweredWithVoiceAndVideoComesLater() async throws {
    try await TestServer.calls { server in
      let anna = try await Phone(talking: server.url, "anna", sends: true)
      let ben = try await Phone(talking: server.url, "ben", speaks: true)
      let id = try await anna.start(["ben"], .oneToOne, .video).call.callId
      try await ben.rings(id)
      let answered = try await ben.accept(id, media: .audio)
      #expect(answered.call.media == .video)
      #expect(answered.call.members.first { $0.user == "ben" }?.media == .audio)
      let accepted = try await anna.hears(\.accepted, of: id)
      #expect(accepted.user == "ben" && accepted.media == .audio)
      _ = try await anna.hears(\.active, of: id)

      // His voice, and no picture; he has both of hers.
      let (hers, his) = (try #require(anna.media), try #require(ben.media))
      #expect(await eventually { await hers.received("ben", "microphone").packets >= 25 })
      #expect(await eventually { await his.received("anna", "microphone").packets >= 25 })
      #expect(await eventually { await his.received("anna", "camera").frames >= 5 })
      #expect(await anna.heard(\.published).map(\.track.kind) == [.audio])
      #expect(await hers.statistics.received.map(\.kind) == [.audio])

      try await his.publish(.light)
      let published = try await anna.hears(\.published) { $0.track.kind == .video }
      #expect(published.room == "call:\(id)")
      #expect(await eventually { await hers.received("ben", "camera").frames >= 5 })
      let sound = await hers.received("ben", "microphone")
      #expect(await eventually { await hers.received("ben", "microphone").packets >= sound.packets + 25 })
      for label in ["microphone", "camera"] { #expect(await hers.received("ben", label).isClean) }
      #expect(try await anna.get(id).state == .active)
      await [anna, ben].close()
    }
  }

  @Test func scenario13ARejectWithATextIsHeardOnce() async throws {
    try await TestServer.calls { server in
      let both = try await server.phones(["anna", "ben"])
      let (anna, ben, tablet) = (both[0], both[1], try await server.phone("anna", device: "tablet"))
      let id = try await anna.start(["ben"]).call.callId
      try await ben.rings(id)
      let rejected = try await ben.reject(id, text: "In ten minutes?")
      #expect(rejected.state == .ended && rejected.reason == .rejected)
      // Once on each of her devices.
      for phone in [anna, tablet] {
        let declined = try await phone.hears(\.declined, of: id)
        #expect(declined.text == "In ten minutes?" && declined.by == "ben")
        #expect(declined.member.user == "ben" && declined.member.state == .declined)
        let end = try await phone.hears(\.ended, of: id)
        #expect(end.reason == .rejected && end.code == 6001 && end.by == "ben" && end.text == nil)
        try await phone.settle()
        #expect(await phone.heard(\.declined).count == 1)
        #expect(await phone.heard(\.ended).count == 1)
      }
      try await ben.settle()
      #expect(await ben.heard(\.missed, of: id).isEmpty)
      #expect(try await ben.record(of: id)?.result == .declined)
      #expect(try await anna.start(["ben"]).busy == [], "both can call at once")
    }
  }

  @Test func scenario14ACancelledCallIsStoppedAndMissed() async throws {
    try await TestServer.calls { server in
      let both = try await server.phones(["anna", "ben"])
      let (anna, ben, tablet) = (both[0], both[1], try await server.phone("ben", device: "tablet"))
      let id = try await anna.start(["ben"]).call.callId
      // One of his devices has said that it rings, the other has only been told to.
      try await ben.rings(id)
      _ = try await tablet.hears(\.incoming, of: id)
      let cancelled = try await anna.cancel(id)
      #expect(cancelled.state == .ended && cancelled.reason == .cancelled)
      #expect(try await anna.cancel(id).reason == .cancelled, "cancelling twice succeeds")
      for phone in [ben, tablet] {
        let stop = try await phone.hears(\.stopped, of: id)
        #expect(stop.reason == .cancelled && stop.code == 6004 && stop.by == "anna")
        #expect(try await phone.hears(\.missed, of: id).why == .cancelled)
        try await phone.settle()
        #expect(await phone.heard(\.stopped).count == 1)
        #expect(await phone.heard(\.missed).count == 1)
        #expect(await phone.heard(\.ended).isEmpty)
      }
      try await anna.settle()
      #expect(await anna.heard(\.ended).map(\.code) == [6004])
      let record = try #require(try await ben.record(of: id))
      #expect(record.direction == .incoming && record.result == .missed && record.why == .cancelled)
      #expect(!record.elsewhere && record.durationMs == 0 && record.answeredAt == nil)
      #expect(try await ben.session.callHistory().records.count == 1)
    }
  }

  @Test func scenario16AnAnswerAfterTheCancelIsToldWhatHappened() async throws {
    try await TestServer.calls { server in
      let both = try await server.phones(["anna", "ben"])
      let (anna, ben) = (both[0], both[1])
      let id = try await anna.start(["ben"]).call.callId
      try await ben.rings(id)
      try await anna.cancel(id)
      try await Task.sleep(for: .seconds(2))
      let refusal = try await refused { try await ben.accept(id) }
      #expect(refusal?.code == .callEnded)
      #expect(refusal?.data.reason == "cancelled" && refusal?.data.by == "anna")
      let endedAt = try await ben.get(id).endedAt
      #expect(refusal?.data.endedAt == endedAt && endedAt != nil)
      #expect(try await ben.current() == nil)
      #expect(try await anna.current() == nil)
      // What the phones heard of it: nothing rings, connects or is said again for the answer that came too late.
      try await both.settle()
      let his = await ben.log.all { $0.callId == id ? $0.name : nil }
      #expect(his == [.callIncoming, .callStopped, .callMissed, .callRecord])
      let hers = await anna.log.all { $0.callId == id ? $0.name : nil }
      #expect(hers == [.memberRinging, .callEnded, .callRecord])
      #expect(await ben.heard(\.offer).isEmpty)
    }
  }

  @Test func scenario17TheServerEndsARingThatNobodyAnswers() async throws {
    try await TestServer.calls({ $0.calls.ringTimeout = .seconds(2) }) { server in
      let three = try await server.phones(["anna", "ben", "carl"])
      let (anna, ben, carl) = (three[0], three[1], three[2])
      let id = try await anna.start(["ben"]).call.callId
      let ring = try await ben.rings(id)
      let remaining = try #require(ring.call.remainingMs)
      #expect(remaining > 1_000 && remaining <= 2_000)
      let end = try await anna.hears(\.ended, of: id)
      #expect(end.reason == .noAnswer && end.code == 6003 && end.by == nil && end.durationMs == 0)
      let stop = try await ben.hears(\.stopped, of: id)
      #expect(stop.reason == .noAnswer && stop.code == 6003)
      #expect(try await ben.hears(\.missed, of: id).why == .noAnswer)
      let member = try await anna.hears(\.noAnswer, of: id).member
      #expect(member.user == "ben" && member.state == .noAnswer && member.reason == .noAnswer)
      let over = try await anna.get(id)
      let endedAt = try #require(over.endedAt)
      expectTime(endedAt - over.createdAt, 2_000, "not before its time, and not long after it")
      #expect(try #require(ring.call.expiresAt) - over.createdAt == 2_000)
      for one in [anna, ben] {
        let toldAt = await one.log.time { $0.ended != nil || $0.stopped != nil }
        expectTime(try #require(toldAt) - over.createdAt, 2_000, "\(one.user) is told at once")
        #expect(try await one.current() == nil)
      }
      // Both are callable at once.
      let both = try await carl.start(["anna", "ben"], .oneToMany)
      #expect(both.busy == [] && both.unreachable == [])
      for one in [anna, ben] { _ = try await one.hears(\.incoming, of: both.call.callId) }
      try await three.settle()
      let hers = await anna.log.all { $0.callId == id ? $0.name : nil }
      #expect(hers == [.memberRinging, .memberNoAnswer, .callEnded, .callRecord])
      let his = await ben.log.all { $0.callId == id ? $0.name : nil }
      #expect(his == [.callIncoming, .callStopped, .callMissed, .callRecord])
      #expect(await carl.log.all { $0.callId == id ? $0.name : nil } == [], "it is nobody else's business")
      let records = [try await anna.record(of: id), try await ben.record(of: id)]
      #expect(records.map { $0?.result } == [.missed, .missed] && records.map { $0?.why } == [.noAnswer, .noAnswer])
      for record in records {
        #expect(record?.endedAt == endedAt && record?.durationMs == 0 && record?.answeredAt == nil)
      }
    }
  }
}
