// One name in several spellings: Swift takes them for equal, and the file must, too.

import Basics
import Calls
import Conference
import RoostProtocol
import TestSupport
import Testing

@testable import Storage

@Suite struct SpellingTests {
  /// As it is typed on most keyboards, and as files and some phones have it.
  private static let (composed, decomposed) = ("caf\u{e9}", "cafe\u{301}")
  /// The sign for kelvin is a K.
  private static let (letter, sign) = ("K2", "\u{212A}2")
  private static let pairs = [(composed, decomposed), (decomposed, composed), (letter, sign), (sign, letter)]

  @Test(arguments: [
    ("", ""), ("K2", "K2"), ("\u{212A}2", "K2"), ("e\u{301}", "\u{e9}"), ("\u{e9}", "\u{e9}"),
    ("\u{1112}\u{1161}\u{11ab}", "\u{d55c}"), ("a\u{315}\u{300}", "\u{e0}\u{315}"), ("\u{fb01}", "\u{fb01}"),
    ("x\u{0}\u{1f388}", "x\u{0}\u{1f388}"),
  ]) func equalTextsHaveOneSpelling(text: String, canonical: String) {
    #expect(Array(text.canonical.utf8) == Array(canonical.utf8) && text.canonical == text)
  }

  // MARK: - The file

  @Test(arguments: pairs) func rowsAreFoundByAnySpelling(kept: String, asked: String) throws {
    let folder = try Folder()
    let record = UserRecord(user: kept, device: nil, record: Self.record)
    let door = KeptDoor(room: kept, isLockedByOperator: true, door: .open, isChatDisabled: false)
    let address = KeptAddressBan.Subject(room: kept, address: try #require(AddressRange("203.0.113.7")), user: kept)
    try folder.open {
      try $0.apply(
        .message(StoredMessage(1, room: kept, text: "\(kept)"), forgetting: nil), .door(door),
        .ban(KeptBan(room: kept, user: kept, until: nil, by: kept)), .block(KeptBlock(user: kept, blocked: kept)),
        .addressBan(KeptAddressBan(address, until: 9, by: kept)), .record(KeptRecord(entry: record, isUnseen: true)))
      #expect(try $0.records(RecordQuery(user: asked, before: nil, limit: 9)).map(\.user) == [asked])
      try $0.apply(.seen(user: asked))
    }
    let restored = try folder.restored()
    let text = try #require(restored.chats[asked]?.first?.message.text)
    #expect(Array(text.unicodeScalars) == Array(kept.unicodeScalars), "what was said stays as it was")
    #expect(restored.calls.records.map(\.isUnseen) == [false] && restored.doors.map(\.room) == [asked])
    var other = record
    (other.user, other.device) = (asked, "phone")
    try folder.open {
      try $0.apply(
        .message(StoredMessage(2, room: asked), forgetting: 1), .forgetDoor(asked),
        .forgetBan(room: asked, user: asked), .forgetBlock(KeptBlock(user: asked, blocked: asked)),
        .forgetAddressBan(KeptAddressBan.Subject(room: asked, address: address.address, user: asked)),
        .record(KeptRecord(entry: other, isUnseen: false)))
    }
    let later = try folder.restored()
    #expect(later.chats[kept]?.map(\.number) == [2] && later.doors.isEmpty && later.bans.isEmpty)
    #expect(later.blocks.isEmpty && later.addressBans.isEmpty)
    #expect(later.calls.records.map(\.entry.device) == ["phone"], "in place of the earlier one")
    try folder.open { try $0.apply(.forgetRoom(kept)) }
    #expect(try folder.restored().chats.isEmpty)
  }

  /// Earlier versions have written names as they came.
  @Test(arguments: pairs) func rowsOfEarlierVersionsAreFound(kept: String, asked: String) throws {
    let folder = try Folder()
    try folder.open { _ in }
    do {
      let database = try Database(path: folder.file)
      for (number, room) in [(1, kept), (2, asked)] as [(Int64, String)] {
        let message = StoredMessage(UInt64(number), room: room).message
        try database.run(
          "INSERT INTO message VALUES (?, ?, NULL, 0, ?)", .verbatim(room), .integer(number), encodeBody(message))
      }
      try database.run("INSERT INTO door VALUES (?, 1, 'open', 0)", .verbatim(kept))
      try database.run("INSERT INTO ban VALUES (?1, ?1, NULL, ?1)", .verbatim(kept))
      try database.run("INSERT INTO block VALUES (1, ?1, ?1)", .verbatim(kept))
      try database.execute("DROP TABLE revoked_token; DROP TABLE narrowing; PRAGMA user_version = 6")
    }
    let restored = try folder.restored()
    #expect(restored.chats[asked]?.map(\.number) == [1, 2], "what was said in one room under two spellings")
    #expect(restored.doors.count == 1 && restored.bans.count == 1 && restored.blocks.count == 1)
    try folder.open {
      try $0.apply(
        .forgetRoom(asked), .forgetDoor(asked), .forgetBan(room: asked, user: asked),
        .forgetBlock(KeptBlock(user: asked, blocked: asked)))
    }
    let later = try folder.restored()
    #expect(later.chats.isEmpty && later.doors.isEmpty && later.bans.isEmpty && later.blocks.isEmpty)
  }

  private static var record: CallRecord {
    CallRecord(
      callId: "c1", direction: .incoming, result: .missed, why: .noAnswer, elsewhere: false, startedAt: 1,
      answeredAt: nil, endedAt: 2, durationMs: 0, peers: ["anna"], kind: .oneToOne, media: .audio, inviter: nil,
      reason: .noAnswer)
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
        try folder.open { try $0.apply(changes, wallMilliseconds: 0) }
        try run(core.apply(.stored(ticket, true), at: now))
      }
    }
  }

  @Test(arguments: pairs) func theChatOfARoomThatIsGoneIsGone(one: String, other: String) throws {
    let folder = try Folder()
    let first = try Process(folder)
    try first.join(one)
    try first.say("hello", in: other)
    #expect(try folder.restored().chats[one]?.count == 1)
    try first.leave(one)
    #expect(try folder.restored().chats.isEmpty)
  }

  @Test(arguments: pairs) func theHistoryOfARoomIsBoundedInTheFileToo(one: String, other: String) throws {
    let folder = try Folder()
    let first = try Process(folder)
    try first.join(one)
    for number in 0..<8 { try first.say("\(number)", in: number % 2 == 0 ? one : other) }
    #expect(try folder.restored().chats[one]?.map(\.message.text) == ["5", "6", "7"])
    #expect(try Database(path: folder.file).number("SELECT count(*) FROM message") == 3)
    // The next process has the room by its other spelling.
    let second = try Process(folder)
    try second.join(other)
    for number in 8..<10 { try second.say("\(number)", in: other) }
    #expect(try folder.restored().chats[one]?.map(\.message.text) == ["7", "8", "9"])
    try second.leave(other)
    #expect(try folder.restored().chats.isEmpty)
  }

  @Test(arguments: pairs) func aLockThatIsTakenBackStaysAway(one: String, other: String) throws {
    // Where nobody is back, and where the room is configured by now.
    for configured in [nil, other] {
      let folder = try Folder()
      let first = try Process(folder)
      try first.join(one)
      try first.setLocked(true, other)
      #expect(try folder.restored().doors.count == 1)
      try Process(folder, configured: configured).setLocked(false, other)
      #expect(try folder.restored().doors.isEmpty)
    }
  }
}
