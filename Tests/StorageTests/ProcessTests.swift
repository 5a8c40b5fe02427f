// How many processes have begun with the file: no two of them may give the same numbers.

import Foundation
import Members
import Testing

@testable import Storage

@Suite struct ProcessTests {
  private func count(_ folder: Folder) throws -> UInt64 { try folder.open { try $0.countProcess() } }

  @Test func eachProcessIsCounted() throws {
    let folder = try Folder()
    for process in 1...3 as ClosedRange<UInt64> { #expect(try count(folder) == process) }
    // Who only looks is none.
    _ = try folder.restored()
    try RecordFile.inspect(path: folder.file)
    #expect(try count(folder) == 4)
  }

  /// The next process must not begin with 1 again, only since this one has begun the file anew.
  @Test(arguments: ["removed", "damaged"]) func aFileThatIsBegunAnewKnowsOfIt(how: String) throws {
    let folder = try Folder()
    for _ in 0..<2 { _ = try count(folder) }
    try folder.open { file in
      let process = try file.countProcess()
      #expect(process == 3)
      if how == "removed" {
        try FileManager.default.removeItem(atPath: folder.file)
        #expect(file.applyError(.message(StoredMessage(1), forgetting: nil))?.kind == .replaced)
        try file.apply(.message(StoredMessage(1), forgetting: nil))
      } else {
        try file.setAside(because: StorageError(.damaged, "a bad page"), wallMilliseconds: 7)
      }
    }
    #expect(try count(folder) == 4)
  }

  @Test func aFullDiskStopsNobody() throws {
    let folder = try Folder()
    try folder.open { file in
      file.connection.map { try? $0.execute("PRAGMA query_only = ON") }
      let process = try file.countProcess()
      #expect(process == 1)
    }
    #expect(try count(folder) == 1, "it could not be written")
  }
}
