// Which rooms there are by name, and what they are like: rooms.yaml says it, and operators while the server runs.

import Basics
import Members
import Names
import RoostProtocol

/// Rooms of rooms.yaml, with what operators have said meanwhile, which counts more.
struct RoomBook: Sendable {
  private struct Entry {
    var kept: KeptRoom
    /// What the room is like; nil: its kind is gone from rooms.yaml, or what was kept cannot be read.
    var rules: RoomRules?
  }

  /// What rooms.yaml says, and the tag of all settings that are as it has them. It never changes, so that copies share it.
  private final class File: Sendable {
    let rules: ConferenceRules
    let tag: String

    init(_ rules: ConferenceRules, tag: String) { (self.rules, self.tag) = (rules, tag) }
  }

  private let file: File
  private var entries: [String: Entry] = [:]
  /// Of all rooms that have settings.
  private(set) var names = SortedNames()
  /// When settings end by themselves.
  private var ends = Deadlines<String>()

  /// What rooms.yaml says.
  init(_ rules: ConferenceRules, tag: String) {
    file = File(rules, tag: tag)
    for name in rules.rooms.keys.sorted() { names.insert(name) }
  }

  /// A name for settings that no others have: 64 random bits.
  static func tag(_ random: inout some RandomNumberGenerator) -> String {
    (random.next() as UInt64).hexadecimal
  }

  // MARK: - Looking

  /// When the next settings end by themselves.
  var nextEnd: Instant? { ends.next }

  /// Rooms that nobody is let in to.
  var unserved: Set<String> { Set(entries.filter { $0.value.rules == nil }.keys) }

  /// Whether nobody is let in to a room, whatever rooms.yaml says of it.
  func isUnserved(_ name: String) -> Bool { entries[name].map { $0.rules == nil } ?? false }

  /// Rooms that operators have made or changed, and what they are like.
  var served: [(name: String, rules: RoomRules)] {
    entries.compactMap { name, entry in entry.rules.map { (name, $0) } }.sorted { $0.name < $1.name }
  }

  /// Whether an operator has said what this room is like.
  func isKept(_ name: String) -> Bool { entries[name] != nil }

  /// The rules for a name, as `ConferenceRules.rules` says them; nil where there is no such room, or nobody is let in.
  func rules(forRoom name: String, ofStream isOfStream: Bool = false) -> RoomRules? {
    if !entries.isEmpty, let entry = entries[name] { return entry.rules }
    return file.rules.rules(forRoom: name, ofStream: isOfStream)
  }

  /// The rules that settings make.
  /// - Throws: −32602 where there cannot be such a room, or 1010 where there are as many settings as there may be.
  func check(_ name: String, _ plan: RoomPlan, at wallMilliseconds: Int64) throws(ErrorObject) -> RoomRules {
    try NameForm.check(name, "room")
    // No path names what clients take for the folder itself, or the one above (RFC 3986 §5.2.4).
    let isFolder = name.utf8.count <= 2 && name.utf8.allSatisfy { $0 == UInt8(ascii: ".") }
    guard !CallRoom.isName(name), ProtocolLimits.isName(name), !isFolder else {
      throw .parameter(
        "room",
        expected: "1 to \(ProtocolLimits.nameBytes) bytes of printable characters, without blanks at the ends, that do "
          + "not begin with \(ProtocolLimits.callRoomPrefix) and are not . or ..")
    }
    let rules = try plan.rules(of: file.rules.kinds, configured: file.rules.rooms[name])
    try plan.checkUntil(at: wallMilliseconds)
    guard isKept(name) || entries.count < KeptRoom.most else {
      throw .tooLarge("room", limit: KeptRoom.most, count: entries.count + 1)
    }
    return rules
  }

  /// How there came to be a room of this name.
  func origin(of name: String) -> RoomOrigin {
    let isInFile = file.rules.rooms[name] != nil
    return isKept(name) ? isInFile ? .changed : .made : isInFile ? .configured : .joined
  }

  /// The settings of a room.
  /// - Throws: 2001 where neither rooms.yaml nor an operator has said anything of it.
  func definition(of name: String) throws(ErrorObject) -> DefinedRoom {
    if let entry = entries[name] {
      return DefinedRoom(
        room: name, origin: origin(of: name), plan: entry.kept.plan ?? RoomPlan(kind: ""), tag: entry.kept.tag,
        isServed: entry.rules != nil)
    }
    guard let rules = file.rules.rooms[name] else { throw ErrorObject(.roomNotFound) }
    return DefinedRoom(room: name, origin: .configured, plan: RoomPlan(rules), tag: file.tag, isServed: true)
  }

  // MARK: - Changing

  /// An operator has said what a room is like.
  mutating func put(_ room: KeptRoom, at now: Now) {
    let (kinds, configured) = (file.rules.kinds, file.rules.rooms[room.room])
    let rules = room.plan.flatMap { try? $0.rules(of: kinds, configured: configured) }
    entries[room.room] = Entry(kept: room, rules: rules)
    names.insert(room.room)
    guard let until = room.plan?.until else { return ends.cancel(room.room) }
    // What stands in a file may be any number.
    let last = now.wallMilliseconds.saturating(adding: .seconds(RoomPlan.longestDays * 86_400))
    let wait = min(max(until, now.wallMilliseconds), last) - now.wallMilliseconds
    ends.set(room.room, at: now.instant + .milliseconds(Int(wait)))
  }

  /// What rooms.yaml says holds again.
  mutating func remove(_ name: String) {
    entries[name] = nil
    if file.rules.rooms[name] == nil { names.remove(name) }
    ends.cancel(name)
  }

  /// A room whose settings are over by now.
  mutating func takeDue(at now: Instant) -> String? { ends.popDue(at: now) }

  /// Takes what an earlier process has left, as far as kinds that are smaller by now let it be. What is over is due at once.
  mutating func restore(_ rooms: [KeptRoom], at now: Now) {
    for var room in rooms.prefix(KeptRoom.most) where !CallRoom.isName(room.room) {
      room.plan = room.plan?.narrowed(to: file.rules.kinds, configured: file.rules.rooms[room.room])
      put(room, at: now)
    }
  }
}
