// The documents name the files that they are about: each of those files is there.

import Foundation
import Testing

struct FileNameTests {
  private static let root = SourceFiles.root

  /// Paths of all source files, from the root; those of `Sources` by target and name too.
  private static let sources: Set<String> = {
    let folders = ["Sources", "Samples", "Tests", "loadtest", "Fuzz", "scripts"]
    let paths = folders.flatMap { folder in files(in: folder).map { "\(folder)/\($0)" } }
    return Set(paths + SourceFiles.paths.keys + ["/Package.swift"])
  }()

  private static func files(in folder: String) -> [String] {
    let paths = FileManager.default.enumerator(atPath: root.appending(path: folder).path)
    return paths?.compactMap { $0 as? String } ?? []
  }

  private static var documents: [String] {
    files(in: "docs").filter { $0.hasSuffix(".md") }.map { "docs/\($0)" } + ["README.md", "CONTRIBUTING.md"]
  }

  /// Names of files in a text that are none, as a document may write them: with folders before them or without.
  private static func wrongNames(in text: String) -> [String] {
    text.matches(of: /`([\w+.\/-]+\.(?:swift|js|py|c|h))`/).map { String($0.1) }
      .filter { name in !sources.contains { $0 == name || $0.hasSuffix("/\(name)") } }
  }

  @Test func documentsNameFilesThatAreThere() throws {
    #expect(Self.documents.count > 15 && Self.sources.count > 400)
    for document in Self.documents {
      let text = try String(contentsOf: Self.root.appending(path: document), encoding: .utf8)
      #expect(Self.wrongNames(in: text) == [], "\(document)")
    }
  }

  @Test func aFileThatIsGoneIsFound() {
    #expect(
      Self.wrongNames(in: "`Media/WorkerState.swift` and `Media/Gone.swift`, `Gone.js`") == [
        "Media/Gone.swift", "Gone.js",
      ])
  }
}
