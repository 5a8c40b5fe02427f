// Scenarios 22 to 24 and 45: several devices of one user.

import Basics
import RoostClient
import RoostProtocol
import Testing

extension EndToEnd.CallScenarios {
  /// anna calls ben, whose two devices ring.
  private func twoDevicesRing(
    _ server: TestServer, _ body: (_ anna: Phone, _ ben: [Phone], _ callId: String) async throws -> Void
  ) async throws {
    let anna = try await server.phone("anna")
    let ben = [try await server.phone("ben", device: "one"), try await server.phone("ben", device: "two")]
    let id = try await anna.start(["ben"]).call.callId
    for device in ben { try await device.rings(id) }
    try await body(anna, ben, id)
  }

  @Test func scenario22AnAnswerStopsTheOtherDeviceAtOnce() async throws {
    try await TestServer.calls { server in
      try await twoDevicesRing(server) { anna, ben, id in
        try await ben[0].accept(id)
        // The stop is in the same commit as the answer, so it is there before the next reply is.
        try await ben[1].settle()
        let stops = await ben[1].heard(\.stopped, of: id)
        #expect(stops.map(\.reason) == [.answeredElsewhere] && stops.map(\.code) == [6005])
        #expect(try await anna.hears(\.accepted, of: id).user == "ben")
        try await [anna, ben[0]].settle()
        #expect(await anna.heard(\.ringing, of: id).count == 1, "one member, told once")
        try await ben[0].hangup(id)
        _ = try await anna.hears(\.ended, of: id)
        try await ben.settle()
        for device in ben { #expect(await device.heard(\.missed).isEmpty) }
        #expect(await ben[0].heard(\.stopped).isEmpty)
        let records = [try await ben[0].record(of: id), try await ben[1].record(of: id)]
        #expect(records.map { $0?.result } == [.answered, .answered])
        #expect(records.map { $0?.elsewhere } == [false, true])
        #expect(try await server.phone("ben", device: "three").session.hello.missed == 0)
      }
    }
  }

  @Test func scenario23ALateRejectOfTheOtherDeviceChangesNothing() async throws {
    try await TestServer.calls { server in
      try await twoDevicesRing(server) { anna, ben, id in
        let rev = try await ben[0].accept(id).call.rev
        let refusal = try await refused { try await ben[1].reject(id, text: "too late") }
        #expect(refusal?.code == .answeredElsewhere)
        #expect(try await ben[0].get(id).rev == rev, "nothing has changed")
        let late = try await refused { try await ben[1].accept(id) }
        #expect(late?.code == .answeredElsewhere)
        try await [anna, ben[0]].settle()
        #expect(await anna.heard(\.declined).isEmpty)
        #expect(await anna.heard(\.ended).isEmpty)
        #expect(try await anna.get(id).state != .ended)
        #expect(try await ben[0].current()?.callId == id)
      }
    }
  }

  @Test func scenario24ARejectIsForAllDevicesOrForThisOne() async throws {
    try await TestServer.calls { server in
      try await twoDevicesRing(server) { anna, ben, id in
        let before = try await anna.get(id).rev
        let call = try await ben[0].reject(id, scope: .thisDevice)
        #expect(call.state == .ringing && call.rev == before && call.members[1].state == .ringing)
        try await [anna, ben[1]].settle()
        #expect(await ben[1].heard(\.stopped).isEmpty)
        #expect(await anna.heard(\.declined).isEmpty)
        try await ben[1].accept(id)
        #expect(try await anna.hears(\.accepted, of: id).user == "ben")
        try await anna.hangup(id)
        _ = try await ben[1].hears(\.ended, of: id)
      }
      try await twoDevicesRing(server) { anna, ben, id in
        try await ben[0].reject(id, text: "no")
        let stop = try await ben[1].hears(\.stopped, of: id)
        #expect(stop.reason == .rejectedElsewhere && stop.code == 6006)
        #expect(try await anna.hears(\.ended, of: id).reason == .rejected)
        try await ben.settle()
        for device in ben { #expect(await device.heard(\.missed, of: id).isEmpty) }
        let late = try await refused { try await ben[1].accept(id) }
        #expect(late?.code == .callEnded && late?.data.reason == "rejected")
      }
    }
  }

  @Test func scenario45AnotherDeviceTakesTheSeatOver() async throws {
    try await TestServer.calls { server in
      let anna = try await server.phone("anna")
      let ben = [try await server.phone("ben", device: "one"), try await server.phone("ben", device: "two")]
      let id = try await anna.start(["ben"], .group).call.callId
      try await ben[0].rings(id)
      let seat = try await ben[0].accept(id).room.selfId
      #expect(try await refused { try await ben[1].join(id) }?.code == .alreadyJoined)
      try await anna.settle()
      let start = await anna.log.count

      let taken = try await ben[1].join(id, takingFrom: ben[0].token)
      #expect(taken.room.selfId == seat && taken.room.count == 2)
      #expect(taken.call.members.count { $0.user == "ben" } == 1)
      #expect(await anna.log.first(from: start) { $0.updated }?.participant.participantId == seat)
      try await [anna, ben[0]].settle()
      let heard = await anna.log.all(from: start) { $0.isOfRoom ? $0.name : nil }
      #expect(!heard.contains(.participantLeft) && !heard.contains(.participantJoined))
      #expect(await ben[0].session.currentRoom == nil, "the old device is out")
      #expect(try await ben[1].current()?.callId == id)
      try await ben[1].hangup(id)
      #expect(try await anna.hears(\.left, of: id).member.user == "ben")
    }
  }
}
