// The walls between the owners: sessions and rooms change by messages, time and a start alone, nobody else reaches what they keep, and the
// conference keeps nothing beside its owners. Read from the sources, as the compiler holds what is written there.

import Foundation
import Testing

@Suite struct WallTests {
  /// What an owner shows of itself, and what it must not.
  private struct Wall {
    /// Functions that may change it and that others can call.
    var entries: Set<String> = []
    /// What it keeps.
    var stored: Set<String> = []
    /// What it keeps and others can see.
    var open: Set<String> = []
    /// Functions outside of it that are handed it to change.
    var handed: Set<String> = []

    /// Reads what these sources say of a type.
    init(of type: String, in sources: [String]) throws {
      let function = try Regex(#"^  (?:public|package) (?:static )?mutating (?:func (\w+)|subscript)"#)
      let property = try Regex(
        #"^  ((?:public|package|private|fileprivate) )?((?:public|package|private)\(set\) )?(?:let|var) (\w+)"#)
      let handing = try Regex("(?:public|package) .*inout \(type)\\b")
      for source in sources {
        var (isInside, isStruct) = (false, false)
        for line in source.split(separator: "\n", omittingEmptySubsequences: false).map(String.init) {
          if line.hasPrefix("}") { isInside = false }
          if line.contains("struct \(type)") || line.contains("extension \(type) {") {
            (isInside, isStruct) = (true, line.contains("struct \(type)"))
          }
          if line.firstMatch(of: handing) != nil { handed.insert(line) }
          guard isInside else { continue }
          if let found = line.firstMatch(of: function) {
            entries.insert(String(found.output[1].substring ?? "subscript"))
          }
          guard isStruct, !line.contains("{"), let found = line.firstMatch(of: property) else { continue }
          let name = String(found.output[3].substring ?? "")
          stored.insert(name)
          if let access = found.output[1].substring, access.hasPrefix("p"), !access.hasPrefix("private") {
            open.insert(name)
          }
        }
      }
    }

    /// Whether messages, time and a start are the only ways in.
    var stands: Bool { entries == ["apply", "poll", "restore"] && open.isEmpty && handed.isEmpty && !stored.isEmpty }
  }

  private static let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Sources/rules")

  private static func sources(_ target: String) throws -> [String] {
    let folder = root.appending(path: target)
    let files = try #require(FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil))
    let sources = files.compactMap { $0 as? URL }.filter { $0.pathExtension == "swift" }
    #expect(sources.count > 5)
    return try sources.map { try String(contentsOf: $0, encoding: .utf8) }
  }

  @Test(arguments: ["Sessions", "Rooms"])
  func ownersChangeByMessagesAlone(_ owner: String) throws {
    let sources = try Self.sources(owner)
    let wall = try Wall(of: owner, in: sources)
    #expect(wall.stands, "\(wall)")
  }

  /// The control: a copy in which something is opened does not pass.
  @Test(arguments: ["Sessions", "Rooms"])
  func anOpenedWallIsSeen(_ owner: String) throws {
    let sources = try Self.sources(owner)
    let openState = sources.map {
      $0.replacing("  var table: SessionTable", with: "  package var table: SessionTable")
        .replacing("  var seating: Seating", with: "  public var seating: Seating")
    }
    #expect(try !Wall(of: owner, in: openState).stands, "its state")
    let side = "extension \(owner) {\n  package mutating func evict() {}\n}\n"
    #expect(try !Wall(of: owner, in: sources + [side]).stands, "another way in")
    let handed = "package func evict(_ owner: inout \(owner)) {}\n"
    #expect(try !Wall(of: owner, in: sources + [handed]).stands, "one that is handed to others")
  }

  /// Sessions and rooms do not know each other, and neither knows who routes between them.
  @Test func ownersDoNotKnowEachOther() throws {
    for (owner, others) in [
      "Sessions": ["Rooms", "Conference"], "Rooms": ["Sessions", "Conference"],
      "Members": ["Sessions", "Rooms", "Conference"],
    ] {
      for source in try Self.sources(owner) {
        for other in others { #expect(!source.contains("import \(other)\n"), "\(owner) imports \(other)") }
      }
    }
  }

  /// Beside its owners and their numbers the conference keeps what waits for the disk or the application, and what everybody may still ask for: docs/house.md.
  @Test func theConferenceKeepsItsOwnersAlone() throws {
    let wall = try Wall(of: "ConferenceCore", in: try Self.sources("Conference"))
    #expect(wall.stored == ["sessions", "rooms", "calls", "storing", "asking", "numbers", "budgets"])
    #expect(wall.open.isEmpty)
  }
}
