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

  /// Each row names tests that there are.
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
      let names = row[4].matches(of: /(\w+Tests)\.(\w+)/)
      if names.isEmpty { untested.append(row[0]) }
      for name in names {
        let isThere = suites[String(name.1)]?.contains { $0.contains("func \(name.2)(") } ?? false
        #expect(isThere, "\(row[0]): there is no test \(name.0)")
      }
    }
    #expect(untested == [], "a bound without a test")
  }

  /// The tests against what has hit others, those of the page too.
  @Test func everyClassOfAttackHasItsTests() throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "..").standardized
    let text = try String(contentsOf: root.appending(path: "../docs/security.md"), encoding: .utf8)
    let rows = Document(text).rows(under: "## Classes of attack").dropFirst()
    #expect(rows.count == 9)
    for row in rows {
      #expect(row.count == 3 && !row[1].isEmpty)
      var found = 0
      for name in row[2].matches(of: /(\w+Tests\/\w+)\.(\w+)/) {
        let source = try String(contentsOf: root.appending(path: "\(name.1).swift"), encoding: .utf8)
        #expect(source.contains("func \(name.2)("), "\(row[0]): \(name.1) has no \(name.2)")
        found += 1
      }
      for name in row[2].matches(of: /(browser\/\w+)\.(\w+)/) {
        let source = try String(contentsOf: root.appending(path: "\(name.1).py"), encoding: .utf8)
        #expect(source.contains("def \(name.2)("), "\(row[0]): \(name.1) has no \(name.2)")
        found += 1
      }
      #expect(found > 0, "\(row[0]) names no test")
    }
  }

  /// The tests that are to show that requirements of ASVS V17 are met.
  @Test func everyNamedTestIsThere() throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "..").standardized
    let text = try String(contentsOf: root.appending(path: "../docs/security.md"), encoding: .utf8)
    let rows = Document(text).rows(under: "## OWASP ASVS 5.0, chapter V17").dropFirst()
    let numbers = rows.compactMap { $0[0].split(separator: " ").first.map(String.init) }
    #expect(numbers == [1, 2].map { "17.1.\($0)" } + (1...8).map { "17.2.\($0)" } + [1, 2].map { "17.3.\($0)" })
    var found = 0
    for row in rows {
      let names = row[2].matches(of: /(\w+Tests\/\w+)\.(\w+)/)
      #expect(!names.isEmpty || row[2].hasPrefix("none"), "\(row[0]) names a test, or says that there is none")
      for name in names {
        let source = try String(contentsOf: root.appending(path: "\(name.1).swift"), encoding: .utf8)
        #expect(source.contains("func \(name.2)("), "\(name.1) has no \(name.2)")
        found += 1
      }
    }
    #expect(found > 10)
  }
}
