// What an operator may do from outside: look, take tokens and grants back, close and lock rooms, put people out, see, make and lift
// bans, lift blocks, end calls.

import Basics
import Calls
import Members
import RoostProtocol

extension ConferenceCore {
  /// Carries out an operator's wish as one step.
  /// - Returns: what has come of it, and what follows: 2001 or 3001 where there is no such room or call, and for one that nothing bars; 2002 where too many are in a room, 3002 for a call that is
  ///   over, 3008 for a user who is not there, not banned, or has not blocked, and for an address that is not banned; −32602 and 1010
  ///   where an address is not to be banned.
  /// - Parameter peer: from where the wish came, for the lines that it leaves in the log.
  public mutating func operate(
    _ action: OperatorAction, from peer: String? = nil, at now: Now
  ) -> (answer: Result<OperatorAnswer, ErrorObject>, effects: [Effect]) {
    var step = Step(at: now, byOperatorAt: peer, after: numbers, keepsRecords: rules.storesRecords)
    do throws(ErrorObject) {
      let answer = try perform(action, &step)
      return (.success(answer), end(step))
    } catch {
      return (.failure(error), end(step))
    }
  }

  private mutating func perform(_ action: OperatorAction, _ step: inout Step) throws(ErrorObject) -> OperatorAnswer {
    switch action {
    case .look:
      var overview = rooms.overview(calls: calls.running(at: step.now))
      let doors = storing.restoredDoors.values.filter { !CallRoom.isName($0.room) }.sorted { $0.room < $1.room }
      overview.rooms += doors.compactMap { OperatorOverview.Room($0, rules) }
      return .overview(overview)
    case .closeRoom(let name): return .removed(close(try rooms.table.listedRoom(name), &step))
    case .setLocked(true, let name):
      Doors.lock(try rooms.table.listedRoom(name), &rooms.table, &step)
      return .locked(true)
    case .setLocked(false, let name): return .locked(false, lifted: try Doors.open(name, &self, &step))
    case .setMedia(let media, let name):
      let room = try rooms.table.listedRoom(name)
      guard let rules = rooms.table[room] else { throw ErrorObject(.roomNotFound) }
      try RoomMedia.check(media, rules)
      RoomMedia.set(media, of: room, by: nil, &rooms, &step)
      step.log("room_media", ["room": name, "media": media.rawValue])
      return .media(media, limit: rules.rules.seats(media))
    case .remove(let user, let name):
      try remove(user, from: try rooms.table.listedRoom(name), &step)
      return .removed(1)
    case .bans(let room, let page):
      return Banning.seen(in: room, page: page, rooms, at: step.now.wallMilliseconds)
    case .liftBan(let user, let room):
      try Banning.lift(user, room, &rooms, &step)
      return .lifted(1)
    case .banAddress(let address, let room, let until):
      return .bans([], addresses: [try AddressBanning.ban(address, room: room, until: until, &rooms, &step)])
    case .banAddressOf(let user, let room, let until):
      let key = try rooms.table.listedRoom(room)
      return .bans([], addresses: [try AddressBanning.ban(addressOf: user, in: key, until: until, &rooms, &step)])
    case .liftAddress(let address, let room):
      return .lifted(try AddressBanning.lift(address, room: room, &rooms.addressBans, &step))
    case .blockCounts(let page): return Blocks.counts(page: page, calls)
    case .blocks(let user): return .blocks(calls.blocks(of: user))
    case .liftBlocks(let user, let blocked): return .lifted(try Blocks.lift(of: user, blocked: blocked, &self, &step))
    case .revoke(let id): return .removed(try Revoking.revoke(id, &self, &step))
    case .revoked(let page): return Revoking.list(page: page, sessions)
    case .liftRevocation(let id):
      try Revoking.lift(id, &sessions.revocations, &step)
      return .lifted(1)
    case .narrow(let user, let rights, let room):
      return .narrowed(try Narrowings.narrow(.init(user: user, room: room), to: rights, &self, &step))
    case .narrowings(let user, let page): return Narrowings.list(of: user, page: page, sessions)
    case .liftNarrowings(let user, let room): return .lifted(try Narrowings.lift(user, room: room, &self, &step))
    case .removeFromCall(let user, let call):
      carry(try calls.remove(user, from: call, at: step.now), &step)
      step.log("removed", ["call": call, "user": user])
      return .removed(1)
    case .endCall(let id):
      let (effects, call) = try calls.stop(id, at: step.now)
      carry(effects, &step)
      return .ended(call)
    }
  }

  /// Everybody in the room is told, and has no seat any more. How many they were.
  mutating func close(_ key: RoomKey, _ step: inout Step) -> Int {
    guard let room = rooms.table[key] else { return 0 }
    step.log("room_closed", ["room": room.name])
    Doors.endAdmissions(key, &rooms.table)
    guard !room.members.isEmpty else { return 0 }
    for seat in rooms.table.members(of: key) {
      rooms.table.notePutOut(seat.session, RoomClosed(room: room.name, reason: .closed))
    }
    empty(key, .removed, &step)
    return room.members.count
  }

  private mutating func remove(_ user: String, from key: RoomKey, _ step: inout Step) throws(ErrorObject) {
    guard let seat = rooms.table.seat(ofUser: user, in: key) else {
      throw ErrorObject(.userNotFound, "This user is not in the room.")
    }
    Eviction.putOut(seat, &self, &step)
  }
}

/// The end of a seat that is not its user's wish.
enum Eviction {
  /// Takes back what moderators of a room have given somebody.
  static func forget(_ user: String, in room: RoomKey, _ core: inout ConferenceCore) {
    core.rooms.table.update(room) { room in
      room.moderation.setRole(.participant, of: user)
      room.moderation.lobby.forget(user)
    }
  }

  /// Takes somebody's seat away, and tells them and the others. Whoever is put out has no role any more, and no admission: both would
  /// open them a door that is closed.
  static func putOut(_ seat: Seat, _ core: inout ConferenceCore, _ step: inout Step) {
    forget(seat.user, in: seat.room, &core)
    let closed = RoomClosed(room: core.rooms.table.name(of: seat.room), reason: .removed)
    step.log("removed", ["room": closed.room, "user": seat.user])
    core.leave(seat.id, .removed, &step)
    core.rooms.table.notePutOut(seat.session, closed)
    step.tell(.roomClosed(closed), to: seat.session)
  }
}

extension Rooms {
  fileprivate func overview(calls: [Call]) -> OperatorOverview {
    OperatorOverview(
      rooms: table.listed.map { room in
        OperatorOverview.Room(
          room: room.name, kind: room.rules.kind, media: room.effectiveMedia, limit: room.info.limit,
          locked: room.isLocked || room.moderation.door == .locked, lobby: room.moderation.door == .lobby,
          chatDisabled: room.moderation.isChatDisabled, waiting: room.moderation.lobby.waiting.map(\.wire),
          participants: room.members.compactMap { table.seats[$0].map { .init($0, in: self) } })
      }, calls: calls)
  }
}

extension OperatorOverview.Room {
  /// One that nobody has come back to since a restart.
  fileprivate init?(_ door: KeptDoor, _ rules: ConferenceRules) {
    guard let rules = rules.rules(forRoom: door.room) else { return nil }
    let media = rules.media ?? .video
    self.init(
      room: door.room, kind: rules.kind, media: media, limit: rules.seats(media),
      locked: door.isLockedByOperator || door.door == .locked, lobby: door.door == .lobby,
      chatDisabled: door.isChatDisabled, waiting: [], participants: [])
  }
}

extension OperatorOverview.Person {
  fileprivate init(_ seat: Seat, in rooms: Rooms) {
    self.init(participant: rooms.participant(seat), entrance: seat.member.identity.entrance)
  }
}

extension RoomTable {
  /// A room that is no call's.
  func listedRoom(_ name: String) throws(ErrorObject) -> RoomKey {
    guard !CallRoom.isName(name), let key = self[named: name] else { throw ErrorObject(.roomNotFound) }
    return key
  }
}
