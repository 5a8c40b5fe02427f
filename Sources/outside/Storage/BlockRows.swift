// Whom users have blocked, in the file.

import Calls

extension KeptBlock {
  func write(to rows: RealmRows) throws(StorageError) {
    try rows.run(
      "INSERT INTO block (realm, user, blocked) VALUES (?, ?, ?) ON CONFLICT (realm, user, blocked) DO NOTHING",
      .text(user),
      .text(blocked))
  }

  func remove(from rows: RealmRows) throws(StorageError) {
    try rows.run("DELETE FROM block WHERE realm = ? AND user = ? AND blocked = ?", .text(user), .text(blocked))
  }

  /// All of them, oldest first.
  static func all(in rows: RealmRows) throws(StorageError) -> [KeptBlock] {
    let rows = try rows.query(
      "SELECT user, blocked FROM block WHERE realm = ? ORDER BY number LIMIT ?", .integer(Int64(most)))
    return rows.compactMap { row in
      guard row.count == 2, let user = row[0].text, let blocked = row[1].text else { return nil }
      return KeptBlock(user: user, blocked: blocked)
    }
  }
}
