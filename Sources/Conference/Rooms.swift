// Rooms: join, leave, list, info. Admission is decided before anything changes, so that a refusal is silent for others.

import Basics
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
    guard !params.room.hasPrefix(ProtocolLimits.callRoomPrefix) else { throw ErrorObject(.forbidden) }
    guard let rules = rules.rules(forRoom: params.room) else { throw ErrorObject(.roomNotFound) }
    let existing = roomNames[params.room]
    if let existing, let seat = session.seat, seats[seat]?.room == existing { return try rejoin(params, seat) }
    guard !isDraining else { throw ErrorObject(.draining) }
    if let existing, let other = seat(ofUser: session.user, in: existing) {
      return try takeOver(other, params, session)
    }
    try admit(params, session, to: existing, rules)
    if let seat = session.seat { leave(seat, .left) }
    let room = existing ?? addRoom(name: params.room, rules: rules, isNamed: false)
    if rooms[room]?.media == nil { rooms[room]?.media = params.media ?? .video }
    return try sit(session, in: room, params)
  }

  /// Whether there is a seat and the name is free.
  private func admit(
    _ params: RoomJoinParams, _ session: Session, to key: RoomKey?, _ roomRules: RoomRules
  ) throws(ErrorObject) {
    let room = key.flatMap { rooms[$0] }
    let limit = roomRules.seats(room?.media ?? roomRules.media ?? params.media ?? .video)
    let occupied = room?.occupied ?? 0
    guard occupied < limit else { throw .limit(.roomFull, limit: limit, count: occupied) }
    if let key { try checkName(params.displayName ?? session.displayName, in: key, except: nil) }
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
    let seat = Seat(
      id: SeatID(makeNumber()), participant: ParticipantID(makeNumber()), room: room, session: session.id,
      user: session.user, displayName: params.displayName ?? session.displayName,
      metadata: params.metadata ?? .emptyObject, autoSubscribe: params.autoSubscribe ?? true)
    open(seat)
    count(.joined)
    log("join", fields(seat))
    broadcast(.participantJoined(event(seat)), in: room, except: seat.id)
    return try snapshotOrFail(seat.id)
  }

  /// Joining the room one is in changes name and metadata where they are given.
  private mutating func rejoin(_ params: RoomJoinParams, _ id: SeatID) throws(ErrorObject) -> RoomSnapshot {
    guard var seat = seats[id] else { throw ErrorObject(.internalError) }
    if let name = params.displayName {
      try checkName(name, in: seat.room, except: id)
      seat.displayName = name
    }
    seat.metadata = params.metadata ?? seat.metadata
    seat.autoSubscribe = params.autoSubscribe ?? seat.autoSubscribe
    let isVisible = seat.displayName != seats[id]?.displayName || seat.metadata != seats[id]?.metadata
    seats[id] = seat
    if params.autoSubscribe == true { subscribeToAll(id) }
    if isVisible { broadcast(.participantUpdated(event(seat)), in: seat.room, except: id) }
    return try snapshotOrFail(id)
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
    guard let position = rooms[old.room]?.members.firstIndex(of: old.id) else { throw ErrorObject(.internalError) }
    if let seat = session.seat { leave(seat, .left) }
    let roomName = rooms[old.room]?.name ?? params.room
    close(old.id)
    send(.roomClosed(RoomClosed(room: roomName, reason: .replaced)), to: old.session)
    let seat = Seat(
      id: SeatID(makeNumber()), participant: old.participant, room: old.room, session: session.id, user: old.user,
      displayName: name, metadata: params.metadata ?? old.metadata, autoSubscribe: params.autoSubscribe ?? true)
    open(seat, at: position)
    log("takeover", fields(seat))
    broadcast(.participantUpdated(event(seat)), in: seat.room, except: seat.id)
    return try snapshotOrFail(seat.id)
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

  /// Leaves the named room; not being in it is no error.
  mutating func leave(_ params: RoomParams, _ session: SessionID) -> Reply {
    if let seat = try? seat(of: session, inRoom: params.room) { leave(seat.id, .left) }
    return .empty
  }

  /// Frees a seat, once.
  mutating func leave(_ id: SeatID, _ reason: LeaveReason) {
    guard let seat = seats[id] else { return }
    log("leave", ["reason": reason.rawValue, "room": rooms[seat.room]?.name ?? "", "user": seat.user])
    count(.left(reason))
    let left = ParticipantLeft(
      room: rooms[seat.room]?.name ?? "", participantId: "\(seat.participant)", user: seat.user, reason: reason)
    close(id)
    rooms[seat.room]?.members.removeAll { $0 == id }
    broadcast(.participantLeft(left), in: seat.room)
    if rooms[seat.room]?.members.isEmpty == true { emptied(seat.room) }
  }

  /// Closes a room: everybody in it is told, and has no seat any more.
  mutating func closeRoom(name: String) {
    guard let key = roomNames[name], let members = rooms[key]?.members, !members.isEmpty else { return }
    for id in members {
      guard let session = seats[id]?.session else { continue }
      close(id)
      count(.left(.removed))
      send(.roomClosed(RoomClosed(room: name, reason: .closed)), to: session)
    }
    rooms[key]?.members = []
    log("room_closed", ["room": name])
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

  /// A named room starts anew under another key, with its chat; any other vanishes.
  private mutating func emptied(_ key: RoomKey) {
    guard let room = rooms.removeValue(forKey: key) else { return }
    roomNames[room.name] = nil
    effects.append(.closeRoom(key))
    guard room.isNamed else {
      if rules.storesRecords, room.chat.keepsMessages { store([.forgetRoom(room.name)]) }
      return
    }
    let next = addRoom(name: room.name, rules: room.rules, isNamed: true)
    rooms[next]?.chat = room.chat
  }

  /// All rooms that one may see, by name.
  func roomList() -> [RoomInfo] {
    rooms.values.filter { !$0.name.hasPrefix(ProtocolLimits.callRoomPrefix) }.map(\.info).sorted { $0.name < $1.name }
  }

  /// One room.
  /// - Throws: 1005 for a call's room, 2001 where there is none.
  func roomInfo(_ params: RoomParams) throws(ErrorObject) -> RoomInfo {
    guard !params.room.hasPrefix(ProtocolLimits.callRoomPrefix) else { throw ErrorObject(.forbidden) }
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
