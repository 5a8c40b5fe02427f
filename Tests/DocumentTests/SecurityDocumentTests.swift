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
}
