// Events for a web server outside, numbered in the transaction that writes what they tell of, and kept for a time.
//
//   add ─▶ number = last of the realm + 1 ─▶ event, waiting_event ─▶ delivered, dropped or lost: waits no more
//                                              └─▶ stays for replay until there is no time or space for it

import Basics
import Names

/// An event that has no number yet.
public struct NewEvent: Hashable, Sendable {
  /// Its name, a few hexadecimal digits.
  public var id: String
  /// What it must be in order with: the room.
  public var lane: String
  /// When it happened, in milliseconds since 1970.
  public var at: Int64
  /// A JSON object with a field or more, without `id` and `number`.
  public var body: String
  /// Where it happened.
  public var realm: Realm

  /// An event.
  public init(id: String, lane: String, at: Int64, body: String, realm: Realm = .default) {
    (self.id, self.lane, self.at, self.body, self.realm) = (id, lane, at, body, realm)
  }

  /// The same with its number, as it is sent.
  func numbered(_ number: Int64) -> StoredEvent {
    StoredEvent(
      id: id, number: number, lane: lane, at: at, body: "{\"id\":\"\(id)\",\"number\":\(number)," + body.dropFirst(),
      realm: realm)
  }
}

/// An event as it is kept.
public struct StoredEvent: Hashable, Sendable {
  /// Its name.
  public var id: String
  /// Counted from 1 in its realm, without gaps.
  public var number: Int64
  /// What it must be in order with: the room.
  public var lane: String
  /// When it happened, in milliseconds since 1970.
  public var at: Int64
  /// JSON, with `id` and `number`.
  public var body: String
  /// Where it happened.
  public var realm: Realm

  /// Nil for a row that does not hold what it should.
  init?(row: [SQLValue], of realm: Realm) {
    guard row.count == 5, let number = row[0].integer, let id = row[1].text, let lane = row[2].text,
      let body = row[4].text
    else { return nil }
    self.init(id: id, number: number, lane: lane, at: row[3].integer ?? 0, body: body, realm: realm)
  }

  init(id: String, number: Int64, lane: String, at: Int64, body: String, realm: Realm) {
    (self.id, self.number, self.lane, self.at, self.body, self.realm) = (id, number, lane, at, body, realm)
  }
}

/// How much is kept of a realm's events, whether or not they are delivered.
public struct EventKeep: Hashable, Sendable {
  /// How long.
  public var time = TimeDelta.seconds(7 * 86_400)
  /// How many bytes of bodies.
  public var size: Int64 = 1 << 30

  /// Seven days and 1 GiB.
  public init() {}

  /// So long, and so many bytes.
  public init(time: TimeDelta, size: Int64) { (self.time, self.size) = (time, size) }
}

/// One change of what is kept of events.
public enum EventChange: Hashable, Sendable {
  /// It has happened, and gets a number.
  case add(NewEvent)
  /// So many have happened and could not be kept: they get numbers, and are lost.
  case missed(Realm, Int64)
  /// The web server has taken it.
  case delivered(Realm, Int64)
  /// The web server does not want it (410).
  case dropped(Realm, DroppedEvent)
  /// The web server has been told of these that they were dropped.
  case toldDropped(Realm, [Int64])
  /// It was not taken in time.
  case expired(Realm, Int64)
  /// The web server has been told of this loss.
  case toldLost(Realm, id: String)
}

/// An event that the web server did not want.
public struct DroppedEvent: Hashable, Sendable {
  /// Its name.
  public var id: String
  /// Its number.
  public var number: Int64

  /// This one.
  public init(id: String, number: Int64) { (self.id, self.number) = (id, number) }
}

/// Events that will not be delivered, and that the web server has yet to be told of.
public struct LostEvents: Hashable, Sendable {
  /// Names the message that tells of them.
  public var id: String
  /// The first number.
  public var from: Int64
  /// The last number. What lies between and was not lost has been delivered, or dropped.
  public var to: Int64
}

/// A part of the events of a realm, for one who asks for those after a number.
public struct EventPage: Hashable, Sendable {
  /// In order; the first is that of the lowest number which is kept.
  public var events: [StoredEvent]
  /// The number of the newest event that there is; 0 without any.
  public var last: Int64
  /// What is missing between the number that was asked for and the first event, or the end: it is kept no more.
  public var lost: ClosedRange<Int64>?
}

/// Which events to read.
public struct EventQuery: Hashable, Sendable {
  /// Events of one answer. More make the disk's thread busy for longer.
  public static let mostEvents = 1000
  /// Bytes of bodies in one answer; one event always fits.
  public static let mostBytes: Int64 = 1 << 20

  /// Those with higher numbers than this.
  public var after: Int64
  /// So many at the most, 1 to `mostEvents`.
  public var limit: Int

  /// Those after a number. What is out of bounds is brought into them.
  public init(after: Int64, limit: Int = EventQuery.mostEvents) {
    self.after = max(after, 0)
    self.limit = min(max(limit, 1), Self.mostEvents)
  }
}

// MARK: - Reading

extension EventQuery {
  func read(from rows: RealmRows) throws(StorageError) -> EventPage {
    let last = try rows.query("SELECT last FROM event_series WHERE realm = ?").first?.first?.integer ?? 0
    var (through, bytes) = (after, Int64(0))
    for row in try rows.query(
      "SELECT number, size FROM event WHERE realm = ? AND number > ? ORDER BY number LIMIT ?", .integer(after),
      .integer(Int64(limit)))
    {
      guard row.count == 2, let number = row[0].integer, let size = row[1].integer else { continue }
      bytes += size
      if bytes > Self.mostBytes, through > after { break }
      through = number
    }
    let events = try rows.query(
      "SELECT number, id, lane, at, body FROM event WHERE realm = ? AND number > ? AND number <= ? ORDER BY number",
      .integer(after), .integer(through)
    ).compactMap { StoredEvent(row: $0, of: rows.realm) }
    let end = events.first.map { $0.number - 1 } ?? last
    return EventPage(events: events, last: last, lost: after < end ? (after + 1)...end : nil)
  }
}

extension RecordFile {
  private func rows(of realm: Realm) throws(StorageError) -> RealmRows {
    guard let database = connection else { throw StorageError(.cannotOpen, "the file is not open") }
    return RealmRows(database: database, realm: realm)
  }

  /// Events of a realm after a number, whether or not they are delivered.
  public mutating func events(_ query: EventQuery, of realm: Realm = .default) throws(StorageError) -> EventPage {
    try query.read(from: try rows(of: realm))
  }

  /// The oldest events with numbers above `after` that are not delivered yet, in order.
  public mutating func waitingEvents(
    after: Int64, limit: Int, of realm: Realm
  ) throws(StorageError) -> [StoredEvent] {
    try rows(of: realm).query(
      """
      SELECT number, id, w.lane, at, body FROM waiting_event w JOIN event USING (realm, number)
      WHERE w.realm = ? AND w.number > ? ORDER BY w.number LIMIT ?
      """, .integer(after), .integer(Int64(limit))
    ).compactMap { StoredEvent(row: $0, of: realm) }
  }

  /// The same of one lane, with numbers up to `through`.
  public mutating func waitingEvents(
    ofLane lane: String, after: Int64, through: Int64, limit: Int, of realm: Realm
  ) throws(StorageError) -> [StoredEvent] {
    try rows(of: realm).query(
      """
      SELECT number, id, w.lane, at, body FROM waiting_event w JOIN event USING (realm, number)
      WHERE w.realm = ? AND w.lane = ? AND w.number > ? AND w.number <= ? ORDER BY w.number LIMIT ?
      """, .text(lane), .integer(after), .integer(through), .integer(Int64(limit))
    ).compactMap { StoredEvent(row: $0, of: realm) }
  }

  /// How many events wait to be delivered, and the number of the last event that there is.
  public mutating func eventFigures(of realm: Realm) throws(StorageError) -> (waiting: Int, last: Int64) {
    let rows = try rows(of: realm)
    let waiting = try rows.query("SELECT count(*) FROM waiting_event WHERE realm = ?").first?.first?.integer
    let last = try rows.query("SELECT last FROM event_series WHERE realm = ?").first?.first?.integer
    return (Int(clamping: waiting ?? 0), last ?? 0)
  }

  /// The first loss that the web server has yet to be told of.
  public mutating func lostEvents(of realm: Realm) throws(StorageError) -> LostEvents? {
    let row = try rows(of: realm).query(
      "SELECT id, first, last FROM lost_events WHERE realm = ? ORDER BY first LIMIT 1"
    ).first
    guard let row, row.count == 3, let id = row[0].text, let from = row[1].integer, let to = row[2].integer else {
      return nil
    }
    return LostEvents(id: id, from: from, to: to)
  }

  /// The events that the web server did not want and has yet to be told of, in order.
  public mutating func droppedEvents(of realm: Realm) throws(StorageError) -> [DroppedEvent] {
    try rows(of: realm).query("SELECT id, number FROM dropped_event WHERE realm = ? ORDER BY number").compactMap {
      guard $0.count == 2, let id = $0[0].text, let number = $0[1].integer else { return nil }
      return DroppedEvent(id: id, number: number)
    }
  }
}
