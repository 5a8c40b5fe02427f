// A disk that is read-only or full, a record file that is damaged: the log says so, and calls begin, go on and end as ever.
import Basics
import Foundation
import RoostClient
import RoostProtocol
import TestSupport
import Testing

@Suite(.serialized, .timeLimit(.minutes(10))) struct DiskTroubleTests {
  private static let yaml = """
    kinds: {kept: {limits: 10, chat_history: 5000}}
    unknown_rooms: {create: kept}
    chat: {messages_per_second: 10000, burst: 100000}
    limits: {requests_per_second: 100000, request_burst: 1000000}
    """

  /// Two who call each other, and whether the records that they hear of are on disk.
  private struct Pair {
    let anna: RoostSession
    let bert: RoostSession
    let records = Locked<[Bool]>([])
    private let reader: Task<Void, Never>

    init(_ url: String) async throws {
      anna = try await connect(to: url, "anna")
      bert = try await connect(to: url, "bert")
      let (events, records) = (await bert.events(), records)
      reader = Task {
        for await event in events {
          guard case .event(let message) = event, case .callRecord(let told) = message.event else { continue }
          records.withLock { $0.append(told.stored ?? true) }
        }
      }
    }

    /// A call that both are in, and its room.
    func talk() async throws -> (call: CallSession, room: RoomSession) {
      let params = CallStartParams(to: ["bert"], kind: .oneToOne, media: .audio)
      let started = try await anna.startCall(params)
      return (started.call, try await bert.call(started.call.callId).accept())
    }

    /// Whether the record that comes next is on disk; nil when none comes within a minute.
    func nextRecord(after count: Int) async -> Bool? {
      for _ in 0..<600 where records.withLock(\.count) <= count { try? await Task.sleep(for: .milliseconds(100)) }
      return records.withLock { $0.count > count ? $0[count] : nil }
    }

    /// A whole call, in which something is said; what is kept of it is on disk, or is not.
    func callWorks(isKept: Bool) async throws {
      let count = records.withLock(\.count)
      let (call, room) = try await talk()
      #expect(try await room.chat("hello").stored == isKept)
      #expect(try await call.refresh().members.count == 2)
      _ = try await call.hangup()
      #expect(await nextRecord(after: count) == isKept)
      #expect(try await bert.callHistory().records.first?.callId == call.callId)
    }
  }

  /// Makes the server's directory read-only for what is started after it. Where modes stop nobody, as with root, it is started
  /// without the capability that overrides them; a mount would need more than a container's root may do.
  private func readOnly(_ folder: URL) -> String {
    let path = folder.path
    let bound = #"setpriv --bounding-set -dac_override --inh-caps -dac_override "$0" serve --config "$1""#
    return "chmod 0555 '\(path)'; if [ -w '\(path)' ]; then exec \(bound); fi; "
  }

  @Test func aReadOnlyDiskStopsNoCall() async throws {
    let server = try ServerProcess(Self.yaml)
    try server.start()
    try await Pair(server.url).callWorks(isKept: true)
    server.stop()
    try server.start(after: readOnly(server.folder))
    defer { _ = chmod(server.folder.path, 0o755) }
    #expect(await server.says("storage_off"))
    #expect(server.lines.all.contains("let Roost's user write the directory of storage.path"), "\(server.lines.all)")
    let pair = try await Pair(server.url)
    for _ in 0..<2 { try await pair.callWorks(isKept: false) }
  }

  @Test func aFullDiskStopsNoCall() async throws {
    let server = try ServerProcess(Self.yaml, fileLimit: 1 << 20)
    try server.start()
    let pair = try await Pair(server.url)
    let (running, room) = try await pair.talk()
    let text = String(repeating: "x", count: 4_000)
    var isStored = true
    for _ in 0..<1_000 where isStored { isStored = try await room.chat(text).stored }
    #expect(!isStored)
    #expect(await server.says("storage_failed"))
    // The call that was there when it happened goes on, and ends; so do others.
    #expect(try await running.refresh().members.count == 2)
    _ = try await running.hangup()
    #expect(await pair.nextRecord(after: 0) == false)
    try await pair.callWorks(isKept: false)
    try server.raiseFileLimit()
    // What happened meanwhile is written first, by itself; then what comes.
    #expect(await server.says("storage_recovered"))
    try await pair.callWorks(isKept: true)
  }

  @Test func aFileFoundDamagedStopsNoCall() async throws {
    let server = try ServerProcess(Self.yaml)
    try Data(repeating: 0x5a, count: 8_192).write(to: server.file)
    try server.start()
    #expect(server.lines.all.contains("storage_damaged"))
    let pair = try await Pair(server.url)
    try await pair.callWorks(isKept: true)
    let names = try FileManager.default.contentsOfDirectory(atPath: server.folder.path)
    #expect(names.contains { $0.hasPrefix("roost.db.damaged-") })
  }

  /// Another program writes into the file while people talk; it shows when what was said in a room is to be deleted from it.
  @Test func aFileThatIsDamagedDuringACallDoesNotEndIt() async throws {
    let server = try ServerProcess(Self.yaml)
    try server.start()
    // More than SQLite keeps in memory, and in each room less than a client is sent at a time.
    let rooms = (1...5).map { "party \($0)" }
    let text = String(repeating: "x", count: 4_000)
    // They stay until the server ends: whoever leaves last takes along what was said.
    var guests: [RoostSession] = []
    for room in rooms {
      let guest = try await connect(to: server.url, "guest of \(room)")
      guests.append(guest)
      let joined = try await guest.join(room: room)
      for _ in 0..<200 { #expect(try await joined.chat(text).stored) }
    }
    server.stop()

    try server.start()
    let pair = try await Pair(server.url)
    let (call, room) = try await pair.talk()
    let size = try #require(FileManager.default.attributesOfItem(atPath: server.file.path)[.size] as? Int)
    let handle = try #require(FileHandle(forWritingAtPath: server.file.path))
    try handle.seek(toOffset: 4_096)
    try handle.write(contentsOf: Data(repeating: 0xa5, count: size - 4_096))
    try handle.close()
    let carl = try await connect(to: server.url, "carl")
    for room in rooms { try await carl.join(room: room).leave() }
    #expect(await server.says("storage_damaged"))
    #expect(try await room.chat("still here").stored, "in the new file")
    #expect(try await call.refresh().members.count == 2)
    _ = try await call.hangup()
    #expect(await pair.nextRecord(after: 0) == true)
    try await pair.callWorks(isKept: true)
  }

  /// A file that cannot grow is a disk that is full: chat goes on, and is stored again when there is space.
  @Test func aFullDiskStopsNobody() async throws {
    let server = try ServerProcess(Self.yaml, fileLimit: 512 << 10)
    try server.start()
    let (anna, bob) = (try await connect(to: server.url, "anna"), try await connect(to: server.url, "bob"))
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
    let reader = try await connect(to: server.url, "carol")
    let kept = Set(try await reader.join(room: "demo").wholeHistory().map(\.msgId))
    #expect(kept.contains(last.msgId) && kept.isSuperset(of: stored.suffix(50)))
  }

  /// What was over while nothing could be written is over after a crash, too.
  @Test func aCallThatEndedOnAFullDiskDoesNotComeBack() async throws {
    let server = try ServerProcess(Self.yaml, fileLimit: 1 << 20)
    try server.start()
    let pair = try await Pair(server.url)
    let params = CallStartParams(to: ["bert"], kind: .group, media: .audio)
    let group = try await pair.anna.startCall(params).call
    let room = try await pair.bert.call(group.callId).accept()
    #expect(try await room.chat("this is on disk").stored)
    let text = String(repeating: "x", count: 4_000)
    var isStored = true
    for _ in 0..<1_000 where isStored { isStored = try await room.chat(text).stored }
    #expect(!isStored)
    try await pair.bert.call(group.callId).hangup()
    try await group.hangup()
    #expect(await pair.nextRecord(after: 0) == false)
    try server.raiseFileLimit()
    #expect(await server.says("storage_recovered"), "by itself")
    server.kill()
    try server.start()
    let again = try await connect(to: server.url, "anna")
    #expect(await again.hello.current == nil)
    #expect(try await again.availableCalls().isEmpty)
    #expect(try await again.call(group.callId).refresh().reason == .hangup)
    #expect(try await again.callHistory().records.map(\.callId) == [group.callId])
  }
}
