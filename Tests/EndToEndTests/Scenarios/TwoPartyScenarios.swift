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
      _ = try await anna.hears(\.ringing, of: id)

      let answered = try await ben.accept(id)
      #expect(answered.call.callId == id && answered.room.room == "call:\(id)")
      #expect(try await anna.hears(\.accepted, of: id).user == "ben")
      let starts = [try await anna.hears(\.active, of: id).startedAt, try await ben.hears(\.active, of: id).startedAt]
      #expect(starts[0] == starts[1])
      try await both.settle()
      #expect(await anna.heard(\.ringing, of: id).count == 1)

      let over = try await anna.hangup(id, text: "bye")
      #expect(over.state == .ended && over.reason == .hangup && over.by == "anna")
      let end = try await ben.hears(\.ended, of: id)
      #expect(end.reason == .hangup && end.code == 6000 && end.by == "anna" && end.text == "bye")
      #expect(try await ben.hangup(id).reason == .hangup, "hanging up an ended call succeeds")

      let mine = try #require(try await anna.record(of: id))
      let his = try #require(try await ben.record(of: id))
      #expect(mine.direction == .outgoing && his.direction == .incoming)
      #expect(mine.result == .answered && his.result == .answered)
      #expect(mine.peers == ["ben"] && his.peers == ["anna"])
      for record in [mine, his] {
        #expect(record.reason == .hangup && !record.elsewhere && record.kind == .oneToOne && record.media == .video)
        let answeredAt = try #require(record.answeredAt)
        #expect(answeredAt >= record.startedAt && record.durationMs == record.endedAt - answeredAt)
      }
      #expect(mine.durationMs == his.durationMs && end.durationMs == his.durationMs)
      await both.close()
    }
  }

  @Test func scenario12AVideoCallIsAnsweredWithVoiceAndVideoComesLater() async throws {
    try await TestServer.calls { server in
      let anna = try await Phone(talking: server.url, "anna", sends: true)
      let ben = try await Phone(talking: server.url, "ben")
      let id = try await anna.start(["ben"], .oneToOne, .video).call.callId
      try await ben.rings(id)
      let answered = try await ben.accept(id, media: .audio)
      #expect(answered.call.media == .video)
      #expect(answered.call.members.first { $0.user == "ben" }?.media == .audio)
      let accepted = try await anna.hears(\.accepted, of: id)
      #expect(accepted.user == "ben" && accepted.media == .audio)
      _ = try await anna.hears(\.active, of: id)

      let camera = try #require(ben.media)
      try await camera.publish(.light)
      let published = try await anna.hears(\.published)
      #expect(published.track.kind == .video && published.room == "call:\(id)")
      let receiver = try #require(anna.media)
      #expect(await eventually { await receiver.received("ben", "camera").frames >= 5 })
      #expect(await eventually { await camera.received("anna", "camera").frames >= 5 })
      await [anna, ben].close()
    }
  }

  @Test func scenario13ARejectWithATextIsHeardOnce() async throws {
    try await TestServer.calls { server in
      let both = try await server.phones(["anna", "ben"])
      let (anna, ben) = (both[0], both[1])
      let id = try await anna.start(["ben"]).call.callId
      try await ben.rings(id)
      let rejected = try await ben.reject(id, text: "In ten minutes?")
      #expect(rejected.state == .ended && rejected.reason == .rejected)
      let declined = try await anna.hears(\.declined, of: id)
      #expect(declined.text == "In ten minutes?" && declined.member.user == "ben")
      #expect(declined.member.state == .declined)
      let end = try await anna.hears(\.ended, of: id)
      #expect(end.reason == .rejected && end.code == 6001 && end.by == "ben")
      try await both.settle()
      #expect(await anna.heard(\.declined, of: id).count == 1)
      #expect(await anna.heard(\.ended, of: id).count == 1)
      #expect(await ben.heard(\.missed, of: id).isEmpty)
      #expect(try await ben.record(of: id)?.result == .declined)
      #expect(try await anna.start(["ben"]).busy == [], "both can call at once")
    }
  }

  @Test func scenario14ACancelledCallIsStoppedAndMissed() async throws {
    try await TestServer.calls { server in
      let both = try await server.phones(["anna", "ben"])
      let (anna, ben) = (both[0], both[1])
      let id = try await anna.start(["ben"]).call.callId
      try await ben.rings(id)
      let cancelled = try await anna.cancel(id)
      #expect(cancelled.state == .ended && cancelled.reason == .cancelled)
      let stop = try await ben.hears(\.stopped, of: id)
      #expect(stop.reason == .cancelled && stop.code == 6004 && stop.by == "anna")
      #expect(try await ben.hears(\.missed, of: id).why == .cancelled)
      #expect(try await anna.cancel(id).reason == .cancelled, "cancelling twice succeeds")
      try await both.settle()
      #expect(await ben.heard(\.stopped, of: id).count == 1)
      #expect(await ben.heard(\.missed, of: id).count == 1)
      let record = try await ben.record(of: id)
      #expect(record?.result == .missed && record?.why == .cancelled && record?.durationMs == 0)
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
    }
  }

  @Test func scenario17TheServerEndsARingThatNobodyAnswers() async throws {
    try await TestServer.calls({ $0.calls.ringTimeout = .milliseconds(700) }) { server in
      let both = try await server.phones(["anna", "ben"])
      let (anna, ben) = (both[0], both[1])
      let id = try await anna.start(["ben"]).call.callId
      let ring = try await ben.rings(id)
      #expect((ring.call.remainingMs ?? .max) <= 700)
      let end = try await anna.hears(\.ended, of: id)
      #expect(end.reason == .noAnswer && end.code == 6003)
      #expect(try await ben.hears(\.stopped, of: id).reason == .noAnswer)
      #expect(try await ben.hears(\.missed, of: id).why == .noAnswer)
      #expect(try await anna.hears(\.noAnswer, of: id).member.state == .noAnswer)
      // Both are callable at once.
      let back = try await ben.start(["anna"])
      #expect(back.busy == [] && back.unreachable == [])
      _ = try await anna.hears(\.incoming, of: back.call.callId)
    }
  }
}
