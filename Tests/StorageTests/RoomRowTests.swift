// Settings of rooms in the file: what was made is there again, in its realm alone.

import Members
import Names
import RoostProtocol
import Testing

@testable import Storage

@Suite struct RoomRowTests {
  /// Something of everything.
  private var plan: RoomPlan {
    var rules = RoomRules(kind: "group")
    (rules.media, rules.publishers, rules.players, rules.videoLastN, rules.sound.loudest) = (nil, 3, 200, 5, 4)
    var plan = RoomPlan(rules)
    plan.until = 1_763_703_600_000
    return plan
  }

  @Test func aMadeRoomIsReadAgainInItsRealmAlone() throws {
    let folder = try Folder()
    let clinic = try #require(Realm("clinic"))
    let rooms = [
      KeptRoom(room: "standup", plan: plan, tag: "a1"), KeptRoom(room: "ward", plan: RoomPlan(kind: "x"), tag: "b2"),
    ]
    try folder.open { file in
      try file.apply(.room(rooms[0]))
      try file.apply([RealmChange(.room(rooms[1]), of: clinic)], wallMilliseconds: 0)
    }
    let restored = try folder.open { [try $0.restore { _, _ in 9 }.rooms, try $0.restore(clinic) { _, _ in 9 }.rooms] }
    #expect(restored == [[rooms[0]], [rooms[1]]])
    #expect(restored[0].first?.plan?.media == .firstJoiner && restored[1].first?.plan?.media == nil)
  }

  @Test func theLastWordCounts() throws {
    let folder = try Folder()
    let rooms = ["a1", "b2"].map { KeptRoom(room: "standup", plan: RoomPlan(kind: $0), tag: $0) }
    try folder.open { try $0.apply(.room(rooms[0]), .room(rooms[1])) }
    #expect(try folder.restored().rooms == [rooms[1]])
    try folder.open { try $0.apply(.forgetSettings("another")) }
    #expect(try folder.restored().rooms == [rooms[1]])
    try folder.open { try $0.apply(.forgetSettings("standup")) }
    #expect(try folder.restored().rooms.isEmpty)
  }

  @Test(arguments: [#"{"kind":3}"#, "", "{}", #"{"kind":"group","media":"film"}"#])
  func whatCannotBeReadHasNoPlan(_ body: String) throws {
    let folder = try Folder()
    let good = KeptRoom(room: "good", plan: RoomPlan(kind: "group"), tag: "a1")
    try folder.open { file in
      try file.apply(.room(good))
      try file.connection?.run(
        "INSERT INTO room VALUES ('default', 'bad', 'b2', ?)", .text(body))
    }
    #expect(try folder.restored().rooms == [KeptRoom(room: "bad", plan: nil, tag: "b2"), good])
    // What could not be read stays as it is.
    try folder.open { try $0.apply(.room(KeptRoom(room: "bad", plan: nil, tag: "c3"))) }
    #expect(try folder.restored().rooms.first?.tag == "b2")
  }

  @Test func itsChatIsReadAsItKeepsIt() throws {
    let folder = try Folder()
    let kept = KeptRoom(room: "standup", plan: plan, tag: "a1")
    try folder.open { file in
      try file.apply(.room(kept))
      for number in 1...6 {
        let room = number.isMultiple(of: 2) ? "standup" : "hall"
        try file.apply(.message(StoredMessage(UInt64(number), room: room), forgetting: nil))
      }
    }
    var asked: [String: KeptRoom?] = [:]
    let restored = try folder.open { file in
      try file.restore { room, kept in
        asked[room] = kept
        return kept == nil ? 1 : 2
      }
    }
    #expect(asked == ["standup": kept, "hall": nil as KeptRoom?])
    #expect(restored.chats.mapValues { $0.map(\.number) } == ["standup": [4, 6], "hall": [5]])
  }
}
