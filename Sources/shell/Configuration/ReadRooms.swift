// The part of rooms.yaml that gave it its name: kinds, named rooms, and what happens to unknown names.
import Basics
import Names
import RoostProtocol

extension ServerConfiguration {
  mutating func readRooms(_ root: inout Section) {
    let builtIn = kinds
    let written = root.names("kinds") { name, mark, keys in
      checkName(name, mark, keys)
      var kind = builtIn[name] ?? RoomSettings(kind: name)
      kind.readSettings(&keys)
      return kind
    }
    kinds.merge(written ?? [:]) { _, new in new }
    let kinds = kinds
    rooms = root.namedRooms(kinds: kinds) ?? rooms
    root.read("unknown_rooms", .unknownRooms(kinds: kinds), &unknownRooms)
  }
}

extension Section {
  /// The named rooms of a realm; nil where none are written.
  mutating func namedRooms(kinds: [String: RoomSettings]) -> [String: RoomSettings]? {
    names("rooms") { name, mark, keys in
      checkName(name, mark, keys)
      return RoomSettings(room: name, mark, &keys, kinds: kinds)
    }
  }
}

/// The protocol's own rule, or nobody could join by this name; `call:` belongs to the rooms of calls.
private func checkName(_ name: String, _ mark: YAMLMark, _ keys: Section) {
  guard !ProtocolLimits.isName(name) || name.begins(with: ProtocolLimits.callRoomPrefix) else {
    // A name that no request and no token may say is nobody's room.
    if !NameForm.accepts(name) {
      keys.report.complain(mark, String(keys.path.dropLast()), "not a name: expected \(NameForm.rule)")
    }
    return
  }
  let expected =
    "expected 1 to \(ProtocolLimits.nameBytes) bytes of printable characters, without blanks at the ends, "
    + "that do not begin with \(ProtocolLimits.callRoomPrefix)"
  keys.report.complain(mark, String(keys.path.dropLast()), "not a name: \(expected)")
}

extension RoomSettings {
  fileprivate init?(room name: String, _ mark: YAMLMark, _ keys: inout Section, kinds: [String: RoomSettings]) {
    if keys.mark(of: "kind") == nil {
      keys.report.complain(mark, keys.path + "kind", "a room needs a kind: \(kinds.keys.sorted().listed)")
    }
    let kind = keys.value("kind", .kind(of: kinds))
    self = kind.flatMap { kinds[$0] } ?? .group
    readSettings(&keys)
    if kind == nil { return nil }
  }

  fileprivate mutating func readSettings(_ keys: inout Section) {
    readLimits(&keys)
    keys.read("media", .choice, &media)
    keys.read("publishers", .integer(1...100_000), &publishers)
    keys.read("players", .integer(1...100_000), &players)
    keys.read("video_last_n", .integer(1...100_000), &videoLastN)
    keys.read("tracks_per_participant", .integer(1...256), &tracksPerParticipant)
    keys.read("audio_loudest", .integer(1...64), &audioLoudest)
    keys.read("audio_bitrate", .bitrate(6_000...510_000), &audioBitsPerSecond)
    keys.read("chat_history", .integer(0...100_000), &chatHistory)
    if let publishers, publishers > seats {
      keys.complain("publishers", "\(publishers) publishers do not fit \(seats) seats")
    }
  }

  /// The most people that can ever be in it at once.
  private var seats: Int {
    switch media {
    case .video: videoLimit
    case .audio: audioLimit
    case .firstJoiner: max(videoLimit, audioLimit)
    }
  }

  /// One number for both classes, or a block with one for each.
  private mutating func readLimits(_ keys: inout Section) {
    let seats = ValueKind<Int>.integer(1...100_000)
    if keys.isScalar("limits") {
      guard let both = keys.value("limits", seats) else { return }
      (videoLimit, audioLimit) = (both, both)
    } else {
      keys.section("limits") {
        $0.read("video", seats, &videoLimit)
        $0.read("audio", seats, &audioLimit)
      }
    }
  }
}

extension ValueKind where Value == String {
  /// The name of a kind that exists.
  fileprivate static func kind(of kinds: [String: RoomSettings]) -> Self {
    Self { node, context in
      if let name = node.text, kinds[name] != nil { return name }
      let known = kinds.keys.sorted()
      let hint = node.text.flatMap { nearest($0, known) }.map { "; did you mean \($0)?" } ?? ""
      context.complain(node, "expected a kind (\(known.listed)), found \(node.described)\(hint)")
      return nil
    }
  }
}

extension ValueKind where Value == UnknownRooms {
  static func unknownRooms(kinds: [String: RoomSettings]) -> Self {
    Self { node, context in
      if node.text == "refuse" { return .refuse }
      guard case .mapping = node.content else {
        context.complain(node, expected: "\"refuse\", or \"create:\" with the name of a kind")
        return nil
      }
      var keys = Section(element: node, context)
      let kind = keys.value("create", .kind(of: kinds))
      keys.finish()
      if keys.mark(of: "create") == nil { context.complain(node, "needs \"create:\" with the name of a kind") }
      return kind.map { .create(kind: $0) }
    }
  }
}
