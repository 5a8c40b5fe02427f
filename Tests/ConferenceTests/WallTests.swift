// The walls between the owners: sessions and rooms change by messages, time and a start alone, calls by the functions of the `Switchboard`,
// nobody else reaches what they keep, and the conference keeps nothing beside its owners. Read from the sources, as the compiler holds what
// is written there.

import Foundation
import Testing

@Suite struct WallTests {
  /// What an owner shows of itself, and what it must not.
  private struct Wall {
    /// Functions and setters that may change it and that others can call.
    var entries: Set<String> = []
    /// What it keeps.
    var stored: Set<String> = []
    /// What it keeps and others can see.
    var open: Set<String> = []
    /// What others can call and is handed it to change, or hands it on.
    var handed: Set<String> = []
    /// What it conforms to: a protocol may bring further ways in.
    var conformances: Set<String> = []

    /// Reads what these declarations say of a type.
    init(of type: String, in declarations: [Declaration]) {
      for declaration in declarations {
        let isOwn = declaration.scope == type
        if declaration.name == type, Declaration.types.contains(declaration.keyword) {
          conformances.formUnion(declaration.conformances)
        }
        if declaration.isOpen, Self.hands(declaration, type) { handed.insert(declaration.head) }
        guard isOwn, !declaration.modifiers.contains("static") else { continue }
        if declaration.isStored {
          stored.insert(declaration.name)
          if declaration.isOpen { open.insert(declaration.name) }
        } else if declaration.isOpen, declaration.isSettable || declaration.modifiers.contains("mutating") {
          entries.insert(declaration.name)
        }
      }
    }

    /// Whether it takes an owner to change, itself or in a closure.
    private static func hands(_ declaration: Declaration, _ type: String) -> Bool {
      let own = declaration.scope == type ? "|Self" : ""
      let pattern = #"(?:inout |UnsafeMutablePointer<)(?:\w+\.)*(?:\#(type)\#(own))\b"#
      return declaration.head.range(of: pattern, options: .regularExpression) != nil
    }

    /// Whether nobody but itself reaches what it keeps.
    var isClosed: Bool { open.isEmpty && handed.isEmpty && !stored.isEmpty && conformances == ["Sendable"] }
    /// Whether messages, time and a start are the only ways in.
    var stands: Bool { entries == ["apply", "poll", "restore"] && isClosed }
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
    let wall = Wall(of: owner, in: try Self.sources(owner).flatMap(Declaration.all))
    #expect(wall.stands, "\(wall)")
  }

  /// Calls change by a function for each request: docs/architecture.md. Nothing but those reaches what they keep.
  @Test func callsChangeByTheirOwnFunctionsAlone() throws {
    let wall = Wall(of: "Switchboard", in: try Self.sources("Calls").flatMap(Declaration.all))
    #expect(wall.isClosed && wall.entries.count > 20, "\(wall)")
  }

  /// Whoever decides which node decides: messages and time are the only ways in, and it knows nothing of what is decided.
  @Test func ownershipChangesByMessagesAndTimeAlone() throws {
    let sources = try Self.sources("Ownership")
    let wall = Wall(of: "Ownership", in: sources.flatMap(Declaration.all))
    #expect(wall.isClosed && wall.entries == ["apply", "poll"], "\(wall)")
    let known = sources.flatMap { $0.split(separator: "\n").filter { $0.contains("import ") && !$0.hasPrefix("//") } }
    #expect(Set(known) == ["import Basics", "import Names"])
    let opened = sources.map { $0.replacing("  var holdings = Holdings()", with: "  public var holdings = Holdings()") }
    #expect(!Wall(of: "Ownership", in: opened.flatMap(Declaration.all)).isClosed, "the control")
  }

  // MARK: - Controls

  /// Ways to open a wall, in words of their own: `OWNER` is the owner. What is indented stands in its struct.
  private static let openings = [
    "  package var extra: Int",
    "  public let extra: Int",
    "  package private(set) var extra = 0",
    "  package internal(set) var extra = 0",
    "  package var extra = 0 {\n    didSet {}\n  }",
    "  @usableFromInline package var extra = 0",
    "extension OWNER {\n  package mutating func extra() {}\n}",
    "extension OWNER {\n  @discardableResult package mutating func extra() -> Int { 0 }\n}",
    "extension OWNER {\n  @discardableResult\n  package mutating func extra() -> Int { 0 }\n}",
    "extension OWNER {\n  mutating package func extra() {}\n}",
    "package extension OWNER {\n  mutating func extra() {}\n}",
    "extension OWNER: CustomStringConvertible {\n  package mutating func extra() {}\n}",
    "extension OWNER: Emptied {}",
    "extension OWNER {\n  package subscript(id: Int) -> Int {\n    get { 0 }\n    set {}\n  }\n}",
    "extension OWNER {\n  package var extra: Int {\n    get { 0 }\n    set {}\n  }\n}",
    "extension OWNER {\n  package var extra: Int {\n    get { 0 }\n    _modify { yield &kept }\n  }\n}",
    "package func extra(_ owner: inout OWNER) {}",
    "enum Side {\n  package static func extra(\n    _ owner: inout OWNER, _ text: String = \"}\"\n  ) {}\n}",
    "extension OWNER {\n  package static func extra(_ owner: inout Self) {}\n}",
    "extension OWNER {\n  package static func extra(\n    _ change: (inout OWNER) -> Void\n  ) {}\n}",
    "enum Side {\n  package static let extra: @Sendable (inout OWNER) -> Void = { _ in }\n}",
  ]

  /// A wall in which something is opened does not stand.
  @Test(arguments: openings)
  func anOpenedWallIsSeen(_ opening: String) {
    for owner in ["Sessions", "Rooms"] {
      let text = opening.replacing("OWNER", with: owner)
      let isInside = text.hasPrefix(" ")
      let structure = "package struct \(owner): Sendable {\n  var kept = 0\n\(isInside ? text : "")\n}\n"
      let ways = "extension \(owner) {\n  package mutating func apply() {}\n  package mutating func poll() {}\n"
      let rest = "  package mutating func restore() {}\n}\n"
      let plain = Declaration.all(in: structure.replacing(text, with: "") + ways + rest)
      #expect(Wall(of: owner, in: plain).stands, "without it")
      let opened = Declaration.all(in: structure + ways + rest + (isInside ? "" : text + "\n"))
      #expect(!Wall(of: owner, in: opened).stands)
    }
  }

  /// What opens nothing: looks, what only the target sees, what is somebody else's.
  @Test(arguments: [
    "extension OWNER {\n  package var extra: Int { kept }\n}",
    "extension OWNER {\n  package var extra: Set<Int> { Set(table.map { $0.set }) }\n}",
    "extension OWNER {\n  package func extra(_ id: Int) -> Int { kept }\n}",
    "extension OWNER {\n  mutating func extra() {}\n}",
    "extension OWNER {\n  private mutating func extra(\n    _ id: Int\n  ) {}\n}",
    "package struct Other {\n  package var extra = 0\n  package mutating func change() {}\n}",
    "extension OWNER {\n  package struct Other {\n    package var extra = 0\n  }\n}",
    "// package func extra(_ owner: inout OWNER) {}",
    "package func extra(_ owner: OWNER) -> String { \"inout \\(owner) {\" }",
  ])
  func whatOpensNothingPasses(_ text: String) {
    let source = "package struct Rooms: Sendable {\n  var kept = 0\n  var waits: [Int] = [1].map { $0 }\n}\n"
    let ways = ["apply", "poll", "restore"].map { "extension Rooms {\n  package mutating func \($0)() {}\n}\n" }
      .joined()
    let all = Declaration.all(in: source + ways + text.replacing("OWNER", with: "Rooms"))
    let wall = Wall(of: "Rooms", in: all)
    #expect(wall.stands && wall.stored == ["kept", "waits"], "\(wall)")
  }

  /// The control in the sources themselves: they are read to their ends.
  @Test(arguments: ["Sessions", "Rooms"])
  func whatIsOpenedInTheSourcesIsSeen(_ owner: String) throws {
    let opened = try Self.sources(owner).map {
      $0.replacing("  var table: SessionTable", with: "  package var table: SessionTable")
        .replacing("  var seating: Seating", with: "  public var seating: Seating")
    }
    #expect(!Wall(of: owner, in: opened.flatMap(Declaration.all)).stands)
    for source in try Self.sources(owner) {
      let side = source + "extension \(owner) {\n  package mutating func evict() {}\n}\n"
      #expect(Wall(of: owner, in: Declaration.all(in: side)).entries.contains("evict"), "\(source.prefix(200))")
    }
  }

  // MARK: - Who knows whom

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
    let wall = Wall(of: "ConferenceCore", in: try Self.sources("Conference").flatMap(Declaration.all))
    #expect(wall.stored == ["sessions", "rooms", "calls", "storing", "asking", "numbers", "budgets"])
    #expect(wall.open.isEmpty)
  }
}
