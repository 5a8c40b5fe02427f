// Settings of rooms that were made or changed while the server runs, in the file.

import Members

extension KeptRoom {
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
