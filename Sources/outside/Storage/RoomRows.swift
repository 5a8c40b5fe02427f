// Settings of rooms that were made or changed while the server runs, in the file.

import Members

extension KeptRoom {
  /// What is read back of a realm at most: what the conference keeps in memory.
  private static let most = 10_000

  func write(to rows: RealmRows) throws(StorageError) {
    // What could not be read is never written: it stays as it is.
    guard let plan else { return }
    try rows.run(
      "INSERT OR REPLACE INTO room (realm, room, tag, body) VALUES (?, ?, ?, ?)", .text(room), .text(tag),
      try encodeBody(plan))
  }

  static func all(in rows: RealmRows) throws(StorageError) -> [KeptRoom] {
    let rows = try rows.query(
      "SELECT room, tag, body FROM room WHERE realm = ? ORDER BY room LIMIT ?", .integer(Int64(Self.most)))
    return rows.compactMap { row in
      guard row.count == 3, let room = row[0].text, let tag = row[1].text else { return nil }
      return KeptRoom(room: room, plan: decodeBody(RoomPlan.self, row[2]), tag: tag)
    }
  }
}
