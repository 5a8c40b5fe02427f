// How events get their numbers, and how they go: by being delivered, or when there is no time or space for them any more.

import Basics
import Names

/// How much is to be kept, and what is not to be touched.
public struct EventTrim: Sendable {
  /// How much, by realm. Realms that are not named have `EventKeep()`.
  public var keep: [Realm: EventKeep]
  /// Numbers of events that are being sent: they stay.
  public var inHand: [Realm: Set<Int64>]

  /// So much, and not these.
  public init(keep: [Realm: EventKeep] = [:], inHand: [Realm: Set<Int64>] = [:]) {
    (self.keep, self.inHand) = (keep, inHand)
  }
}

/// What a transaction made of events.
public struct EventOutcome: Hashable, Sendable {
  /// Those that were added, with their numbers.
  public var numbered: [StoredEvent] = []
  /// How many that waited have been lost, by realm.
  public var lost: [Realm: Int] = [:]
  /// Whether there is more to be taken away.
  public var hasMore = false

  /// Nothing.
  public init() {}
}

/// What is done to events in one transaction.
struct EventLog {
  /// Events that one transaction takes away in each realm. More hold up what waits for the disk; fewer than are added in one would let the
  /// file grow.
  static let step = 512

  /// Drops of one realm that the web server has yet to be told of. Older ones are told no more; more make a message longer.
  static let mostDrops = 100

  private struct Series {
    var last: Int64
    var size: Int64
    var isChanged = false
  }

  private let database: Database
  /// The highest number of each realm that this process has given, in whatever file.
  private let given: [Realm: Int64]
  private var series: [Realm: Series] = [:]
  /// The first number of each realm that this transaction has given: those stay, as they are handed over.
  private var added: [Realm: Int64] = [:]
  private(set) var outcome = EventOutcome()

  /// The highest number of each realm in which something was added.
  var last: [Realm: Int64] { series.mapValues(\.last) }

  init(_ database: Database, given: [Realm: Int64]) { (self.database, self.given) = (database, given) }

  /// Makes changes, in order, and takes away what is too old or too much.
  mutating func apply(
    _ changes: [EventChange], _ trim: EventTrim?, wallMilliseconds: Int64
  ) throws(StorageError) {
    for change in changes { try apply(change) }
    if let trim {
      // In a file that was begun anew it is told at once what only the other one held.
      for realm in Set(try realms()).union(given.keys) {
        try self.trim(
          realm, trim.keep[realm] ?? EventKeep(), trim.inHand[realm] ?? [], wallMilliseconds: wallMilliseconds)
      }
    }
    for (realm, own) in series where own.isChanged {
      try rows(of: realm).run(
        "INSERT OR REPLACE INTO event_series (realm, last, size) VALUES (?, ?, ?)", .integer(own.last),
        .integer(own.size))
    }
  }

  private mutating func apply(_ change: EventChange) throws(StorageError) {
    switch change {
    case .add(let event): try add(event)
    case .missed(let realm, let count):
      let last = try series(of: realm).last
      series[realm]?.last = last + count
      series[realm]?.isChanged = true
      try lose((last + 1)...(last + max(count, 1)), in: realm)
    case .delivered(let realm, let number): try settle(number, in: realm)
    case .dropped(let realm, let event):
      try settle(event.number, in: realm)
      try drop(event, in: realm)
    case .toldDropped(let realm, let numbers):
      for number in numbers {
        try rows(of: realm).run("DELETE FROM dropped_event WHERE realm = ? AND number = ?", .integer(number))
      }
    case .expired(let realm, let number):
      try settle(number, in: realm)
      try lose(number...number, in: realm)
    case .toldLost(let realm, let id):
      try rows(of: realm).run("DELETE FROM lost_events WHERE realm = ? AND id = ?", .text(id))
    }
  }

  private func rows(of realm: Realm) -> RealmRows { RealmRows(database: database, realm: realm) }

  private func realms() throws(StorageError) -> [Realm] {
    try database.query("SELECT realm FROM event_series").compactMap { $0.first?.text.flatMap { Realm($0) } }
  }

  private mutating func series(of realm: Realm) throws(StorageError) -> Series {
    if let own = series[realm] { return own }
    let row = try rows(of: realm).query("SELECT last, size FROM event_series WHERE realm = ?").first ?? []
    let (last, given) = (row.first?.integer ?? 0, given[realm] ?? 0)
    let own = Series(last: max(last, given), size: row.last?.integer ?? 0, isChanged: last < given)
    series[realm] = own
    // They were in another file, which was damaged or is there no more.
    if last < given { try lose((last + 1)...given, in: realm) }
    return own
  }

  // MARK: - Coming

  private mutating func add(_ new: NewEvent) throws(StorageError) {
    let own = try series(of: new.realm)
    let event = new.numbered(own.last + 1)
    added[new.realm] = added[new.realm] ?? event.number
    let size = Int64(event.body.utf8.count)
    series[new.realm] = Series(last: event.number, size: own.size + size, isChanged: true)
    let rows = rows(of: new.realm)
    try rows.run(
      "INSERT INTO event (realm, number, id, lane, at, size, body) VALUES (?, ?, ?, ?, ?, ?, ?)",
      .integer(event.number), .text(event.id), .text(event.lane), .integer(event.at), .integer(size),
      .text(event.body))
    try rows.run(
      "INSERT INTO waiting_event (realm, number, lane) VALUES (?, ?, ?)", .integer(event.number), .text(event.lane))
    outcome.numbered.append(event)
  }

  // MARK: - Going

  private func settle(_ number: Int64, in realm: Realm) throws(StorageError) {
    try rows(of: realm).run("DELETE FROM waiting_event WHERE realm = ? AND number = ?", .integer(number))
  }

  private func drop(_ event: DroppedEvent, in realm: Realm) throws(StorageError) {
    let rows = rows(of: realm)
    try rows.run(
      "INSERT OR REPLACE INTO dropped_event (realm, number, id) VALUES (?, ?, ?)", .integer(event.number),
      .text(event.id))
    try rows.run(
      """
      DELETE FROM dropped_event WHERE realm = ?1 AND number <= (
        SELECT number FROM dropped_event WHERE realm = ?1 ORDER BY number DESC LIMIT 1 OFFSET ?2)
      """, .integer(Int64(Self.mostDrops)))
  }

  /// Adds to what the web server is to be told. One range has nothing in it that may still come, so that ranges between which
  /// something waits stay apart. A range that grows is told by a message of another name: one that was sent said less.
  private mutating func lose(_ numbers: ClosedRange<Int64>, in realm: Realm) throws(StorageError) {
    // That there is something to tell is said even where nothing waited.
    outcome.lost[realm, default: 0] += 0
    let rows = rows(of: realm)
    let before = try rows.query(
      "SELECT first, last FROM lost_events WHERE realm = ? AND first <= ? ORDER BY first DESC LIMIT 1",
      .integer(numbers.lowerBound)
    ).first
    var (first, last) = (numbers.lowerBound, numbers.upperBound)
    if let before, let start = before.first?.integer, let end = before.last?.integer {
      let isApart = end + 1 < first ? try waits(in: (end + 1)...(first - 1), of: rows) : false
      if !isApart { (first, last) = (start, max(last, end)) }
    }
    try rows.run(
      "INSERT OR REPLACE INTO lost_events (realm, first, last, id) VALUES (?, ?, ?, ?)", .integer(first),
      .integer(last),
      .text(.randomName()))
  }

  private func waits(in numbers: ClosedRange<Int64>, of rows: RealmRows) throws(StorageError) -> Bool {
    try !rows.query(
      "SELECT 1 FROM waiting_event WHERE realm = ? AND number >= ? AND number <= ? LIMIT 1",
      .integer(numbers.lowerBound), .integer(numbers.upperBound)
    ).isEmpty
  }

  /// Takes away the oldest that are too old or too much, a step of them.
  private mutating func trim(
    _ realm: Realm, _ keep: EventKeep, _ inHand: Set<Int64>, wallMilliseconds: Int64
  ) throws(StorageError) {
    let rows = rows(of: realm)
    let oldest = wallMilliseconds - keep.time.milliseconds
    var own = try series(of: realm)
    guard let row = try rows.query("SELECT at FROM event WHERE realm = ? ORDER BY number LIMIT 1").first else { return }
    // One without a time is as old as can be.
    guard row.first?.integer ?? 0 < oldest || own.size > keep.size else { return }
    var (taken, after, run) = (0, Int64(0), ClosedRange<Int64>?.none)
    scan: while true {
      let page = try rows.query(
        """
        SELECT number, at, size, EXISTS (SELECT 1 FROM waiting_event w WHERE w.realm = e.realm AND w.number = e.number)
        FROM event e WHERE realm = ? AND number > ? ORDER BY number LIMIT ?
        """, .integer(after), .integer(Int64(Self.step)))
      for row in page {
        guard row.count == 4, let number = row[0].integer, number < added[realm] ?? .max else { break scan }
        let (at, size) = (row[1].integer ?? 0, row[2].integer ?? 0)
        guard taken < Self.step, at < oldest || own.size > keep.size else { break scan }
        after = number
        if inHand.contains(number) { continue }
        try rows.run("DELETE FROM event WHERE realm = ? AND number = ?", .integer(number))
        taken += 1
        own.size = max(0, own.size - size)
        guard row[3].integer == 1 else { continue }
        try settle(number, in: realm)
        outcome.lost[realm, default: 0] += 1
        if let open = run, open.upperBound + 1 == number {
          run = open.lowerBound...number
        } else {
          if let run { try lose(run, in: realm) }
          run = number...number
        }
      }
      if page.isEmpty { break }
    }
    if let run { try lose(run, in: realm) }
    own.isChanged = true
    series[realm] = own
    if taken == Self.step { outcome.hasMore = true }
  }
}
