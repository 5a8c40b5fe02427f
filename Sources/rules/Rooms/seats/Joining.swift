// Rooms: join and leave. Admission is decided before anything changes, so that a refusal is silent for others.

import Basics
import Members
import RoostProtocol

extension Rooms {
  // MARK: - Join

  /// Joins, and leaves a line in the log either way. The reply comes with the seat; nil, too, where it has to be known first how silent
  /// somebody's media are. What the application leaves of their rights holds on a seat that they have there already, even where the rest of
  /// the join is refused. Behind the snapshot they hear of it.
  mutating func joinLogged(
    _ params: RoomJoinParams, _ asked: MemberRequest, _ step: inout Step
  ) throws(ErrorObject) -> Reply? {
    guard let member = asked.member else { throw ErrorObject(.notLoggedIn) }
    let left = member.left(in: params.room)
    let old = table.currentSeat(of: member.session).flatMap { table.name(of: $0.room) == params.room ? $0 : nil }
    let changed = old?.member.left(in: params.room) == left ? nil : old
    defer { if let changed { step.tellSeated(member.session, on: changed.id, in: params.room, left: left) } }
    do throws(ErrorObject) {
      guard let seat = try join(params, member, asked.key, asked.silence, &step) else { return nil }
      let reply = Reply.room(try seat.reply(in: self, at: step.now))
      guard changed != nil else { return reply }
      step.answer(asked.key, .success(reply))
      return nil
    } catch {
      step.count(.joinRefused(error.code))
      let fields = [("room", params.room), ("user", member.user), ("code", error.code.name)]
      step.send(.sessions(.refusalLine("join_refused", fields.map { .init(name: $0.0, value: $0.1) }, member.identity)))
      throw error
    }
  }

  /// Whether it is worth asking whether somebody may take a seat in a room. Who is there already wants none, but others may come to see
  /// something else of them. Who comes to a lobby is asked about before they knock.
  /// - Throws: what the join would be refused with.
  package func mightSeat(_ member: MemberFacts, _ params: RoomJoinParams, _ now: Now) throws(ErrorObject) -> Bool {
    let params = params.allowed(to: member)
    switch try entry(params, member, now) {
    case .rejoin(let seat):
      if let name = params.displayName { try table.checkName(name, in: seat.room, except: seat.id) }
      return try Renewals.check(seat, displayName: params.displayName ?? seat.displayName, params.metadata, table)
    case .takeOver(let other): try other.checkGivesWay(to: member, params, table)
    case .knock, .free: break
    }
    return true
  }

  /// What a join comes to.
  enum Entry {
    /// They are there already, on this seat.
    case rejoin(Seat)
    /// Their user is there, on another of their devices.
    case takeOver(Seat)
    /// They wait in the lobby.
    case knock(RoomKey)
    /// There is a seat for them: in the room that is there, or in a new one with these rules.
    case free(RoomKey?, RoomRules)
  }

  /// Finds out what a join comes to. Nothing changes by it. `isMove`: who comes brings their media along (`MediaLoad.admitsMove`).
  /// - Throws: what the join is refused with.
  func entry(
    _ params: RoomJoinParams, _ member: MemberFacts, isMove: Bool = false, _ now: Now
  ) throws(ErrorObject) -> Entry {
    try member.checkJoin(params.room)
    guard let roomRules = book.rules(forRoom: params.room, ofStream: member.identity.opensStreamRooms) else {
      throw ErrorObject(.roomNotFound)
    }
    try Doors.checkBan(member, in: params.room, self, now)
    let existing = table[named: params.room]
    if let existing, let seat = table.currentSeat(of: member.session), seat.room == existing { return .rejoin(seat) }
    guard !isDraining else { throw ErrorObject(.draining) }
    if let existing, let other = table.seat(ofUser: member.user, in: existing) { return .takeOver(other) }
    try AddressBanning.check(member, in: params.room, self, now)
    if let existing, let room = table[existing] {
      if try Doors.mustKnock(member, at: room) { return .knock(existing) }
    } else {
      try Doors.checkRestored(restored.doors[params.room], member)
    }
    try Admission.check(params, member, to: existing, isMove: isMove, roomRules, self)
    return .free(existing, roomRules)
  }

  private mutating func join(
    _ params: RoomJoinParams, _ session: MemberFacts, _ key: RequestKey, _ silence: MediaSilence?,
    _ step: inout Step
  ) throws(ErrorObject) -> SeatID? {
    let (id, params) = (key.session, params.allowed(to: session))
    switch try entry(params, session, step.now) {
    case .rejoin(let seat): return try rejoin(params, seat, &step)
    case .takeOver(let other): return try takeOver(other, params, session, key, silence, &step)
    case .knock(let room): try Doors.knock(session, params, at: room, &self, &step)
    case .free(let room, let roomRules):
      if table.stays[id]?.knocksAt == params.room { Doors.leaveLobby(id, &seating.table, &step) }
      step.send(.vacate(id))
      step.send(.rooms(.takeSeat(SeatTaking(params, session, key, in: room, roomRules))))
    }
    return nil
  }

  /// Takes the seat that somebody was admitted to, and answers.
  mutating func takeSeat(_ taking: SeatTaking, _ step: inout Step) {
    guard let seat = sit(taking, &step), let snapshot = seat.snapshot(in: self, at: step.now.wallMilliseconds)
    else {
      return step.answer(taking.key, .failure(ErrorObject(.internalError)))
    }
    step.answer(taking.key, .success(.room(snapshot)))
  }

  private mutating func sit(_ taking: SeatTaking, _ step: inout Step) -> SeatID? {
    let (params, member) = (taking.params, taking.member)
    if let old = taking.old {
      guard let seat = table.seats[old] else { return nil }
      Places.keep(old, &seating, &step)
      return seating.move(seat, to: member, params, &step)
    }
    guard let room = taking.room ?? taking.rules.map({ addRoom(name: params.room, rules: $0, isNamed: false, &step) })
    else { return nil }
    if member.mayDecideMedia(of: params.room) { RoomMedia.decide(params.media ?? .video, of: room, &seating, &step) }
    return seating.take(member, in: room, params, &step)
  }

  /// Joining the room one is in changes name and metadata where they are given.
  private mutating func rejoin(
    _ params: RoomJoinParams, _ seat: Seat, _ step: inout Step
  ) throws(ErrorObject) -> SeatID {
    if let name = params.displayName { try table.checkName(name, in: seat.room, except: seat.id) }
    let name = params.displayName ?? seat.displayName
    try Renewals.take(seat, displayName: name, params.metadata, &chats, table, at: step.now.instant)
    seating.renew(seat.id, displayName: name, params.metadata, params.autoSubscribe, &step)
    return seat.id
  }

  /// Gives a user's place to another of their devices. The others hear one update: what the old device published is over.
  private mutating func takeOver(
    _ old: Seat, _ params: RoomJoinParams, _ session: MemberFacts, _ key: RequestKey, _ silence: MediaSilence?,
    _ step: inout Step
  ) throws(ErrorObject) -> SeatID? {
    try old.checkGivesWay(to: session, params, table)
    if !old.member.mayBeReplaced(by: session.identity, token: params.resumeToken) {
      let refusal = ErrorObject(.forbidden, "Show the resumeToken of the device that has the seat.") {
        $0.reason = "resume_token"
      }
      let returner = Returner(
        identity: session.identity, network: session.presence.reachedFrom, old: old.member, seat: old.id,
        silence: silence)
      if let seat = try returner.seatToAsk(orRefuse: refusal, rules, &step) {
        step.send(.actions(.awaitSilence(Action(.room(.join(params)), key, given: session.given), about: seat)))
        return nil
      }
    }
    var params = params
    (params.displayName, params.metadata) = Renewals.taken(old, by: session, params, table)
    try table.checkName(params.displayName ?? old.displayName, in: old.room, except: old.id)
    step.send(.vacate(session.session))
    step.send(.rooms(.takeSeat(SeatTaking(params, session, key, in: old.room, insteadOf: old.id))))
    return nil
  }

  // MARK: - Leave

  /// Leaves the named room; not being in it is no error. A call's room is left by hanging up.
  mutating func leave(_ params: RoomParams, _ key: RequestKey, _ step: inout Step) throws(ErrorObject) -> Reply? {
    guard let seat = try? table.seat(of: key.session, inRoom: params.room) else { return .empty }
    if CallRoom.isName(params.room) {
      step.send(.hangUp(key, room: params.room))
      return nil
    }
    seating.leave(seat.id, .left, &step)
    return .empty
  }

  // MARK: - The rooms there are

  /// Makes an empty room, with what was left of it before a restart.
  @discardableResult
  mutating func addRoom(name: String, rules: RoomRules, isNamed: Bool, _ step: inout Step) -> RoomKey {
    let key = seating.addRoom(name: name, rules: rules, isNamed: isNamed, &step)
    adoptRestored(key, name: name, &step)
    return key
  }

  /// Gives a room what was said in it before a restart, and its door. Where nobody is let in, it is not said how much it keeps: its chat waits.
  mutating func adoptRestored(_ key: RoomKey, name: String, _ step: inout Step) {
    if let door = restored.doors.removeValue(forKey: name) { Doors.adopt(door, key, &seating.table) }
    guard !book.isUnserved(name), let messages = restored.chats.removeValue(forKey: name) else { return }
    seating.table.update(key) { $0.chat = ChatLog(capacity: $0.rules.chatHistory, restored: messages) }
    if table[key]?.chat.keepsMessages == false { step.keep([.forgetRoom(name)]) }
  }
}

/// Whether there is space for one more.
private enum Admission {
  /// Whether there is a seat and the name is free.
  static func check(
    _ params: RoomJoinParams, _ session: MemberFacts, to key: RoomKey?, isMove: Bool, _ roomRules: RoomRules,
    _ rooms: Rooms
  ) throws(ErrorObject) {
    let (table, load) = (rooms.table, rooms.load)
    let room = key.flatMap { table[$0] }
    let places = room?.rules ?? roomRules
    let isPlayer = session.identity.isPlayer(in: places)
    let wanted = session.mayDecideMedia(of: params.room) ? params.media : nil
    let seats = roomRules.seats(room?.media ?? roomRules.media ?? wanted ?? .video)
    let limit = isPlayer ? places.players ?? 0 : seats
    let occupied = (isPlayer ? room?.players : room?.occupied) ?? 0
    guard occupied < limit else { throw .limit(.roomFull, limit: limit, count: occupied) }
    try session.checkCap(inRoom: room?.occupied ?? 0)
    if let key { try table.checkName(params.displayName ?? session.displayName, in: key, except: nil) }
    guard load.admits(to: key, in: table) || isMove && load.admitsMove(of: session, to: key, in: table) else {
      throw .mediaFull
    }
    try RoomQuotas.checkSeat(session, in: key, rooms)
    guard room == nil else { return }
    try Shares.checkRoom(session, rooms)
    try RoomQuotas.checkRoom(session, rooms)
  }
}

extension SeatID {
  /// The answer to who has come to this seat.
  fileprivate func reply(in rooms: Rooms, at now: Now) throws(ErrorObject) -> RoomSnapshot {
    guard let snapshot = snapshot(in: rooms, at: now.wallMilliseconds) else { throw ErrorObject(.internalError) }
    return snapshot
  }
}

extension RoomJoinParams {
  /// Without the name where it is not theirs to choose, and with what the application says of them.
  fileprivate func allowed(to member: MemberFacts) -> RoomJoinParams {
    guard member.identity.hasGivenName || member.given != nil else { return self }
    var params = self
    if member.identity.hasGivenName { params.displayName = nil }
    params.displayName = member.given?.displayName ?? params.displayName
    params.metadata = member.given?.metadata ?? params.metadata
    return params
  }
}

extension Seat {
  /// - Throws: 2004 where one has not said that this one is to give way. A place beside the seats is no way to one of them.
  fileprivate func checkGivesWay(
    to session: MemberFacts, _ params: RoomJoinParams, _ table: RoomTable
  ) throws(ErrorObject) {
    guard params.takeover == true, isPlayer == session.isPlayer(in: room, table) else {
      throw ErrorObject(.alreadyJoined)
    }
  }
}

extension MediaLoad {
  /// Whether somebody who is moved brings what their worker carries already: to a room that nobody is in, which begins there, or from a room that
  /// is full itself.
  fileprivate func admitsMove(of member: MemberFacts, to key: RoomKey?, in table: RoomTable) -> Bool {
    let isEmpty = key.flatMap { table[$0]?.members.isEmpty } ?? true
    return isEmpty || table.currentSeat(of: member.session).map { !admits(to: $0.room) } ?? false
  }

  /// Whether somebody may sit down in a room, in which perhaps nobody is; nil stands for one that is yet to be made.
  func admits(to key: RoomKey?, in table: RoomTable) -> Bool {
    admits(to: key.flatMap { table[$0]?.members.isEmpty == false ? $0 : nil })
  }
}
