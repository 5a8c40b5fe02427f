// Why the file does not take or give something, in words for the operator.

internal import CSQLite

/// Why the storage does not work.
public struct StorageError: Error, Equatable, Sendable, CustomStringConvertible {
  /// What is to be done about it depends on this.
  public enum Kind: String, Hashable, Sendable {
    /// No space left on the disk, or the file may not grow.
    case full
    /// The file or its directory may not be written.
    case readOnly
    /// The file is not a database any more, or is inconsistent.
    case damaged
    /// The path names another file than the one that was opened, or none.
    case replaced
    /// Another process has it.
    case inUse
    /// It cannot be opened or made.
    case cannotOpen
    /// It was made by a later version of Roost.
    case tooNew
    /// It is somebody else's database.
    case foreign
    /// Anything else, such as an error of the disk.
    case other
  }

  /// What is to be done about it depends on this.
  public var kind: Kind
  /// What SQLite or the system says.
  public var message: String

  /// An error of this kind.
  public init(_ kind: Kind, _ message: String) {
    self.kind = kind
    self.message = message
  }

  /// `full: database or disk is full`.
  public var description: String { "\(kind.rawValue): \(message)" }

  /// What a person can do.
  public var remedy: String {
    switch kind {
    case .full: "make space on its disk; storing goes on by itself"
    case .readOnly, .cannotOpen: "let Roost's user write the directory of storage.path, then restart"
    case .damaged: "nothing: a new file is begun and the damaged one is kept beside it"
    case .replaced:
      "nothing: storing goes on in the file that is there now, or in a new one; stop Roost before you touch its file"
    case .inUse: "stop the other process, or give this one its own storage.path"
    case .tooNew: "start the later version of Roost again, or give another storage.path"
    case .foreign: "give another storage.path: Roost does not touch other programs' databases"
    case .other: "look at the disk"
    }
  }

  /// What SQLite's extended result code means.
  init(code: Int32, _ message: String) {
    let kind: Kind =
      switch code & 0xff {
      case SQLITE_FULL: .full
      case SQLITE_READONLY, SQLITE_PERM: .readOnly
      case SQLITE_CORRUPT, SQLITE_NOTADB: .damaged
      case SQLITE_BUSY, SQLITE_LOCKED: .inUse
      case SQLITE_CANTOPEN, SQLITE_AUTH: .cannotOpen
      default: .other
      }
    self.init(kind, message)
  }
}
