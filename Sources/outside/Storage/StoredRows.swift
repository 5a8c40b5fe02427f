// How values are written as rows and read back. Bodies are JSON as clients see it (docs/protocol.md), so that an
// operator can read them with sqlite3.

import FoundationEssentials
import Members
import RoostProtocol

extension StoredMessage {
  func write(forgetting forgotten: UInt64?, to rows: RealmRows) throws(StorageError) {
    try rows.run(
      "INSERT OR REPLACE INTO message (realm, room, number, client_id, delivered, body) VALUES (?, ?, ?, ?, ?, ?)",
      .text(message.room), .integer(Int64(clamping: number)), clientMsgId.map { .text($0) } ?? .null,
      .integer(Int64(delivered)), try encodeBody(message))
    guard let forgotten else { return }
    try rows.run(
      "DELETE FROM message WHERE realm = ? AND room = ? AND number <= ?", .text(message.room),
      .integer(Int64(clamping: forgotten)))
  }

  /// The newest messages of a room, oldest first.
  static func newest(_ limit: Int, of room: String, in rows: RealmRows) throws(StorageError) -> [StoredMessage] {
    let rows = try rows.query(
      "SELECT number, client_id, delivered, body FROM message WHERE realm = ? AND room = ? ORDER BY number DESC LIMIT ?",
      .text(room), .integer(Int64(limit)))
    return rows.reversed().compactMap(StoredMessage.init(row:))
  }

  /// Nil for a row that does not hold what it should; it is as good as lost.
  private init?(row: [SQLValue]) {
    guard row.count == 4, let number = row[0].integer, let delivered = row[2].integer,
      let message = decodeBody(Message.self, row[3])
    else { return nil }
    self.init(
      number: UInt64(clamping: number), message: message, clientMsgId: row[1].text, delivered: Int(clamping: delivered))
  }
}

/// A value as JSON.
func encodeBody(_ value: some Encodable) throws(StorageError) -> SQLValue {
  do {
    return .text(String(decoding: try JSONText.bytes(of: value), as: UTF8.self))
  } catch {
    throw StorageError(.other, "a value cannot be written as JSON: \(error)")
  }
}

/// The same for what is written most.
func encodeBody(_ value: some JSONWritable) throws(StorageError) -> SQLValue {
  do {
    return .text(String(decoding: try JSONWriter.bytes(of: value), as: UTF8.self))
  } catch {
    throw StorageError(.other, "a value cannot be written as JSON: \(error)")
  }
}

/// A value from JSON; nil where it is none of this type.
func decodeBody<Value: Decodable>(_ type: Value.Type, _ body: SQLValue) -> Value? {
  body.text.flatMap { try? JSONDecoder().decodeVerbatim(type, from: Array($0.utf8)) }
}
