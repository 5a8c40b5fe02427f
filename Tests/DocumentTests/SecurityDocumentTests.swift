// docs/security.md names constants and files: they must be there.

import Foundation
import Testing

@Suite struct SecurityDocumentTests {
  @Test func everyBoundIsWhereItIsSaidToBe() throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardized
    let text = try String(contentsOf: root.appending(path: "docs/security.md"), encoding: .utf8)
    let rows = Document(text).rows(under: "## Everything that is read is bounded").dropFirst()
    #expect(rows.count > 40)
    for row in rows {
      let (constant, path) = (row[2], row[3])
      let source = try String(contentsOf: root.appending(path: "Sources/\(path)"), encoding: .utf8)
      let declares = source.split(separator: "\n").contains { line in
        ["let ", "var ", "enum ", ": Int", "capacity:", "maximumStreams:", "packetCapacity:"].contains {
          line.contains($0)
        }
          && line.contains(constant)
      }
      #expect(declares, "\(path) has no \(constant)")
    }
  }

  /// Each row names a test that there is; of those without any there are no more than there were.
  @Test func everyBoundNamesItsTest() throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardized
    let text = try String(contentsOf: root.appending(path: "docs/security.md"), encoding: .utf8)
    let rows = Document(text).rows(under: "## Everything that is read is bounded").dropFirst()
    var suites: [String: [String]] = [:]
    let files = try #require(
      FileManager.default.enumerator(at: root.appending(path: "Tests"), includingPropertiesForKeys: nil))
    for case let file as URL in files where file.pathExtension == "swift" {
      let name = file.deletingPathExtension().lastPathComponent
      suites[name, default: []].append(try String(contentsOf: file, encoding: .utf8))
    }
    var untested: [String] = []
    for row in rows {
      let parts = row[4].split(separator: ".").map(String.init)
      guard parts.count == 2 else {
        #expect(row[4] == "none", "\(row[0])")
        untested.append(row[0])
        continue
      }
      let isThere = suites[parts[0]]?.contains { $0.contains("func \(parts[1])(") } ?? false
      #expect(isThere, "\(row[0]): there is no test \(row[4])")
    }
    #expect(untested.count <= 8, "\(untested)")
  }
}
