// Scenarios 32 to 34: one calls many.

import Basics
import RoostProtocol
import Testing

extension EndToEnd.CallScenarios {
  @Test func scenario32OneRejectEndsItForAll() async throws {
    try await TestServer.calls { server in
      let four = try await server.phones(["anna", "ben", "carl", "dora"])
      let id = try await four[0].start(["ben", "carl", "dora"], .oneToMany) { $0.rejectPolicy = .anyEnds }.call.callId
      for callee in four.dropFirst() { try await callee.rings(id) }
      try await four[1].reject(id, text: "no")
      let declined = try await four[0].hears(\.declined, of: id)
      #expect(declined.member.user == "ben" && declined.text == "no")
      let end = try await four[0].hears(\.ended, of: id)
      #expect(end.reason == .rejected && end.code == 6001 && end.by == "ben")
      for callee in four[2...] {
        let stop = try await callee.hears(\.stopped, of: id)
        #expect(stop.reason == .rejectedByOther && stop.code == 6006)
      }
      for phone in four {
        #expect(try await phone.current() == nil)
        let over = try await phone.get(id)
        #expect(over.state == .ended && over.reason == .rejected && over.by == "ben")
      }
      let late = try await refused { try await four[2].accept(id) }
      #expect(late?.code == .callEnded && late?.data.reason == "rejected" && late?.data.by == "ben")
      try await four.settle()
      for callee in four[2...] { #expect(await callee.heard(\.stopped, of: id).count == 1) }
      #expect(try await four[0].start(["ben", "carl", "dora"], .oneToMany).busy == [])
    }
  }

  @Test func scenario33OneRejectsOneAnswersAndTheThirdIsStopped() async throws {
    try await TestServer.calls { server in
      let people = try await server.talkers(["anna", "ben", "carl", "dora"])
      let (anna, ben, carl, dora) = (people[0], people[1], people[2], people[3])
      let id = try await anna.start(["ben", "carl", "dora"], .oneToMany) { $0.rejectPolicy = .ignore }.call.callId
      for callee in people.dropFirst() { try await callee.rings(id) }
      let after = try await ben.reject(id)
      #expect(after.state == .ringing)
      #expect(try await anna.hears(\.declined, of: id).member.user == "ben")
      try await [carl, dora].settle()
      #expect(await carl.heard(\.stopped).isEmpty)
      #expect(await dora.heard(\.stopped).isEmpty)
      try await carl.accept(id)
      let stop = try await dora.hears(\.stopped, of: id)
      #expect(stop.reason == .answeredByOther && stop.code == 6005)
      #expect(try await anna.hears(\.accepted, of: id).user == "carl")
      // From now on it is a call between two.
      _ = try await anna.hears(\.active, of: id)
      _ = try await carl.hears(\.active, of: id)
      let states = try await anna.get(id).members.map(\.state)
      #expect(states == [.joined, .declined, .joined, .answeredByOther])
      #expect(try await refused { try await dora.accept(id) }?.code == .answeredElsewhere)
      try await carl.hangup(id)
      #expect(try await anna.hears(\.ended, of: id).reason == .hangup)
      await people.close()
    }
  }

  @Test(arguments: [(MediaClass.video, 16), (.audio, 32)])
  func scenario34AGroupHasAsManySeatsAsItsMediaAllow(_ media: MediaClass, _ cap: Int) async throws {
    try await TestServer.calls { server in
      let anna = try await server.phone("anna")
      let others = try await server.phones((1...cap).map { "user\($0)" })
      let names = others.map(\.user)
      let refusal = try await refused { try await anna.start(names, .group, media) }
      #expect(refusal?.code == .tooManyInvitees && refusal?.data.limit == cap)
      try await others.settle()
      for other in others { #expect(await other.heard(\.incoming).isEmpty, "nobody is rung") }

      let started = try await anna.start(Array(names.dropLast()), .group, media)
      #expect(started.busy == [] && started.unreachable == [] && started.call.state == .active)
      #expect(started.room.limit == cap)
      let id = started.call.callId
      for (number, other) in others.dropLast().enumerated() {
        let room = try await other.accept(id).room
        #expect(room.count == number + 2 && room.participants.count == number + 2 && room.limit == cap)
      }
      let call = try await anna.get(id)
      #expect(call.members.count == cap)
      #expect(call.members.allSatisfy { [.joined, .connecting].contains($0.state) })
      let full = try await refused { try await anna.invite(id, [names[cap - 1]]) }
      #expect(full?.code == .callFull && full?.data.limit == cap && full?.data.joined == cap && full?.data.ringing == 0)
      try await others.settle()
      #expect(await others[cap - 1].heard(\.incoming).isEmpty)
      try await anna.settle()
      for one in [anna] + others.dropLast() {
        #expect(await one.session.currentRoom?.participants.count == cap, "everybody sees everybody")
      }
      await server.shows(["roost_participants": Double(cap)])
    }
  }
}
