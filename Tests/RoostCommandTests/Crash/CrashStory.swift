// One record file and the servers that it outlives: each is started, looked at, used by everybody at once, and killed.
import Basics
import Calls
import Foundation
@testable import RoostClient
import RoostProtocol
import Storage
import TestSupport
import Testing

/// One file and the servers that it outlives.
final class CrashStory {
  private static let users = (0..<14).map { "user\($0)" }
  private static let absent = ["away0", "away1"]
  private static let writers = 2

  private let hooks: HookLog
  private let server: ServerProcess
  private(set) var figures = CrashFigures()
  private var ledger = Ledger()
  /// Missed calls that a user has looked at.
  private var seen: [String: Set<CallRecord>] = [:]
  /// The token of a session that ended with the server.
  private var token = ""
  /// What waits in the outbox, oldest first.
  private var outbox: [StoredDelivery] = []
  private var seats: [String: String] = [:]
  /// Two who talk.
  private var pair: CrashPair?
  private var sessions: [String: RoostSession] = [:]
  /// Calls that are certain to have begun, and those of them that are over.
  private var begun: Set<String> = []
  private var over: Set<String> = []

  init() throws {
    hooks = try HookLog()
    server = try ServerProcess(Self.yaml(grace: "60s") + "\n" + hooks.yaml)
  }

  deinit { hooks.stop() }

  private static func yaml(grace: String) -> String {
    """
    kinds: {kept: {limits: 100, chat_history: 5000}}
    rooms: {demo: {kind: kept}}
    chat: {messages_per_second: 10000, burst: 100000}
    limits: {requests_per_second: 100000, request_burst: 1000000}
    calls: {connect_timeout: 120s, resume_grace: \(grace), alone_timeout: 0s}
    """
  }

  /// Starts the server, looks, lets everybody do anything, and kills it.
  func crash(_ what: String) async throws {
    try await begin(what)
    let (url, ledger, seats, sessions) = (server.url, Ledger(), seats, sessions)
    self.ledger = ledger
    hooks.fall(ill: [0, 30, 100].randomElement() ?? 0)
    await withTaskGroup { group in
      for name in Self.users {
        guard let session = sessions[name] else { continue }
        group.addTask {
          let others = (Self.users + Self.absent).filter { $0 != name }
          let user = await CrashUser(session, name, others: others, ledger)
          if let seat = seats[name] { user.sits(in: seat) }
          await user.wander()
        }
      }
      for writer in 0..<Self.writers { group.addTask { await Self.write("\(what) writer \(writer)", to: url, ledger) } }
      // At any moment: before the first call is on disk, or in the middle of hundreds.
      try? await Task.sleep(for: .milliseconds(Int.random(in: 1...500)))
      server.kill()
      await group.waitForAll()
    }
    await pair?.vanish()
    hooks.fall(ill: 0)
    outbox = try waiting()
  }

  /// Nobody comes back: what ran when the server was killed ends all the same.
  func end() async throws {
    try await begin("at the end", grace: "2s")
    server.kill()
    await pair?.vanish()
    try server.start()
    for (name, callId) in seats {
      let session = try await connect(to: server.url, name)
      let isOver = await eventually { (try? await session.call(callId).refresh().state) == .ended }
      #expect(isOver, "a call runs for ever")
      await session.close()
    }
    server.kill()
    figures.hooks = hooks.all.count
  }

  // MARK: - After a crash

  private func begin(_ what: String, grace: String = "60s") async throws {
    try server.configure(Self.yaml(grace: grace) + "\n" + hooks.yaml)
    let heard = hooks.all.count
    try server.start()
    #expect(!server.lines.all.contains("storage_"), "\(what): the file opens: \(server.lines.all)")
    let certain = ledger.certain
    sessions = [:]
    for name in Self.users { sessions[name] = try await connect(to: server.url, name) }
    let missed = try await missed()
    let aftermath = try await Aftermath(certain, sessions, what)
    checkMissed(missed, aftermath, what)
    try await aftermath.check()
    try await checkChat(certain, what)
    await checkToken(what)
    await checkHooks(certain, aftermath, from: heard, what)
    seats = try await aftermath.comeBack()
    figures.talks += pair == nil ? 0 : 1
    pair = try await CrashPair(server.url, after: pair, what)
    if let session = sessions.values.first { token = await session.hello.resumeToken }
    note(certain, aftermath)
  }

  private func note(_ certain: Ledger.Certain, _ aftermath: Aftermath) {
    figures.calls += certain.calls.count
    figures.ended += aftermath.calls.values.count { $0.state == .ended }
    figures.running += aftermath.calls.values.count { $0.state != .ended }
    figures.seats += certain.seats.count
    figures.records += certain.records.values.reduce(0) { $0 + $1.count }
    figures.messages += certain.messages.count
    figures.kept += outbox.count
  }

  /// What each is told at first of missed calls.
  private func missed() async throws -> [String: Int] {
    var missed: [String: Int] = [:]
    for (name, session) in sessions { missed[name] = await session.hello.missed }
    return missed
  }

  /// Those that a user has not looked at, and now he has: that is on disk when what is said after it is.
  private func checkMissed(_ missed: [String: Int], _ aftermath: Aftermath, _ what: String) {
    for (name, list) in aftermath.records {
      let all = Set(list.values.filter(\.isMissed))
      // Who was rung in vain, and is in the call now, has missed nothing.
      let new = all.subtracting(seen[name] ?? []).filter { !aftermath.isIn(name, $0.callId) }
      // A longer list is not all in memory.
      if list.count <= 200 { #expect(missed[name] == new.count, "\(what): missed calls of \(name)") }
      seen[name] = all
    }
  }

  private func checkToken(_ what: String) async {
    guard !token.isEmpty else { return }
    do {
      let request = Request.session(.resume(ResumeParams(resumeToken: token, lastSeq: 0)))
      let (transport, opening) = try await RoostSession.begin(server.url, request, SessionOptions())
      defer { transport.close(code: 1000, reason: "seen") }
      if case .failure(let error) = opening.first, error.code == .resumeExpired { return }
      Issue.record("\(what): a session outlived the server: \(opening.first)")
    } catch {
      Issue.record("\(what): \(error)")
    }
  }

  // MARK: - Chat

  /// Writes until the server is gone, and notes what is stored.
  private static func write(_ name: String, to url: String, _ ledger: Ledger) async {
    guard let session = try? await connect(to: url, name), let room = try? await session.join(room: "demo") else {
      return
    }
    for number in 0... {
      let (position, text) = (ledger.position, "\(name): \(number)")
      guard let result = try? await room.chat(text, clientMsgId: "\(number)") else { break }
      guard result.stored else { continue }
      ledger.stored(
        Message(msgId: result.msgId, room: "demo", ts: result.ts, from: name, text: text), sentAt: position)
    }
    await session.close()
  }

  private func checkChat(_ certain: Ledger.Certain, _ what: String) async throws {
    let session = try await connect(to: server.url, "reader")
    let room = try await session.join(room: "demo")
    let messages = try await room.wholeHistory()
    let found = Dictionary(messages.map { ($0.msgId, $0.text) }) { first, _ in first }
    #expect(found.count == messages.count, "\(what): a message once")
    let told = certain.messages.values.filter { $0.room == "demo" }
    let missing = told.filter { found[$0.msgId] != $0.text }
    #expect(missing.isEmpty, "\(what): \(missing.count) of \(told.count) messages are missing")
    // What the users have looked at is on disk once this is.
    #expect(try await room.chat("all is there").stored)
    await session.close()
  }

  // MARK: - Webhooks

  /// What a server that is no more has left in its outbox.
  private func waiting() throws -> [StoredDelivery] {
    let copy = server.folder.appending(path: "copy")
    try? FileManager.default.removeItem(at: copy)
    try FileManager.default.createDirectory(at: copy, withIntermediateDirectories: true)
    for suffix in ["", "-wal"] where FileManager.default.fileExists(atPath: server.file.path + suffix) {
      try FileManager.default.copyItem(atPath: server.file.path + suffix, toPath: copy.path + "/roost.db" + suffix)
    }
    var file = try RecordFile(path: copy.path + "/roost.db", wallMilliseconds: 0)
    let events = try file.waitingEvents(after: 0, limit: 100_000, of: .default).map {
      StoredDelivery(id: $0.id, endpoint: "events", lane: $0.lane, part: "plain", body: $0.body, expiresAt: .max)
    }
    return try file.deliveries(limit: 100_000) + events
  }

  private func checkHooks(_ certain: Ledger.Certain, _ aftermath: Aftermath, from start: Int, _ what: String) async {
    let kept = Set(outbox.map(\.id))
    #expect(
      await eventually { kept.isSubset(of: hooks.all[start...].map(\.id)) },
      "\(what): \(kept.subtracting(hooks.all[start...].map(\.id)).count) of \(kept.count) were not sent again")
    // First what was left over, in its order, and then what is new.
    let lanes = Array(hooks.all[start...]).lanes
    for (lane, rows) in Dictionary(grouping: outbox, by: \.lane) {
      let taken = (lanes[lane] ?? []).map(\.id)
      #expect(Array(taken.prefix(rows.count)) == rows.map(\.id), "\(what): order of \(lane)")
    }
    await checkLife(aftermath, what)
    await checkWoken(certain, what)
  }

  /// The beginning and the end of every call are told, and all in order.
  private func checkLife(_ aftermath: Aftermath, _ what: String) async {
    begun.formUnion(aftermath.calls.keys)
    over.formUnion(aftermath.calls.values.filter { $0.state == .ended }.map(\.callId))
    let (begun, over, hooks) = (begun, over, hooks)
    let isTold = { (type: String) in Set(hooks.all.filter { $0.type == type }.map { String($0.lane.dropFirst(5)) }) }
    #expect(
      await eventually { over.isSubset(of: isTold("call.ended")) && begun.isSubset(of: isTold("call.started")) },
      """
      \(what): the beginning of \(begun.subtracting(isTold("call.started")).count) and the end of \
      \(over.subtracting(isTold("call.ended")).count) calls were not told
      """)
    for (lane, messages) in hooks.all.lanes {
      #expect(messages.map(\.at) == messages.map(\.at).sorted(), "\(what): order of \(lane)")
      // One whose end was told before it was on disk may go on, and ends again.
      guard lane.hasPrefix("call:"), over.contains(String(lane.dropFirst(5))) else { continue }
      #expect(messages.last?.type == "call.ended", "\(what): \(lane) ends with \(messages.last?.type ?? "nothing")")
    }
  }

  /// No phone that was woken rings on.
  private func checkWoken(_ certain: Ledger.Certain, _ what: String) async {
    let hooks = hooks
    // A missed call is told behind the cancel.
    let ringing = {
      hooks.all.lanes.filter { lane in
        certain.pushed.contains(lane.key) && lane.value.last { $0.type != "missed" }?.type == "ring"
      }
    }
    #expect(await eventually { ringing().isEmpty }, "\(what): \(ringing().count) phones ring on")
  }
}
