// What scripts/wire makes of the protocol's declarations is current, and what it cannot read it names by file and line.

import Foundation
import Testing

struct WireTests {
  private static let messages = "Sources/wire/RoostProtocol/messages"

  @Test func whatFollowsFromTheDeclarationsIsCurrent() throws {
    let (status, said) = try SourceFiles.script("wire", ["--check"])
    #expect(status == 0, "\(said)")
  }

  /// A copy of what the script reads and writes.
  private func copy() throws -> URL {
    let folder = FileManager.default.temporaryDirectory.appending(path: "wire-\(UUID())")
    for path in [
      "Sources/wire/RoostProtocol", "Sources/doors/API", "Sources/clients/RoostAdmin", "docs/openapi.json",
      "docs/protocol.md",
      "docs/protocol.schema.json",
      "Sources/clients/WebClient/Assets/roost.d.ts", "Fuzz/Targets/MethodFields.swift",
    ] {
      let target = folder.appending(path: path)
      try FileManager.default.createDirectory(
        at: target.deletingLastPathComponent(), withIntermediateDirectories: true)
      try FileManager.default.copyItem(at: SourceFiles.root.appending(path: path), to: target)
    }
    return folder
  }

  /// The controls: a field that is renamed, one without a comment, without a bound, with one that does not do, or of a type that nobody
  /// knows, a rule that nobody would ask for, a method without its result or with one that is no reply.
  @Test(arguments: [
    (
      "RoomMessages.swift", "public var speakers: [Speaker]", "public var talkers: [Speaker]",
      "FieldWriters.swift is not"
    ),
    ("RoomMessages.swift", "// Params, results", "// Results, params", ""),
    ("RoomMessages.swift", "public var speakers: [Speaker]", "public var speakers: [Whisperer]", "and not `Whisperer`"),
    (
      "RoomMessages.swift", "public var speakers: [Speaker]", "public var speakers: [String: Speaker]",
      "expected a name, a list"
    ),
    ("RoomMessages.swift", "  /// Who speaks, loudest first; empty for silence.\n", "", "expected a comment"),
    ("Request.swift", "// room.leave -> {}, weight 1", "// room.leave", "expected `// method -> Result, weight 1`"),
    (
      "Request.swift", "// room.join -> RoomSnapshot", "// room.join -> Speaker",
      "expected a case of Reply with `Speaker`"
    ),
    ("Event.swift", "// room.knock", "// room.closed", "expected `room.closed` once"),
    (
      "RoomMessages.swift", "public var after: String?  // name", "public var after: String?",
      "expected a bound of `after`"
    ),
    (
      "ModerationMessages.swift", "public var hold: Bool?", "public var hold: String?", "expected a bound of `hold`"
    ),
    ("MediaMessages.swift", "[AnnouncedTrack]?  // rule", "[AnnouncedTrack]?", "expected a bound of `tracks`"),
    ("RoomMessages.swift", "public var room: String  // name", "public var room: String  // id", "expected `// name`"),
    (
      "ViewMessages.swift", "  public var trackId: String?\n  /// What to show",
      "  public var trackId: String?  // id\n  /// What to show",
      "expected no bound behind `trackId`"
    ),
    (
      "RoomMessages.swift", "  public var after: String?", "  public private(set) var after: String?",
      "expected `public var"
    ),
    (
      "../../../doors/API/Objects.swift", "public var locked: Bool\n", "public var isLocked: Bool\n",
      "docs/openapi.json is not"
    ),
    ("../../../doors/API/Operations.swift", "-> RoomPage", "-> RoomPge", "and not `RoomPge`"),
    ("../../../doors/API/Operations.swift", "// GET /rooms ?page", "// GET rooms ?page", "METHOD /path"),
    ("../../../doors/API/Operations.swift", "?page -> RoomPage", "?page If-Match? -> RoomPage", "METHOD /path"),
    (
      "../../../doors/API/Operations.swift", "?page -> RoomPage", "?page If-Match! -> RoomPage",
      "clients/RoostAdmin/generated/Operations.swift is not"
    ),
    (
      "../../../doors/API/Objects.swift", "  /// Seats.\n", "  /// Chairs.\n",
      "clients/RoostAdmin/generated/Objects.swift is not"
    ),
    ("../frames/Validation.swift", "extension ViewShowParams: HasRule", "extension ViewShowParams", ": HasRule"),
  ]) func anotherDeclarationIsFound(file: String, old: String, new: String, complaint: String) throws {
    let folder = try copy()
    defer { try? FileManager.default.removeItem(at: folder) }
    let source = folder.appending(path: "\(Self.messages)/\(file)")
    let text = try String(contentsOf: source, encoding: .utf8)
    try text.replacing(old, with: new).write(to: source, atomically: true, encoding: .utf8)
    let (status, said) = try SourceFiles.script("wire", ["--check", "--root", folder.path])
    if complaint.isEmpty {
      #expect(status == 0, "what is as it was passes: \(said)")
    } else {
      #expect(status == 1 << 8 && said.contains(complaint), "\(said)")
      #expect(!complaint.hasPrefix("expected") || said.contains("\(Self.messages)/\(file):"), "\(said)")
    }
  }
}
