// The examples in Swift of docs/api.md are those that were compiled.
import Foundation
import Testing

@Suite struct DocumentedExamplesTests {
  private static func text(_ path: String) throws -> String {
    let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardized
    return try String(contentsOf: root.appending(path: path), encoding: .utf8)
  }

  private static func lines(_ text: some StringProtocol) -> [String] {
    text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
  }

  @Test func everyExampleOfTheDocumentIsCompiled() throws {
    let compiled = Self.lines(try Self.text("Tests/RoostAdminTests/DocumentedExamples.swift"))
    let examples = try Self.text("docs/api.md").components(separatedBy: "```swift\n").dropFirst().compactMap {
      $0.components(separatedBy: "```").first
    }
    #expect(examples.count == 1)
    for example in examples {
      let wanted = Self.lines(example)
      #expect(compiled.indices.contains { compiled[$0...].starts(with: wanted) }, "not compiled: \(example)")
    }
  }
}
