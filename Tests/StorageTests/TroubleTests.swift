// Full disks, damaged files, files of others and of later versions: a clear error, and nothing made worse.

import Foundation
import Members
import RoostProtocol
import Testing

@testable import Storage

@Suite struct TroubleTests {
  @Test func aFullDiskRefusesAndTakesAgainWhenThereIsSpace() throws {
    let folder = try Folder()
    let big = String(repeating: "x", count: 8000)
    try folder.open { file in
      // A message takes two.
      file.limitGrowth(5)
      var error: StorageError?
      var number: UInt64 = 0
      while error == nil {
        number += 1
        error = file.applyError(.message(StoredMessage(number, text: big), forgetting: nil))
      }
      #expect(error?.kind == .full && error?.remedy.contains("space") == true)
      let again = file.applyError(.message(StoredMessage(number, text: big), forgetting: nil))
      #expect(again?.kind == .full)
      file.limitGrowth(100_000)
      try file.apply(.message(StoredMessage(number, text: big), forgetting: nil))
    }
    #expect(try folder.restored().lastNumber > 1)
  }

  @Test(arguments: ["garbage", "a flipped page", "cut off"]) func aDamagedFileIsSetAside(how: String) throws {
    let folder = try Folder()
    try folder.open { file in
      let text = String(repeating: "y", count: 2000)
      for number in 1...200 { try file.apply(.message(StoredMessage(UInt64(number), text: text), forgetting: nil)) }
    }
    try damage(folder.file, how)
    let notices = try folder.open(at: 77) { file in
      try file.apply(.message(StoredMessage(500), forgetting: nil))
      return file.takeNotices()
    }
    guard case .setAside(let name, let error) = try #require(notices.first) else {
      Issue.record("nothing was set aside: \(notices)")
      return
    }
    #expect(notices.count == 1 && name == folder.file + ".damaged-77" && error.kind == .damaged)
    #expect(folder.names.contains("roost.db.damaged-77"))
    #expect(try folder.restored().chats["demo"]?.map(\.number) == [500])
  }

  /// Damage shows when a page is read; the file is then set aside under way, and the change is in the new one.
  @Test func aFileThatIsDamagedUnderWayIsSetAside() throws {
    let folder = try Folder()
    let text = String(repeating: "z", count: 8000)
    try folder.open { file in
      for number in 1...1000 { try file.apply(.message(StoredMessage(UInt64(number), text: text), forgetting: nil)) }
    }
    let notices = try folder.open(at: 5) { file in
      let size = try #require(FileManager.default.attributesOfItem(atPath: folder.file)[.size] as? Int)
      let handle = try #require(FileHandle(forWritingAtPath: folder.file))
      try handle.seek(toOffset: 4096)
      try handle.write(contentsOf: Data(repeating: 0xa5, count: size - 4096))
      try handle.close()
      try file.apply(.forgetRoom("demo"), .message(StoredMessage(2000), forgetting: nil))
      return file.takeNotices()
    }
    #expect(notices.count == 1)
    #expect(try folder.restored().chats["demo"]?.map(\.number) == [2000])
  }

  @Test func oneProcessAtATime() throws {
    let folder = try Folder()
    try folder.open { _ in #expect(folder.openingError()?.kind == .inUse) }
    #expect(folder.openingError() == nil)
  }

  @Test func aPlaceThatDoesNotExistIsSaid() throws {
    var kind: StorageError.Kind?
    do throws(StorageError) {
      _ = try RecordFile(path: "/nonexistent/roost.db", wallMilliseconds: 0)
    } catch {
      kind = error.kind
    }
    #expect(kind == .cannotOpen)
  }

  @Test func databasesOfOthersAndOfLaterVersionsAreNotTouched() throws {
    let foreign = try Folder()
    try Database(path: foreign.file).execute("CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1)")
    #expect(foreign.openingError()?.kind == .foreign)
    let theirs = try Database(path: foreign.file)
    #expect(try theirs.number("SELECT count(*) FROM theirs") == 1)
    #expect(try theirs.query("PRAGMA journal_mode").first?.first?.text == "delete", "nor how it is written")

    let later = try Folder()
    try later.open { try $0.apply(.message(StoredMessage(1), forgetting: nil)) }
    try Database(path: later.file).execute("PRAGMA user_version = 99")
    #expect(later.openingError()?.kind == .tooNew)
    #expect(try Database(path: later.file).number("SELECT count(*) FROM message") == 1)
  }

  @Test func othersOnTheMachineCannotReadIt() throws {
    let folder = try Folder()
    try folder.open { try $0.apply(.message(StoredMessage(1), forgetting: nil)) }
    for name in folder.names {
      let attributes = try FileManager.default.attributesOfItem(atPath: folder.path(name))
      #expect(attributes[.posixPermissions] as? Int == 0o600, "\(name)")
    }
  }

  private func damage(_ path: String, _ how: String) throws {
    let handle = try #require(FileHandle(forWritingAtPath: path))
    defer { try? handle.close() }
    switch how {
    case "garbage": try handle.write(contentsOf: Data(repeating: 0x5a, count: 8192))
    case "cut off": try handle.truncate(atOffset: 40_000)
    default:
      try handle.seek(toOffset: 4096 * 10)
      try handle.write(contentsOf: Data(repeating: 0xff, count: 4096))
    }
  }
}
