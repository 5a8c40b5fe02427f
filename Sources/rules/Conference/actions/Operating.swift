// What an operator may do from outside: look, take tokens and grants back, close and lock rooms, put people out, see, make and lift
// bans, lift blocks, end calls.

import Basics
import Calls
import RoostProtocol

/// An operator's wish.
public enum OperatorAction: Hashable, Sendable {
  /// Shows rooms and calls, and who is in them.
  case look
  /// Puts everybody out of a room.
  case closeRoom(String)
  /// Lets nobody more into a room, or lets people in again, whoever has locked it or opened a lobby. Who is in it stays, and may come back from a lost connection.
  case setLocked(Bool, room: String)
  /// Lets a room go on with video, or without.
  case setMedia(MediaClass, room: String)
  /// Puts a user out of a room.
  case remove(user: String, room: String)
  /// Shows who is banned from a room, or from any, and which addresses are. Pages have `OperatorAnswer.pageSize` bans and begin with 1.
  case bans(room: String?, page: Int = 1)
  /// Takes a ban back, with the address.
  case liftBan(user: String, room: String)
  /// Bans an address or a network from a room, or from all: until then (milliseconds since 1970), or for an hour.
  case banAddress(AddressRange, room: String?, until: Int64?)
  /// Bans the address that somebody is in a room from, from that room, as above.
  case banAddressOf(user: String, room: String, until: Int64?)
  /// Takes back the bans of exactly this address or network, of a room or all there are.
  case liftAddress(AddressRange, room: String?)
  /// Shows how many others each user has blocked, those with the most first; pages as of bans.
  case blockCounts(page: Int = 1)
  /// Shows whom a user has blocked.
  case blocks(of: String)
  /// Lifts a block of a user, or all of them.
  case liftBlocks(of: String, blocked: String?)
  /// Takes a token back by its `jti`, from now on; who came by it goes.
  case revoke(String)
  /// Shows which are taken back; pages as of bans.
  case revoked(page: Int = 1)
  /// Believes a token again.
  case liftRevocation(String)
  /// Leaves a user only these of the grants that their tokens give, until they show a newer token: everywhere, or in a room.
  case narrow(user: String, to: Rights, room: String?)
  /// Shows what is left to whom, or to one user; pages as of bans.
  case narrowings(of: String?, page: Int = 1)
  /// Gives a user back what their tokens give: in a room, or everywhere and in all rooms.
  case liftNarrowings(of: String, room: String?)
  /// Puts a user out of a call, or stops ringing them.
  case removeFromCall(user: String, call: String)
  /// Ends a call for everybody.
  case endCall(String)
}

/// What has come of an operator's wish; encoded as one JSON object.
public enum OperatorAnswer: Encodable, Hashable, Sendable {
  case overview(OperatorOverview)
  /// How many people were put out.
  case removed(Int)
  /// Whether a room is locked now; where it was opened, what that has lifted.
  case locked(Bool, lifted: [KeptDoor.Bar] = [])
  /// What a room carries, and how many people it takes then.
  case media(MediaClass, limit: Int)
  /// By room and user, and behind them addresses; those that are over are not among them. `next` is the page that follows, where there
  /// is one.
  case bans([KeptBan], addresses: [KeptAddressBan] = [], next: Int? = nil)
  case blockCounts(BlockCounts, next: Int? = nil)
  /// By whom they are about.
  case blocks([KeptBlock])
  /// How many bans, blocks or narrowings were taken back.
  case lifted(Int)
  /// Tokens that are taken back, by their names.
  case revoked([KeptRevocation], next: Int? = nil)
  /// In how many sessions a user's grants are fewer now.
  case narrowed(Int)
  /// What operators have left of users' grants, by user and room.
  case narrowings([KeptNarrowing], next: Int? = nil)
  /// The call as it ended.
  case ended(Call)

  /// Entries of one page: an answer is made and written in one go.
  public static let pageSize = 1_000

  /// A page of a list, counted from 1, and which one follows.
  static func page<Element>(_ number: Int, of all: [Element]) -> (shown: [Element], next: Int?) {
    let number = min(max(number, 1), 1_000_000)
    let rest = all.dropFirst((number - 1) * pageSize)
    return (Array(rest.prefix(pageSize)), rest.count > pageSize ? number + 1 : nil)
  }

  private enum Key: CodingKey {
    case removed, locked, media, limit, bans, blocks, lifted, revoked, narrowed, grants, call, next
  }

  /// `{"rooms": […], "calls": […]}`, `{"removed": 2}`, `{"locked": true}`, `{"locked": false, "lifted": ["lobby"]}`, `{"media": "audio", "limit": 32}`, `{"bans": […], "next": 2}`, `{"count": 9, "limit": 50000, "users": […]}`,
  /// `{"blocks": […]}`, `{"lifted": 1}`, `{"revoked": […]}`, `{"narrowed": 1}`, `{"grants": […]}` or `{"call": {…}}`.
  public func encode(to encoder: any Encoder) throws {
    if case .overview(let overview) = self { return try overview.encode(to: encoder) }
    if case .blockCounts(let counts, _) = self { try counts.encode(to: encoder) }
    var container = encoder.container(keyedBy: Key.self)
    switch self {
    case .overview: break
    case .removed(let count): try container.encode(count, forKey: .removed)
    case .locked(let isLocked, let lifted):
      try container.encode(isLocked, forKey: .locked)
      if !lifted.isEmpty { try container.encode(lifted, forKey: .lifted) }
    case .media(let media, let limit):
      try container.encode(media, forKey: .media)
      try container.encode(limit, forKey: .limit)
    case .bans(let bans, let addresses, let next):
      var list = container.nestedUnkeyedContainer(forKey: .bans)
      for ban in bans { try list.encode(ban) }
      for ban in addresses { try list.encode(ban) }
      try container.encodeIfPresent(next, forKey: .next)
    case .blockCounts(_, let next): try container.encodeIfPresent(next, forKey: .next)
    case .blocks(let blocks): try container.encode(blocks, forKey: .blocks)
    case .lifted(let count): try container.encode(count, forKey: .lifted)
    case .revoked(let tokens, let next):
      try container.encode(tokens, forKey: .revoked)
      try container.encodeIfPresent(next, forKey: .next)
    case .narrowed(let count): try container.encode(count, forKey: .narrowed)
    case .narrowings(let narrowings, let next):
      try container.encode(narrowings, forKey: .grants)
      try container.encodeIfPresent(next, forKey: .next)
    case .ended(let call): try container.encode(call, forKey: .call)
    }
  }
}

/// What there is, as an operator sees it.
public struct OperatorOverview: Encodable, Hashable, Sendable {
  /// One room that is configured or has somebody in it; calls' rooms are none.
  public struct Room: Encodable, Hashable, Sendable {
    /// Name of the room.
    public var room: String
    /// Its kind, as configured.
    public var kind: String
    /// Audio or video.
    public var media: MediaClass
    /// Seats.
    public var limit: Int
    /// Whether nobody more is let in.
    public var locked: Bool
    /// Whether who comes waits to be let in.
    public var lobby: Bool
    /// Whether moderators alone may write.
    public var chatDisabled: Bool
    /// Who waits in the lobby, the first first.
    public var waiting: [Waiting]
    /// Who is in it, in the order of joining.
    public var participants: [Person]
  }

  /// Somebody in a room.
  public struct Person: Encodable, Hashable, Sendable {
    /// As others see them.
    public var participant: Participant
    /// How they came; of somebody who is away, how they came last.
    public var entrance: Entrance

    private enum Key: CodingKey { case door }

    /// The participant's fields and `door`: `{"door": "whip", "participantId": "p1", …}`.
    public func encode(to encoder: any Encoder) throws {
      try participant.encode(to: encoder)
      var container = encoder.container(keyedBy: Key.self)
      try container.encode(entrance, forKey: .door)
    }
  }

  /// Rooms, by name; behind them those that nobody has come back to since a restart, and that are not as usual.
  public var rooms: [Room]
  /// Calls that ring or run, oldest first.
  public var calls: [Call]
}

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
    participant = rooms.participant(seat)
    entrance = seat.member.identity.entrance
  }
}

extension RoomTable {
  /// A room that is no call's.
  func listedRoom(_ name: String) throws(ErrorObject) -> RoomKey {
    guard !CallRoom.isName(name), let key = self[named: name] else { throw ErrorObject(.roomNotFound) }
    return key
  }
}
