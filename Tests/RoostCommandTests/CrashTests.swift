// kill -9 at random moments: the file opens again, and nothing is missing that a client was told is stored. `make crash`
// does it a hundred times.
import Basics
import Foundation
import RoostClient
import RoostProtocol
import Testing

@testable import roost

@Suite(.serialized, .timeLimit(.minutes(30))) struct CrashTests {
  private static let crashes = ProcessInfo.processInfo.environment["ROOST_CRASHES"].flatMap(Int.init) ?? 10
  private static let writers = 4
  private static let yaml = """
    kinds: {kept: {limits: 10, chat_history: 5000}}
    rooms: {demo: {kind: kept}}
    chat: {messages_per_second: 10000, burst: 100000}
    limits: {requests_per_second: 100000, request_burst: 1000000}
    """

  @Test func nothingThatWasAcknowledgedIsMissing() async throws {
    let server = try ServerProcess(Self.yaml)
    var acknowledged: [String: String] = [:]
    var records: Set<String> = []
    for crash in 0..<Self.crashes {
      try server.start()
      try await check(server, acknowledged, crash)
      try await checkRecords(server, records, crash)
      let url = server.url
      let told = Locked<[String: String]>([:])
      let recorded = Locked<Set<String>>([])
      try await withThrowingTaskGroup { group in
        for writer in 0..<Self.writers {
          group.addTask { try await Self.write("crash \(crash) writer \(writer)", to: url, told) }
        }
        group.addTask { await Self.call(url, recorded) }
        // At any moment: before the first message is on disk, or in the middle of a thousand.
        try await Task.sleep(for: .milliseconds(Int.random(in: 1...400)))
        server.kill()
        try await group.waitForAll()
      }
      // The newest are kept; what an earlier round was told has been looked for.
      acknowledged = told.withLock { $0 }
      records.formUnion(recorded.withLock { $0 })
    }
    try server.start()
    try await check(server, acknowledged, Self.crashes)
    try await checkRecords(server, records, Self.crashes)
    print("crashes: \(Self.crashes), and nothing that was acknowledged is missing")
  }

  /// Writes until the server is gone, and notes which of it is stored.
  private static func write(_ name: String, to url: String, _ told: Locked<[String: String]>) async throws {
    guard let session = try? await connect(url, name), let room = try? await session.join(room: "demo") else { return }
    var number = 0
    while let result = try? await room.chat("\(name): \(number)", clientMsgId: "\(number)") {
      if result.stored { told.withLock { $0[result.msgId] = "\(name): \(number)" } }
      number += 1
    }
  }

  /// Calls somebody and hangs up until the server is gone, and notes which records are told to be stored.
  private static func call(_ url: String, _ recorded: Locked<Set<String>>) async {
    guard let caller = try? await connect(url, "caller"), let callee = try? await connect(url, "callee") else { return }
    let events = await callee.events()
    let reader = Task {
      for await event in events {
        guard case .event(let message) = event, case .callRecord(let told) = message.event, told.stored != false else {
          continue
        }
        recorded.withLock { _ = $0.insert(told.record.callId) }
      }
    }
    let params = CallStartParams(to: ["callee"], kind: .oneToOne, media: .audio)
    while let started = try? await caller.startCall(params), (try? await started.call.cancel()) != nil {}
    reader.cancel()
  }

  private func checkRecords(_ server: ServerProcess, _ records: Set<String>, _ crash: Int) async throws {
    let session = try await Self.connect(server.url, "callee")
    var found: Set<String> = []
    var before: String?
    repeat {
      let page = try await session.callHistory(before: before, limit: 100)
      for record in page.records { #expect(found.insert(record.callId).inserted, "a record once") }
      before = page.next
    } while before != nil
    #expect(found.isSuperset(of: records), "after crash \(crash): \(records.subtracting(found).count) records missing")
    await session.close()
  }

  /// A call between two and a group call in the middle of a crash.
  @Test func callsAreTruthfulAfterACrash() async throws {
    let server = try ServerProcess(Self.yaml)
    try server.start()
    let (anna, bert) = (try await Self.connect(server.url, "anna"), try await Self.connect(server.url, "bert"))
    let (carl, dora) = (try await Self.connect(server.url, "carl"), try await Self.connect(server.url, "dora"))
    let two = try await anna.startCall(CallStartParams(to: ["bert"], kind: .oneToOne, media: .audio))
    _ = try await bert.call(two.call.callId).accept()
    let many = try await carl.startCall(CallStartParams(to: ["dora"], kind: .group, media: .audio))
    let room = try await dora.call(many.call.callId).accept()
    // What is told to be stored comes after all of it.
    #expect(try await room.chat("said in the call").stored)
    server.kill()
    try server.start()

    let again = try await Self.connect(server.url, "bert")
    let record = try #require(try await again.callHistory().records.first)
    #expect(record.callId == two.call.callId && record.reason == .stopped && record.direction == .incoming)
    #expect(try await again.call(two.call.callId).refresh().reason == .stopped)
    let back = try await Self.connect(server.url, "dora")
    let current = try #require(try await back.currentCall())
    #expect(current.callId == many.call.callId)
    let seat = try await current.join()
    #expect(await seat.snapshot?.chat.map(\.text) == ["said in the call"])
  }

  private static func connect(_ url: String, _ user: String) async throws -> RoostSession {
    var options = SessionOptions()
    options.requestTimeout = .seconds(60)
    options.reconnect = nil
    return try await RoostSession.connect(to: url, hello: HelloParams(user: user), options: options)
  }

  private func check(_ server: ServerProcess, _ acknowledged: [String: String], _ crash: Int) async throws {
    let session = try await Self.connect(server.url, "reader")
    let room = try await session.join(room: "demo")
    let messages = try await Self.history(room)
    let found = Dictionary(messages.map { ($0.msgId, $0.text) }) { first, _ in first }
    #expect(found.count == messages.count, "a message once")
    let missing = acknowledged.filter { found[$0.key] != $0.value }
    #expect(missing.isEmpty, "after crash \(crash): \(missing.count) of \(acknowledged.count) are missing")
    #expect(!server.lines.all.contains("storage_"), "the file opens: \(server.lines.all)")
    await session.close()
  }

  /// All that a room keeps, page by page.
  private static func history(_ room: RoomSession) async throws -> [Message] {
    var messages: [Message] = []
    while true {
      let page = try await room.chatHistory(before: messages.first?.msgId, limit: 100)
      if page.isEmpty { return messages }
      messages = page + messages
    }
  }

  /// A file that cannot grow is a disk that is full: chat goes on, and is stored again when there is space.
  @Test func aFullDiskStopsNobody() async throws {
    let server = try ServerProcess(Self.yaml, fileLimit: 512 << 10)
    try server.start()
    let (anna, bob) = (try await Self.connect(server.url, "anna"), try await Self.connect(server.url, "bob"))
    let room = try await anna.join(room: "demo")
    _ = try await bob.join(room: "demo")
    let text = String(repeating: "x", count: 4000)
    var stored: [String] = []
    while true {
      let result = try await room.chat(text)
      #expect(result.delivered == 1)
      guard result.stored else { break }
      stored.append(result.msgId)
      try #require(stored.count < 1000, "the limit is met")
    }
    #expect(stored.count > 10)
    #expect(try await room.chat(text).stored == false)
    #expect(await server.says("storage_failed"))
    try server.raiseFileLimit()
    let last = try await room.chat("there is space again")
    #expect(last.stored)
    #expect(await server.says("storage_recovered"))
    server.kill()
    try server.start()
    let reader = try await Self.connect(server.url, "carol")
    let kept = Set(try await Self.history(try await reader.join(room: "demo")).map(\.msgId))
    #expect(kept.contains(last.msgId) && kept.isSuperset(of: stored.suffix(50)))
  }
}
