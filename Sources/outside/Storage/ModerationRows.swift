// What moderators have made of rooms, in the file: who is kept out, which addresses are, and doors. And what operators have taken
// back: tokens and grants.

import Basics
import Members
import RoostProtocol

/// What is read back at most: what the conference keeps in memory, and more rooms than it has.
private enum Bounds {
  static let bans = 10_000
  static let addressBans = 2_000
  static let doors = 10_000
  static let revocations = 10_000
  static let narrowings = 10_000
}

extension KeptBan {
  func write(to rows: RealmRows) throws(StorageError) {
    try rows.run(
      "INSERT OR REPLACE INTO ban (realm, room, user, until, by) VALUES (?, ?, ?, ?, ?)", .text(room), .text(user),
      until.map { .integer($0) } ?? .null, .text(by))
  }

  /// Those that end last where there are too many.
  static func all(in rows: RealmRows) throws(StorageError) -> [KeptBan] {
    let rows = try rows.query(
      "SELECT room, user, until, by FROM ban WHERE realm = ? ORDER BY until IS NULL DESC, until DESC LIMIT ?",
      .integer(Int64(Bounds.bans)))
    return rows.compactMap { row in
      guard row.count == 4, let room = row[0].text, let user = row[1].text, let by = row[3].text else { return nil }
      return KeptBan(room: room, user: user, until: row[2].integer, by: by)
    }
  }
}

extension KeptAddressBan {
  func write(to rows: RealmRows) throws(StorageError) {
    try rows.run(
      "INSERT OR REPLACE INTO address_ban (realm, room, address, user, until, by) VALUES (?, ?, ?, ?, ?, ?)",
      .text(subject.room ?? ""), .text(subject.address.description), .text(subject.user ?? ""), .integer(until),
      .text(by ?? ""))
  }

  /// Those that end last where there are too many.
  static func all(in rows: RealmRows) throws(StorageError) -> [KeptAddressBan] {
    let rows = try rows.query(
      "SELECT room, address, user, until, by FROM address_ban WHERE realm = ? ORDER BY until DESC LIMIT ?",
      .integer(Int64(Bounds.addressBans)))
    return rows.compactMap { row in
      guard row.count == 5, let room = row[0].text, let address = row[1].text.flatMap({ AddressRange($0) }),
        let user = row[2].text, let until = row[3].integer, let by = row[4].text
      else { return nil }
      let subject = Subject(room: room.nonEmpty, address: address, user: user.nonEmpty)
      return KeptAddressBan(subject, until: until, by: by.nonEmpty)
    }
  }
}

extension KeptAddressBan.Subject {
  func remove(from rows: RealmRows) throws(StorageError) {
    try rows.run(
      "DELETE FROM address_ban WHERE realm = ? AND room = ? AND address = ? AND user = ?", .text(room ?? ""),
      .text(address.description), .text(user ?? ""))
  }
}

extension String {
  fileprivate var nonEmpty: String? { isEmpty ? nil : self }
}

extension KeptDoor {
  func write(to rows: RealmRows) throws(StorageError) {
    try rows.run(
      "INSERT OR REPLACE INTO door (realm, room, locked_by_operator, door, chat_disabled) VALUES (?, ?, ?, ?, ?)",
      .text(room),
      .integer(isLockedByOperator ? 1 : 0), .text(door.rawValue), .integer(isChatDisabled ? 1 : 0))
  }

  /// A door of a kind that is not known is taken for a locked one: who was kept out stays out.
  static func all(in rows: RealmRows) throws(StorageError) -> [KeptDoor] {
    let rows = try rows.query(
      "SELECT room, locked_by_operator, door, chat_disabled FROM door WHERE realm = ? LIMIT ?",
      .integer(Int64(Bounds.doors)))
    return rows.compactMap { row in
      guard row.count == 4, let room = row[0].text, let door = row[2].text else { return nil }
      return KeptDoor(
        room: room, isLockedByOperator: row[1].integer == 1, door: Door(rawValue: door) ?? .locked,
        isChatDisabled: row[3].integer == 1)
    }
  }
}

extension KeptRevocation {
  func write(to rows: RealmRows) throws(StorageError) {
    try rows.run(
      "INSERT OR REPLACE INTO revoked_token (realm, jti, until) VALUES (?, ?, ?)", .text(tokenID), .integer(until))
  }

  /// Those that are kept for longest where there are too many.
  static func all(in rows: RealmRows) throws(StorageError) -> [KeptRevocation] {
    let rows = try rows.query(
      "SELECT jti, until FROM revoked_token WHERE realm = ? ORDER BY until DESC, jti LIMIT ?",
      .integer(Int64(Bounds.revocations)))
    return rows.compactMap { row in
      guard row.count == 2, let id = row[0].text, let until = row[1].integer else { return nil }
      return KeptRevocation(tokenID: id, until: until)
    }
  }
}

extension KeptNarrowing {
  func write(to rows: RealmRows) throws(StorageError) {
    try rows.run(
      "INSERT OR REPLACE INTO narrowing (realm, user, room, grants, at) VALUES (?, ?, ?, ?, ?)", .text(subject.user),
      .text(subject.room ?? ""), .text(rights.grants.map(\.rawValue).joined(separator: " ")), .integer(at))
  }

  /// The newest where there are too many. A grant of a name that is not known gives nothing.
  static func all(in rows: RealmRows) throws(StorageError) -> [KeptNarrowing] {
    let rows = try rows.query(
      "SELECT user, room, grants, at FROM narrowing WHERE realm = ? ORDER BY at DESC, user, room LIMIT ?",
      .integer(Int64(Bounds.narrowings)))
    return rows.compactMap { row in
      guard row.count == 4, let user = row[0].text, let room = row[1].text, let grants = row[2].text,
        let at = row[3].integer
      else { return nil }
      let rights = Rights(grants.split(separator: " ").map { Grant(rawValue: String($0)) })
      return KeptNarrowing(Subject(user: user, room: room.nonEmpty), rights: rights, at: at)
    }
  }
}

extension KeptNarrowing.Subject {
  func remove(from rows: RealmRows) throws(StorageError) {
    try rows.run("DELETE FROM narrowing WHERE realm = ? AND user = ? AND room = ?", .text(user), .text(room ?? ""))
  }
}
