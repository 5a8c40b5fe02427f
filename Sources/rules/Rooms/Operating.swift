// What operators wish of rooms: look, make, change, end, close and lock them, put people out, see, make and lift bans.

import Basics
import Calls
import Members
import RoostProtocol

extension Rooms {
  /// Carries out an operator's wish.
  mutating func operate(_ action: OperatorAction, _ calls: [Call], _ step: inout Step) {
    do throws(ErrorObject) {
      if let answer = try perform(action, calls, &step) { step.conclude(.success(answer)) }
    } catch {
      step.conclude(.failure(error))
    }
  }

  /// Nil for what is nothing of rooms'.
  private mutating func perform(
    _ action: OperatorAction, _ calls: [Call], _ step: inout Step
  ) throws(ErrorObject) -> OperatorAnswer? {
    switch action {
    case .look: return .overview(OperatorOverview(of: self, calls: calls))
    case .lookAt(let name): return .overview(try OperatorOverview(ofRoom: name, in: self))
    case .makeRoom(let name, let plan, let locked, let lobby):
      try RoomMaking.checkNew(name, self)
      let made = try RoomMaking.put(name, plan, &self, &step)
      guard let key = table[named: name] else { return .definition(made) }
      if lobby {
        let moderated = RoomModerated(room: name, by: nil, action: .lobby)
        Doors.set(.lobby, of: key, moderated, &seating.table, &step)
        Doors.keep(key, table, &step)
        step.tell(.roomModerated(moderated), in: key, of: table)
      }
      if locked { Doors.lock(key, &seating.table, &step) }
      return .definition(made)
    case .settings(let name): return .definition(try book.definition(of: name))
    case .allSettings(let page):
      let (names, next) = OperatorAnswer.page(page, of: book.names.all)
      return .definitions(names.compactMap { try? book.definition(of: $0) }, next: next)
    case .replaceSettings(let name, let plan, let condition):
      if let outdated = try RoomMaking.outdated(name, condition, self) { return outdated }
      return .definition(try RoomMaking.put(name, plan, &self, &step))
    case .takeBackSettings(let name, let condition):
      if let outdated = try RoomMaking.outdated(name, condition, self) { return outdated }
      guard book.isKept(name) else { return .removed(0) }
      return .removed(RoomMaking.takeBack(name, because: "operator", &self, &step))
    case .closeRoom(let name): return .removed(close(try table.listedRoom(name), &step))
    case .change(let name, let media, let isLocked):
      let before = try OperatorOverview(ofRoom: name, in: self)
      if let media { _ = try perform(.setMedia(media, room: name), calls, &step) }
      let isBarred = before.rooms.contains { $0.locked || $0.lobby }
      if let isLocked, isLocked || isBarred { _ = try perform(.setLocked(isLocked, room: name), calls, &step) }
      return .overview((try? OperatorOverview(ofRoom: name, in: self)) ?? before.opened)
    case .setLocked(true, let name):
      Doors.lock(try table.listedRoom(name), &seating.table, &step)
      return .locked(true)
    case .setLocked(false, let name): return .locked(false, lifted: try Doors.open(name, &self, &step))
    case .setMedia(let media, let name):
      let room = try table.listedRoom(name)
      guard let found = table[room] else { throw ErrorObject(.roomNotFound) }
      try RoomMedia.check(media, found)
      RoomMedia.set(media, of: room, by: nil, &seating, &step)
      step.log("room_media", ["room": name, "media": media.rawValue])
      return .media(media, limit: found.rules.seats(media))
    case .moderate(let params):
      _ = try Moderating.perform(params, nil, isInCall: false, &self, &step)
      return .moderated
    case .say(let text, let name, let room, let to):
      let key = try table.listedRoom(room)
      let said = try ServerMessage(text, as: name, in: table.name(of: key), to: to, most: chatBytes, &step)
      let delivered = deliver(said.message, in: key, from: nil, &step)
      var result: ChatSendResult?
      seating.table.update(key) { result = said.enter(&$0.chat, delivered: delivered, &step) }
      return result.map { .said($0) }
    case .send(let params, let name): return .sent(try DataMessages.send(params, as: name, table, &step))
    case .remove(let user, let name):
      guard let seat = table.seat(ofUser: user, in: try table.listedRoom(name)) else {
        throw ErrorObject(.userNotFound, "This user is not in the room.")
      }
      Eviction.putOut(seat, &seating, &step)
      return .removed(1)
    case .move(let user, let name, let target):
      return .moved(try move(user, from: try table.listedRoom(name), to: target, &step) ? 1 : 0)
    case .bans(let room, let page):
      return Banning.seen(in: room, page: page, self, at: step.now.wallMilliseconds)
    case .liftBan(let user, let room):
      try Banning.lift(user, room, &bans, &addressBans, table, &step)
      return .lifted(1)
    case .banAddress(let address, let room, let until):
      return .bans(
        [], addresses: [try AddressBanning.ban(address, room: room, until: until, rules, &addressBans, &step)])
    case .banAddressOf(let user, let room, let until):
      let key = try table.listedRoom(room)
      let address = try AddressBanning.address(of: user, in: key, self)
      let ban = try AddressBanning.ban(address, room: table.name(of: key), until: until, rules, &addressBans, &step)
      return .bans([], addresses: [ban])
    case .liftAddress(let address, let room):
      return .lifted(try AddressBanning.lift(address, room: room, &addressBans, &step))
    case .blockCounts, .blocks, .liftBlocks, .revoke, .revoked, .liftRevocation, .narrow, .narrowings, .liftNarrowings,
      .user, .history, .see, .call, .startCall, .invite, .withdraw, .removeFromCall, .endCall:
      return nil
    }
  }

  /// Everybody in the room is told, and has no seat any more. How many they were.
  mutating func close(_ key: RoomKey, _ step: inout Step) -> Int {
    guard let room = table[key] else { return 0 }
    step.log("room_closed", ["room": room.name])
    Doors.endAdmissions(key, &seating.table)
    guard !room.members.isEmpty else { return 0 }
    for seat in table.members(of: key) {
      seating.table.notePutOut(seat.session, RoomClosed(room: room.name, reason: .closed))
    }
    seating.empty(key, .removed, &step)
    return room.members.count
  }
}

/// The end of a seat that is not its user's wish.
enum Eviction {
  /// Takes back what moderators of a room have given somebody.
  static func forget(_ user: String, in room: RoomKey, _ table: inout RoomTable) {
    table.update(room) { room in
      room.moderation.setRole(.participant, of: user)
      room.moderation.lobby.forget(user)
    }
  }

  /// Takes somebody's seat away, and tells them and the others. Whoever is put out has no role any more, and no admission: both would
  /// open them a door that is closed.
  static func putOut(_ seat: Seat, _ rooms: inout Seating, _ step: inout Step) {
    forget(seat.user, in: seat.room, &rooms.table)
    let closed = RoomClosed(room: rooms.table.name(of: seat.room), reason: .removed)
    step.log("removed", ["room": closed.room, "user": seat.user])
    rooms.leave(seat.id, .removed, &step)
    rooms.table.notePutOut(seat.session, closed)
    step.tell(.roomClosed(closed), to: seat.session)
  }
}

extension OperatorOverview {
  /// Rooms with somebody in them, and those that nobody has come back to since a restart.
  fileprivate init(of rooms: Rooms, calls: [Call]) {
    let kept = rooms.restored.doors.values.filter { !CallRoom.isName($0.room) }.sorted { $0.room < $1.room }
    self.init(
      rooms: rooms.table.listed.map { $0.seen(in: rooms) } + kept.compactMap { Room($0, rooms.book) }, calls: calls)
  }

  /// The same of a room that was kept for its door alone, which is open now.
  fileprivate var opened: OperatorOverview {
    var opened = self
    for index in rooms.indices { (opened.rooms[index].locked, opened.rooms[index].lobby) = (false, false) }
    return opened
  }

  /// One room.
  /// - Throws: 2001 where there is none, and none has stayed as it was made before a restart.
  fileprivate init(ofRoom name: String, in rooms: Rooms) throws(ErrorObject) {
    guard !CallRoom.isName(name) else { throw ErrorObject(.roomNotFound) }
    let room = rooms.table[named: name].flatMap { rooms.table[$0] }.map { $0.seen(in: rooms) }
    guard let found = room ?? rooms.restored.doors[name].flatMap({ Room($0, rooms.book) }) else {
      throw ErrorObject(.roomNotFound)
    }
    self.init(rooms: [found], calls: [])
  }
}

extension Room {
  /// As an operator sees it.
  fileprivate func seen(in rooms: Rooms) -> OperatorOverview.Room {
    OperatorOverview.Room(
      room: name, origin: rooms.book.origin(of: name), kind: rules.kind, media: effectiveMedia, limit: info.limit,
      locked: isLocked || moderation.door == .locked, lobby: moderation.door == .lobby,
      chatDisabled: moderation.isChatDisabled, waiting: moderation.lobby.waiting.map(\.wire),
      participants: members.compactMap { rooms.table.seats[$0].map { $0.person(in: rooms.seating) } })
  }
}

extension OperatorOverview.Room {
  /// One that nobody has come back to since a restart.
  fileprivate init?(_ door: KeptDoor, _ book: RoomBook) {
    guard let rules = book.rules(forRoom: door.room) else { return nil }
    let media = rules.media ?? .video
    self.init(
      room: door.room, origin: book.origin(of: door.room), kind: rules.kind, media: media, limit: rules.seats(media),
      locked: door.isLockedByOperator || door.door == .locked, lobby: door.door == .lobby,
      chatDisabled: door.isChatDisabled, waiting: [], participants: [])
  }
}

extension Seat {
  fileprivate func person(in rooms: Seating) -> OperatorOverview.Person {
    OperatorOverview.Person(participant: seen(in: rooms), entrance: member.identity.entrance)
  }
}

extension RoomTable {
  /// A room that is no call's.
  func listedRoom(_ name: String) throws(ErrorObject) -> RoomKey {
    guard !CallRoom.isName(name), let key = self[named: name] else { throw ErrorObject(.roomNotFound) }
    return key
  }
}
