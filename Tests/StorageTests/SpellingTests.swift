// Names in the file: compared by their bytes, and those that are not let in are not read, wherever in a row they stand.

import Basics
import Calls
import Conference
import Foundation
import Members
import RoostProtocol
import TestSupport
import Testing

@testable import Storage

@Suite struct SpellingTests {
  /// As it is typed on most keyboards, and as files and some phones have it.
  private static let (composed, decomposed) = ("caf\u{e9}", "cafe\u{301}")
  /// The sign for kelvin is a K to Swift.
  private static let (letter, sign) = ("K2", "\u{212A}2")
  /// A name, and another that Swift calls equal and that is not let in.
  private static let pairs = [
    (composed, decomposed), (letter, sign), ("a;b", "a\u{37e}b"), ("a`b", "a\u{1fef}b"), ("\u{c5}sa", "\u{212b}sa"),
    ("\u{3a9}", "\u{2126}"), ("\u{ac00}", "\u{1100}\u{1161}"),
  ]

  // MARK: - The file

  /// What was kept under one name is neither found nor forgotten under the other.
  @Test(arguments: pairs) func rowsAreFoundByTheirBytes(name: String, other: String) throws {
    let folder = try Folder()
    let address = KeptAddressBan.Subject(room: name, address: try #require(AddressRange("203.0.113.7")), user: name)
    let kept = KeptRecord(entry: UserRecord(user: name, device: nil, record: Self.record()), isUnseen: true)
    try folder.open {
      try $0.apply(
        .message(StoredMessage(1, room: name), forgetting: nil),
        .ban(KeptBan(room: name, user: name, until: nil, by: name)),
        .door(KeptDoor(room: name, isLockedByOperator: true, door: .open, isChatDisabled: false)),
        .block(KeptBlock(user: name, blocked: name)), .addressBan(KeptAddressBan(address, until: 9, by: name)),
        .revocation(KeptRevocation(tokenID: name, until: 9)), .record(kept))
      try $0.apply(
        .forgetRoom(other), .forgetDoor(other), .forgetBan(room: other, user: other), .seen(user: other),
        .forgetBlock(KeptBlock(user: other, blocked: other)), .forgetRevocation(other),
        .forgetAddressBan(KeptAddressBan.Subject(room: other, address: address.address, user: other)))
      #expect(try $0.records(RecordQuery(user: other, before: nil, limit: 9)).isEmpty)
      #expect(try $0.records(RecordQuery(user: name, before: nil, limit: 9)).count == 1)
      #expect($0.takeNotices().isEmpty)
    }
    let restored = try folder.restored()
    #expect(restored.chats[name]?.count == 1 && restored.doors.count == 1 && restored.bans.count == 1)
    #expect(restored.blocks.count == 1 && restored.addressBans.count == 1 && restored.revocations.count == 1)
    #expect(restored.calls.records.map(\.isUnseen) == [true])
  }

  /// An earlier version has put the rows of two people into one list. What their JSON says parts them; the page goes on behind such a row.
  @Test(arguments: pairs) func aRecordIsTheirsWhoseNameStandsInIt(name: String, other: String) throws {
    let folder = try Folder()
    let users = [name, other, name, other, other, name]
    try folder.open { _ in }
    do {
      let database = try Database(path: folder.file)
      for (number, user) in users.enumerated() {
        let entry = UserRecord(user: user, device: nil, record: Self.record("c\(number)"))
        try database.run(
          "INSERT INTO record (user, call, ended_at, unseen, body) VALUES (?, ?, 2, 0, ?)", .text(name),
          .text(entry.record.callId), encodeBody(entry))
      }
    }
    try folder.open { file in
      func calls(_ before: String?, _ limit: Int) throws -> [String] {
        try file.records(RecordQuery(user: name, before: before, limit: limit)).map(\.record.callId)
      }
      #expect(try calls(nil, 9) == ["c5", "c2", "c0"] && calls(nil, 2) == ["c5", "c2"] && calls("c5", 1) == ["c2"])
      #expect(try calls("c2", 2) == ["c0"] && calls("c9", 2).isEmpty)
      #expect(try file.records(RecordQuery(user: other, before: nil, limit: 9)).isEmpty)
      let restored = try file.restore { _, _ in 9 }
      #expect(restored.calls.records.map(\.entry.record.callId) == ["c0", "c2", "c5"])
      #expect(file.takeNotices() == [.unread(rows: 3)])
    }
  }

  @Test(arguments: pairs) func namesInsideOfJSONAreLookedAt(name: String, other: String) throws {
    let messages = [
      Message(msgId: "m1", room: name, ts: 1, from: other, displayName: "x", to: nil, text: other),
      Message(msgId: "m2", room: name, ts: 1, from: name, displayName: "x", to: [name, other], text: "x"),
      Message(msgId: "m3", room: other, ts: 1, from: name, displayName: "x", to: nil, text: "x"),
      Message(msgId: "m4", room: name, ts: 1, from: name, displayName: other, to: [name], text: other),
    ]
    let records = [Self.record(peers: [other]), Self.record(inviter: other), Self.record(peers: [name])]
    let calls = [
      Self.call(caller: other), Self.call(members: [other]), Self.call(by: other), Self.call(members: [name]),
    ]
    let folder = try Folder()
    try folder.open { file in
      for (number, message) in messages.enumerated() {
        let row = StoredMessage(number: UInt64(number), message: message, clientMsgId: nil, delivered: 0)
        try file.apply(.message(row, forgetting: nil))
      }
      for (number, record) in records.enumerated() {
        var record = record
        record.callId = "c\(number)"
        try file.apply(
          .record(KeptRecord(entry: UserRecord(user: name, device: other, record: record), isUnseen: false)))
      }
      for (number, call) in calls.enumerated() {
        var call = call
        call.callId = "c\(number)"
        try file.apply(.tombstone(KeptTombstone(call: call, clientCallId: nil)))
      }
      try file.apply(.tombstone(KeptTombstone(call: Self.call(), clientCallId: other)))
      for (room, user, by) in [(other, name, name), (name, other, name), (name, name, other), (name, "x", name)] {
        try file.apply(.ban(KeptBan(room: room, user: user, until: nil, by: by)))
      }
      for (user, blocked) in [(other, name), (name, other), (name, name)] {
        try file.apply(.block(KeptBlock(user: user, blocked: blocked)))
      }
    }
    try folder.open { file in
      let restored = try file.restore { _, _ in 9 }
      #expect(restored.chats[name]?.map(\.message.msgId) == ["m4"], "others may be shown any text")
      #expect(restored.calls.records.map(\.entry.record.callId) == ["c2"])
      #expect(restored.calls.tombstones.map(\.call.callId) == ["c3"])
      #expect(restored.bans.map(\.user) == ["x"] && restored.blocks.map(\.blocked) == [name])
      #expect(file.takeNotices() == [.unread(rows: 3 + 2 + 4 + 3 + 2)])
    }
  }

  /// Versions before 7 have written names as they came: a ban and a lock are not lost, nor is what was said under the name in form C.
  @Test(arguments: pairs) func rowsOfEarlierVersionsAreFound(name: String, other: String) throws {
    let folder = try Folder()
    do {
      let database = try Database(path: folder.file)
      let fixtures = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../Fixtures/storage")
      try database.execute(String(contentsOf: fixtures.appending(path: "version-6.sql"), encoding: .utf8))
      try database.execute("DELETE FROM message; DELETE FROM door; DELETE FROM ban; DELETE FROM block")
      for (number, room) in [(1, other), (2, name)] as [(Int64, String)] {
        let message = StoredMessage(UInt64(number), room: room).message
        try database.run(
          "INSERT INTO message VALUES (?, ?, NULL, 0, ?)", .text(room), .integer(number), encodeBody(message))
      }
      try database.run("INSERT INTO door VALUES (?, 1, 'open', 0)", .text(other))
      try database.run("INSERT INTO ban VALUES (?1, ?1, NULL, ?1)", .text(other))
      try database.run("INSERT INTO block VALUES (1, ?1, ?1)", .text(other))
    }
    let restored = try folder.restored()
    #expect(restored.chats[name]?.map(\.number) == [2])
    #expect(restored.doors.count == 1 && restored.bans.count == 1 && restored.blocks.count == 1)
    try folder.open {
      try $0.apply(
        .forgetRoom(name), .forgetDoor(name), .forgetBan(room: name, user: name),
        .forgetBlock(KeptBlock(user: name, blocked: name)))
    }
    let later = try folder.restored()
    #expect(later.chats.isEmpty && later.doors.isEmpty && later.bans.isEmpty && later.blocks.isEmpty)
  }

  private static func record(_ callId: String = "c1", peers: [String] = ["anna"], inviter: String? = nil) -> CallRecord
  {
    CallRecord(
      callId: callId, direction: .incoming, result: .missed, why: .noAnswer, elsewhere: false, startedAt: 1,
      answeredAt: nil, endedAt: 2, durationMs: 0, peers: peers, kind: .oneToOne, media: .audio, inviter: inviter,
      reason: .noAnswer)
  }

  private static func call(caller: String = "anna", members: [String] = [], by: String? = nil) -> Call {
    Call(
      callId: "c9", room: "call:c9", kind: .group, media: .audio, answerPolicy: .everyone, rejectPolicy: .ignore,
      busyPolicy: .ring, state: .ended, rev: 1, caller: caller,
      members: members.map { Member(user: $0, state: .left) }, createdAt: 1, endedAt: 2, by: by)
  }

  // MARK: - The conference over the file

  /// A process: a conference whose changes go into the file at once.
  private final class Process {
    private let folder: Folder
    private var core: ConferenceCore
    private let now = Now(instant: .zero, wallMilliseconds: 1_700_000_000_000)
    private var lastID: Int64 = 0

    init(_ folder: Folder, configured room: String? = nil) throws {
      var rules = ConferenceRules()
      rules.storesRecords = true
      if let room { rules.rooms[room] = RoomRules(kind: "hall") }
      if case .create(var kind) = rules.unknownRooms {
        kind.chatHistory = 3
        rules.unknownRooms = .create(kind)
      }
      self.folder = folder
      core = ConferenceCore(rules: rules, random: SplitMix64(seed: 1))
      try run(core.restore(folder.restored(), at: now))
      let anna = Identity(user: "anna", device: "d", displayName: "Anna", rights: .all, isVerified: true)
      try run(core.apply(.hello(ConnectionID(1), .number(0), HelloParams(user: "anna"), anna), at: now))
    }

    func ask(_ request: Request) throws {
      lastID += 1
      try run(core.apply(.request(ConnectionID(1), .number(lastID), request), at: now))
    }

    func join(_ room: String) throws { try ask(.room(.join(RoomJoinParams(room: room)))) }

    func say(_ text: String, in room: String) throws { try ask(.chat(.send(ChatSendParams(room: room, text: text)))) }

    func leave(_ room: String) throws { try ask(.room(.leave(RoomParams(room: room)))) }

    func setLocked(_ isLocked: Bool, _ room: String) throws {
      try run(core.operate(.setLocked(isLocked, room: room), at: now).effects)
    }

    private func run(_ effects: [Effect]) throws {
      for case .store(.write(let ticket, let changes)) in effects {
        try folder.open { try $0.apply(changes.map { RealmChange($0) }, wallMilliseconds: 0) }
        try run(core.apply(.stored(ticket, true), at: now))
      }
    }
  }

  /// Names in form C that are no ASCII, too.
  private static let rooms = [letter, composed, "\u{1100}x", "\u{ac00}"]

  @Test(arguments: rooms) func theChatOfARoomThatIsGoneIsGone(room: String) throws {
    let folder = try Folder()
    let first = try Process(folder)
    try first.join(room)
    try first.say("hello", in: room)
    #expect(try folder.restored().chats[room]?.count == 1)
    try first.leave(room)
    #expect(try folder.restored().chats.isEmpty)
  }

  @Test(arguments: rooms) func theHistoryOfARoomIsBoundedInTheFileToo(room: String) throws {
    let folder = try Folder()
    let first = try Process(folder)
    try first.join(room)
    for number in 0..<8 { try first.say("\(number)", in: room) }
    #expect(try folder.restored().chats[room]?.map(\.message.text) == ["5", "6", "7"])
    #expect(try Database(path: folder.file).number("SELECT count(*) FROM message") == 3)
    let second = try Process(folder)
    try second.join(room)
    for number in 8..<10 { try second.say("\(number)", in: room) }
    #expect(try folder.restored().chats[room]?.map(\.message.text) == ["7", "8", "9"])
    try second.leave(room)
    #expect(try folder.restored().chats.isEmpty)
  }

  @Test(arguments: rooms) func aLockThatIsTakenBackStaysAway(room: String) throws {
    // Where nobody is back, and where the room is configured by now.
    for configured in [nil, room] {
      let folder = try Folder()
      let first = try Process(folder)
      try first.join(room)
      try first.setLocked(true, room)
      #expect(try folder.restored().doors.count == 1)
      try Process(folder, configured: configured).setLocked(false, room)
      #expect(try folder.restored().doors.isEmpty)
    }
  }
}
