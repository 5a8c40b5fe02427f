// docs/security.md names constants and files: they must be there.

import Foundation
import Testing

@Suite struct SecurityDocumentTests {
  @Test func everyBoundIsWhereItIsSaidToBe() throws {
    let root = SourceFiles.root
    let text = try String(contentsOf: root.appending(path: "docs/security.md"), encoding: .utf8)
    let rows = Document(text).rows(under: "## Everything that is read is bounded").dropFirst()
    #expect(rows.count > 40)
    for row in rows {
      let (constant, path) = (row[2], row[3])
      let source = try SourceFiles.text(path)
      let declares = source.split(separator: "\n").contains { line in
        ["let ", "var ", "enum ", ": Int", "capacity:", "maximumStreams:", "packetCapacity:"].contains {
          line.contains($0)
        }
          && line.contains(constant)
      }
      #expect(declares, "\(path) has no \(constant)")
    }
  }

  /// What these files declare and the table does not name with them.
  private static let rowless: [String: Set<String>] = [
    "RoostProtocol/Limits.swift": [
      // A beginning of names, and what a client gets that does not say how much: nothing is refused for them.
      "callRoomPrefix", "defaultPage",
    ],
    "Calls/CallRules.swift": [],
    "Members/Rules.swift": [
      // The row of `videoSeats` is for both.
      "audioSeats",
      // Who is heard and seen; the server keeps nothing for it.
      "videoLastN", "loudest",
      // What a client is asked for; what it sends is bounded by `soundBitsPerSecond`.
      "maxBitsPerSecond",
      // They repeat a bound that has a row of its own: `mostReplayBytes`, and the protocol's `textBytes` and
      // `messageBytes`.
      "replayBytes", "chatBytes", "messageBytes",
      // Its row has the name that an operator writes, in the configuration.
      "userRequestsPerSecond", "userRequestBurst",
    ],
  ]

  /// Numbers, ranges and constants that the source of a file declares and no row names with that file.
  private static func withoutRow(_ source: String, of path: String, _ rows: [[String]]) -> Set<String> {
    let named = Set(rows.filter { $0[3] == path }.map { rate($0[2]) })
    let declared = source.split(separator: "\n").compactMap { line -> String? in
      let found = line.firstMatch(
        of: /public (?:static let (\w+)|var (\w+)(?:: Int\?$| = (?:\d|ProtocolLimits\.|Self\.|.*\.\.\.)))/)
      return found.flatMap { $0.1 ?? $0.2 }.map(String.init)
    }
    return Set(declared.filter { !named.contains(rate($0)) })
  }

  /// So much a second and so much at once are one bound, and one row.
  private static func rate(_ name: String) -> String {
    if let match = name.wholeMatch(of: /(\w+?)s?PerSecond/) { return String(match.1) }
    return name.wholeMatch(of: /(\w+)Burst/).map { String($0.1) } ?? name
  }

  /// Whoever adds a bound adds a row, or says above why there is none.
  @Test(arguments: rowless.keys.sorted()) func everyBoundHasARow(_ path: String) throws {
    let root = SourceFiles.root
    let text = try String(contentsOf: root.appending(path: "docs/security.md"), encoding: .utf8)
    let rows = Array(Document(text).rows(under: "## Everything that is read is bounded").dropFirst())
    let source = try SourceFiles.text(path)
    let known = try #require(Self.rowless[path])
    #expect(Self.withoutRow(source, of: path, rows) == known)
    // The control: bounds that somebody has just made up.
    let more = """
        public static let madeUpBytes = 7
        public var maxMadeUp = 1_000
        public var madeUpRange = TimeDelta.seconds(1)...TimeDelta.seconds(2)
        public var madeUp: Int?
        public var madeUpThingsPerSecond = 2.0
        public var resumeGrace = TimeDelta.seconds(15)
      """
    let found = Self.withoutRow(source + "\n" + more, of: path, rows).subtracting(known)
    #expect(found == ["madeUpBytes", "maxMadeUp", "madeUpRange", "madeUp", "madeUpThingsPerSecond"])
  }

  /// Each row names tests that there are.
  @Test func everyBoundNamesItsTest() throws {
    let root = SourceFiles.root
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
