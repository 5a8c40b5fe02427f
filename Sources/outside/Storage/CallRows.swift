// Calls in the file: records, ended calls that still answer, and calls that run.

import Basics
import Calls
import Members
import RoostProtocol

/// What is read back of calls at most: what the conference keeps in memory.
private enum Bounds {
  static let records = 20_000
  static let tombstones = 10_000
}

extension KeptRecord {
  func write(to database: Database) throws(StorageError) {
    try database.run(
      "INSERT OR REPLACE INTO record (user, call, ended_at, unseen, body) VALUES (?, ?, ?, ?, ?)",
      .text(entry.user), .text(entry.record.callId), .integer(entry.record.endedAt), .integer(isUnseen ? 1 : 0),
      try encodeBody(entry))
  }
}

extension KeptTombstone {
  func write(to database: Database) throws(StorageError) {
    try database.run(
      "INSERT OR REPLACE INTO ended_call (call, ended_at, body) VALUES (?, ?, ?)",
      .text(call.callId), .integer(call.endedAt ?? call.createdAt), try encodeBody(self))
  }
}

extension KeptCall {
  func write(to database: Database) throws(StorageError) {
    try database.run(
      "INSERT OR REPLACE INTO running_call (call, body) VALUES (?, ?)", .text(call.callId), try encodeBody(self))
  }
}

extension KeptCalls {
  /// The newest of everything.
  init(in database: Database) throws(StorageError) {
    self.init()
    running = try database.query("SELECT body FROM running_call ORDER BY rowid").compactMap { row in
      row.first.flatMap { decodeBody(KeptCall.self, $0) }
    }
    tombstones = try database.query(
      "SELECT body FROM ended_call ORDER BY ended_at DESC LIMIT ?", .integer(Int64(Bounds.tombstones))
    ).reversed().compactMap { row in row.first.flatMap { decodeBody(KeptTombstone.self, $0) } }
    records = try database.query(
      "SELECT body, unseen FROM record ORDER BY number DESC LIMIT ?", .integer(Int64(Bounds.records))
    ).reversed().compactMap { row in
      guard row.count == 2, let entry = decodeBody(UserRecord.self, row[0]) else { return nil }
      return KeptRecord(entry: entry, isUnseen: row[1].integer == 1)
    }
  }
}

extension RecordQuery {
  /// Newest first. A row that an earlier version has put among the user's own may be another's, whose name it took for theirs: the page
  /// goes on with the next one.
  func read(from database: Database) throws(StorageError) -> [UserRecord] {
    guard var last = try before.map({ (call) throws(StorageError) in try number(of: call, in: database) }) ?? .max
    else {
      return []
    }
    var found: [UserRecord] = []
    while true {
      let rows = try database.query(
        "SELECT number, body FROM record WHERE user = ? AND number < ? ORDER BY number DESC LIMIT ?", .text(user),
        .integer(last), .integer(Int64(limit)))
      for row in rows where row.count == 2 {
        guard let entry = decodeBody(UserRecord.self, row[1]), entry.isReadable, entry.user.isExactly(user) else {
          continue
        }
        found.append(entry)
        if found.count == limit { return found }
      }
      guard rows.count == limit, let number = rows.last?.first?.integer else { return found }
      last = number
    }
  }

  /// Where a call stands in the user's list; nil where it does not.
  private func number(of call: String, in database: Database) throws(StorageError) -> Int64? {
    try database.query("SELECT number FROM record WHERE user = ? AND call = ?", .text(user), .text(call)).first?.first?
      .integer
  }
}

/// What is too old, or too much, to be kept. Of too many the oldest go.
public struct Retention: Hashable, Sendable {
  /// Records of calls that ended before this, in milliseconds since 1970.
  public var recordsBefore: Int64
  /// Ended calls that ended before this.
  public var tombstonesBefore: Int64

  /// Records of all users together.
  public var records: Int
  /// Records of one user.
  public var recordsOfUser: Int

  /// Everything older goes, and what is more than so many.
  public init(recordsBefore: Int64, tombstonesBefore: Int64, records: Int, recordsOfUser: Int) {
    (self.recordsBefore, self.tombstonesBefore) = (recordsBefore, tombstonesBefore)
    (self.records, self.recordsOfUser) = (records, recordsOfUser)
  }
}

extension Retention {
  func apply(to database: Database) throws(StorageError) {
    try database.run("DELETE FROM record WHERE ended_at < ?", .integer(recordsBefore))
    try database.run("DELETE FROM ended_call WHERE ended_at < ?", .integer(tombstonesBefore))
    // Counted before they are put in order: as a rule nobody has too many.
    try database.run(
      """
      DELETE FROM record WHERE number IN (SELECT number FROM (
        SELECT number, row_number() OVER (PARTITION BY user ORDER BY number DESC) AS place FROM record
        WHERE user IN (SELECT user FROM record GROUP BY user HAVING count(*) > ?)) WHERE place > ?)
      """, .integer(Int64(recordsOfUser)), .integer(Int64(recordsOfUser)))
    try database.run(
      "DELETE FROM record WHERE number <= (SELECT number FROM record ORDER BY number DESC LIMIT 1 OFFSET ?)",
      .integer(Int64(records)))
    // No more than are read back.
    try database.run(
      "DELETE FROM ended_call WHERE rowid IN (SELECT rowid FROM ended_call ORDER BY ended_at DESC, rowid DESC LIMIT -1 OFFSET ?)",
      .integer(Int64(Bounds.tombstones)))
  }
}
