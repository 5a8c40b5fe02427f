// A directory of one's own and messages to put into a file there.

import Foundation
import Members
import RoostProtocol
import TestSupport
import Testing

@testable import Storage

typealias Folder = TemporaryFolder

extension TemporaryFolder {
  /// The database's path.
  var file: String { path("roost.db") }

  /// Opens the file, does something with it, and closes it.
  @discardableResult
  func open<Result>(at time: Int64 = 1000, _ body: (inout RecordFile) throws -> Result) throws -> Result {
    var file = try RecordFile(path: file, wallMilliseconds: time)
    return try body(&file)
  }

  /// Why it cannot be opened; nil when it can.
  func openingError() -> StorageError? {
    do throws(StorageError) {
      _ = try RecordFile(path: file, wallMilliseconds: 1000)
      return nil
    } catch {
      return error
    }
  }

  func restored(limit: Int = 1000) throws -> RestoredState { try open { try $0.restore { _, _ in limit } } }
}

extension StoredMessage {
  init(_ number: UInt64, room: String = "demo", text: String = "hello", to: [String]? = nil, clientMsgId: String? = nil)
  {
    self.init(
      number: number,
      message: Message(
        msgId: "m\(number)", room: room, ts: 1_700_000_000_000 + Int64(number), from: "anna", displayName: "Anna",
        to: to, text: text),
      clientMsgId: clientMsgId, delivered: 2)
  }
}

extension RecordFile {
  mutating func apply(_ changes: StoreChange...) throws(StorageError) {
    try apply(changes.map { RealmChange($0) }, wallMilliseconds: 2000)
  }

  /// Why a change is not taken; nil when it is.
  mutating func applyError(_ changes: StoreChange...) -> StorageError? {
    do throws(StorageError) {
      try apply(changes.map { RealmChange($0) }, wallMilliseconds: 2000)
      return nil
    } catch {
      return error
    }
  }
}
