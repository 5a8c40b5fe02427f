// Rooms: join, leave, list, info. Admission is decided before anything changes, so that a refusal is silent for others.

import Basics
import Calls
import RoostProtocol

extension ConferenceCore {
  // MARK: - Join

  /// Joins, and leaves a line in the log either way.
  mutating func joinLogged(_ params: RoomJoinParams, _ session: SessionID) throws(ErrorObject) -> Reply {
    let user = sessions[session]?.user ?? ""
    do throws(ErrorObject) {
      return .room(try join(params, session))
    } catch {
      count(.joinRefused(error.code))
      log("join_refused", ["room": params.room, "user": user, "code": error.code.name], level: .warning)
      throw error
    }
  }

  private mutating func join(_ params: RoomJoinParams, _ id: SessionID) throws(ErrorObject) -> RoomSnapshot {
    guard let session = sessions[id] else { throw ErrorObject(.notLoggedIn) }
    guard !isCallRoom(params.room) else { throw ErrorObject(.forbidden) }
    guard let rules = rules.rules(forRoom: params.room) else { throw ErrorObject(.roomNotFound) }
    let existing = roomNames[params.room]
    if let existing, let seat = session.seat, seats[seat]?.room == existing { return try rejoin(params, seat) }
    guard !isDraining else { throw ErrorObject(.draining) }
    if let existing, let other = seat(ofUser: session.user, in: existing) {
      return try takeOver(other, params, session)
    }
    try admit(params, session, to: existing, rules)
    vacate(id)
    let room = existing ?? addRoom(name: params.room, rules: rules, isNamed: false)
    if rooms[room]?.media == nil { rooms[room]?.media = params.media ?? .video }
    return try sit(session, in: room, params)
  }

  /// Whether there is a seat and the name is free.
  private func admit(
    _ params: RoomJoinParams, _ session: Session, to key: RoomKey?, _ roomRules: RoomRules
  ) throws(ErrorObject) {
    let room = key.flatMap { rooms[$0] }
    if room?.isLocked == true { throw ErrorObject(.roomLocked) }
    let limit = roomRules.seats(room?.media ?? roomRules.media ?? params.media ?? .video)
    let occupied = room?.occupied ?? 0
    guard occupied < limit else { throw .limit(.roomFull, limit: limit, count: occupied) }
    if let key { try checkName(params.displayName ?? session.displayName, in: key, except: nil) }
    guard mediaLoad.admits(to: key) else { throw ErrorObject(.overloaded) }
    if room == nil, rooms.count - rules.rooms.count >= rules.maxRooms { throw ErrorObject(.overloaded) }
  }

  /// - Throws: 2003 when somebody else in the room is called so.
  private func checkName(_ name: String, in room: RoomKey, except seat: SeatID?) throws(ErrorObject) {
    let wanted = Seat.nameKey(name)
    for member in rooms[room]?.members ?? [] where member != seat {
      if let taken = seats[member]?.displayName, Seat.nameKey(taken) == wanted { throw ErrorObject(.nameTaken) }
    }
  }

  private mutating func sit(
    _ session: Session, in room: RoomKey, _ params: RoomJoinParams
  ) throws(ErrorObject) -> RoomSnapshot {
    let seat = take(session, in: room, params)
    return try snapshotOrFail(seat)
  }

  /// Seats a session that has no seat, and tells the others.
  @discardableResult
  mutating func take(_ session: Session, in room: RoomKey, _ params: RoomJoinParams) -> SeatID {
    let seat = Seat(
      id: SeatID(makeNumber()), participant: ParticipantID(makeNumber()), room: room, session: session.id,
      user: session.user, displayName: params.displayName ?? session.displayName,
      metadata: params.metadata ?? .emptyObject, autoSubscribe: params.autoSubscribe ?? true)
    if rooms[room]?.members.isEmpty == true { publishRoom(.roomOpened, room) }
    open(seat)
    count(.joined)
    log("join", fields(seat))
    broadcast(.participantJoined(event(seat)), in: room, except: seat.id)
    publishRoom(.roomJoined, room, user: seat.user)
    return seat.id
  }

  /// Joining the room one is in changes name and metadata where they are given.
  private mutating func rejoin(_ params: RoomJoinParams, _ id: SeatID) throws(ErrorObject) -> RoomSnapshot {
    guard let seat = seats[id] else { throw ErrorObject(.internalError) }
    if let name = params.displayName { try checkName(name, in: seat.room, except: id) }
    renew(id, displayName: params.displayName ?? seat.displayName, params.metadata, params.autoSubscribe)
    return try snapshotOrFail(id)
  }

  /// Changes what is said of a seat, where it is given; the others hear of what they can see.
  mutating func renew(_ id: SeatID, displayName: String, _ metadata: JSONValue?, _ autoSubscribe: Bool?) {
    guard let old = seats[id] else { return }
    var seat = old
    seat.displayName = displayName
    seat.metadata = metadata ?? seat.metadata
    seat.autoSubscribe = autoSubscribe ?? seat.autoSubscribe
    seats[id] = seat
    if autoSubscribe == true { subscribeToAll(id) }
    guard seat.displayName != old.displayName || seat.metadata != old.metadata else { return }
    broadcast(.participantUpdated(event(seat)), in: seat.room, except: id)
  }

  /// Gives a user's place to another of his devices. The others hear one update: what the old device published is over.
  private mutating func takeOver(
    _ old: Seat, _ params: RoomJoinParams, _ session: Session
  ) throws(ErrorObject) -> RoomSnapshot {
    guard params.takeover == true else { throw ErrorObject(.alreadyJoined) }
    guard mayReplace(old.session, token: params.resumeToken) else {
      throw ErrorObject(.forbidden, "Show the resumeToken of the device that has the seat.") {
        $0.reason = "resume_token"
      }
    }
    let name = params.displayName ?? old.displayName
    try checkName(name, in: old.room, except: old.id)
    vacate(session.id)
    var params = params
    (params.displayName, params.metadata) = (name, params.metadata ?? old.metadata)
    let seat = move(old, to: session, params)
    return try snapshotOrFail(seat)
  }

  /// Puts another session of the same user in a seat's place.
  @discardableResult
  mutating func move(_ old: Seat, to session: Session, _ params: RoomJoinParams) -> SeatID {
    let position = rooms[old.room]?.members.firstIndex(of: old.id)
    let roomName = rooms[old.room]?.name ?? params.room
    close(old.id)
    send(.roomClosed(RoomClosed(room: roomName, reason: .replaced)), to: old.session)
    let seat = Seat(
      id: SeatID(makeNumber()), participant: old.participant, room: old.room, session: session.id, user: old.user,
      displayName: params.displayName ?? old.displayName, metadata: params.metadata ?? old.metadata,
      autoSubscribe: params.autoSubscribe ?? true)
    open(seat, at: position)
    log("takeover", fields(seat))
    broadcast(.participantUpdated(event(seat)), in: seat.room, except: seat.id)
    return seat.id
  }

  private func snapshotOrFail(_ seat: SeatID) throws(ErrorObject) -> RoomSnapshot {
    guard let snapshot = snapshot(seat) else { throw ErrorObject(.internalError) }
    return snapshot
  }

  private func seat(ofUser user: String, in room: RoomKey) -> Seat? {
    for member in rooms[room]?.members ?? [] {
      if let seat = seats[member], seat.user == user { return seat }
    }
    return nil
  }

  // MARK: - Leave

  /// Leaves the named room; not being in it is no error. A call's room is left by hanging up.
  mutating func leave(_ params: RoomParams, _ key: RequestKey) throws(ErrorObject) -> Reply? {
    guard let seat = try? seat(of: key.session, inRoom: params.room) else { return .empty }
    if isCallRoom(params.room) {
      try hangUp(key, room: params.room)
      return nil
    }
    leave(seat.id, .left)
    return .empty
  }

  /// Frees a seat, once, and tells those who stay.
  mutating func leave(_ id: SeatID, _ reason: LeaveReason) {
    guard let seat = seats[id] else { return }
    let left = ParticipantLeft(
      room: rooms[seat.room]?.name ?? "", participantId: "\(seat.participant)", user: seat.user, reason: reason)
    free(seat, reason)
    rooms[seat.room]?.members.removeAll { $0 == id }
    broadcast(.participantLeft(left), in: seat.room)
    if rooms[seat.room]?.members.isEmpty == true { emptied(seat.room) }
  }

  /// What goes with a seat whatever the reason: its tracks and paths, a line in the log, a count, a message to the operator.
  private mutating func free(_ seat: Seat, _ reason: LeaveReason) {
    log("leave", ["reason": reason.rawValue, "room": rooms[seat.room]?.name ?? "", "user": seat.user])
    count(.left(reason))
    close(seat.id)
    publishRoom(.roomLeft, seat.room, user: seat.user, reason: reason.rawValue)
  }

  /// Takes all seats of a room away and tells who had them, but one.
  mutating func empty(_ key: RoomKey, _ reason: LeaveReason, except actor: SessionID? = nil) {
    guard let room = rooms[key] else { return }
    for seat in room.members.compactMap({ seats[$0] }) {
      free(seat, reason)
      guard seat.session != actor else { continue }
      send(.roomClosed(RoomClosed(room: room.name, reason: .closed)), to: seat.session)
    }
    rooms[key]?.members = []
    emptied(key)
  }

  // MARK: - The rooms there are

  /// Makes an empty room.
  @discardableResult
  mutating func addRoom(name: String, rules: RoomRules, isNamed: Bool) -> RoomKey {
    let key = RoomKey(makeNumber())
    rooms[key] = Room(name: name, rules: rules, isNamed: isNamed)
    roomNames[name] = key
    adoptRestoredChat(key, name: name)
    return key
  }

  /// A named room starts anew under another key, with its chat, and so does that of a call that still runs, as it does
  /// after a restart while nobody is back; any other vanishes.
  private mutating func emptied(_ key: RoomKey) {
    publishRoom(.roomClosed, key)
    guard let room = rooms.removeValue(forKey: key) else { return }
    roomNames[room.name] = nil
    effects.append(.media(.closeRoom(key)))
    guard room.isNamed || isOfRunningCall(room.name) else {
      // A call's chat goes in the same change as the call: a crash must not come between them.
      if rules.storesRecords, room.chat.keepsMessages, !isCallRoom(room.name) { store([.forgetRoom(room.name)]) }
      return
    }
    let next = addRoom(name: room.name, rules: room.rules, isNamed: room.isNamed)
    rooms[next]?.chat = room.chat
    rooms[next]?.isLocked = room.isLocked
  }

  /// All rooms that one may see, by name.
  func roomList() -> [RoomInfo] {
    rooms.values.filter { !isCallRoom($0.name) }.map(\.info).sorted { $0.name < $1.name }
  }

  /// One room.
  /// - Throws: 1005 for a call's room, 2001 where there is none.
  func roomInfo(_ params: RoomParams) throws(ErrorObject) -> RoomInfo {
    guard !isCallRoom(params.room) else { throw ErrorObject(.forbidden) }
    guard let room = roomNames[params.room].flatMap({ rooms[$0] }) else { throw ErrorObject(.roomNotFound) }
    return room.info
  }

  // MARK: - Helpers

  /// The params of an event about a participant.
  func event(_ seat: Seat) -> ParticipantEvent {
    ParticipantEvent(room: rooms[seat.room]?.name ?? "", participant: participant(seat))
  }

  private func fields(_ seat: Seat) -> KeyValuePairs<String, String> {
    [
      "room": rooms[seat.room]?.name ?? "", "user": seat.user, "participant": "\(seat.participant)",
      "count": "\(rooms[seat.room]?.occupied ?? 0)",
    ]
  }
}
