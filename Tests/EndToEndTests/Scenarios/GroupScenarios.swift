// Scenarios 36 to 44 and 46: inviting, the upgrade, coming back, leaving.

import Basics
import RoostProtocol
import SyntheticParticipant
import TestSupport
import Testing

extension EndToEnd.CallScenarios {
  /// A call between two in which both talk.
  private func talk(_ server: TestServer, _ anna: Phone, _ ben: Phone) async throws -> String {
    let id = try await anna.start([ben.user]).call.callId
    try await ben.rings(id)
    try await ben.accept(id)
    _ = try await anna.hears(\.active, of: id)
    _ = try await ben.hears(\.active, of: id)
    return id
  }

  /// Anna and ben talk, and carl, whom anna has invited, rings.
  private func talkAndRing(_ server: TestServer) async throws -> (people: [Phone], call: String) {
    let three = try await server.talkers(["anna", "ben", "carl"])
    let id = try await talk(server, three[0], three[1])
    try await three[0].invite(id, ["carl"])
    try await three[2].rings(id)
    return (three, id)
  }

  /// A group in which all of `people` are; the first started it.
  private func group(_ people: [Phone], media: MediaClass = .video) async throws -> String {
    let id = try await people[0].start(people.dropFirst().map(\.user), .group, media).call.callId
    for one in people.dropFirst() {
      try await one.rings(id)
      try await one.accept(id)
    }
    return id
  }

  @Test func scenario36OnlyThoseInACallInvite() async throws {
    try await TestServer.calls { server in
      let four = try await server.phones(["anna", "ben", "carl", "dora"])
      let id = try await four[0].start(["ben"], .group).call.callId
      try await four[1].rings(id)
      let before = try await four[0].get(id)
      for one in [four[1], four[2]] {
        #expect(try await refused { try await one.invite(id, ["dora"]) }?.code == .notInCall)
      }
      let after = try await four[0].get(id)
      #expect(after.rev == before.rev && after.members == before.members, "nothing has changed")
      try await four.settle()
      for one in four { #expect(await one.heard(\.invited).isEmpty) }
      #expect(await four[3].heard(\.incoming).isEmpty)
      #expect(try await four[3].available() == [])
    }
  }

  @Test func scenario37TheThirdWhoJoinsMakesItAGroup() async throws {
    try await TestServer.calls { server in
      let three = try await server.talkers(["anna", "ben", "carl"])
      let (anna, ben, carl) = (three[0], three[1], three[2])
      let id = try await talk(server, anna, ben)
      let invited = try await anna.invite(id, ["carl"])
      #expect(invited.invited == ["carl"] && invited.failed == [])
      #expect(try await ben.hears(\.invited, of: id).users == ["carl"])
      let ring = try await carl.rings(id)
      #expect(ring.inProgress && ring.from == "anna" && !ring.waiting)
      #expect(try await anna.get(id).kind == .oneToOne, "the invitation alone changes nothing")

      let joined = try await carl.accept(id)
      #expect(joined.call.kind == .group && joined.call.answerPolicy == .everyone)
      #expect(joined.room.limit == 16)
      for one in [anna, ben] {
        let change = try await one.hears(\.typeChanged, of: id)
        #expect(change.from == .oneToOne && change.to == .group)
        _ = try await one.hears(\.joinedRoom) { $0.participant.user == "carl" }
        let order = await one.log.all { event -> EventName? in
          event.joinedRoom?.participant.user == "carl" || event.typeChanged != nil ? event.name : nil
        }
        #expect(order == [.callTypeChanged, .participantJoined])
        #expect(await one.log.messages.count { $0.event.offer != nil } <= 2, "the connection of the two stays")
      }
      try await anna.hangup(id)
      #expect(try await ben.hears(\.left, of: id).member.user == "anna")
      try await [ben, carl].settle()
      for one in [ben, carl] { #expect(await one.heard(\.ended).isEmpty) }
      #expect(try await ben.get(id).state == .active)
      await three.close()
      try await aLeaverIsToldOfTheChangeOfKind(server)
    }
  }

  /// ben leaves while carl still rings: anna keeps the call, and ben is told what becomes of it.
  private func aLeaverIsToldOfTheChangeOfKind(_ server: TestServer) async throws {
    let (three, id) = try await talkAndRing(server)
    let (anna, ben, carl) = (three[0], three[1], three[2])
    try await ben.hangup(id)
    try await anna.settle()
    #expect(await anna.heard(\.ended, of: id).isEmpty)
    let left = await ben.log.count
    try await carl.accept(id)
    for one in [anna, ben] {
      let change = try await one.hears(\.typeChanged, of: id)
      #expect(change.from == .oneToOne && change.to == .group)
    }
    try await ben.settle()
    #expect(await ben.log.all(from: left) { $0.isOfRoom ? $0.name : nil } == [], "the room is no longer his")
    #expect(try await ben.available() == [id])
    await three.close()
  }

  @Test func scenario38AnInviteeWhoDeclinesChangesNothing() async throws {
    try await TestServer.calls { server in
      let (three, id) = try await talkAndRing(server)
      let (anna, ben, carl) = (three[0], three[1], three[2])
      try await carl.reject(id, text: "busy")
      for one in [anna, ben] { #expect(try await one.hears(\.declined, of: id).member.user == "carl") }
      try await three.settle()
      for one in [anna, ben] {
        #expect(await one.heard(\.typeChanged).isEmpty)
        #expect(await one.heard(\.ended).isEmpty)
        #expect(try await one.get(id).kind == .oneToOne)
      }
      #expect(try await anna.get(id).state == .active)
      await three.close()
    }
  }

  @Test func scenario39ALeaverHearsOfInvitationsAndGetsNoMedia() async throws {
    try await TestServer.calls { server in
      let four = try await server.talkers(["anna", "ben", "carl", "emil"], sends: true)
      let (anna, ben, carl, emil) = (four[0], four[1], four[2], four[3])
      let id = try await group([anna, ben, carl])
      let receiver = try #require(ben.media)
      #expect(await eventually { await receiver.received("anna", "camera").frames >= 3 })
      try await ben.hangup(id)
      let start = await ben.log.count
      // What was on its way when he left has arrived.
      #expect(await receiver.isSilent())
      let packets = await receiver.statistics.received.reduce(0) { $0 + $1.packets }

      try await anna.invite(id, ["emil"])
      let invited = try await ben.hears(\.invited, of: id, from: start)
      #expect(invited.inviter == "anna" && invited.users == ["emil"])
      try await emil.rings(id)
      try await emil.accept(id)
      #expect(await eventually { await emil.media?.received("anna", "camera").frames ?? 0 >= 3 })
      try await ben.settle()
      #expect(await ben.log.all(from: start) { $0.isOfRoom || $0.offer != nil ? $0.name : nil } == [])
      #expect(await receiver.statistics.received.reduce(0) { $0 + $1.packets } == packets)
      await four.close()
    }
  }

  @Test func scenario40OneWhoDeclinedOrLeftComesBack() async throws {
    try await TestServer.calls { server in
      let three = try await server.phones(["anna", "ben", "carl"])
      let (anna, ben, carl) = (three[0], three[1], three[2])
      let id = try await anna.start(["ben", "carl"], .group).call.callId
      try await carl.rings(id)
      try await carl.accept(id)
      try await ben.rings(id)
      try await ben.reject(id)
      for _ in 1...2 {
        #expect(try await ben.available() == [id])
        let joined = try await ben.join(id)
        #expect(joined.room.count == 3 && joined.room.participants.map(\.user).sorted() == ["anna", "ben", "carl"])
        #expect(joined.call.members.count == 3)
        #expect(try await ben.join(id).room.selfId == joined.room.selfId, "joining twice succeeds")
        let left = try await ben.hangup(id)
        #expect(left.state == .active && left.members.first { $0.user == "ben" }?.state == .left)
      }
      try await three.settle()
      #expect(await anna.heard(\.joinedRoom).count { $0.participant.user == "ben" } == 2)
      #expect(await anna.heard(\.leftRoom).count { $0.user == "ben" } == 2)
      #expect(await anna.session.currentRoom?.participants.map(\.user) == ["anna", "carl"], "no ghost")
    }
  }

  @Test func scenario41ACallThatIsOverIsNotAvailable() async throws {
    try await TestServer.calls { server in
      let three = try await server.phones(["anna", "ben", "carl"])
      let id = try await group(three)
      try await three[1].hangup(id)
      for one in three { #expect(try await one.available() == [id]) }
      try await three[2].hangup(id)
      try await three[0].hangup(id)
      for one in three {
        #expect(try await one.available() == [])
        let refusal = try await refused { try await one.join(id) }
        #expect(refusal?.code == .callEnded && refusal?.data.reason == "hangup" && refusal?.data.by == "anna")
        let endedAt = try await one.get(id).endedAt
        #expect(refusal?.data.endedAt == endedAt && endedAt != nil)
      }
    }
  }

  @Test func scenario42FormerMembersRaceForTheLastSeats() async throws {
    try await TestServer.calls { server in
      let inside = try await server.phones((0..<13).map { "inside\($0)" })
      let formers = try await server.phones((0..<8).map { "former\($0)" })
      let id = try await inside[0].start((inside.dropFirst() + formers.prefix(3)).map(\.user), .group).call.callId
      for one in inside.dropFirst() { try await one.accept(id) }
      for one in formers.prefix(3) { try await one.accept(id) }
      for one in formers.prefix(3) { try await one.hangup(id) }
      for some in [formers[3..<6], formers[6..<8]] {
        #expect(try await inside[0].invite(id, some.map(\.user)).failed == [])
        for one in some { try await one.accept(id) }
        for one in some { try await one.hangup(id) }
      }
      let free = try await rush(formers, into: id)
      #expect(free.count { $0 == nil } == 3)
      let losers = free.compactMap { $0 }
      #expect(losers.count == 5 && losers.allSatisfy { $0.code == .callFull })
      #expect(losers.allSatisfy { $0.data.limit == 16 && $0.data.joined == 16 && $0.data.ringing == 0 })
      for (former, refusal) in zip(formers, free) where refusal == nil { try await former.hangup(id) }

      let guest = try await server.phone("guest")
      try await inside[1].invite(id, ["guest"])
      try await guest.rings(id)
      let reserved = try await rush(formers, into: id)
      #expect(reserved.count { $0 == nil } == 2)
      let late = reserved.compactMap { $0 }
      #expect(late.allSatisfy { $0.code == .callFull && $0.data.limit == 16 })
      #expect(late.allSatisfy { $0.data.joined == 15 && $0.data.ringing == 1 })
      #expect(try await guest.accept(id).room.count == 16, "answering a ringing phone never says full")
      #expect(try await inside[0].get(id).members.count { [.joined, .connecting].contains($0.state) } == 16)
    }
  }

  /// In the order of `formers`: nil for one who got in.
  private func rush(_ formers: [Phone], into callId: String) async throws -> [ErrorObject?] {
    try await withThrowingTaskGroup(of: (Int, ErrorObject?).self) { tasks in
      for (index, former) in formers.enumerated() {
        tasks.addTask { (index, try await refused { try await former.join(callId) }) }
      }
      var outcomes = [ErrorObject?](repeating: nil, count: formers.count)
      for try await (index, outcome) in tasks { outcomes[index] = outcome }
      return outcomes
    }
  }

  @Test func scenario43AStarterWhoLeavesFirstStopsTheRing() async throws {
    try await TestServer.calls { server in
      let three = try await server.phones(["anna", "ben", "carl"])
      let (anna, ben, carl) = (three[0], three[1], three[2])
      let alone = try await anna.start(["ben", "carl"], .group).call.callId
      for one in [ben, carl] { try await one.rings(alone) }
      let over = try await anna.hangup(alone)
      #expect(over.state == .ended && over.reason == .cancelled)
      for one in [ben, carl] {
        let stop = try await one.hears(\.stopped, of: alone)
        #expect(stop.reason == .cancelled && stop.code == 6004)
      }

      let joined = try await anna.start(["ben", "carl"], .group).call.callId
      for one in [ben, carl] { try await one.rings(joined) }
      try await ben.accept(joined)
      try await anna.hangup(joined)
      #expect(try await ben.hears(\.left, of: joined).member.user == "anna")
      #expect(try await carl.hears(\.left, of: joined).member.user == "anna", "those who ring are told too")
      try await three.settle()
      #expect(await carl.heard(\.stopped, of: joined).isEmpty)
      #expect(try await carl.accept(joined).room.participants.map(\.user).sorted() == ["ben", "carl"])
    }
  }

  @Test func scenario44TheLastOneOutEndsItForAll() async throws {
    try await TestServer.calls { server in
      let four = try await server.phones(["anna", "ben", "carl", "dora"])
      let (decliner, stranger) = (try await server.phone("emil"), try await server.phone("finn"))
      let id = try await group(Array(four.prefix(3)))
      try await four[0].invite(id, ["emil"])
      try await decliner.rings(id)
      try await decliner.reject(id, text: "not now")
      try await four[0].hangup(id)
      try await four[1].hangup(id)
      try await four[2].invite(id, ["dora"])
      try await four[3].rings(id)
      try await (four + [decliner]).settle()
      for one in four + [decliner] { #expect(await one.heard(\.ended).isEmpty, "it runs while anybody is in") }
      let over = try await four[2].hangup(id)
      #expect(over.state == .ended && over.reason == .hangup && over.by == "carl")
      // For all: who left, who declined, and the last one, whom the reply has told.
      for one in four.prefix(2) + [decliner] {
        let end = try await one.hears(\.ended, of: id)
        #expect(end.reason == .hangup && end.code == 6000 && end.by == "carl" && end.rev == over.rev, "\(one.user)")
      }
      let stop = try await four[3].hears(\.stopped, of: id)
      #expect(stop.reason == .callEnded && stop.code == 6016)
      try await (four + [decliner, stranger]).settle()
      for one in four.prefix(2) + [decliner] { #expect(await one.heard(\.ended, of: id).count == 1, "\(one.user)") }
      #expect(await four[3].heard(\.stopped, of: id).count == 1)
      #expect(await stranger.log.all { $0.callId == id ? $0.name : nil } == [])
      for one in four + [decliner] { #expect(try await one.available() == []) }
      #expect(try await four[0].session.presence(of: four.map(\.user)).allSatisfy { !$0.inCall })
      await server.shows(["roost_rooms": 0, "roost_participants": 0, "roost_calls": 0])
      for one in four {
        #expect(try await one.current() == nil)
        let record = try #require(try await one.record(of: id))
        #expect(record.result == (one.user == "dora" ? .missed : .answered), "\(one.user)")
      }
      #expect(try await decliner.record(of: id)?.result == .declined)
      #expect(try await four[0].start(["ben", "carl", "dora"], .group).busy == [])
    }
  }

  @Test func scenario46InvitingSomeoneTwiceRingsHimOnce() async throws {
    try await TestServer.calls { server in
      let four = try await server.phones(["anna", "ben", "carl", "dora"])
      let id = try await group(Array(four.prefix(2)))
      try await four[0].invite(id, ["carl"])
      try await four[2].rings(id)
      let again = try await four[0].invite(id, ["ben", "carl", "dora"])
      #expect(again.invited.sorted() == ["ben", "carl", "dora"] && again.failed == [])
      try await four[3].rings(id)
      try await four.settle()
      #expect(await four[1].heard(\.incoming).count == 1)
      #expect(await four[2].heard(\.incoming).count == 1)
      #expect(await four[3].heard(\.incoming).count == 1)
      // One who declined may be rung again.
      try await four[2].reject(id)
      try await four[2].settle()
      let start = await four[2].log.count
      try await four[0].invite(id, ["carl"])
      try await four[2].rings(id, from: start)
      #expect(await four[2].heard(\.incoming).count == 2)
    }
  }
}

extension SyntheticParticipant {
  /// Whether nothing comes any more, of anything: none for half a second.
  nonisolated func isSilent() async -> Bool {
    await eventually(every: .milliseconds(10)) {
      let before = await statistics.received.reduce(0) { $0 + $1.packets }
      try? await Task.sleep(for: .milliseconds(500))
      return await statistics.received.reduce(0) { $0 + $1.packets } == before
    }
  }
}
