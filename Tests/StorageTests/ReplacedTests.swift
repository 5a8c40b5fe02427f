// Files that are removed, replaced or written over while they are open: nothing of it is acknowledged.

import Foundation
import Members
import TestSupport
import Testing

@testable import Storage

@Suite struct ReplacedTests {
  private func mayBeWritten(_ how: String, _ folder: Folder) throws {
    let files = FileManager.default
    switch how {
    case "removed": for suffix in ["", "-wal", "-shm"] { try files.removeItem(atPath: folder.file + suffix) }
    case "removed alone": try files.removeItem(atPath: folder.file)
    case "log removed": try files.removeItem(atPath: folder.file + "-wal")
    case "renamed": try files.moveItem(atPath: folder.file, toPath: folder.file + ".old")
    case "replaced":
      try files.removeItem(atPath: folder.file)
      try Data().write(to: URL(filePath: folder.file))
    default: Issue.record("what is \(how)?")
    }
  }

  @Test(arguments: ["removed", "removed alone", "log removed", "renamed", "replaced"])
  func whatIsWrittenToAFileThatIsGoneIsNotStored(how: String) throws {
    let folder = try Folder()
    try folder.open { file in
      try file.apply(.message(StoredMessage(1), forgetting: nil))
      try mayBeWritten(how, folder)
      let error = file.applyError(.message(StoredMessage(2), forgetting: nil))
      #expect(error?.kind == .replaced, "\(error.map(String.init(describing:)) ?? "stored")")
      // It goes on in what is there now.
      try file.apply(.message(StoredMessage(2), forgetting: nil), .message(StoredMessage(3), forgetting: nil))
    }
    let found = try folder.restored().chats["demo"]?.map(\.number) ?? []
    #expect(found.suffix(2) == [2, 3], "\(found)")
  }

  /// The file is opened again where only its log was removed. Any descriptor of it that is closed then takes SQLite's locks along.
  @Test func aFileThatIsOpenedAgainIsLocked() throws {
    let folder = try Folder()
    try folder.open { file in
      try file.apply(.message(StoredMessage(1), forgetting: nil))
      #expect(try locks(of: folder.file) > 0, "this system shows them")
      try mayBeWritten("log removed", folder)
      #expect(file.applyError(.message(StoredMessage(2), forgetting: nil))?.kind == .replaced)
      try file.apply(.message(StoredMessage(2), forgetting: nil))
      #expect(try locks(of: folder.file) > 0)
    }
  }

  /// POSIX locks that this process has on a file. The file is not opened.
  private func locks(of path: String) throws -> Int {
    let inode = try #require(FileIdentity(path: path)).location.inode
    let lines = try String(contentsOfFile: "/proc/locks", encoding: .utf8).split(separator: "\n")
    return lines.map { $0.split(separator: " ") }.count { words in
      words.contains("POSIX") && words.contains("\(getpid())") && words.contains { $0.hasSuffix(":\(inode)") }
    }
  }

  @Test(arguments: ["garbage", "zeros", "cut off", "another program's"])
  func aFileThatIsWrittenOverIsFoundWithoutAWrite(how: String) throws {
    let folder = try Folder()
    try folder.open { file in
      for number in 1...200 { try file.apply(.message(StoredMessage(UInt64(number)), forgetting: nil)) }
      // All of it is in the file, and nothing in the log.
      try Database(path: folder.file).execute("PRAGMA wal_checkpoint(TRUNCATE)")
      try file.apply([], wallMilliseconds: 5)
      #expect(file.takeNotices().isEmpty)
      let handle = try FileHandle(forWritingTo: URL(filePath: folder.file))
      switch how {
      case "garbage": try handle.write(contentsOf: Data((0..<65_536).map { UInt8(truncatingIfNeeded: $0 &* 7) }))
      case "zeros": try handle.write(contentsOf: Data(count: 65_536))
      case "cut off": try handle.truncate(atOffset: 100)
      default:
        let other = folder.file + ".other"
        try Database(path: other).execute("CREATE TABLE theirs (a); INSERT INTO theirs VALUES (zeroblob(100000))")
        try handle.truncate(atOffset: 0)
        try handle.write(contentsOf: Data(contentsOf: URL(filePath: other)))
      }
      try handle.close()
      var found: StorageError?
      do throws(StorageError) { try file.apply([], wallMilliseconds: 9) } catch { found = error }
      let notices = file.takeNotices()
      try file.apply(.message(StoredMessage(500), forgetting: nil))
      #expect(notices.count == 1 && found == nil, "\(how): \(notices) \(String(describing: found))")
    }
  }

  /// What an operator may do to a database is no damage.
  @Test func aCheckpointOfSomebodyElseIsNoDamage() throws {
    let folder = try Folder()
    try folder.open { file in
      for number in 1...20 { try file.apply(.message(StoredMessage(UInt64(number)), forgetting: nil)) }
      try Database(path: folder.file).execute("PRAGMA wal_checkpoint(TRUNCATE)")
      try file.apply([], wallMilliseconds: 9)
      try file.apply(.message(StoredMessage(21), forgetting: nil))
      #expect(file.takeNotices().isEmpty)
    }
    #expect(try folder.restored().chats["demo"]?.count == 21)
  }
}
