// Scenarios 22 to 24 and 45: several devices of one user.

import Basics
import RoostClient
import RoostProtocol
import TestSupport
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
        let acceptedAt = await anna.log.time { $0.accepted != nil }
        let stoppedAt = await ben[1].log.time { $0.stopped != nil }
        #expect(acceptedAt != nil && stoppedAt == acceptedAt, "at once: it is one and the same change")
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
      try await twoAnswersAtOnce(server)
    }
  }

  /// Both of his devices answer in the same moment: one talks and the other is stopped, whichever it is.
  private func twoAnswersAtOnce(_ server: TestServer) async throws {
    let carl = try await server.phone("carl")
    let dora = [try await server.phone("dora", device: "one"), try await server.phone("dora", device: "two")]
    for round in 0..<40 {
      let id = try await carl.start(["dora"]).call.callId
      for device in dora { try await device.rings(id) }
      async let first = refused { try await dora[round % 2].accept(id) }
      async let second = refused { try await dora[1 - round % 2].accept(id) }
      let refusals =
        round.isMultiple(of: 2) ? [try await first, try await second] : [try await second, try await first]
      let winner = try #require(refusals.firstIndex { $0 == nil }, "round \(round)")
      let (talks, rings) = (dora[winner], dora[1 - winner])
      #expect(refusals[1 - winner]?.code == .answeredElsewhere, "round \(round)")
      try await dora.settle()
      #expect(await rings.heard(\.stopped, of: id).map(\.code) == [6005], "round \(round)")
      #expect(await talks.heard(\.stopped, of: id).isEmpty, "round \(round)")
      #expect(try await talks.current()?.callId == id)
      try await talks.hangup(id)
      _ = try await carl.hears(\.ended, of: id)
      try await carl.settle()
      #expect(await carl.heard(\.accepted, of: id).count == 1, "round \(round)")
      for device in dora { #expect(await device.heard(\.missed, of: id).isEmpty, "round \(round)") }
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
      try await theTalkGoesOn(server)
      try await anAnswerMeetsAReject(server)
    }
  }

  /// They talk, the reject of the other device comes, and not a frame is missing for it.
  private func theTalkGoesOn(_ server: TestServer) async throws {
    let carl = try await Phone(talking: server.url, "carl", sends: true)
    let dora = try await Phone(talking: server.url, "dora", device: "one")
    let tablet = try await server.phone("dora", device: "two")
    let id = try await carl.start(["dora"]).call.callId
    for device in [dora, tablet] { try await device.rings(id) }
    try await dora.accept(id)
    for one in [carl, dora] { _ = try await one.hears(\.active, of: id) }
    let media = try #require(dora.media)
    #expect(await eventually { await media.received("carl", "camera").frames >= 3 })
    #expect(try await refused { try await tablet.reject(id) }?.code == .answeredElsewhere)
    let before = await media.received("carl", "camera").frames
    #expect(await eventually { await media.received("carl", "camera").frames >= before + 5 })
    #expect(await media.received("carl", "camera").isClean)
    try await [carl, dora].settle()
    for one in [carl, dora] { #expect(await one.heard(\.ended).isEmpty) }
    #expect(try await carl.get(id).state == .active)
    await [carl, dora].close()
  }

  /// One device answers while the other rejects: the first of the two counts, for everybody, and the other learns which it was.
  private func anAnswerMeetsAReject(_ server: TestServer) async throws {
    let emil = try await server.phone("emil")
    let finn = [try await server.phone("finn", device: "one"), try await server.phone("finn", device: "two")]
    for round in 0..<40 {
      let id = try await emil.start(["finn"]).call.callId
      for device in finn { try await device.rings(id) }
      async let answer = refused { try await finn[0].accept(id) }
      async let reject = refused { try await finn[1].reject(id, text: "no") }
      let (notAnswered, notRejected) = (try await answer, try await reject)
      try await ([emil] + finn).settle()
      let (accepted, declined) = (await emil.heard(\.accepted, of: id), await emil.heard(\.declined, of: id))
      let state = try await emil.get(id).state
      if notAnswered == nil {
        #expect(notRejected?.code == .answeredElsewhere, "round \(round)")
        #expect(accepted.count == 1 && declined.isEmpty && state != .ended, "round \(round)")
        #expect(await finn[1].heard(\.stopped, of: id).map(\.code) == [6005], "round \(round)")
        try await emil.hangup(id)
        _ = try await finn[0].hears(\.ended, of: id)
      } else {
        #expect(notRejected == nil && notAnswered?.code == .callEnded, "round \(round)")
        #expect(notAnswered?.data.reason == "rejected", "round \(round)")
        #expect(accepted.isEmpty && declined.count == 1 && state == .ended, "round \(round)")
        #expect(await finn[0].heard(\.stopped, of: id).map(\.code) == [6006], "round \(round)")
      }
      for device in finn { #expect(await device.heard(\.missed, of: id).isEmpty, "round \(round)") }
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
      try await aRejectIsForAllDevicesOfACallThatRingsOn(server)
    }
  }

  /// Others still ring: his reject is for all his devices, and each of them is told so.
  private func aRejectIsForAllDevicesOfACallThatRingsOn(_ server: TestServer) async throws {
    let (carl, dora) = (try await server.phone("carl"), try await server.phone("dora"))
    let ben = [try await server.phone("emil", device: "one"), try await server.phone("emil", device: "two")]
    let id = try await carl.start(["emil", "dora"], .oneToMany) { $0.rejectPolicy = .ignore }.call.callId
    for device in ben + [dora] { try await device.rings(id) }
    let rev = try await ben[0].reject(id, text: "no").rev
    try await ben[1].settle()
    let stops = await ben[1].heard(\.stopped, of: id)
    #expect(stops.map(\.reason) == [.rejectedElsewhere] && stops.map(\.code) == [6006])
    for late in [
      try await refused { try await ben[1].accept(id) }, try await refused { try await ben[1].reject(id) },
      try await refused { try await ben[1].join(id) },
    ] { #expect(late?.code == .rejectedElsewhere && late?.data.reason == "rejected") }
    #expect(try await ben[0].reject(id).rev == rev, "rejecting twice on one device succeeds")
    #expect(try await refused { try await ben[0].accept(id) }?.code == .invalidState, "it was his own doing")
    // Nothing of that is anybody else's business.
    try await [carl, dora].settle()
    #expect(await carl.heard(\.declined, of: id).map(\.member.user) == ["emil"])
    #expect(await dora.heard(\.stopped, of: id).isEmpty)
    let call = try await carl.get(id)
    #expect(call.state == .ringing && call.rev == rev)
    try await dora.accept(id)
    #expect(try await carl.hears(\.accepted, of: id).user == "dora")
    try await ben.settle()
    #expect(await ben[0].heard(\.stopped, of: id).isEmpty)
    for device in ben { #expect(await device.heard(\.missed, of: id).isEmpty) }
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
