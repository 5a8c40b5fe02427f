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
    realms,
    events,
    rooms,
    // How many processes have begun with the file. It has one row at most.
    "CREATE TABLE process (one INTEGER PRIMARY KEY CHECK (one = 1), number INTEGER NOT NULL);",
  ]

  /// What rooms are like that were made or changed while the server runs. `body` is the RoomPlan of `Members` as JSON.
  private static let rooms = """
    CREATE TABLE room (
      realm TEXT NOT NULL, room TEXT NOT NULL, tag TEXT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (realm, room)
    ) WITHOUT ROWID;
    """

  /// Events that are numbered. `size` is that of the body in bytes. What waited in the outbox gets the first numbers.
  private static let events = """
    CREATE TABLE event_series (
      realm TEXT PRIMARY KEY, last INTEGER NOT NULL, size INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE event (
      realm TEXT NOT NULL, number INTEGER NOT NULL, id TEXT NOT NULL, lane TEXT NOT NULL, at INTEGER NOT NULL,
      size INTEGER NOT NULL, body TEXT NOT NULL, PRIMARY KEY (realm, number)
    );
    CREATE TABLE waiting_event (
      realm TEXT NOT NULL, number INTEGER NOT NULL, lane TEXT NOT NULL, PRIMARY KEY (realm, number)
    ) WITHOUT ROWID;
    CREATE INDEX waiting_event_of_lane ON waiting_event (realm, lane, number);
    CREATE TABLE lost_events (
      realm TEXT NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, id TEXT NOT NULL, PRIMARY KEY (realm, first)
    ) WITHOUT ROWID;
    CREATE TABLE dropped_event (
      realm TEXT NOT NULL, number INTEGER NOT NULL, id TEXT NOT NULL, PRIMARY KEY (realm, number)
    ) WITHOUT ROWID;
    INSERT INTO event (realm, number, id, lane, at, size, body)
      SELECT realm, place, id, lane, CASE WHEN json_valid(body) THEN coalesce(json_extract(body, '$.at'), expires_at) ELSE expires_at END,
        length(CAST(body AS BLOB)), '{"id":"' || id || '","number":' || place || iif(body = '{}', '', ',') || substr(body, 2)
      FROM (SELECT *, row_number() OVER (PARTITION BY realm ORDER BY number) AS place FROM outbox WHERE endpoint = 'events');
    INSERT INTO waiting_event (realm, number, lane) SELECT realm, number, lane FROM event;
    INSERT INTO event_series (realm, last, size) SELECT realm, max(number), sum(size) FROM event GROUP BY realm;
    DELETE FROM outbox WHERE endpoint = 'events';
    """

  /// Whose each row is. What was there is the realm's `default`. Names of calls and of messages for web servers are random: no two realms
  /// have one.
  private static let realms = """
    ALTER TABLE message RENAME TO message_before;
    CREATE TABLE message (
      realm TEXT NOT NULL DEFAULT 'default', room TEXT NOT NULL, number INTEGER NOT NULL, client_id TEXT,
      delivered INTEGER NOT NULL, body TEXT NOT NULL, PRIMARY KEY (realm, room, number)
    ) WITHOUT ROWID;
    INSERT INTO message (room, number, client_id, delivered, body)
      SELECT room, number, client_id, delivered, body FROM message_before;
    DROP TABLE message_before;
    ALTER TABLE record RENAME TO record_before;
    CREATE TABLE record (
      number INTEGER PRIMARY KEY AUTOINCREMENT, realm TEXT NOT NULL DEFAULT 'default', user TEXT NOT NULL,
      call TEXT NOT NULL, ended_at INTEGER NOT NULL, unseen INTEGER NOT NULL, body TEXT NOT NULL,
      UNIQUE (realm, user, call)
    );
    INSERT INTO record (number, user, call, ended_at, unseen, body)
      SELECT number, user, call, ended_at, unseen, body FROM record_before;
    DROP TABLE record_before;
    CREATE INDEX record_of_user ON record (realm, user, number);
    CREATE INDEX record_by_end ON record (ended_at);
    ALTER TABLE ended_call ADD COLUMN realm TEXT NOT NULL DEFAULT 'default';
    ALTER TABLE running_call ADD COLUMN realm TEXT NOT NULL DEFAULT 'default';
    ALTER TABLE outbox ADD COLUMN realm TEXT NOT NULL DEFAULT 'default';
    ALTER TABLE ban RENAME TO ban_before;
    CREATE TABLE ban (
      realm TEXT NOT NULL DEFAULT 'default', room TEXT NOT NULL, user TEXT NOT NULL, until INTEGER, by TEXT NOT NULL,
      PRIMARY KEY (realm, room, user)
    ) WITHOUT ROWID;
    INSERT INTO ban (room, user, until, by) SELECT room, user, until, by FROM ban_before;
    DROP TABLE ban_before;
    ALTER TABLE door RENAME TO door_before;
    CREATE TABLE door (
      realm TEXT NOT NULL DEFAULT 'default', room TEXT NOT NULL, locked_by_operator INTEGER NOT NULL,
      door TEXT NOT NULL, chat_disabled INTEGER NOT NULL, PRIMARY KEY (realm, room)
    ) WITHOUT ROWID;
    INSERT INTO door (room, locked_by_operator, door, chat_disabled)
      SELECT room, locked_by_operator, door, chat_disabled FROM door_before;
    DROP TABLE door_before;
    ALTER TABLE block RENAME TO block_before;
    CREATE TABLE block (
      number INTEGER PRIMARY KEY, realm TEXT NOT NULL DEFAULT 'default', user TEXT NOT NULL, blocked TEXT NOT NULL,
      UNIQUE (realm, user, blocked)
    );
    INSERT INTO block (number, user, blocked) SELECT number, user, blocked FROM block_before;
    DROP TABLE block_before;
    ALTER TABLE address_ban RENAME TO address_ban_before;
    CREATE TABLE address_ban (
      realm TEXT NOT NULL DEFAULT 'default', room TEXT NOT NULL, address TEXT NOT NULL, user TEXT NOT NULL,
      until INTEGER NOT NULL, by TEXT NOT NULL, PRIMARY KEY (realm, room, address, user)
    ) WITHOUT ROWID;
    INSERT INTO address_ban (room, address, user, until, by)
      SELECT room, address, user, until, by FROM address_ban_before;
    DROP TABLE address_ban_before;
    ALTER TABLE revoked_token RENAME TO revoked_token_before;
    CREATE TABLE revoked_token (
      realm TEXT NOT NULL DEFAULT 'default', jti TEXT NOT NULL, until INTEGER NOT NULL, PRIMARY KEY (realm, jti)
    ) WITHOUT ROWID;
    INSERT INTO revoked_token (jti, until) SELECT jti, until FROM revoked_token_before;
    DROP TABLE revoked_token_before;
    ALTER TABLE narrowing RENAME TO narrowing_before;
    CREATE TABLE narrowing (
      realm TEXT NOT NULL DEFAULT 'default', user TEXT NOT NULL, room TEXT NOT NULL, grants TEXT NOT NULL,
      at INTEGER NOT NULL, PRIMARY KEY (realm, user, room)
    ) WITHOUT ROWID;
    INSERT INTO narrowing (user, room, grants, at) SELECT user, room, grants, at FROM narrowing_before;
    DROP TABLE narrowing_before;
    """

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
