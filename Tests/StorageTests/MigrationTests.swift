// Files as earlier versions left them (Tests/Fixtures/storage) become files of today, with all that they held.

import Basics
import Calls
import Foundation
import Members
import Names
import RoostProtocol
import Testing

@testable import Storage

@Suite struct MigrationTests {
  private let talk = "91c3ea55-0132-45ab-bf88-7fa5c3341fc6"
  private let missed = "5f0c3a8e-6d0b-4f5e-9d2b-0e7a3c1d9b42"
  private let running = "0c1ab7a0-52a5-4e5c-8d8e-35c1d0a7b8f1"

  /// A folder with a file of an earlier version, closed.
  private func folder(_ version: Int) throws -> Folder {
    let fixtures = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../Fixtures/storage")
    let sql = try String(contentsOf: fixtures.appending(path: "version-\(version).sql"), encoding: .utf8)
    let folder = try Folder()
    let database = try Database(path: folder.file)
    try database.execute(sql)
    #expect(try database.number("PRAGMA user_version") == Int64(version))
    return folder
  }

  private func tables(of folder: Folder) throws -> [[String?]] {
    try Database(path: folder.file).query("SELECT name, sql FROM sqlite_schema ORDER BY name").map { $0.map(\.text) }
  }

  /// A version that is added needs a file of its own kind: the steps of today say nothing of the files of yesterday.
  @Test func everyVersionHasAFileAndBecomesTheNewest() throws {
    let fresh = try Folder()
    try fresh.open { _ in }
    for version in 1...Schema.steps.count {
      let folder = try folder(version)
      try folder.open { try $0.apply(.message(StoredMessage(20), forgetting: nil), .record(record)) }
      #expect(try Database(path: folder.file).number("PRAGMA user_version") == Int64(Schema.steps.count))
      #expect(try tables(of: folder) == tables(of: fresh), "version \(version) has other tables than a new file")
      let restored = try folder.restored()
      #expect(restored.chats["demo"]?.last?.number == 20 && restored.lastNumber == 20)
      #expect(restored.calls.records.last == record && folder.names == fresh.names, "nothing was set aside")
    }
  }

  @Test func theChatOfVersion1IsThere() throws {
    let folder = try folder(1)
    let chats = try folder.restored().chats
    #expect(Set(chats.keys) == ["demo", "hall"])
    #expect(chats["demo"]?.map(\.number) == [4, 7] && chats["demo"]?.map(\.clientMsgId) == [nil, "c-1"])
    #expect(chats["demo"]?.map(\.delivered) == [2, 1] && chats["demo"]?.first?.message.displayName == "Anna")
    let aside = Message(
      msgId: "m7", room: "demo", ts: 1_763_700_000_007, from: "ben", displayName: "Ben", to: ["anna"],
      text: "just you \u{2603}")
    #expect(chats["demo"]?.last?.message == aside && chats["hall"]?.first?.message.text == "nobody here?")
    #expect(try folder.restored().calls.records.isEmpty)
  }

  @Test func theCallsOfVersion2AreThere() throws {
    let folder = try folder(2)
    let restored = try folder.restored()
    #expect(restored.chats["call:\(running)"]?.map(\.number) == [9])
    let records = restored.calls.records
    #expect(records.map(\.entry.user) == ["anna", "ben", "ben"] && records.map(\.isUnseen) == [false, false, true])
    #expect(records.map(\.entry.record.callId) == [talk, talk, missed])
    #expect(records.map(\.entry.device) == ["phone", "tablet", nil])
    #expect(records.map(\.entry.record.durationMs) == [15_000, 15_000, 0] && records[2].entry.record.why == .noAnswer)

    let tombstone = try #require(restored.calls.tombstones.first)
    #expect(tombstone.call.callId == talk && tombstone.clientCallId == "mine-1" && tombstone.call.by == "anna")
    #expect(tombstone.call.members.map(\.state) == [.left, .left] && tombstone.call.extra == ["topic": "lunch"])

    let call = try #require(restored.calls.running.first)
    #expect(call.call.callId == running && call.call.members.map(\.state) == [.joined, .reconnecting, .inviting])
    #expect(call.pushedRings.map(\.user) == ["carl"] && call.pushedRings.map(\.expiresAt) == [1_763_700_080_000])
    #expect(try folder.open { try $0.deliveries(limit: 9) }.map(\.id) == ["d-6"])
    // Events have numbers since version 10; those that waited have the first.
    let told = try folder.open { try $0.events(EventQuery(after: 0)) }
    #expect(told.events.map(\.body) == [#"{"id":"d-5","number":1,"type":"call.invited"}"#] && told.last == 1)
    let waiting = try folder.open { try $0.waitingEvents(after: 0, limit: 9, of: .default) }
    #expect(waiting == told.events)
    let page = try folder.open { try $0.records(RecordQuery(user: "ben", before: missed, limit: 9)) }
    #expect(page == [records[1].entry])
  }

  @Test func theBansAndDoorsOfVersion3AreThere() throws {
    let restored = try folder(3).restored()
    #expect(
      Set(restored.bans) == [
        KeptBan(room: "demo", user: "carl", until: 1_763_703_600_000, by: "anna"),
        KeptBan(room: "demo", user: "dora", until: nil, by: "anna"),
      ])
    #expect(
      Set(restored.doors) == [
        KeptDoor(room: "demo", isLockedByOperator: false, door: .lobby, isChatDisabled: true),
        KeptDoor(room: "hall", isLockedByOperator: true, door: .open, isChatDisabled: false),
      ])
  }

  @Test func theBlocksOfVersion4AreThere() throws {
    let restored = try folder(4).restored()
    #expect(
      Set(restored.blocks) == [KeptBlock(user: "anna", blocked: "carl"), KeptBlock(user: "ben", blocked: "anna")])
  }

  @Test func theBlocksOfVersion5AreThereInTheirOrder() throws {
    let restored = try folder(5).restored()
    #expect(restored.blocks == [KeptBlock(user: "ben", blocked: "anna"), KeptBlock(user: "anna", blocked: "carl")])
  }

  @Test func theAddressesOfVersion6AreKeptOut() throws {
    let restored = try folder(6).restored()
    let network = try #require(AddressRange("2001:db8::/64"))
    let address = try #require(AddressRange("203.0.113.7"))
    #expect(
      restored.addressBans == [
        KeptAddressBan(.init(room: nil, address: network, user: nil), until: 1_763_703_600_000, by: nil),
        KeptAddressBan(.init(room: "demo", address: address, user: "carl"), until: 1_763_703_500_000, by: "anna"),
      ])
  }

  @Test func theTokensOfVersion7AreTakenBack() throws {
    let restored = try folder(7).restored()
    #expect(
      restored.revocations == [
        KeptRevocation(tokenID: "t-1", until: 1_763_703_600_000),
        KeptRevocation(tokenID: "t-2", until: 1_763_703_500_000),
      ])
  }

  @Test func whatWasLeftOfGrantsInVersion8IsLeft() throws {
    let restored = try folder(8).restored()
    #expect(
      restored.narrowings == [
        KeptNarrowing(.init(user: "anna", room: "demo"), rights: [], at: 1_763_700_000_001),
        KeptNarrowing(.init(user: "anna", room: nil), rights: [.join, .subscribe], at: 1_763_700_000_000),
      ])
  }

  @Test func theRealmsOfVersion9AreThere() throws {
    let folder = try folder(9)
    let clinic = try #require(Realm("clinic"))
    let restored: [RestoredState] = try folder.open { file in
      [try file.restore { _, _ in 9 }, try file.restore(clinic) { _, _ in 9 }]
    }
    #expect(restored.map { $0.chats["demo"]?.map(\.message.text) } == [["hello"], ["how are you?"]])
    #expect(
      restored.map(\.bans) == [
        [KeptBan(room: "demo", user: "carl", until: 1_763_703_600_000, by: "anna")],
        [KeptBan(room: "demo", user: "carl", until: nil, by: "ben")],
      ])
    #expect(restored.map(\.addressBans.count) == [0, 1] && restored.map(\.narrowings.count) == [0, 1])
    #expect(restored.map { $0.doors.map(\.isLockedByOperator) } == [[false], [true]])
    #expect(restored.map { $0.blocks.map(\.blocked) } == [["anna"], ["carl"]])
    #expect(restored.map { $0.revocations.map(\.until) } == [[1_763_703_600_000], [1_763_703_700_000]])
    let waiting: [[StoredDelivery]] = try folder.open { file in
      [try file.deliveries(limit: 9), try file.deliveries(of: clinic, limit: 9)]
    }
    #expect(waiting == [[], []])
    let events = try folder.open { try $0.events(EventQuery(after: 0), of: clinic).events }
    #expect(events.map(\.body) == [#"{"id":"d-1","number":1}"#])
  }

  @Test func theEventsOfVersion10AreThere() throws {
    let folder = try folder(10)
    let clinic = try #require(Realm("clinic"))
    let numbers = try folder.open { try $0.events(EventQuery(after: 0), of: clinic).events.map(\.number) }
    let waiting = try folder.open { try $0.waitingEvents(after: 0, limit: 9, of: clinic).map(\.id) }
    let lost = try folder.open { try $0.lostEvents(of: clinic)?.from }
    let dropped = try folder.open { try $0.droppedEvents(of: clinic).map(\.id) }
    #expect(numbers == [1, 2, 4] && waiting == ["d-4"] && lost == 3 && dropped == ["d-2"])
    let new = NewEvent(id: "d-5", lane: "demo", at: 1, body: "{\"type\":\"room.closed\"}", realm: clinic)
    let added = try folder.open { try $0.apply([], events: [.add(new)], wallMilliseconds: 0) }
    #expect(added.numbered.map(\.number) == [5])
  }

  @Test func theRoomsOfVersion11AreThere() throws {
    let folder = try folder(11)
    let clinic = try #require(Realm("clinic"))
    let rooms = try folder.open { [try $0.restore { _, _ in 9 }.rooms, try $0.restore(clinic) { _, _ in 9 }.rooms] }
    var standup = RoomPlan(kind: "group")
    (standup.videoLimit, standup.audioLimit) = (4, 4)
    #expect(
      rooms == [
        [KeptRoom(room: "standup", plan: standup, tag: "0123456789abcdef")],
        [KeptRoom(room: "ward", plan: RoomPlan(kind: "gone"), tag: "fedcba9876543210")],
      ])
    #expect(try self.folder(10).restored().rooms.isEmpty)
  }

  /// What was there before there were realms is one's own, and nobody else's.
  @Test(arguments: 1...8) func whatWasThereIsTheDefaultRealms(_ version: Int) throws {
    let folder = try folder(version)
    let clinic = try #require(Realm("clinic"))
    let other = try folder.open { try $0.restore(clinic) { _, _ in 9 } }
    #expect(other.chats.isEmpty && other.calls.records.isEmpty && other.bans.isEmpty && other.blocks.isEmpty)
    #expect(try folder.restored().chats.isEmpty == false)
  }

  /// What was numbered by an earlier version is not numbered again.
  @Test func newRowsComeBehindTheOld() throws {
    let folder = try folder(2)
    let delivery = StoredDelivery(id: "d-7", endpoint: "push", lane: "l", part: "plain", body: "{}", expiresAt: 1)
    try folder.open { try $0.apply([RealmChange(.record(record))], outbox: [.keep(delivery)], wallMilliseconds: 0) }
    let numbers = { (table: String) in
      try Database(path: folder.file).query("SELECT number FROM \(table) ORDER BY number").map { $0[0].integer }
    }
    #expect(try numbers("record") == [3, 4, 7, 8] && numbers("outbox") == [6, 7])
  }

  private var record: KeptRecord {
    KeptRecord(
      entry: UserRecord(
        user: "dora", device: nil,
        record: CallRecord(
          callId: "new", direction: .incoming, result: .declined, elsewhere: false, startedAt: 1, endedAt: 2,
          durationMs: 0, peers: ["anna"], kind: .oneToOne, media: .audio, reason: .rejected)), isUnseen: false)
  }
}
