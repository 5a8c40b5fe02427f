// Rooms: join and leave. Admission is decided before anything changes, so that a refusal is silent for others.

import Basics
import Calls
import Members
import RoostProtocol

extension ConferenceCore {
  // MARK: - Join

  /// Joins, and leaves a line in the log either way. Nil: it has to be known first how silent somebody's media are.
  mutating func joinLogged(
    _ params: RoomJoinParams, _ key: RequestKey, _ silence: MediaSilence?, _ step: inout Step
  ) throws(ErrorObject) -> Reply? {
    guard let member = sessions.table.facts(of: key.session) else { throw ErrorObject(.notLoggedIn) }
    do throws(ErrorObject) {
      guard let seat = try join(params, member, key, silence, &step) else { return nil }
      guard let snapshot = rooms.snapshot(seat, at: step.now.wallMilliseconds) else {
        throw ErrorObject(.internalError)
      }
      return .room(snapshot)
    } catch {
      step.count(.joinRefused(error.code))
      RefusalLog.leave(
        "join_refused", ["room": params.room, "user": member.user, "code": error.code.name],
        of: member.identity, &refusalLines, &step)
      throw error
    }
  }

  private mutating func join(
    _ params: RoomJoinParams, _ session: MemberFacts, _ key: RequestKey, _ silence: MediaSilence?,
    _ step: inout Step
  ) throws(ErrorObject) -> SeatID? {
    let id = key.session
    try session.checkJoin(params.room)
    var params = params
    if session.identity.hasGivenName { params.displayName = nil }
    let isOfStream = session.identity.opensStreamRooms
    guard let roomRules = rules.rules(forRoom: params.room, ofStream: isOfStream) else {
      throw ErrorObject(.roomNotFound)
    }
    try Doors.checkBan(session, in: params.room, rooms, step.now)
    let existing = rooms.table[named: params.room]
    if let existing, let seat = rooms.table.currentSeat(of: id), seat.room == existing {
      return try rejoin(params, seat, &step)
    }
    guard !isDraining else { throw ErrorObject(.draining) }
    if let existing, let other = rooms.table.seat(ofUser: session.user, in: existing) {
      return try takeOver(other, params, session, key, silence, &step)
    }
    try AddressBanning.check(session, in: params.room, rooms, step.now)
    if let existing {
      try Doors.pass(session, params, into: existing, &rooms, &step)
    } else {
      try Doors.checkRestored(storing.restoredDoors[params.room], session)
    }
    try admit(params, session, to: existing, roomRules)
    if rooms.table.stays[id]?.knocksAt == params.room { Doors.leaveLobby(id, &rooms.table, &step) }
    vacate(id, &step)
    let room = existing ?? addRoom(name: params.room, rules: roomRules, isNamed: false, &step)
    if session.mayDecideMedia(of: params.room) { RoomMedia.decide(params.media ?? .video, of: room, &rooms, &step) }
    return rooms.take(session, in: room, params, &step)
  }

  /// Whether there is a seat and the name is free.
  private func admit(
    _ params: RoomJoinParams, _ session: MemberFacts, to key: RoomKey?, _ roomRules: RoomRules
  ) throws(ErrorObject) {
    let room = key.flatMap { rooms.table[$0] }
    let places = room?.rules ?? roomRules
    let isPlayer = session.identity.isPlayer(in: places)
    let wanted = session.mayDecideMedia(of: params.room) ? params.media : nil
    let seats = roomRules.seats(room?.media ?? roomRules.media ?? wanted ?? .video)
    let limit = isPlayer ? places.players ?? 0 : seats
    let occupied = (isPlayer ? room?.players : room?.occupied) ?? 0
    guard occupied < limit else { throw .limit(.roomFull, limit: limit, count: occupied) }
    try session.checkCap(inRoom: room?.occupied ?? 0)
    if let key { try rooms.table.checkName(params.displayName ?? session.displayName, in: key, except: nil) }
    guard mediaLoad.admits(to: key) else { throw ErrorObject(.overloaded) }
    guard room == nil else { return }
    try Shares.checkRoom(session, rooms)
    if rooms.table.all.count - rules.rooms.count >= rules.maxRooms { throw ErrorObject(.overloaded) }
  }

  /// Joining the room one is in changes name and metadata where they are given.
  private mutating func rejoin(
    _ params: RoomJoinParams, _ seat: Seat, _ step: inout Step
  ) throws(ErrorObject) -> SeatID {
    if let name = params.displayName { try rooms.table.checkName(name, in: seat.room, except: seat.id) }
    let name = params.displayName ?? seat.displayName
    try Renewals.take(seat, displayName: name, params.metadata, &rooms.chats, rooms.table, at: step.now.instant)
    rooms.renew(seat.id, displayName: name, params.metadata, params.autoSubscribe, &step)
    return seat.id
  }

  /// Gives a user's place to another of their devices. The others hear one update: what the old device published is over.
  private mutating func takeOver(
    _ old: Seat, _ params: RoomJoinParams, _ session: MemberFacts, _ key: RequestKey, _ silence: MediaSilence?,
    _ step: inout Step
  ) throws(ErrorObject) -> SeatID? {
    // A place beside the seats is no way to one of them.
    guard params.takeover == true, old.isPlayer == session.isPlayer(in: old.room, rooms.table) else {
      throw ErrorObject(.alreadyJoined)
    }
    if !old.member.mayBeReplaced(by: session.identity, token: params.resumeToken) {
      let refusal = ErrorObject(.forbidden, "Show the resumeToken of the device that has the seat.") {
        $0.reason = "resume_token"
      }
      let returner = Returner(
        identity: session.identity, network: session.presence.reachedFrom, old: old.member, seat: old.id,
        silence: silence)
      let isAdmitted = try takeovers.admits(
        returner, .request(key), refusal: refusal, { .request(.room(.join(params)), about: $0) }, rules, &step)
      guard isAdmitted == true else { return nil }
    }
    var params = params
    (params.displayName, params.metadata) = Renewals.taken(old, by: session, params, rooms.table)
    try rooms.table.checkName(params.displayName ?? old.displayName, in: old.room, except: old.id)
    vacate(session.session, &step)
    Places.keep(old.id, &rooms, &step)
    return move(old, to: session, params, &step)
  }

  /// Puts another session of the same user in a seat's place.
  @discardableResult
  mutating func move(_ old: Seat, to session: MemberFacts, _ params: RoomJoinParams, _ step: inout Step) -> SeatID {
    let position = rooms.table[old.room]?.members.firstIndex(of: old.id)
    let room = rooms.table[old.room]?.name ?? params.room
    close(old, &step)
    step.tell(.roomClosed(RoomClosed(room: room, reason: .replaced)), to: old.session)
    return rooms.fill(position, of: old, with: session, params, &step)
  }

  // MARK: - Leave

  /// Leaves the named room; not being in it is no error. A call's room is left by hanging up.
  mutating func leave(_ params: RoomParams, _ key: RequestKey, _ step: inout Step) throws(ErrorObject) -> Reply? {
    guard let seat = try? rooms.table.seat(of: key.session, inRoom: params.room) else { return .empty }
    if CallRoom.isName(params.room) {
      try hangUp(key, room: params.room, &step)
      return nil
    }
    leave(seat.id, .left, &step)
    return .empty
  }

  /// Frees a seat, once, and tells those who stay.
  mutating func leave(_ id: SeatID, _ reason: LeaveReason, _ step: inout Step) {
    guard let seat = rooms.table.seats[id] else { return }
    let left = ParticipantLeft(
      room: rooms.table.name(of: seat.room), participantId: "\(seat.participant)", user: seat.user, reason: reason)
    free(seat, reason, &step)
    rooms.table.freePlace(of: seat)
    step.tell(.participantLeft(left), in: seat.room, of: rooms.table)
    if rooms.table[seat.room]?.members.isEmpty == true { emptied(seat.room, &step) }
  }

  /// Takes all seats of a room away and tells who had them, but one.
  mutating func empty(_ key: RoomKey, _ reason: LeaveReason, except actor: SessionID? = nil, _ step: inout Step) {
    guard let room = rooms.table[key] else { return }
    for seat in rooms.table.members(of: key) {
      free(seat, reason, &step)
      guard seat.session != actor else { continue }
      let closed = RoomClosed(room: room.name, reason: .closed)
      step.tell(.roomClosed(closed), to: seat.session)
    }
    rooms.table.freePlaces(of: key)
    emptied(key, &step)
  }

  /// What goes with a seat whatever the reason: its tracks and paths, a line in the log, a count, a message to webhook
  /// subscribers.
  private mutating func free(_ seat: Seat, _ reason: LeaveReason, _ step: inout Step) {
    step.log(
      "leave", ["reason": reason.rawValue, "room": rooms.table.name(of: seat.room), "user": seat.user],
      orOf: LineSubject(seat.member.identity))
    step.count(.left(reason))
    close(seat, &step)
    rooms.publishRoom(.roomLeft, seat.room, user: seat.user, reason: reason.rawValue, &step)
  }

  /// Closes a seat, and ends the session that lived for it alone.
  private mutating func close(_ seat: Seat, _ step: inout Step) {
    rooms.close(seat, &step)
    if sessions.table.superseded.contains(seat.session) { end(seat.session, .replaced, &step) }
  }

  // MARK: - The rooms there are

  /// Makes an empty room.
  @discardableResult
  mutating func addRoom(name: String, rules: RoomRules, isNamed: Bool, _ step: inout Step) -> RoomKey {
    let key = RoomKey(step.makeNumber())
    rooms.table.insert(Room(name: name, rules: rules, isNamed: isNamed), key)
    adoptRestored(key, name: name)
    return key
  }

  /// Gives a room what was said in it before a restart, and its door.
  mutating func adoptRestored(_ key: RoomKey, name: String) {
    if let door = storing.takeRestoredDoor(of: name) { Doors.adopt(door, key, &rooms.table) }
    guard let messages = storing.takeRestoredChat(of: name) else { return }
    rooms.table.update(key) { $0.chat = ChatLog(capacity: $0.rules.chatHistory, restored: messages) }
  }

  /// A named room starts anew under another key, with its chat, and so does that of a call that still runs, as it does
  /// after a restart while nobody is back; any other vanishes.
  private mutating func emptied(_ key: RoomKey, _ step: inout Step) {
    rooms.publishRoom(.roomClosed, key, &step)
    guard let room = rooms.table.remove(key) else { return }
    rooms.media.setLoudest(nil, in: key)
    step.add(.closeRoom(key))
    guard room.isNamed || isOfRunningCall(room.name) else {
      // A call's chat goes in the same change as the call: a crash must not come between them.
      if room.chat.keepsMessages, !room.isOfCall {
        step.keep([.forgetRoom(room.name)])
      }
      Doors.forget(room, &rooms.table, &step)
      return
    }
    let next = addRoom(name: room.name, rules: room.rules, isNamed: room.isNamed, &step)
    rooms.table.update(next) {
      ($0.chat, $0.isLocked, $0.moderation) = (room.chat, room.isLocked, room.moderation.whenEmpty)
      $0.keptPlaces = room.keptPlaces
    }
    Doors.limitAdmissions(next, until: step.now.instant + rules.resumeGrace, &rooms.table)
  }
}
