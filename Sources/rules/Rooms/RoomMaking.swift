// Rooms that operators make, change and end while the server runs. Whatever may refuse it is asked before anything changes. Who is in a
// room stays: nobody is put out but by its end.

import Members
import RoostProtocol

/// Settings of rooms at work.
enum RoomMaking {
  /// Whether the settings of a room are others than a condition says.
  /// - Returns: the answer with their tag; nil where the condition holds.
  /// - Throws: 2001 where there are no settings of this room.
  static func outdated(
    _ name: String, _ condition: TagCondition, _ rooms: Rooms
  ) throws(ErrorObject) -> OperatorAnswer? {
    let tag = try rooms.book.definition(of: name).tag
    return condition.holds(for: tag) ? nil : .outdated(tag: tag)
  }

  /// Whether a room of this name can be made: neither rooms.yaml nor an operator has said anything of it. Who has joined that name stays in it.
  /// - Throws: 3003.
  static func checkNew(_ name: String, _ rooms: Rooms) throws(ErrorObject) {
    guard rooms.book.origin(of: name) == .joined else {
      throw ErrorObject(.invalidState, "This room has settings already.")
    }
  }

  /// Gives a room settings, in place of those that it has.
  /// - Throws: −32602 and 1010 as `RoomBook.check`; 2002 where more people are in it than it takes with the media that it is to have; 5002 where
  ///   there may be no further room.
  static func put(
    _ name: String, _ plan: RoomPlan, _ rooms: inout Rooms, _ step: inout Step
  ) throws(ErrorObject) -> DefinedRoom {
    let rules = try rooms.book.check(name, plan, at: step.now.wallMilliseconds)
    let key = rooms.table[named: name]
    if let key, let room = rooms.table[key] {
      let next = rooms.table.nexts[key]
      if let media = newMedia(of: room, next, rules) { try RoomMedia.check(media, room, rules) }
    } else {
      try RoomQuotas.checkSpace(rooms)
    }
    let kept = KeptRoom(room: name, plan: plan, tag: RoomBook.tag(&step.numbers.random))
    step.log(
      rooms.book.origin(of: name) == .joined ? "room_made" : "room_settings",
      [("room", name), ("kind", plan.kind)] + (plan.until.map { [("until", "\($0)")] } ?? []))
    rooms.book.put(kept, at: step.now)
    step.keep([.room(kept)] + (rules.chatHistory == 0 ? [.forgetRoom(name)] : []))
    if let key {
      settle(key, rules, &rooms, &step)
    } else {
      rooms.addRoom(name: name, rules: rules, isNamed: true, &step)
    }
    return try rooms.book.definition(of: name)
  }

  /// What a room is to carry by its new rules, where its rules have said something else, or still wait for what they say.
  private static func newMedia(of room: Room, _ next: RoomRules?, _ rules: RoomRules) -> MediaClass? {
    let waits = next.map { $0.media != room.rules.media } ?? false
    return rules.media == room.media || rules.media == room.rules.media && !waits ? nil : rules.media
  }

  /// A room that is there is like this from now on. Those in it hear of its media and its seats where they are others. Where more people are in it
  /// than its new media take, it goes on with the media that it has.
  private static func settle(_ key: RoomKey, _ rules: RoomRules, _ rooms: inout Rooms, _ step: inout Step) {
    guard let before = rooms.table[key] else { return }
    let media = before.members.isEmpty ? nil : newMedia(of: before, rooms.table.nexts[key], rules)
    let isFree = media.map { (try? RoomMedia.check($0, before, rules)) != nil } ?? true
    rooms.seating.table.settle(key, rules, mediaWait: !isFree)
    // Where nobody was let in, its chat has waited.
    rooms.adoptRestored(key, name: before.name, &step)
    guard let room = rooms.table[key] else { return }
    if let media, isFree { return RoomMedia.set(media, of: key, by: nil, &rooms.seating, &step) }
    guard room.info.limit != before.info.limit else { return }
    let event = RoomModerated(
      room: room.name, by: nil, action: .media, media: room.effectiveMedia, limit: room.info.limit)
    step.tell(.roomModerated(event), in: key, of: rooms.table)
  }

  /// Takes settings back: what rooms.yaml says of the room holds again, or it is over.
  /// - Returns: how many people were put out.
  static func takeBack(_ name: String, because reason: String, _ rooms: inout Rooms, _ step: inout Step) -> Int {
    rooms.book.remove(name)
    step.keep([.forgetSettings(name)])
    step.log("room_unmade", ["room": name, "reason": reason])
    let key = rooms.table[named: name]
    if let rules = rooms.rules.rooms[name] {
      if rules.chatHistory == 0 { step.keep([.forgetRoom(name)]) }
      if let key { settle(key, rules, &rooms, &step) }
      return 0
    }
    guard let key else {
      // Nobody was let in since a restart.
      rooms.restored.forget(name, &step)
      return 0
    }
    let isEmpty = rooms.table[key]?.members.isEmpty ?? true
    let removed = isEmpty ? 0 : rooms.close(key, &step)
    // It stands anew, under another key.
    if let key = rooms.table[named: name], let room = rooms.seating.table.remove(key) {
      // Also where it keeps none: its kind may have kept some when an earlier process ran.
      step.keep([.forgetRoom(name)])
      Doors.forget(room, &rooms.seating.table, &step)
    }
    return removed
  }
}
