// Names of rooms and users in the file. All that come in now are in Unicode's form C (`NameForm`), among which names are equal where
// their bytes are, as SQLite compares. Earlier versions have let in others, and have taken people for one whose names Swift calls equal.
// What they left is looked at when it is read: names that nobody can have now are nobody's.

import Calls
import Members
import Names
import RoostProtocol

/// The spelling of what is in the file already.
enum Spelling {
  /// Columns by which rows are found, and that hold what people have chosen.
  private static let columns = [
    ("message", "room"), ("record", "user"), ("ban", "room"), ("ban", "user"), ("ban", "by"), ("door", "room"),
    ("block", "user"), ("block", "blocked"), ("address_ban", "room"), ("address_ban", "user"), ("address_ban", "by"),
  ]

  /// The version of the file from which on names are written in it.
  static let since = 7

  /// Gives names that versions before `since` have written as their clients spelled them form C: a ban or a lock must not be lost. Where
  /// that makes one of two rows, one goes. What JSON holds stays as it was.
  static func unify(in database: Database) throws(StorageError) {
    for (table, column) in columns { try unify(table, column, in: database) }
  }

  private static func unify(_ table: String, _ column: String, in database: Database) throws(StorageError) {
    let names = try database.query("SELECT DISTINCT \(column) FROM \(table)").compactMap(\.first?.text)
    for name in names {
      let composed = NameForm.composed(name)
      guard !composed.utf8.elementsEqual(name.utf8) else { continue }
      try database.run("UPDATE OR REPLACE \(table) SET \(column) = ? WHERE \(column) = ?", .text(composed), .text(name))
    }
  }
}

// MARK: - What is read

/// A row that says names.
protocol NamingRow {
  /// All names in it by which somebody or something is found.
  var names: [String] { get }
}

extension NamingRow {
  /// Whether they may be read: one that is not let in may mean another person than it is equal to.
  var isReadable: Bool { names.allSatisfy(NameForm.accepts) }
}

extension Sequence where Element: NamingRow {
  /// Those that may be read.
  var readable: [Element] { filter(\.isReadable) }
}

extension Message: NamingRow {
  var names: [String] { [room, from] + (to ?? []) }
}

extension StoredMessage: NamingRow {
  var names: [String] { message.names + [clientMsgId].compactMap(\.self) }
}

extension KeptCall: NamingRow {}

extension KeptTombstone: NamingRow {}

extension KeptRecord: NamingRow {
  var names: [String] { entry.names }
}

extension UserRecord: NamingRow {
  var names: [String] { [user] + record.peers + [record.inviter].compactMap(\.self) }
}

extension KeptBan: NamingRow {
  var names: [String] { [room, user, by] }
}

extension KeptAddressBan: NamingRow {
  var names: [String] { [subject.room, subject.user, by].compactMap(\.self) }
}

extension KeptBlock: NamingRow {
  var names: [String] { [user, blocked] }
}

extension KeptDoor: NamingRow {
  var names: [String] { [room] }
}

extension KeptRoom: NamingRow {
  var names: [String] { [room] }
}

extension KeptRevocation: NamingRow {
  var names: [String] { [tokenID] }
}

extension KeptNarrowing: NamingRow {
  var names: [String] { [subject.user, subject.room].compactMap(\.self) }
}
