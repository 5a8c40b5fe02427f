// docs/scenarios.md names a test for each of the fifty-nine scenarios: they must be there.

import Foundation
import Testing

@Suite struct ScenarioDocumentTests {
  private let root = SourceFiles.root

  @Test func everyScenarioHasItsTest() throws {
    let text = try String(contentsOf: root.appending(path: "docs/scenarios.md"), encoding: .utf8)
    let rows = text.matches(of: #/(?m)^\| (\d+) \| `(\w+)` \|$/#).map { ($0.output.1, $0.output.2) }
    #expect(rows.map(\.0) == (1...60).map { Substring("\($0)") })
    let sources = try sources()
    for (number, name) in rows {
      #expect(name.hasPrefix(number.count == 1 ? "scenario0\(number)" : "scenario\(number)"))
      #expect(sources.contains("func \(name)("), "no test \(name)")
    }
  }

  /// Every end-to-end test, each function behind its `@Test` alone.
  private func sources() throws -> String {
    let directory = root.appending(path: "Tests/EndToEndTests")
    let files = try #require(FileManager.default.enumerator(at: directory, includingPropertiesForKeys: nil))
    var result = ""
    for case let file as URL in files where file.pathExtension == "swift" {
      let text = try String(contentsOf: file, encoding: .utf8)
      result += text.matches(of: #/@Test(?:\((?:[^()]|\([^()]*\))*\))?\s+func \w+\(/#).map { String($0.output) }
        .joined()
    }
    return result
  }
}
