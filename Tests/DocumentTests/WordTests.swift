// docs/architecture.md says what the project's words mean: each type that it names is there, and no word stands there twice.

import Foundation
import Testing

struct WordTests {
  /// The rows of the list: the word, and what it is.
  private static func rows(of document: String) throws -> [(word: String, meaning: String)] {
    let begin = try #require(document.range(of: "<!-- words: begin -->"))
    let end = try #require(document.range(of: "<!-- words: end -->"))
    return document[begin.upperBound..<end.lowerBound].split(separator: "\n").dropFirst(2).map { row in
      let cells = row.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
      return (cells.first ?? "", cells.dropFirst().joined(separator: "|"))
    }
  }

  /// Every type that `Sources` declares.
  private static let types: Set<String> = {
    let declaration = /\b(?:struct|enum|class|protocol|actor|typealias) ([A-Z]\w*)/
    let texts = SourceFiles.paths.values.compactMap { path in
      try? String(contentsOf: SourceFiles.root.appending(path: path), encoding: .utf8)
    }
    return Set(texts.flatMap { $0.matches(of: declaration).map { String($0.1) } })
  }()

  private static func unknownTypes(in rows: [(word: String, meaning: String)]) -> [String] {
    rows.flatMap { row in row.meaning.matches(of: /`([A-Z]\w*)`/).map { String($0.1) } }.filter { !types.contains($0) }
  }

  @Test func theListNamesTypesThatAreThere() throws {
    let rows = try Self.rows(
      of: String(contentsOf: SourceFiles.root.appending(path: "docs/architecture.md"), encoding: .utf8))
    #expect(rows.count >= 40)
    #expect(rows.map(\.word) == rows.map(\.word).sorted())
    #expect(Set(rows.map(\.word)).count == rows.count)
    #expect(rows.allSatisfy { $0.meaning.count > 10 })
    #expect(Self.unknownTypes(in: rows) == [])
  }

  @Test func aTypeThatIsGoneIsFound() {
    #expect(
      Self.unknownTypes(in: [("seat", "somebody's being in a room (`Seat`)"), ("chair", "(`Chair`)")]) == ["Chair"])
  }
}
