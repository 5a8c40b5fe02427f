// One realm's rows. Every table has a column that says whose a row is, and every statement names it first.

import Members
import Names

/// A change in one realm.
public struct RealmChange: Equatable, Sendable {
  /// What changes.
  public let change: StoreChange
  /// Where.
  public let realm: Realm

  /// A change.
  public init(_ change: StoreChange, of realm: Realm = .default) { (self.change, self.realm) = (change, realm) }
}

/// The rows of one realm.
struct RealmRows {
  let database: Database
  let realm: Realm

  /// Runs one statement, whose first parameter is the realm.
  func run(_ sql: String, _ parameters: SQLValue...) throws(StorageError) {
    _ = try database.query(sql, with: [.text(realm.name)] + parameters)
  }

  /// The rows that such a statement gives.
  func query(_ sql: String, _ parameters: SQLValue...) throws(StorageError) -> [[SQLValue]] {
    try database.query(sql, with: [.text(realm.name)] + parameters)
  }
}
