// The examples in docs/roost-client.md are those that were compiled.
import Foundation
import Testing

@Suite struct DocumentedExamplesTests {
  private static func text(_ path: String) throws -> String {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    return try String(contentsOf: root.appending(path: path), encoding: .utf8)
  }

  private static func lines(_ text: some StringProtocol) -> [String] {
    text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
  }

  @Test func everyExampleOfTheDocumentIsCompiled() throws {
    let document = try Self.text("docs/roost-client.md")
    let compiled = Self.lines(try Self.text("Tests/RoostClientTests/DocumentedExamples.swift"))
    let examples = document.components(separatedBy: "```swift\n").dropFirst().compactMap {
      $0.components(separatedBy: "```").first
    }
    #expect(examples.count == 23)
    for example in examples {
      let wanted = Self.lines(example)
      let isThere = compiled.indices.contains { compiled[$0...].starts(with: wanted) }
      #expect(isThere, "not compiled as it stands: \(example)")
    }
  }
}
