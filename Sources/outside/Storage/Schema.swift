// The tables, as a list of steps: a file at version n (PRAGMA user_version) gets the steps from n on. A step that has
// been released is never changed; Tests/Fixtures/storage has a file of each version.

/// The shape of the file.
enum Schema {
  /// Marks the file as Roost's: "RCST".
  static let applicationID: Int64 = 0x5243_5354

  /// What makes version n + 1 of version n.
  static let steps = [
    // Chat. `body` is the Message of docs/protocol.md as JSON.
    """
    CREATE TABLE message (
      room TEXT NOT NULL, number INTEGER NOT NULL, client_id TEXT, delivered INTEGER NOT NULL, body TEXT NOT NULL,
      PRIMARY KEY (room, number)
    ) WITHOUT ROWID;
    """,
    // Calls, and messages for web servers. Bodies are JSON of the Kept… types of `Calls`.
    """
    CREATE TABLE record (
      number INTEGER PRIMARY KEY AUTOINCREMENT, user TEXT NOT NULL, call TEXT NOT NULL, ended_at INTEGER NOT NULL,
      unseen INTEGER NOT NULL, body TEXT NOT NULL, UNIQUE (user, call)
    );
    CREATE INDEX record_of_user ON record (user, number);
    CREATE INDEX record_by_end ON record (ended_at);
    CREATE TABLE ended_call (call TEXT PRIMARY KEY, ended_at INTEGER NOT NULL, body TEXT NOT NULL);
    CREATE INDEX ended_call_by_end ON ended_call (ended_at);
    CREATE TABLE running_call (call TEXT PRIMARY KEY, body TEXT NOT NULL);
    CREATE TABLE outbox (
      number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, endpoint TEXT NOT NULL, lane TEXT NOT NULL,
      part TEXT NOT NULL, body TEXT NOT NULL, expires_at INTEGER NOT NULL
    );
    """,
    // What moderators have made of rooms. `door` is open, lobby or locked; `until` is NULL for a ban that does not end by itself.
    """
    CREATE TABLE ban (
      room TEXT NOT NULL, user TEXT NOT NULL, until INTEGER, by TEXT NOT NULL, PRIMARY KEY (room, user)
    ) WITHOUT ROWID;
    CREATE TABLE door (
      room TEXT PRIMARY KEY, locked_by_operator INTEGER NOT NULL, door TEXT NOT NULL, chat_disabled INTEGER NOT NULL
    ) WITHOUT ROWID;
    """,
    // Whose calls users do not want.
    """
    CREATE TABLE block (user TEXT NOT NULL, blocked TEXT NOT NULL, PRIMARY KEY (user, blocked)) WITHOUT ROWID;
    """,
    // The same in the order in which they came.
    """
    ALTER TABLE block RENAME TO unordered_block;
    CREATE TABLE block (number INTEGER PRIMARY KEY, user TEXT NOT NULL, blocked TEXT NOT NULL, UNIQUE (user, blocked));
    INSERT INTO block (user, blocked) SELECT user, blocked FROM unordered_block;
    DROP TABLE unordered_block;
    """,
    // Which addresses are kept out. An empty `room` is all of them; `user` and `by` are empty where an operator named the address.
    """
    CREATE TABLE address_ban (
      room TEXT NOT NULL, address TEXT NOT NULL, user TEXT NOT NULL, until INTEGER NOT NULL, by TEXT NOT NULL,
      PRIMARY KEY (room, address, user)
    ) WITHOUT ROWID;
    """,
    // Which tokens an operator has taken back, until none of that name can be good.
    """
    CREATE TABLE revoked_token (jti TEXT PRIMARY KEY, until INTEGER NOT NULL) WITHOUT ROWID;
    """,
    // What an operator has left of users' grants. An empty `room` is everywhere; `grants` are their names with blanks between.
    """
    CREATE TABLE narrowing (
      user TEXT NOT NULL, room TEXT NOT NULL, grants TEXT NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (user, room)
    ) WITHOUT ROWID;
    """,
  ]

  /// The file's version.
  @discardableResult
  static func check(_ database: Database) throws(StorageError) -> Int {
    let version = try database.number("PRAGMA user_version") ?? 0
    let isEmpty = try database.number("SELECT count(*) FROM sqlite_schema") == 0
    let owner = try database.number("PRAGMA application_id")
    guard isEmpty || owner == applicationID else {
      throw StorageError(.foreign, "this is a database of another program")
    }
    guard version >= 0, version <= steps.count else {
      throw StorageError(.tooNew, "its version is \(version), and this program knows \(steps.count)")
    }
    return Int(version)
  }

  /// Brings a file to the newest version, in one transaction.
  static func migrate(_ database: Database) throws(StorageError) {
    let version = try check(database)
    guard version < steps.count else { return }
    let pragmas = "PRAGMA application_id = \(applicationID); PRAGMA user_version = \(steps.count);"
    let sql = steps.dropFirst(version).joined(separator: "\n")
    do throws(StorageError) {
      try database.execute("BEGIN IMMEDIATE; \(sql)")
      if version < Spelling.since { try Spelling.unify(in: database) }
      try database.execute("\(pragmas) COMMIT")
    } catch {
      try? database.execute("ROLLBACK")
      throw error
    }
  }
}
