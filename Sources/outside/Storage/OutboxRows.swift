// Messages for web servers outside that are not delivered yet, so that a restart does not lose them.

import Names

/// A message as it is kept.
public struct StoredDelivery: Hashable, Sendable {
  /// Its name.
  public var id: String
  /// Which server it is for.
  public var endpoint: String
  /// What it must be in order with.
  public var lane: String
  /// What it is in its lane.
  public var part: String
  /// JSON.
  public var body: String
  /// When it is worthless, in milliseconds since 1970.
  public var expiresAt: Int64
  /// Whose servers it is for.
  public var realm: Realm

  /// A message.
  public init(
    id: String, endpoint: String, lane: String, part: String, body: String, expiresAt: Int64, realm: Realm = .default
  ) {
    (self.id, self.endpoint, self.lane, self.realm) = (id, endpoint, lane, realm)
    (self.part, self.body, self.expiresAt) = (part, body, expiresAt)
  }
}

/// One change of what waits to be delivered.
public enum OutboxChange: Hashable, Sendable {
  /// It waits.
  case keep(StoredDelivery)
  /// It waits no more.
  case forget(String)
}

extension OutboxChange {
  func write(to database: Database) throws(StorageError) {
    switch self {
    case .keep(let delivery):
      try database.run(
        "INSERT OR REPLACE INTO outbox (realm, id, endpoint, lane, part, body, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?)",
        .text(delivery.realm.name),
        .text(delivery.id), .text(delivery.endpoint), .text(delivery.lane), .text(delivery.part),
        .text(delivery.body),
        .integer(delivery.expiresAt))
    case .forget(let id): try database.run("DELETE FROM outbox WHERE id = ?", .text(id))
    }
  }
}

extension StoredDelivery {
  /// The oldest that wait, in their order.
  static func waiting(_ limit: Int, in own: RealmRows) throws(StorageError) -> [StoredDelivery] {
    let rows = try own.query(
      "SELECT id, endpoint, lane, part, body, expires_at FROM outbox WHERE realm = ? ORDER BY number LIMIT ?",
      .integer(Int64(limit)))
    return rows.compactMap { row in
      guard row.count == 6, let id = row[0].text, let endpoint = row[1].text, let lane = row[2].text,
        let part = row[3].text, let body = row[4].text, let expiresAt = row[5].integer
      else { return nil }
      return StoredDelivery(
        id: id, endpoint: endpoint, lane: lane, part: part, body: body, expiresAt: expiresAt, realm: own.realm)
    }
  }
}
