// What waits for a disk that is full: the newest of each subject, in order, and not without bound.

import Basics
import Members
import Names
import RoostProtocol
import Storage
import Testing

@testable import Server

@Suite struct UnwrittenChangesTests {
  private func delivery(_ id: String) -> OutboxChange {
    .keep(StoredDelivery(id: id, endpoint: "events", lane: "l", part: "plain", body: "{}", expiresAt: 1))
  }

  private func message(in room: String) -> StoreChange {
    let message = Message(msgId: "m1", room: room, ts: 1, from: "anna", text: "hello")
    return .message(StoredMessage(number: 1, message: message, clientMsgId: nil, delivered: 0), forgetting: nil)
  }

  @Test func theNewestCountsInTheOrderOfMaking() {
    var unwritten = UnwrittenChanges()
    unwritten.add([.forgetCall("a"), .forgetRoom("x"), .forgetCall("b")], [delivery("1"), delivery("2")])
    unwritten.add([.forgetCall("a")], [.forget("1")])
    #expect(unwritten.stored == [.forgetRoom("x"), .forgetCall("b"), .forgetCall("a")])
    #expect(unwritten.outbox == [delivery("2"), .forget("1")])
  }

  @Test func whatWasToldNotToBeStoredIsNotKept() {
    var unwritten = UnwrittenChanges()
    unwritten.add([message(in: "x")], [])
    #expect(unwritten.isEmpty)
  }

  @Test func bansAndDoorsWaitForTheDisk() {
    var unwritten = UnwrittenChanges()
    let ban = KeptBan(room: "x", user: "carl", until: nil, by: "anna")
    let door = KeptDoor(room: "x", isLockedByOperator: false, door: .locked, isChatDisabled: false)
    unwritten.add([.ban(ban), .door(door), .forgetRoom("x")], [])
    #expect(unwritten.stored == [.ban(ban), .door(door), .forgetRoom("x")], "a room's door is not its chat")
    unwritten.add([.forgetBan(room: "x", user: "carl"), .forgetDoor("x")], [])
    #expect(unwritten.stored == [.forgetRoom("x"), .forgetBan(room: "x", user: "carl"), .forgetDoor("x")])
  }

  @Test func ofARoomsSettingsTheLastWordIsWritten() {
    var unwritten = UnwrittenChanges()
    let rooms = ["group", "stream"].map { KeptRoom(room: "x", plan: RoomPlan(kind: $0), tag: $0) }
    unwritten.add([.room(rooms[0]), .forgetRoom("x"), .forgetDoor("x")], [])
    unwritten.add([.room(rooms[1])], [])
    let others: [StoreChange] = [.forgetRoom("x"), .forgetDoor("x")]
    #expect(unwritten.stored == others + [.room(rooms[1])], "they are neither chat nor door")
    unwritten.add([.forgetSettings("x")], [])
    #expect(unwritten.stored == others + [.forgetSettings("x")])
  }

  @Test func bansOfAddressesWaitForTheDisk() throws {
    var unwritten = UnwrittenChanges()
    let address = try #require(AddressRange("203.0.113.7"))
    let subjects = ["carl", nil].map { KeptAddressBan.Subject(room: "x", address: address, user: $0) }
    let bans = subjects.map { KeptAddressBan($0, until: 5, by: nil) }
    unwritten.add(bans.map { .addressBan($0) }, [])
    #expect(unwritten.stored == bans.map { StoreChange.addressBan($0) }, "each is of its own")
    unwritten.add([.forgetAddressBan(subjects[0])], [])
    #expect(unwritten.stored == [.addressBan(bans[1]), .forgetAddressBan(subjects[0])])
  }

  /// Nobody is told that a look at missed calls was not stored.
  @Test func aLookAtMissedCallsIsKeptInItsPlace() {
    var unwritten = UnwrittenChanges()
    unwritten.add([.seen(user: "anna"), .forgetCall("a")], [])
    unwritten.add([.seen(user: "anna"), .seen(user: "bert")], [])
    #expect(unwritten.stored == [.forgetCall("a"), .seen(user: "anna"), .seen(user: "bert")])
  }

  @Test func whatIsCalledTheSameInTwoRealmsIsNotTheSame() throws {
    let clinic = try #require(Realm("clinic"))
    var unwritten = UnwrittenChanges()
    let both = [RealmChange(.forgetDoor("x")), RealmChange(.forgetDoor("x"), of: clinic)]
    unwritten.add(both, [])
    unwritten.add([.forgetDoor("x")], [])
    #expect(unwritten.changes == both.reversed())
  }

  /// What came of events is worth least: without it they come twice, and that is promised to nobody.
  @Test func whatCameOfEventsIsGivenUpFirst() {
    var unwritten = UnwrittenChanges()
    unwritten.add([.forgetCall("first")], [])
    let marks = (1...20_000).map { EventChange.delivered(.default, Int64($0)) }
    let event = EventChange.add(NewEvent(id: "a", lane: "x", at: 1, body: "{}"))
    unwritten.add([] as [RealmChange], [], [event] + marks)
    #expect(unwritten.count == 10_000 && unwritten.stored == [.forgetCall("first")])
    #expect(unwritten.events.first == event && unwritten.events.last == marks.last)
  }

  @Test func itHasABound() {
    var unwritten = UnwrittenChanges()
    for number in 1...20_000 { unwritten.add([.forgetCall("\(number)")], []) }
    #expect(unwritten.count == 20_000 && unwritten.stored.first == .forgetCall("1"))
    unwritten.add([.forgetCall("20001")], [])
    #expect(unwritten.count == 10_000, "the older half goes, so that there is space for a while")
    #expect(unwritten.stored.first == .forgetCall("10002") && unwritten.stored.last == .forgetCall("20001"))
  }
}

extension UnwrittenChanges {
  fileprivate mutating func add(_ changes: [StoreChange], _ outbox: [OutboxChange]) {
    add(changes.map { RealmChange($0) }, outbox)
  }

  fileprivate var stored: [StoreChange] { changes.map(\.change) }
}
