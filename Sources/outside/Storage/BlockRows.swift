// Whom users have blocked, in the file.

import Calls

extension KeptBlock {
  func write(to database: Database) throws(StorageError) {
    try database.run(
      "INSERT INTO block (user, blocked) VALUES (?, ?) ON CONFLICT (user, blocked) DO NOTHING", .text(user),
      .text(blocked))
  }

  func remove(from database: Database) throws(StorageError) {
    try database.run("DELETE FROM block WHERE user = ? AND blocked = ?", .text(user), .text(blocked))
  }

  /// All of them, oldest first.
  static func all(in database: Database) throws(StorageError) -> [KeptBlock] {
    let rows = try database.query("SELECT user, blocked FROM block ORDER BY number LIMIT ?", .integer(Int64(most)))
    return rows.compactMap { row in
      guard row.count == 2, let user = row[0].text, let blocked = row[1].text else { return nil }
      return KeptBlock(user: user, blocked: blocked)
    }
  }
}
