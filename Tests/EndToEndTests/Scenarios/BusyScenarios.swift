// Scenarios 25 and 35: who is busy, and what becomes of a call to him.

import Basics
import RoostClient
import RoostProtocol
import TestSupport
import Testing

extension EndToEnd.CallScenarios {
  @Test func scenario25OneWhoTalksIsBusyAtOnce() async throws {
    try await TestServer.calls { server in
      let four = try await server.phones(["anna", "ben", "carl", "dora"])
      let (anna, ben, carl) = (four[0], four[1], four[2])
      let talk = try await carl.start(["dora"]).call.callId
      try await four[3].rings(talk)
      try await four[3].accept(talk)

      let started = try await anna.start(["carl"]) { $0.busyPolicy = .reject }
      let id = started.call.callId
      #expect(started.busy == [BusyUser(user: "carl")] && started.unreachable == [])
      // At once: nothing is waited for but what is on its way.
      try await anna.settle()
      #expect(await anna.heard(\.busy, of: id).map(\.member.user) == ["carl"])
      #expect(await anna.heard(\.busy, of: id).first?.member.state == .busy)
      #expect(await anna.heard(\.ended, of: id).map(\.code) == [6002])
      #expect(await anna.heard(\.ended, of: id).first?.reason == .busy)
      #expect(try await carl.hears(\.missed, of: id).why == .busy)
      try await four.settle()
      #expect(await carl.heard(\.incoming).isEmpty, "no ring")
      let record = try await carl.record(of: id)
      #expect(record?.result == .missed && record?.why == .busy)
      #expect(try await carl.current()?.callId == talk)
      #expect(try await anna.start(["ben"]).busy == [], "anna is free again")
      _ = try await ben.hears(\.incoming)
    }
  }

  @Test func scenario35ABusyInviteeRingsAndSwitchesCalls() async throws {
    try await TestServer.calls { server in
      let four = try await server.phones(["anna", "ben", "carl", "dora"])
      let (anna, ben, carl, dora) = (four[0], four[1], four[2], four[3])
      let old = try await ben.start(["carl"], .group).call.callId
      try await carl.rings(old)
      try await carl.accept(old)
      let new = try await anna.start(["dora"], .group).call.callId
      try await dora.rings(new)
      try await dora.accept(new)

      let invited = try await anna.invite(new, ["ben"])
      #expect(invited.busy == [BusyUser(user: "ben")] && invited.failed == [])
      let ring = try await ben.rings(new)
      #expect(ring.waiting && ring.inProgress && ring.from == "anna")
      #expect(try await anna.get(new).members.first { $0.user == "ben" }?.state == .busyRinging)
      let switched = try await ben.accept(new)
      #expect(switched.room.room == "call:\(new)")
      let left = try await carl.hears(\.left, of: old)
      #expect(left.member.user == "ben" && left.member.reason == .switchedCall)
      #expect(try await dora.hears(\.accepted, of: new).user == "ben")
      #expect(try await ben.current()?.callId == new)
      #expect(try await carl.get(old).members.first { $0.user == "ben" }?.state == .left)
      #expect(try await carl.get(old).state == .active, "the group goes on")
      #expect(switched.room.participants.map(\.user).sorted() == ["anna", "ben", "dora"])
      #expect(await carl.session.currentRoom?.participants.map(\.user) == ["carl"])
      #expect(try await ben.available().sorted() == [old, new].sorted(), "he may come back")
    }
  }
}
