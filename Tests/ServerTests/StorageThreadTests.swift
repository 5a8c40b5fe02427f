// The thread of the record file on a disk that takes some things and not others: the order of what is written, and the log.

import Basics
import Foundation
import Logging
import Members
import RoostProtocol
import TestSupport
import Testing
import Threads

@testable import Server
@testable import Storage

@Suite struct StorageThreadTests {
  /// A thread with a file of its own, and what it said.
  private final class Desk: Sendable {
    private let folder: TemporaryFolder
    private let answers = Locked<[Ticket: Bool]>([:])
    private let lines = Locked<[String]>([])
    let thread: StorageThread

    init() throws {
      folder = try TemporaryFolder()
      let (answers, lines) = (answers, lines)
      let log = Logger(sink: { line in lines.withLock { $0.append(String(decoding: line, as: UTF8.self)) } })
      let started = StorageThread.start(
        path: folder.path("roost.db"), rules: [.default: ConferenceRules()],
        keeping: StorageRetention(
          records: .seconds(86_400), tombstones: .seconds(86_400), mostRecords: 100_000, mostRecordsOfUser: 1_000),
        deliveries: 10, log: log
      ) { command in
        guard case .stored(let ticket, let isOnDisk) = command else { return }
        answers.withLock { $0[ticket] = isOnDisk }
      }
      thread = try #require(started).thread
    }

    /// From now on the file does not take `what`, such as `INSERT ON outbox`.
    func refuse(_ what: String) throws {
      try execute("CREATE TRIGGER refusal BEFORE \(what) BEGIN SELECT RAISE(ABORT, 'no space'); END")
    }

    func takeAll() throws { try execute("DROP TRIGGER refusal") }

    private func execute(_ sql: String) throws { try Database(path: folder.path("roost.db")).execute(sql) }

    /// Whether the changes are on disk.
    func store(_ number: UInt64, _ changes: StoreChange...) async throws -> Bool {
      let ticket = Ticket(number)
      try #require(thread.store(ticket, changes))
      #expect(await eventually { self.answer(ticket) != nil })
      return answer(ticket) == true
    }

    private func answer(_ ticket: Ticket) -> Bool? { answers.withLock { $0[ticket] } }

    func count(_ event: String) -> Int { lines.withLock { lines in lines.count { $0.contains(event) } } }

    /// What the next process finds.
    func reopened<Result>(_ body: (inout RecordFile) throws -> Result) throws -> Result {
      var file = try RecordFile(path: folder.path("roost.db"), wallMilliseconds: 0)
      return try body(&file)
    }

    /// What was said in a room, by number.
    func chat(_ room: String) throws -> [UInt64] {
      try reopened { try $0.restore { _, _ in 100 }.chats[room]?.map(\.number) ?? [] }
    }
  }

  private func delivery(_ id: String) -> OutboxChange {
    .keep(StoredDelivery(id: id, endpoint: "events", lane: "x", part: "plain", body: "{}", expiresAt: .max))
  }

  private func message(_ number: UInt64, in room: String) -> StoreChange {
    let message = Message(msgId: "m\(number)", room: room, ts: 1, from: "anna", text: "hello")
    return .message(StoredMessage(number: number, message: message, clientMsgId: nil, delivered: 0), forgetting: nil)
  }

  /// With as much of their chat as they keep, also where nobody is let in until their kind is there again.
  @Test func madeRoomsAreThereAgain() throws {
    let folder = try TemporaryFolder()
    var rules = ConferenceRules()
    (rules.unknownRooms, rules.kinds) = (.refuse, ["group": RoomRules(kind: "group")])
    var plan = RoomPlan(kind: "group")
    plan.chatHistory = 2
    var lost = RoomPlan(kind: "gone")
    lost.chatHistory = .max
    let rooms = [
      KeptRoom(room: "made", plan: plan, tag: "1"), KeptRoom(room: "night", plan: lost, tag: "2"),
      KeptRoom(room: "ward", plan: RoomPlan(kind: "gone"), tag: "3"),
    ]
    do {
      var file = try RecordFile(path: folder.path("roost.db"), wallMilliseconds: 0)
      let names = ["made", "night", "ward", "hall"]
      let messages = (1...12).map { message(UInt64($0), in: names[$0 % 4]) }
      try file.apply((rooms.map { .room($0) } + messages).map { RealmChange($0) }, wallMilliseconds: 0)
    }
    let started = StorageThread.start(
      path: folder.path("roost.db"), rules: [.default: rules],
      keeping: StorageRetention(
        records: .seconds(86_400), tombstones: .seconds(86_400), mostRecords: 100_000, mostRecordsOfUser: 1_000),
      deliveries: 10, log: .disabled
    ) { _ in }
    let (thread, restored) = try #require(started)
    thread.stop()
    let state = try #require(restored[.default]?.state)
    #expect(state.rooms == rooms)
    let numbers = state.chats.mapValues { $0.map(\.number) }
    #expect(numbers == ["made": [8, 12], "night": [1, 5, 9], "ward": [2, 6, 10], "hall": []])
  }

  /// What rooms.yaml says of a room may be more than the API chooses. What a kind has outgrown is read as narrowly as it is served.
  @Test(arguments: [(room: "demo", wish: 1_300, read: 1_300), ("demo", 9_000, 1_400), ("made", 1_300, 1_000)])
  func asMuchIsReadAsARoomMayKeep(_ row: (room: String, wish: Int, read: Int)) throws {
    let folder = try TemporaryFolder()
    var rules = ConferenceRules()
    rules.kinds = ["group": RoomRules(kind: "group")]
    rules.rooms["demo"] = RoomRules(kind: "group")
    rules.rooms["demo"]?.chatHistory = 1_400
    var plan = RoomPlan(kind: "group")
    plan.chatHistory = row.wish
    do {
      var file = try RecordFile(path: folder.path("roost.db"), wallMilliseconds: 0)
      let messages = (1...1_500).map { message(UInt64($0), in: row.room) }
      let changes = [StoreChange.room(KeptRoom(room: row.room, plan: plan, tag: "1"))] + messages
      try file.apply(changes.map { RealmChange($0) }, wallMilliseconds: 0)
    }
    let started = StorageThread.start(
      path: folder.path("roost.db"), rules: [.default: rules],
      keeping: StorageRetention(
        records: .seconds(86_400), tombstones: .seconds(86_400), mostRecords: 100_000, mostRecordsOfUser: 1_000),
      deliveries: 10, log: .disabled
    ) { _ in }
    let (thread, restored) = try #require(started)
    thread.stop()
    #expect(restored[.default]?.state.chats[row.room]?.count == row.read)
  }

  /// While the disk hangs so many wait and one more is not taken; when it goes on there is space again.
  @Test func soManyWaitForTheDisk() async throws {
    #expect(StorageThread.patience == 16_384)
    let folder = try TemporaryFolder()
    let (hangs, isStuck, answered) = (DispatchSemaphore(value: 0), Locked(false), Locked(0))
    let started = StorageThread.start(
      path: folder.path("roost.db"), rules: [.default: ConferenceRules()],
      keeping: StorageRetention(
        records: .seconds(86_400), tombstones: .seconds(86_400), mostRecords: 100_000, mostRecordsOfUser: 1_000),
      deliveries: 10, log: .disabled, patience: 4
    ) { _ in
      // The thread waits in its first answer as it would in a write.
      if answered.withLock({ count in
        defer { count += 1 }; return count == 0
      }) {
        isStuck.withLock { $0 = true }
        hangs.wait()
      }
    }
    let thread = try #require(started).thread
    func store(_ number: UInt64) -> Bool { thread.store(Ticket(number), [message(number, in: "x")]) }
    #expect(store(1))
    #expect(await eventually { isStuck.withLock { $0 } })
    for number in 2...5 as ClosedRange<UInt64> { #expect(store(number)) }
    #expect(!store(6) && !store(7))
    hangs.signal()
    #expect(await eventually { answered.withLock { $0 } == 5 })
    #expect(store(8))
    thread.stop()
    #expect(answered.withLock { $0 } == 6)
  }

  @Test func whatWaitsForTheDiskIsWrittenBeforeWhatComes() async throws {
    let desk = try Desk()
    try desk.refuse("INSERT ON outbox")
    desk.thread.keep(delivery("joined"))
    #expect(await eventually { desk.thread.figures.failures > 0 })
    try desk.takeAll()
    desk.thread.keep(delivery("left"))
    desk.thread.stop()
    #expect(try desk.reopened { try $0.deliveries(limit: 10).map(\.id) } == ["joined", "left"])
  }

  /// A loss that was told is not told again and again while the disk cannot take that it was.
  @Test func aLossIsToldOnceWhileTheDiskIsFull() async throws {
    let desk = try Desk()
    let told = Locked(0)
    desk.thread.follow(.default) { [thread = desk.thread] supply in
      for delivery in supply.deliveries where delivery.part == .lost {
        told.withLock { $0 += 1 }
        thread.settle(.change(.toldLost(.default, id: delivery.id)))
      }
      return true
    }
    try desk.refuse("DELETE ON lost_events")
    desk.thread.settle(.change(.missed(.default, 3)))
    #expect(await eventually { desk.thread.figures.failures > 0 })
    try await Task.sleep(for: .milliseconds(300))
    #expect(told.withLock { $0 } == 1)
    try desk.takeAll()
    #expect(await eventually { desk.count("storage_recovered") > 0 })
    desk.thread.stop()
    #expect(told.withLock { $0 } == 1)
    #expect(try desk.reopened { try $0.lostEvents(of: .default) } == nil)
  }

  @Test func whatWasForgottenDoesNotComeBackWithWhatIsSaidLater() async throws {
    let desk = try Desk()
    #expect(try await desk.store(1, message(1, in: "x")))
    try desk.refuse("DELETE ON message")
    #expect(try await !desk.store(2, .forgetRoom("x")))
    try desk.takeAll()
    let isOnDisk = try await desk.store(3, message(2, in: "x"))
    desk.thread.stop()
    #expect(try desk.chat("x") == (isOnDisk ? [2] : []))
  }

  /// One fsync for many, however fast the disk is: whoever writes a thousand times a second pays for 250 transactions.
  @Test func whatComesCloselyIsWrittenTogether() async throws {
    let desk = try Desk()
    let before = desk.thread.figures.transactions
    let start = MonotonicClock.now()
    for number in 1...60 as ClosedRange<UInt64> {
      #expect(desk.thread.store(Ticket(number), [message(number, in: "x")]))
      try await Task.sleep(for: .milliseconds(1))
    }
    #expect(try await desk.store(61, message(61, in: "x")))
    let most = (MonotonicClock.now() - start).milliseconds / 4 + 2
    #expect(desk.thread.figures.transactions - before <= most)
    desk.thread.stop()
    #expect(try desk.chat("x") == Array(1...61))
  }

  /// A disk that has space for little things alone: one line, not two for each of them.
  @Test func aNearlyFullDiskDoesNotFillTheLog() async throws {
    let desk = try Desk()
    #expect(try await desk.store(1, message(1, in: "x")))
    try desk.refuse("DELETE ON message WHEN OLD.room = 'x'")
    #expect(try await !desk.store(2, .forgetRoom("x")))
    for number in 3...20 as ClosedRange<UInt64> { #expect(try await !desk.store(number, message(number, in: "y"))) }
    #expect(desk.count("storage_failed") == 1 && desk.count("storage_recovered") == 0)
    try desk.takeAll()
    #expect(await eventually { desk.count("storage_recovered") == 1 })
    #expect(try await desk.store(21, message(21, in: "y")))
    desk.thread.stop()
    #expect(try desk.chat("x").isEmpty)
    #expect(try desk.chat("y") == [21])
  }
}
