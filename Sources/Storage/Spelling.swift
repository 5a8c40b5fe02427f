// Names of rooms and users in the file. Swift takes strings for equal whose letters are, however they are made up: `é` is one code point
// or two, and the sign for kelvin is a K. SQLite compares bytes. So a name is written and looked for in one spelling, Unicode's form C, in
// which two are equal where their bytes are.

@_spi(_Unicode) import Swift

extension String {
  /// Its one spelling among all that Swift takes for equal.
  var canonical: String {
    if utf8.allSatisfy({ $0 < 0x80 }) { return self }
    var scalars = UnicodeScalarView()
    for scalar in _nfc { scalars.append(scalar) }
    return String(scalars)
  }

  fileprivate var isCanonical: Bool { utf8.elementsEqual(canonical.utf8) }
}

/// The spelling of what is in the file already.
enum Spelling {
  /// Columns by which rows are found, and that hold what people have chosen.
  private static let columns = [
    ("message", "room"), ("record", "user"), ("ban", "room"), ("ban", "user"), ("ban", "by"), ("door", "room"),
    ("block", "user"), ("block", "blocked"), ("address_ban", "room"), ("address_ban", "user"), ("address_ban", "by"),
  ]

  /// The version of the file from which on names are written in it.
  static let since = 7

  /// Gives names that earlier versions have written as their clients spelled them the spelling that they are looked for in. Where that
  /// makes one of two rows, one goes.
  static func unify(in database: Database) throws(StorageError) {
    for (table, column) in columns { try unify(table, column, in: database) }
  }

  private static func unify(_ table: String, _ column: String, in database: Database) throws(StorageError) {
    let names = try database.query("SELECT DISTINCT \(column) FROM \(table)").compactMap(\.first?.text)
    for name in names where !name.isCanonical {
      try database.run(
        "UPDATE OR REPLACE \(table) SET \(column) = ? WHERE \(column) = ?", .text(name), .verbatim(name))
    }
  }
}
