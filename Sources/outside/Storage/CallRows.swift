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
  func write(to rows: RealmRows) throws(StorageError) {
    try rows.run(
      "INSERT OR REPLACE INTO record (realm, user, call, ended_at, unseen, body) VALUES (?, ?, ?, ?, ?, ?)",
      .text(entry.user), .text(entry.record.callId), .integer(entry.record.endedAt), .integer(isUnseen ? 1 : 0),
      try encodeBody(entry))
  }
}

extension KeptTombstone {
  func write(to rows: RealmRows) throws(StorageError) {
    try rows.run(
      "INSERT OR REPLACE INTO ended_call (realm, call, ended_at, body) VALUES (?, ?, ?, ?)",
      .text(call.callId), .integer(call.endedAt ?? call.createdAt), try encodeBody(self))
  }
}

extension KeptCall {
  func write(to rows: RealmRows) throws(StorageError) {
    try rows.run(
      "INSERT OR REPLACE INTO running_call (realm, call, body) VALUES (?, ?, ?)", .text(call.callId),
      try encodeBody(self))
  }
}

extension KeptCalls {
  /// The newest of everything.
  init(in rows: RealmRows) throws(StorageError) {
    self.init()
    running = try rows.query("SELECT body FROM running_call WHERE realm = ? ORDER BY rowid").compactMap { row in
      row.first.flatMap { decodeBody(KeptCall.self, $0) }
    }
    tombstones = try rows.query(
      "SELECT body FROM ended_call WHERE realm = ? ORDER BY ended_at DESC LIMIT ?", .integer(Int64(Bounds.tombstones))
    ).reversed().compactMap { row in row.first.flatMap { decodeBody(KeptTombstone.self, $0) } }
    records = try rows.query(
      "SELECT body, unseen FROM record WHERE realm = ? ORDER BY number DESC LIMIT ?", .integer(Int64(Bounds.records))
    ).reversed().compactMap { row in
      guard row.count == 2, let entry = decodeBody(UserRecord.self, row[0]) else { return nil }
      return KeptRecord(entry: entry, isUnseen: row[1].integer == 1)
    }
  }
}

extension RecordQuery {
  /// Newest first. A row that an earlier version has put among the user's own may be another's, whose name it took for theirs: the page
  /// goes on with the next one.
  func read(from rows: RealmRows) throws(StorageError) -> [UserRecord] {
    guard var last = try before.map({ (call) throws(StorageError) in try number(of: call, in: rows) }) ?? .max
    else {
      return []
    }
    var found: [UserRecord] = []
    while true {
      let rows = try rows.query(
        "SELECT number, body FROM record WHERE realm = ? AND user = ? AND number < ? ORDER BY number DESC LIMIT ?",
        .text(user),
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
  private func number(of call: String, in rows: RealmRows) throws(StorageError) -> Int64? {
    try rows.query("SELECT number FROM record WHERE realm = ? AND user = ? AND call = ?", .text(user), .text(call))
      .first?.first?
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
        SELECT number, row_number() OVER (PARTITION BY realm, user ORDER BY number DESC) AS place FROM record
        WHERE (realm, user) IN (SELECT realm, user FROM record GROUP BY realm, user HAVING count(*) > ?))
        WHERE place > ?)
      """, .integer(Int64(recordsOfUser)), .integer(Int64(recordsOfUser)))
    // What one realm has takes nothing from another.
    try database.run(
      """
      DELETE FROM record WHERE number IN (SELECT number FROM (
        SELECT number, row_number() OVER (PARTITION BY realm ORDER BY number DESC) AS place FROM record
        WHERE realm IN (SELECT realm FROM record GROUP BY realm HAVING count(*) > ?))
        WHERE place > ?)
      """, .integer(Int64(records)), .integer(Int64(records)))
    // No more than are read back.
    try database.run(
      """
      DELETE FROM ended_call WHERE rowid IN (SELECT number FROM (
        SELECT rowid AS number, row_number() OVER (PARTITION BY realm ORDER BY ended_at DESC, rowid DESC) AS place
        FROM ended_call) WHERE place > ?)
      """, .integer(Int64(Bounds.tombstones)))
  }
}
