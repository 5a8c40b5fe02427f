// Who comes into a room that moderators guard: bans, locks, the lobby. What operators lock is `Room.isLocked`. Doors are kept
// beyond the process where there is a disk.

import Basics
import Members
import RoostProtocol

extension KeptDoor {
  fileprivate init(_ room: Room) {
    self.init(
      room: room.name, isLockedByOperator: room.isLocked, door: room.moderation.door,
      isChatDisabled: room.moderation.isChatDisabled)
  }
}

/// Bans, locks and lobbies at work.
enum Doors {
  // MARK: - Who comes in

  /// - Throws: 2009 for who is banned. Who has the grant `moderate` is not: an issuer's word is worth more.
  static func checkBan(_ session: MemberFacts, in room: String, _ rooms: Rooms, _ now: Now) throws(ErrorObject) {
    guard !session.mayModerate(room),
      let ban = rooms.bans.ban(of: session.user, in: room, at: now.wallMilliseconds)
    else { return }
    throw ErrorObject(.banned) { $0.until = ban.until }
  }

  /// Whether somebody has to wait in the lobby.
  /// - Throws: 2007 at a locked door, 1005 for who was sent away.
  static func mustKnock(_ session: MemberFacts, at room: Room) throws(ErrorObject) -> Bool {
    try room.checkOpen()
    if session.mayModerate(room.name) || room.moderation.roles[session.user] != nil { return false }
    switch room.moderation.door {
    case .open: return false
    case .locked: throw ErrorObject(.roomLocked)
    case .lobby: break
    }
    switch room.moderation.lobby.isAdmitted(session.user) {
    case true?: return false
    case false?: throw ErrorObject(.forbidden, "You were not let in.") { $0.reason = "denied" }
    case nil: return true
    }
  }

  /// A room that is not configured, and that nobody has come back to since a restart, is guarded as before it. Nobody is there to be
  /// told of who knocks.
  /// - Throws: 2007, or 2008 that may be tried again.
  static func checkRestored(_ door: KeptDoor?, _ session: MemberFacts) throws(ErrorObject) {
    guard let door else { return }
    if door.isLockedByOperator { throw ErrorObject(.roomLocked) }
    if session.mayModerate(door.room) { return }
    switch door.door {
    case .open: return
    case .locked: throw ErrorObject(.roomLocked)
    case .lobby:
      throw ErrorObject(.inLobby) {
        ($0.retryable, $0.retryAfterMs) = (true, knockAgain.milliseconds)
      }
    }
  }

  /// After how long somebody asks again whom nobody has heard. Shorter lets those who wait ask more often for nothing.
  private static let knockAgain = TimeDelta.seconds(5)

  /// Somebody waits in the lobby of a room from now on, and its moderators hear of it.
  /// - Throws: 2008 always; 1006, 5002 where they may not even wait.
  static func knock(
    _ session: MemberFacts, _ params: RoomJoinParams, at key: RoomKey, _ rooms: inout Rooms, _ step: inout Step
  ) throws(ErrorObject) {
    guard let room = rooms.table[key] else { return }
    var lobby = room.moderation.lobby
    let name = params.displayName ?? session.displayName
    let isNews = !lobby.isWaiting(session.user)
    if isNews {
      try lobby.checkSpace()
      // Moderators hear of each knock: they count as messages of the chat do.
      try rooms.chats.take(of: session.identity, "knocking", at: step.now.instant)
      try rooms.knocks.take(session.identity, at: step.now.instant)
    }
    lobby.knock(Lobby.Knocker(session.with(nil, joining: nil), displayName: name))
    if rooms.table.stays[session.session]?.knocksAt != room.name {
      leaveLobby(session.session, &rooms.seating.table, &step)
    }
    rooms.seating.table.update(key) { $0.moderation.lobby = lobby }
    rooms.seating.table.setKnocking(at: room.name, session.session)
    if isNews {
      step.log("knock", ["room": room.name, "user": session.user])
      tellModerators(
        .roomKnock(RoomKnock(room: room.name, user: session.user, displayName: name)), in: key, rooms.table, &step)
    }
    throw ErrorObject(.inLobby)
  }

  /// A session waits at no door any more: it is over, or waits at another.
  static func leaveLobby(_ id: SessionID, _ table: inout RoomTable, _ step: inout Step) {
    guard let name = table.stays[id]?.knocksAt else { return }
    table.setKnocking(at: nil, id)
    guard let key = table[named: name] else { return }
    var knocker: Lobby.Knocker?
    table.update(key) { knocker = $0.moderation.lobby.leave(id) }
    guard let knocker else { return }
    let knock = RoomKnock(room: name, user: knocker.user, displayName: knocker.displayName, gone: true)
    tellModerators(.roomKnock(knock), in: key, table, &step)
  }

  /// A session waits at no door that it may not go through any more, and who was let in by name is not, unless another of their
  /// sessions may come.
  static func leaveForbidden(
    _ session: MemberFacts, allOfUser sessions: [MemberFacts], _ table: inout RoomTable, _ step: inout Step
  ) {
    if let name = table.stays[session.session]?.knocksAt, !session.mayBeIn(name) {
      leaveLobby(session.session, &table, &step)
    }
    let admitted = table.all.filter { $0.value.moderation.lobby.isAdmitted(session.user) == true }
    for (key, room) in admitted where !sessions.contains(where: { $0.mayBeIn(room.name) }) {
      table.update(key) { $0.moderation.lobby.forget(session.user) }
    }
  }

  // MARK: - What moderators do to it

  /// Changes the door. Whoever waits hears of it, as they may try again, or need not. A lobby that is set again admits anew.
  static func set(
    _ door: Door, of key: RoomKey, _ moderated: RoomModerated, _ table: inout RoomTable, _ step: inout Step
  ) {
    guard let room = table[key] else { return }
    guard room.moderation.door != door else { return table.update(key) { $0.moderation.lobby.forgetDecisions() } }
    dismiss(room.moderation.lobby, moderated, &table, &step)
    table.update(key) { ($0.moderation.door, $0.moderation.lobby) = (door, Lobby()) }
  }

  /// The lobby is no more.
  static func dismiss(
    _ lobby: Lobby, _ moderated: RoomModerated, _ table: inout RoomTable, _ step: inout Step
  ) {
    for knocker in lobby.waiting { table.setKnocking(at: nil, knocker.session) }
    step.tell(.roomModerated(moderated), to: lobby.waiting.map(\.session))
  }

  /// Tells those in a room who moderate it.
  static func tellModerators(
    _ event: Event, in key: RoomKey, _ table: RoomTable, _ step: inout Step
  ) {
    let moderators = table.members(of: key).filter { Access.role(of: $0, table) == .moderator }
    step.tell(event, to: moderators.map(\.session))
  }

  /// A meeting is over, or its room has been empty for long enough: who was admitted to it is not admitted to the next.
  static func endAdmissions(_ key: RoomKey, _ table: inout RoomTable) {
    table.update(key) { $0.moderation.lobby.forgetDecisions() }
  }

  /// The last one has left. Who loads a page anew is back in a moment.
  static func limitAdmissions(_ key: RoomKey, until end: Instant, _ table: inout RoomTable) {
    guard table[key]?.moderation.lobby.hasDecided == true else { return }
    table.setEmpty(key, until: end)
  }

  // MARK: - What operators do to it

  /// Lets nobody more in. Those who are there hear of it.
  static func lock(_ key: RoomKey, _ table: inout RoomTable, _ step: inout Step) {
    table.update(key) { $0.isLocked = true }
    keep(key, table, &step)
    tell(.lock, key, table, &step)
    step.log("room_locked", ["room": table.name(of: key)])
  }

  /// Lets people in again, whoever has locked the room or opened a lobby.
  /// - Returns: what kept them out.
  /// - Throws: 2001 where there is no such room, or nothing to open.
  static func open(
    _ name: String, _ rooms: inout Rooms, _ step: inout Step
  ) throws(ErrorObject) -> [KeptDoor.Bar] {
    let bars: [KeptDoor.Bar]
    if rooms.table[named: name] == nil, let door = rooms.restored.doors[name], !CallRoom.isName(name) {
      // Nobody has come back to it since a restart, as nobody is let in.
      bars = try checkBars(door)
      rooms.restored.doors[name] = door.opened.isUsual ? nil : door.opened
      step.keep([door.opened.isUsual ? .forgetDoor(door.room) : .door(door.opened)])
    } else {
      let key = try rooms.table.listedRoom(name)
      guard let room = rooms.table[key] else { throw ErrorObject(.roomNotFound) }
      bars = try checkBars(KeptDoor(room))
      set(.open, of: key, RoomModerated(room: name, by: nil, action: .unlock), &rooms.seating.table, &step)
      rooms.seating.table.update(key) { $0.isLocked = false }
      keep(key, rooms.table, &step)
      tell(.unlock, key, rooms.table, &step)
    }
    step.log("room_unlocked", ["room": name, "lifted": bars.map(\.rawValue).joined(separator: " ")])
    return bars
  }

  private static func checkBars(_ door: KeptDoor) throws(ErrorObject) -> [KeptDoor.Bar] {
    guard !door.bars.isEmpty else {
      throw ErrorObject(.roomNotFound, "This room is not locked, and has no lobby.")
    }
    return door.bars
  }

  private static func tell(
    _ action: ModerationAction, _ key: RoomKey, _ table: RoomTable, _ step: inout Step
  ) {
    let moderated = RoomModerated(room: table.name(of: key), by: nil, action: action)
    step.tell(.roomModerated(moderated), in: key, of: table)
  }

  /// A moderator has opened the door, and an operator's lock holds all the same: everybody hears that, too.
  static func tellOperatorsLock(_ key: RoomKey, _ table: RoomTable, _ step: inout Step) {
    guard let room = table[key], room.isLocked, room.moderation.door != .locked else { return }
    tell(.lock, key, table, &step)
  }

  // MARK: - Keeping

  /// Keeps a room's door as it is now.
  static func keep(_ key: RoomKey, _ table: RoomTable, _ step: inout Step) {
    guard let room = table[key] else { return }
    let door = KeptDoor(room)
    step.keep([door.isUsual ? .forgetDoor(room.name) : .door(door)])
  }

  /// A room that is not configured is gone, and its door with it.
  static func forget(_ room: Room, _ table: inout RoomTable, _ step: inout Step) {
    let moderated = RoomModerated(room: room.name, by: nil, action: .unlock)
    dismiss(room.moderation.lobby, moderated, &table, &step)
    if !KeptDoor(room).isUsual { step.keep([.forgetDoor(room.name)]) }
  }

  /// Gives a room the door that it had before a restart.
  static func adopt(_ door: KeptDoor, _ key: RoomKey, _ table: inout RoomTable) {
    table.update(key) {
      $0.isLocked = door.isLockedByOperator
      ($0.moderation.door, $0.moderation.isChatDisabled) = (door.door, door.isChatDisabled)
    }
  }
}
