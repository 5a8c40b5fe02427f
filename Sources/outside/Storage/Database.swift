// The SQLite fence: a connection and its prepared statements.
//
// Threads: a connection and everything made from it belong to the thread that opened it (SQLITE_OPEN_NOMUTEX). It is not
// Sendable, and its one owner, RecordFile, is born on the storage thread and noncopyable.

internal import CSQLite

/// One value of a row or of a statement's parameters.
enum SQLValue: Equatable {
  case null
  case integer(Int64)
  case text(String)
  case blob([UInt8])
}

/// A connection.
final class Database {
  private let handle: OpaquePointer
  private var statements: [String: Statement] = [:]

  /// How long a statement waits for another process that reads or backs up the file.
  static let busyMilliseconds: Int32 = 2_000

  /// Opens a file; it is made where there is none.
  init(path: String) throws(StorageError) {
    var handle: OpaquePointer?
    let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
    let code = sqlite3_open_v2(path, &handle, flags, nil)
    guard let handle, code == SQLITE_OK else {
      let message = handle.map { String(cString: sqlite3_errmsg($0)) } ?? "no memory"
      sqlite3_close_v2(handle)
      throw StorageError(code: code, message)
    }
    self.handle = handle
    sqlite3_busy_timeout(handle, Self.busyMilliseconds)
  }

  deinit {
    for statement in statements.values { statement.finalize() }
    sqlite3_close_v2(handle)
  }

  /// When it is closed nothing of its log goes into the file, which is not what it was made for any more.
  func keepLog() { csqlite_keep_log(handle) }

  /// Runs statements that have no parameters; what they return is thrown away.
  func execute(_ sql: String) throws(StorageError) {
    try check(sqlite3_exec(handle, sql, nil, nil, nil))
  }

  /// Runs one statement; it is prepared once and kept, so `sql` must come from a small number of texts.
  func run(_ sql: String, _ parameters: SQLValue...) throws(StorageError) {
    _ = try rows(sql, parameters)
  }

  /// The rows that a statement gives.
  func query(_ sql: String, _ parameters: SQLValue...) throws(StorageError) -> [[SQLValue]] {
    try rows(sql, parameters)
  }

  /// The same with a list of parameters.
  func query(_ sql: String, with parameters: [SQLValue]) throws(StorageError) -> [[SQLValue]] {
    try rows(sql, parameters)
  }

  /// The one number that a statement gives; nil where it gives no row or no number.
  func number(_ sql: String) throws(StorageError) -> Int64? {
    guard case .integer(let value) = try rows(sql, []).first?.first else { return nil }
    return value
  }

  private func rows(_ sql: String, _ parameters: [SQLValue]) throws(StorageError) -> [[SQLValue]] {
    let statement = try prepared(sql)
    defer { statement.reset() }
    for (index, value) in parameters.enumerated() { try check(statement.bind(value, at: Int32(index + 1))) }
    var rows: [[SQLValue]] = []
    while true {
      switch statement.step() {
      case SQLITE_ROW: rows.append(statement.row)
      case SQLITE_DONE: return rows
      case let code: throw error(code)
      }
    }
  }

  private func prepared(_ sql: String) throws(StorageError) -> Statement {
    if let statement = statements[sql] { return statement }
    var pointer: OpaquePointer?
    try check(sqlite3_prepare_v3(handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &pointer, nil))
    guard let pointer else { throw StorageError(.other, "no statement in: \(sql)") }
    let statement = Statement(pointer)
    statements[sql] = statement
    return statement
  }

  private func check(_ code: Int32) throws(StorageError) {
    guard code == SQLITE_OK else { throw error(code) }
  }

  private func error(_ code: Int32) -> StorageError {
    StorageError(code: code, String(cString: sqlite3_errmsg(handle)))
  }
}

/// A prepared statement; its connection finalises it.
private struct Statement {
  let pointer: OpaquePointer

  init(_ pointer: OpaquePointer) { self.pointer = pointer }

  func finalize() { sqlite3_finalize(pointer) }
  func step() -> Int32 { sqlite3_step(pointer) }

  func reset() {
    sqlite3_reset(pointer)
    sqlite3_clear_bindings(pointer)
  }

  func bind(_ value: SQLValue, at index: Int32) -> Int32 {
    switch value {
    case .null: return sqlite3_bind_null(pointer, index)
    case .integer(let number): return sqlite3_bind_int64(pointer, index, number)
    case .text(let text): return bind(text, at: index)
    case .blob([]): return sqlite3_bind_zeroblob(pointer, index, 0)
    case .blob(let bytes):
      return bytes.withUnsafeBytes { csqlite_bind_blob(pointer, index, $0.baseAddress, Int32(clamping: $0.count)) }
    }
  }

  private func bind(_ text: String, at index: Int32) -> Int32 {
    var text = text
    return text.withUTF8 { bytes in
      bytes.withMemoryRebound(to: CChar.self) {
        csqlite_bind_text(pointer, index, $0.baseAddress, Int32(clamping: $0.count))
      }
    }
  }

  var row: [SQLValue] { (0..<sqlite3_column_count(pointer)).map(value) }

  private func value(_ column: Int32) -> SQLValue {
    switch sqlite3_column_type(pointer, column) {
    case SQLITE_INTEGER: .integer(sqlite3_column_int64(pointer, column))
    case SQLITE_TEXT: .text(String(decoding: bytes(column), as: UTF8.self))
    case SQLITE_BLOB: .blob(bytes(column))
    default: .null
    }
  }

  private func bytes(_ column: Int32) -> [UInt8] {
    guard let start = sqlite3_column_blob(pointer, column) else { return [] }
    return Array(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(pointer, column))))
  }
}

extension SQLValue {
  /// The text; nil for anything else.
  var text: String? { if case .text(let text) = self { text } else { nil } }
  /// The number; nil for anything else.
  var integer: Int64? { if case .integer(let number) = self { number } else { nil } }
}
