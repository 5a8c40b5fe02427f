// A database file whose values somebody has changed, and what a server makes of it when it starts: rows are read, the conference
// takes them, people come back, and the file is written again.
import Basics
import Conference
import Glibc
import Members
import RoostProtocol
import Storage

@Sendable func readRows(_ input: Span<UInt8>) {
  guard let template = rowsTemplate else { preconditionFailure("a database can be made") }
  var script = Script(input)
  var bytes = template.bytes
  // Each patch: a place that holds something, and what stands there from now on.
  while let high = script.next() {
    let place = Int(high) << 8 | Int(script.next() ?? 0)
    var offset = template.places[place % template.places.count]
    for byte in script.take(Int(script.next() ?? 1) & 0x7f) where offset < bytes.count {
      bytes[offset] = byte
      offset += 1
    }
  }
  let folder = ScratchFolder()
  folder.write(bytes)
  start(folder)
}

/// What a server that starts makes of a file.
enum RowsGoal: String, CaseIterable {
  case refused, started, chatRestored, runningCallRestored, endedCallRestored, banRestored, addressBanRestored
  case revocationRestored, narrowingRestored, blockRestored, doorRestored, roomRestored, deliveryRestored

  static func shown(by restored: RestoredState, _ deliveries: Int) -> [RowsGoal] {
    let found: [(RowsGoal, Bool)] = [
      (.started, true), (.chatRestored, !restored.chats.isEmpty),
      (.runningCallRestored, !restored.calls.running.isEmpty),
      (.endedCallRestored, !restored.calls.tombstones.isEmpty),
      (.banRestored, !restored.bans.isEmpty), (.addressBanRestored, !restored.addressBans.isEmpty),
      (.revocationRestored, !restored.revocations.isEmpty), (.narrowingRestored, !restored.narrowings.isEmpty),
      (.blockRestored, !restored.blocks.isEmpty),
      (.doorRestored, !restored.doors.isEmpty), (.roomRestored, !restored.rooms.isEmpty),
      (.deliveryRestored, deliveries > 0),
    ]
    return found.filter(\.1).map(\.0)
  }
}

let rowsGoals = Goals<RowsGoal>()

private let rowsTime = Now(instant: .zero + .seconds(1), wallMilliseconds: 1_700_000_100_000)

/// What a server does when it starts.
private func start(_ folder: borrowing ScratchFolder) {
  var file: RecordFile
  do throws(StorageError) {
    file = try RecordFile(path: folder.path, wallMilliseconds: rowsTime.wallMilliseconds)
  } catch {
    rowsGoals.note(.refused)
    return precondition(error.kind != .inUse && !error.description.isEmpty, "what cannot be used is said")
  }
  var rules = ConferenceRules()
  (rules.storesRecords, rules.calls.keepsCalls) = (true, true)
  (rules.rooms["demo"], rules.kinds["group"]) = (RoomRules(kind: "demo"), RoomRules(kind: "group"))
  // A file that reads as damaged later is set aside with the next change; until then nothing is restored.
  let restored = (try? file.restore { _, _ in 100 }) ?? RestoredState()
  let deliveries = (try? file.deliveries(limit: 100)) ?? []
  precondition(
    deliveries.count <= 100 && restored.chats.values.allSatisfy { $0.count <= 100 }, "what is read is bounded")
  RowsGoal.shown(by: restored, deliveries.count).forEach(rowsGoals.note)
  let scene = RestoredScene(rules, restored)
  for user in ["anna", "bert", "carl"] { scene.visit(user, &file) }
  scene.write(to: &file)
}

/// A conference that begins with what was kept.
private final class RestoredScene {
  private var core: ConferenceCore
  private var now = rowsTime
  private var changes: [StoreChange] = []
  private var connections: UInt64 = 0

  init(_ rules: ConferenceRules, _ restored: RestoredState) {
    core = ConferenceCore(rules: rules, random: SplitMix64(seed: 1))
    carry(core.restore(restored, at: now))
  }

  /// Somebody comes back, looks at everything there is for them, and goes.
  func visit(_ user: String, _ file: inout RecordFile) {
    connections += 1
    let connection = ConnectionID(connections)
    let identity = Identity(user: user, device: "d", displayName: user, rights: .all, isVerified: true)
    carry(core.apply(.hello(connection, .number(1), HelloParams(user: user), identity), at: now))
    let requests: [Request] = [
      .room(.join(RoomJoinParams(room: "demo"))), .chat(.history(ChatHistoryParams(room: "demo", limit: 50))),
      .chat(.send(ChatSendParams(room: "demo", text: "back"))), .call(.available), .call(.current),
      .call(.history(CallHistoryParams(limit: 50))), .room(.list()),
    ]
    for (index, request) in requests.enumerated() {
      carry(core.apply(.request(connection, .number(Int64(index) + 2), request), at: now))
    }
    let records = (try? file.records(RecordQuery(user: user, before: nil, limit: 50))) ?? []
    precondition(records.count <= 50, "what is read is bounded")
    carry(core.apply(.connectionClosed(connection, clean: true), at: now))
    now = now.advanced(by: .seconds(100))
    carry(core.poll(at: now))
    precondition(core.gauges.participants == 0, "who goes has gone")
  }

  func write(to file: inout RecordFile) {
    do throws(StorageError) {
      try file.apply(changes.map { RealmChange($0) }, wallMilliseconds: now.wallMilliseconds)
    } catch {
      // A version that SQLite does not write can still be read.
      precondition([.damaged, .other, .full, .readOnly].contains(error.kind), "it is said why not: \(error)")
    }
  }

  private func carry(_ effects: [Effect]) {
    for effect in effects {
      switch effect {
      case .store(.write(let ticket, let made)):
        changes += made
        carry(core.apply(.stored(ticket, true), at: now))
      case .store(.read(let ticket, _)): carry(core.apply(.fetched(ticket, []), at: now))
      case .client(.reply(_, let id, .success(let reply))):
        precondition((try? ServerFrame.reply(id, reply).encode()) != nil, "what was kept can be said")
      case .client(.event(_, let message)):
        precondition((try? ServerFrame.event(message).encode()) != nil, "what was kept can be said")
      case .goOn(let session): carry(core.apply(.goOn(session), at: now))
      case .client, .media, .outside, .operation: break
      }
    }
  }
}

// MARK: the file

/// A file with something in each table, and where in it something stands.
private let rowsTemplate: (bytes: [UInt8], places: [Int])? = {
  let folder = ScratchFolder()
  guard (try? fill(folder)) != nil, let bytes = folder.read() else { return nil }
  return (bytes, bytes.indices.filter { bytes[$0] != 0 })
}()

private func fill(_ folder: borrowing ScratchFolder) throws {
  var file = try RecordFile(path: folder.path, wallMilliseconds: rowsTime.wallMilliseconds)
  var rules = ConferenceRules()
  (rules.storesRecords, rules.calls.keepsCalls) = (true, true)
  var core = ConferenceCore(rules: rules, random: SplitMix64(seed: 1))
  let now = Now(instant: .zero + .seconds(1), wallMilliseconds: 1_700_000_000_000)
  var changes: [StoreChange] = []
  var call = ""
  var id: Int64 = 0
  func carry(_ effects: [Effect]) {
    for effect in effects {
      if case .store(.write(let ticket, let made)) = effect {
        changes += made
        carry(core.apply(.stored(ticket, true), at: now))
      }
      if case .client(.reply(_, _, .success(.callStarted(let started)))) = effect { call = started.call.callId }
    }
  }
  func ask(_ user: Int, _ request: Request) {
    id += 1
    carry(core.apply(.request(ConnectionID(UInt64(user)), .number(id), request), at: now))
  }
  for (number, user) in ["anna", "bert", "carl"].enumerated() {
    let rights = Rights.all.union(.moderate)
    let identity = Identity(user: user, device: "d", displayName: user, rights: rights, isVerified: true)
    carry(core.apply(.hello(ConnectionID(UInt64(number)), .number(0), HelloParams(user: user), identity), at: now))
  }
  // A call that has ended, one that runs, chat, bans, a token and grants that are taken back, a door and a block.
  ask(0, .call(.start(CallStartParams(to: ["bert"], kind: .oneToOne, media: .audio))))
  ask(1, .call(.accept(CallAcceptParams(callId: call))))
  ask(1, .call(.hangup(CallHangupParams(callId: call))))
  ask(0, .call(.start(CallStartParams(to: ["bert", "carl"], kind: .group, media: .video))))
  ask(2, .call(.accept(CallAcceptParams(callId: call))))
  ask(1, .room(.join(RoomJoinParams(room: "demo"))))
  for text in ["hello", "again"] {
    ask(1, .chat(.send(ChatSendParams(room: "demo", text: text, clientMsgId: text))))
  }
  ask(1, .room(.moderate(ModerateParams(room: "demo", action: .ban, user: "dora", until: 1_800_000_000_000))))
  if let network = AddressRange("203.0.113.0/24") {
    carry(core.operate(.banAddress(network, room: "demo", until: nil), at: now).effects)
  }
  carry(core.operate(.revoke("a token"), at: now).effects)
  carry(core.operate(.narrow(user: "emil", to: [.join, .chat], room: "demo"), at: now).effects)
  ask(1, .room(.moderate(ModerateParams(room: "demo", action: .lobby))))
  ask(0, .block(.add(BlockParams(user: "carl"))))
  var plan = RoomPlan(kind: "group")
  (plan.videoLimit, plan.chatHistory, plan.until) = (4, 50, 1_700_000_150_000)
  changes.append(.room(KeptRoom(room: "demo", plan: plan, tag: "0123456789abcdef")))
  let delivery = StoredDelivery(
    id: "e1", endpoint: "hook", lane: "demo", part: "plain", body: "{\"type\":\"room\"}", expiresAt: 1_800_000_000_000)
  try file.apply(changes.map { RealmChange($0) }, outbox: [.keep(delivery)], wallMilliseconds: now.wallMilliseconds)
}

/// A place for one database, which goes with its owner. Memory where there is such a file system: a disk is slow.
private struct ScratchFolder: ~Copyable {
  let folder: String
  var path: String { folder + "/roost.db" }

  init() {
    var name = Array(((access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp") + "/roost-fuzz-XXXXXX").utf8CString)
    precondition(mkdtemp(&name) != nil, "a folder can be made")
    folder = String(decoding: name.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  deinit {
    guard let directory = opendir(folder) else { return }
    while let entry = readdir(directory) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name != "." && name != ".." { unlink(folder + "/" + name) }
    }
    closedir(directory)
    rmdir(folder)
  }

  func write(_ bytes: [UInt8]) {
    guard let file = fopen(path, "w") else { preconditionFailure("a file can be made") }
    fwrite(bytes, 1, bytes.count, file)
    fclose(file)
  }

  func read() -> [UInt8]? {
    guard let file = fopen(path, "r") else { return nil }
    defer { fclose(file) }
    var bytes = [UInt8](repeating: 0, count: 1 << 20)
    bytes.removeLast(bytes.count - fread(&bytes, 1, bytes.count, file))
    return bytes
  }
}
