// The file that outlives the server: opened and checked, set aside where it is damaged, written in transactions.
//
//   changes of many tickets ──▶ apply: one transaction, one fsync ──▶ on disk, or none of it
//
// WAL with synchronous=FULL: when `apply` returns, a power failure loses nothing of it.

import Calls
import FoundationEssentials
import Members
import Names

/// What the operator should know of what the storage did by itself.
public enum StorageNotice: Equatable, Sendable {
  /// The file was damaged and is now called so; a new one was begun.
  case setAside(as: String, because: StorageError)
  /// So many rows were not read: names stand in them that are not let in (`NameForm`), and that may mean another than they are equal to.
  case unread(rows: Int)
}

/// The file with everything that lasts. It belongs to one thread.
public struct RecordFile: ~Copyable {
  /// Bytes that the write-ahead log keeps when all of it is in the file. More saves nothing but the growing.
  static let logBytes = 16 << 20

  private let path: String
  private let lock: FileLock
  private var database: Database?
  /// The how many-th this process is that has begun with the file; 0 before that is asked.
  private var process: Int64 = 0
  /// The highest number that events of each realm have got.
  private var numbered: [Realm: Int64] = [:]
  /// None while the file is not open.
  private var watch: FileWatch?
  private var notices: [StorageNotice]

  /// Opens the file, or makes it; one that is damaged is set aside under a name with the time `wallMilliseconds`.
  /// Reads all of it once, to see whether it is damaged.
  public init(path: String, wallMilliseconds: Int64) throws(StorageError) {
    let lock = try FileLock(path: path + "-lock")
    let (database, notices) = try Self.openSound(path, wallMilliseconds)
    self.path = path
    self.lock = lock
    self.database = database
    self.watch = FileWatch(path: path)
    self.notices = notices
  }

  /// What has happened since the last call.
  public mutating func takeNotices() -> [StorageNotice] {
    defer { notices = [] }
    return notices
  }

  /// Makes the changes, in order: all of them, and on disk, or none. Without any it looks whether the file is still what it was.
  /// Events get their numbers in the same transaction; `trim` says how many of them stay.
  @discardableResult
  public mutating func apply(
    _ changes: [RealmChange], outbox: [OutboxChange] = [], events: [EventChange] = [], retention: Retention? = nil,
    trim: EventTrim? = nil, wallMilliseconds: Int64
  ) throws(StorageError) -> EventOutcome {
    let write = Write(
      changes: changes, outbox: outbox, events: events, retention: retention, trim: trim,
      wallMilliseconds: wallMilliseconds)
    do throws(StorageError) {
      return try self.write(write)
    } catch {
      if error.kind == .replaced { letGo() }
      guard error.kind == .damaged else { throw error }
      try setAside(because: error, wallMilliseconds: wallMilliseconds)
      return try self.write(write)
    }
  }

  /// The connection, while the file is open.
  var connection: Database? { database }

  /// Counts this process: the how many-th it is that has begun with the file. Where the disk takes nothing, the next one gets the same number.
  public mutating func countProcess() throws(StorageError) -> UInt64 {
    guard let database else { throw StorageError(.cannotOpen, "the file is not open") }
    let before = try database.number("SELECT number FROM process") ?? 0
    process = max(before, 0) + 1
    try? keepProcess(in: database)
    return UInt64(clamping: process)
  }

  private func keepProcess(in database: Database) throws(StorageError) {
    guard process > 0 else { return }
    _ = try database.query("INSERT OR REPLACE INTO process (one, number) VALUES (1, ?)", with: [.integer(process)])
  }

  /// What was there in a realm when the server ended last: the newest messages of each room, as many as
  /// `limit` says of it and of what is kept of its settings. Rows with names that are not let in stay
  /// in the file and are not read; a notice says how many there are.
  public mutating func restore(
    _ realm: Realm = .default, chatLimit limit: (_ room: String, _ kept: KeptRoom?) -> Int
  ) throws(StorageError) -> RestoredState {
    guard let database else { throw StorageError(.cannotOpen, "the file is not open") }
    let own = RealmRows(database: database, realm: realm)
    var restored = RestoredState()
    var unread = 0
    func readable<Row: NamingRow>(_ rows: [Row]) -> [Row] {
      let readable = rows.filter(\.isReadable)
      unread += rows.count - readable.count
      return readable
    }
    restored.rooms = readable(try KeptRoom.all(in: own))
    let kept = Dictionary(restored.rooms.map { ($0.room, $0) }) { first, _ in first }
    for room in try own.query("SELECT DISTINCT room FROM message WHERE realm = ?").compactMap(\.first?.text) {
      let messages = readable(try StoredMessage.newest(limit(room, kept[room]), of: room, in: own))
      if NameForm.accepts(room) { restored.chats[room] = messages }
    }
    let last = try database.number("SELECT coalesce(max(number), 0) FROM message") ?? 0
    restored.lastNumber = UInt64(clamping: last)
    let calls = try KeptCalls(in: own)
    restored.calls.running = readable(calls.running)
    restored.calls.tombstones = readable(calls.tombstones)
    restored.calls.records = readable(calls.records)
    restored.bans = readable(try KeptBan.all(in: own))
    restored.addressBans = readable(try KeptAddressBan.all(in: own))
    restored.revocations = readable(try KeptRevocation.all(in: own))
    restored.narrowings = readable(try KeptNarrowing.all(in: own))
    restored.blocks = readable(try KeptBlock.all(in: own))
    restored.doors = readable(try KeptDoor.all(in: own))
    if unread > 0 { notices.append(.unread(rows: unread)) }
    return restored
  }

  /// A page of a user's records.
  public mutating func records(
    _ query: RecordQuery, of realm: Realm = .default
  ) throws(StorageError) -> [UserRecord] {
    guard let database else { throw StorageError(.cannotOpen, "the file is not open") }
    return try query.read(from: RealmRows(database: database, realm: realm))
  }

  /// What was not delivered to servers of a realm, oldest first.
  public mutating func deliveries(of realm: Realm = .default, limit: Int) throws(StorageError) -> [StoredDelivery] {
    guard let database else { throw StorageError(.cannotOpen, "the file is not open") }
    return try StoredDelivery.waiting(limit, in: RealmRows(database: database, realm: realm))
  }

  /// Lets the file grow by so many pages of 4 KiB and no further, as a full disk would. For tests.
  func limitGrowth(_ pages: Int) {
    guard let database, let size = try? database.number("PRAGMA page_count") else { return }
    try? database.execute("PRAGMA max_page_count = \(Int(size) + pages)")
  }

  // MARK: - Writing

  /// One transaction.
  private struct Write {
    var changes: [RealmChange]
    var outbox: [OutboxChange]
    var events: [EventChange]
    var retention: Retention?
    var trim: EventTrim?
    var wallMilliseconds: Int64
  }

  private mutating func write(_ write: Write) throws(StorageError) -> EventOutcome {
    if database == nil { try begin() }
    guard let database else { throw StorageError(.cannotOpen, "the file is not open") }
    try check()
    var log = EventLog(database, given: numbered)
    try database.execute("BEGIN IMMEDIATE")
    do throws(StorageError) {
      for change in write.changes {
        try change.change.write(to: RealmRows(database: database, realm: change.realm))
      }
      for change in write.outbox { try change.write(to: database) }
      try log.apply(write.events, write.trim, wallMilliseconds: write.wallMilliseconds)
      try write.retention?.apply(to: database)
      try database.execute("COMMIT")
    } catch {
      // Some errors end the transaction themselves; then there is nothing to roll back.
      try? database.execute("ROLLBACK")
      throw error
    }
    // What is acknowledged must be in the file that the path names.
    if case .elsewhere(let words)? = watch?.look() { throw StorageError(.replaced, words) }
    watch?.note()
    numbered.merge(log.last) { max($0, $1) }
    return log.outcome
  }

  /// - Throws: `replaced` where the path names another file, `damaged` where somebody wrote over this one.
  private mutating func check() throws(StorageError) {
    switch watch?.look() {
    case nil, .asItWas: return
    case .elsewhere(let words): throw StorageError(.replaced, words)
    case .overwritten(let words): throw StorageError(.damaged, "somebody has written over it: \(words)")
    case .changed:
      // Somebody may have done what one may do to a database, such as a checkpoint. What this connection has in memory says nothing.
      do throws(StorageError) {
        let other = try Database(path: path)
        try Self.checkSoundness(other)
        try Schema.check(other)
      } catch {
        guard [.damaged, .foreign, .tooNew].contains(error.kind) else { throw error }
        throw StorageError(.damaged, "somebody has written over it: \(error.message)")
      }
      watch?.note()
    }
  }

  /// The file is somebody else's now, or nobody's.
  private mutating func letGo() {
    database?.keepLog()
    database = nil
    // Not later: it has a descriptor of the file, and one that is closed while SQLite has the file again drops SQLite's locks.
    watch = nil
  }

  // MARK: - Opening

  /// Says whether the file could be used, and leaves everything as it was.
  public static func inspect(path: String) throws(StorageError) {
    let before = existingFiles(of: path)
    defer { removeFiles(of: path, except: before) }
    let lock = try FileLock(path: path + "-lock")
    try makePrivateFile(path)
    let database = try Database(path: path)
    try checkSoundness(database)
    try Schema.check(database)
    try database.execute("BEGIN IMMEDIATE; ROLLBACK")
    _ = consume lock
  }

  /// Moves a damaged file out of the way and begins a new one; a notice says so.
  public mutating func setAside(because error: StorageError, wallMilliseconds: Int64) throws(StorageError) {
    letGo()
    notices.append(try Self.moveAside(path, because: error, wallMilliseconds))
    try begin()
  }

  /// Opens what is there now. It may know of fewer processes.
  private mutating func begin() throws(StorageError) {
    let database = try Self.open(path)
    try? keepProcess(in: database)
    self.database = database
    watch = FileWatch(path: path)
  }

  private static func moveAside(_ path: String, because error: StorageError, _ wallMilliseconds: Int64)
    throws(StorageError) -> StorageNotice
  {
    let name = "\(path).damaged-\(wallMilliseconds)"
    try moveDatabase(from: path, to: name)
    return .setAside(as: name, because: error)
  }

  private static func openSound(_ path: String, _ wallMilliseconds: Int64)
    throws(StorageError) -> (Database, [StorageNotice])
  {
    do throws(StorageError) {
      return (try open(path), [])
    } catch {
      guard error.kind == .damaged else { throw error }
      let notice = try moveAside(path, because: error, wallMilliseconds)
      return (try open(path), [notice])
    }
  }

  private static func open(_ path: String) throws(StorageError) -> Database {
    try makePrivateFile(path)
    let database = try Database(path: path)
    try database.execute("PRAGMA trusted_schema = OFF; PRAGMA temp_store = MEMORY; PRAGMA cell_size_check = ON")
    try checkSoundness(database)
    // Before the first change: the file may be somebody else's.
    try Schema.check(database)
    try database.execute(
      "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA journal_size_limit = \(logBytes)")
    // Says at once when the file cannot be written: opening one for reading succeeds silently.
    try database.execute("BEGIN IMMEDIATE; ROLLBACK")
    try Schema.migrate(database)
    return database
  }

  private static func checkSoundness(_ database: Database) throws(StorageError) {
    let finding = try database.query("PRAGMA quick_check(1)").first?.first?.text ?? "no answer"
    guard finding == "ok" else { throw StorageError(.damaged, finding) }
  }
}

extension StoreChange {
  fileprivate func write(to rows: RealmRows) throws(StorageError) {
    switch self {
    case .message(let message, let forgotten): try message.write(forgetting: forgotten, to: rows)
    case .forgetRoom(let room): try rows.run("DELETE FROM message WHERE realm = ? AND room = ?", .text(room))
    case .record(let record): try record.write(to: rows)
    case .seen(let user):
      try rows.run("UPDATE record SET unseen = 0 WHERE realm = ? AND user = ? AND unseen = 1", .text(user))
    case .tombstone(let call): try call.write(to: rows)
    case .call(let call): try call.write(to: rows)
    case .forgetCall(let call): try rows.run("DELETE FROM running_call WHERE realm = ? AND call = ?", .text(call))
    case .ban(let ban): try ban.write(to: rows)
    case .forgetBan(let room, let user):
      try rows.run("DELETE FROM ban WHERE realm = ? AND room = ? AND user = ?", .text(room), .text(user))
    case .addressBan(let ban): try ban.write(to: rows)
    case .forgetAddressBan(let subject): try subject.remove(from: rows)
    case .revocation(let kept): try kept.write(to: rows)
    case .forgetRevocation(let id): try rows.run("DELETE FROM revoked_token WHERE realm = ? AND jti = ?", .text(id))
    case .narrowing(let kept): try kept.write(to: rows)
    case .forgetNarrowing(let subject): try subject.remove(from: rows)
    case .block(let block): try block.write(to: rows)
    case .forgetBlock(let block): try block.remove(from: rows)
    case .door(let door): try door.write(to: rows)
    case .forgetDoor(let room): try rows.run("DELETE FROM door WHERE realm = ? AND room = ?", .text(room))
    case .room(let kept): try kept.write(to: rows)
    case .forgetSettings(let room): try rows.run("DELETE FROM room WHERE realm = ? AND room = ?", .text(room))
    }
  }
}
