// The counts of docs/house.md: who may change a type, and what it keeps, counted in the sources.

import Foundation
import Testing

@Suite struct HouseTests {
  /// A row of a table: the type, the file or folder that says where it is, and the number that follows.
  private struct Row: CustomStringConvertible {
    let type: String
    let place: String
    let number: Int
    var description: String { "\(type) \(number)" }
  }

  private static let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")

  /// The rows of the table below a line that begins so.
  private static func rows(below heading: String, number column: Int) throws -> [Row] {
    let text = try String(contentsOf: root.appending(path: "docs/house.md"), encoding: .utf8)
    let section = try #require(text.components(separatedBy: "\n## \(heading)\n").dropFirst().first)
    let lines = section.components(separatedBy: "\n## ")[0].split(separator: "\n").filter { $0.hasPrefix("| `") }
    return try lines.map { line in
      let cells = line.split(separator: "|", omittingEmptySubsequences: false).map { String($0) }
      let words = cells[1].split(separator: "`").map(String.init)
      let number = try #require(Int(cells[column].trimmingCharacters(in: .whitespaces)), "\(line)")
      return Row(type: words[1], place: words.count > 3 ? words[3] : "", number: number)
    }
  }

  /// All declarations of a target, by its name.
  private static func declarations(of target: String) throws -> [Declaration] {
    let sources = try #require(
      FileManager.default.enumerator(at: root.appending(path: "Sources"), includingPropertiesForKeys: nil))
    let files = sources.compactMap { $0 as? URL }.filter {
      $0.pathExtension == "swift" && $0.pathComponents.contains(target)
    }
    #expect(!files.isEmpty, "\(target)")
    return try files.flatMap { Declaration.all(in: try String(contentsOf: $0, encoding: .utf8)) }
  }

  /// Functions that may change a type: its own, initialisers and subscripts too, and those of others that are handed it.
  private static func reach(of type: String, in declarations: [Declaration]) throws -> Int {
    let handed = try Regex(#"inout (?:\w+\.)*\#(type)\b"#)
    return declarations.count { declaration in
      guard ["func", "init", "subscript"].contains(declaration.keyword) else { return false }
      return declaration.scope == type || declaration.head.firstMatch(of: handed) != nil
    }
  }

  @Test func nobodyMayChangeMoreThanIsSaid() throws {
    let rows = try Self.rows(below: "Who may change what", number: 3)
    #expect(rows.count > 8)
    for row in rows {
      let reach = try Self.reach(of: row.type, in: Self.declarations(of: row.place))
      #expect(reach <= row.number && row.number - reach <= 5, "\(row.type): \(reach), the table has \(row.number)")
      #expect(row.number <= 60 || row.type == "Tables")
    }
  }

  @Test func whatTypesKeepIsWhatIsSaid() throws {
    let rows = try Self.rows(below: "Types that are larger than the rest", number: 2)
    #expect(rows.count > 8)
    for row in rows {
      let target = try #require(row.place.split(separator: "/").first)
      let stored = try Self.declarations(of: String(target)).filter { $0.scope == row.type && $0.isStored }
      #expect(stored.count == row.number, "\(row.type): \(stored.count), the table has \(row.number)")
    }
  }
}
