// What moderators do to the people in a room, and raised hands. Whatever may refuse a request is asked before anything
// changes; the reply goes out before its effects on whoever asked.

import Basics
import Members
import RoostProtocol

/// Serves `room.moderate` and `room.raiseHand`.
enum Moderating {
  /// Who asks, and of which room.
  private struct Order {
    let params: ModerateParams
    /// The moderator's; nil for an operator, who has no seat and stands above all.
    let seat: Seat?
    let key: RoomKey
    let room: Room
    /// The user's seat, where a user is named and there.
    let target: Seat?
    /// Whether a user is named who is rung for the call whose room it is, may come back to it, or is in it and not back after a restart.
    let isInCall: Bool

    /// Which tracks it is about.
    var kind: TrackKind { params.action == .stopVideo ? .video : params.kind ?? .audio }

    /// What everybody hears of it.
    var event: RoomModerated {
      let isOfTracks = params.action == .mute || params.action == .stopVideo
      return RoomModerated(
        room: room.name, by: seat?.user, action: params.action, user: params.user, kind: isOfTracks ? kind : nil,
        role: params.action == .role ? params.role : nil, until: params.action == .ban ? params.until : nil,
        hold: isOfTracks ? params.hold : nil)
    }
  }

  /// `key`: of a moderator's request; nil for an operator, in a room that is no call's. Nobody is above them, and no rate holds.
  /// - Throws: 1005 for who is no moderator or asks it of somebody above them, 2005 outside the room, 3008 for who is not in it,
  ///   1010 where no more can be kept, 1006 for who does it too often, 1009 for what calls do not have; 2001 where an operator names no room.
  static func perform(
    _ params: ModerateParams, _ key: RequestKey?, isInCall: Bool, _ rooms: inout Rooms, _ step: inout Step
  ) throws(ErrorObject) -> Reply? {
    let (seat, place) = try origin(of: params, key, rooms)
    if let seat, let wait = rooms.moderations.take(ClaimedUser(seat.member.identity), at: step.now.instant) {
      throw .tooOften("moderating", wait)
    }
    guard let room = rooms.table[place] else { throw ErrorObject(.internalError) }
    try room.checkOffers(params.action)
    let target = params.user.flatMap { rooms.table.seat(ofUser: $0, in: place) }
    let order = Order(
      params: params, seat: seat, key: place, room: room, target: target, isInCall: room.isOfCall && isInCall)
    try check(order, rooms, step.now)
    if let key { step.answer(key, .success(.empty)) }
    step.log(
      "moderated",
      [("room", room.name), ("by", seat?.user ?? ""), ("action", params.action.rawValue), ("user", params.user ?? "")]
        + (params.media.map { [("media", $0.rawValue)] } ?? []))
    carryOut(order, &rooms, &step)
    return nil
  }

  /// A moderator's seat and the room that it is in, or the room that an operator names.
  private static func origin(
    of params: ModerateParams, _ key: RequestKey?, _ rooms: Rooms
  ) throws(ErrorObject) -> (Seat?, RoomKey) {
    guard let key else { return (nil, try rooms.table.listedRoom(params.room)) }
    try Access.checkModerated(params.room, from: key.session, rooms.table)
    let seat = try rooms.table.seat(of: key.session, inRoom: params.room)
    try Access.checkModerate(seat, rooms.table)
    return (seat, seat.room)
  }

  // MARK: - Whether it is possible

  private static func check(_ order: Order, _ rooms: Rooms, _ now: Now) throws(ErrorObject) {
    let params = order.params
    switch params.action {
    case .lock, .unlock, .lobby, .admit, .deny, .unban, .disableChat, .enableChat, .lowerHand, .end: return
    case .media: try RoomMedia.checkModerator(params.media ?? .video, order.room)
    case .mute, .stopVideo:
      if params.hold == nil { try checkThere(order) }
      try checkRank(order, rooms.table)
      try order.room.moderation.checkSpace(holding: params.user, order.kind, params.hold)
    case .kick:
      if !order.isInCall { try checkThere(order) }
      try checkRank(order, rooms.table)
      if let seat = order.seat { try Access.checkRank(of: seat, overAbsent: params.user, in: order.room, rooms.table) }
    case .ban:
      if let seat = order.seat { try Access.checkBan(by: seat, of: params.user ?? "", order.target, rooms.table) }
      if let until = params.until, until <= now.wallMilliseconds {
        throw .parameter("until", expected: "a time to come, in milliseconds since 1970")
      }
      try rooms.bans.checkSpace(
        for: params.user ?? "", in: order.room.name, by: order.seat?.user ?? KeptBan.operators,
        at: now.wallMilliseconds)
      if params.address == true { _ = try addressBan(order, rooms, now) }
    case .role:
      let role = params.role ?? .participant
      if role != .participant { try checkThere(order) }
      try checkRank(order, rooms.table)
      try order.room.moderation.checkSpace(forRoleOf: params.user ?? "", role)
    }
  }

  private static func checkRank(_ order: Order, _ table: RoomTable) throws(ErrorObject) {
    if let seat = order.seat { try Access.checkRank(of: seat, over: order.target, table) }
  }

  /// - Throws: 3008 where a user is named who is not in the room.
  private static func checkThere(_ order: Order) throws(ErrorObject) {
    guard order.params.user != nil, order.target == nil else { return }
    throw ErrorObject(.userNotFound, "This user is not in the room.")
  }

  // MARK: - Doing it

  private static func carryOut(_ order: Order, _ rooms: inout Rooms, _ step: inout Step) {
    switch order.params.action {
    case .mute: mute(order, &rooms.seating, &step)
    case .stopVideo: stopVideo(order, &rooms.seating, &step)
    case .kick: putOut(order, &rooms.seating, &step)
    case .ban: ban(order, &rooms, &step)
    case .unban:
      Banning.forget(order.params.user ?? "", order.room.name, &rooms.bans, &rooms.addressBans, &step)
      tell(order, rooms.table, &step)
    case .lock: setDoor(.locked, order, &rooms.seating.table, &step)
    case .unlock: setDoor(.open, order, &rooms.seating.table, &step)
    case .lobby: setDoor(.lobby, order, &rooms.seating.table, &step)
    case .admit, .deny: decide(order, &rooms.seating.table, &step)
    case .role: setRole(order, &rooms.seating, &step)
    case .disableChat, .enableChat:
      rooms.seating.table.update(order.key) { $0.moderation.isChatDisabled = order.params.action == .disableChat }
      Doors.keep(order.key, rooms.table, &step)
      tell(order, rooms.table, &step)
    case .lowerHand: lowerHands(order, &rooms.seating, &step)
    case .media: RoomMedia.set(order.params.media ?? .video, of: order.key, by: order.seat?.user, &rooms.seating, &step)
    case .end:
      tell(order, rooms.table, &step)
      guard order.room.isOfCall else {
        _ = rooms.close(order.key, &step)
        return
      }
      step.send(.end(CallRoom.callId(order.room.name), by: order.seat?.user ?? ""))
    }
  }

  /// Everybody in the room hears of it.
  private static func tell(_ order: Order, _ table: RoomTable, _ step: inout Step) {
    step.tell(.roomModerated(order.event), in: order.key, of: table)
  }

  /// Whom it is about: the one who is named, else all but those who moderate.
  private static func those(_ order: Order, _ rooms: Seating) -> [Seat] {
    if order.params.user != nil { return order.target.map { [$0] } ?? [] }
    return rooms.table.members(of: order.key).filter { Access.role(of: $0, rooms.table) != .moderator }
  }

  private static func hold(_ order: Order, _ table: inout RoomTable) {
    guard let isHeld = order.params.hold else { return }
    table.update(order.key) { $0.moderation.hold(order.params.user, order.kind, isHeld) }
  }

  /// Who may unmute again is not unmuted: that is theirs to do.
  private static func mute(_ order: Order, _ rooms: inout Seating, _ step: inout Step) {
    hold(order, &rooms.table)
    tell(order, rooms.table, &step)
    guard order.params.hold != false else { return }
    for seat in those(order, rooms) {
      for track in rooms.media.tracks(of: seat.id) where track.wire.kind == order.kind && !track.wire.muted {
        Publishing.setMuted(true, track, exceptFor: nil, &rooms.media, rooms.table, &step)
      }
    }
  }

  private static func stopVideo(_ order: Order, _ rooms: inout Seating, _ step: inout Step) {
    hold(order, &rooms.table)
    tell(order, rooms.table, &step)
    guard order.params.hold != false else { return }
    for seat in those(order, rooms) { RoomMedia.endVideo(of: seat, &rooms.media, rooms.table, &step) }
  }

  private static func addressBan(
    _ order: Order, _ rooms: Rooms, _ now: Now
  ) throws(ErrorObject) -> KeptAddressBan {
    try AddressBanning.ban(
      with: order.params.user ?? "", order.target, in: order.room, until: order.params.until, by: order.seat?.user,
      rooms, now)
  }

  private static func ban(_ order: Order, _ rooms: inout Rooms, _ step: inout Step) {
    let user = order.params.user ?? ""
    AddressBanning.shorten(of: user, in: order.room.name, to: order.params.until, &rooms.addressBans, &step)
    if order.params.address == true, let ban = try? addressBan(order, rooms, step.now) {
      AddressBanning.keep(ban, &rooms.addressBans, &step)
    }
    let ban = KeptBan(
      room: order.room.name, user: user, until: order.params.until, by: order.seat?.user ?? KeptBan.operators)
    let gone = rooms.bans.insert(ban, at: step.now.wallMilliseconds)
    step.keep(gone.map { .forgetBan(room: $0.room, user: $0.user) } + [.ban(ban)])
    let waiting = order.room.moderation.lobby.waiting.filter { $0.user == user }
    for knocker in waiting { Doors.leaveLobby(knocker.session, &rooms.seating.table, &step) }
    step.tell(.roomModerated(order.event), to: waiting.map(\.session))
    putOut(order, &rooms.seating, &step)
  }

  /// Also of somebody who is not there: their role and admission go.
  private static func putOut(_ order: Order, _ rooms: inout Seating, _ step: inout Step) {
    Eviction.forget(order.params.user ?? "", in: order.key, &rooms.table)
    tell(order, rooms.table, &step)
    guard order.room.isOfCall else {
      if let target = order.target { Eviction.putOut(target, &rooms, &step) }
      return
    }
    let (user, call) = (order.params.user ?? "", CallRoom.callId(order.room.name))
    step.log("removed", ["call": call, "user": user])
    step.send(.remove(user, call: call, by: order.seat?.user ?? ""))
  }

  private static func setDoor(_ door: Door, _ order: Order, _ table: inout RoomTable, _ step: inout Step) {
    Doors.set(door, of: order.key, order.event, &table, &step)
    Doors.keep(order.key, table, &step)
    tell(order, table, &step)
    Doors.tellOperatorsLock(order.key, table, &step)
  }

  /// Who waits is told, and so are the other moderators, in whose lists they stand. All who wait where nobody is named. Who is in the
  /// room by the grant needs no admission, and has none left when the grant is gone.
  private static func decide(_ order: Order, _ table: inout RoomTable, _ step: inout Step) {
    let isAdmitted = order.params.action == .admit
    let waiting = order.room.moderation.lobby.waiting
    if let target = order.target, Access.moderatesByGrant(target, table) { return }
    let users = order.params.user.map { [$0] } ?? waiting.map(\.user)
    for user in users {
      table.update(order.key) { $0.moderation.lobby.decide(user, isAdmitted: isAdmitted) }
      var event = order.event
      event.user = user
      for knocker in waiting where knocker.user == user {
        table.setKnocking(at: nil, knocker.session)
        step.tell(.roomModerated(event), to: knocker.session)
      }
      Doors.tellModerators(.roomModerated(event), in: order.key, table, &step)
    }
  }

  /// Who has the word has no hand up any more. Who loses their role loses the place that came with it. Who has the grant is given none:
  /// it would outlive the grant.
  private static func setRole(_ order: Order, _ rooms: inout Seating, _ step: inout Step) {
    let role = order.params.role ?? .participant
    if role != .participant, let target = order.target, Access.moderatesByGrant(target, rooms.table) {
      return lowerHand(of: target, &rooms, &step)
    }
    rooms.table.update(order.key) { $0.moderation.setRole(role, of: order.params.user ?? "") }
    tell(order, rooms.table, &step)
    guard let target = order.target else { return }
    if role != .participant { rooms.table.update(target.id) { $0.handRaisedAt = nil } }
    roleChanged(of: target, &rooms, &step)
  }

  /// Others see who somebody is now, and in a call they themselves: joining it again would be no question. What a role kept them from
  /// holds from now on: a place to publish goes, and so does sound that all others may not make.
  static func roleChanged(of seat: Seat, _ rooms: inout Seating, _ step: inout Step) {
    rooms.table.grantReplacesRole(of: seat)
    let role = Access.role(of: seat, rooms.table)
    if role == nil, rooms.table[seat.room]?.rules.publishers != nil {
      Places.clear(seat, &rooms.media, rooms.table, &step)
    }
    for track in rooms.media.tracks(of: seat.id)
    where !track.wire.muted && Access.isHeld(seat, track.wire.kind, rooms.table) {
      Publishing.setMuted(true, track, exceptFor: nil, &rooms.media, rooms.table, &step)
    }
    rooms.announce(seat.id, toAll: rooms.table.isInCall(seat), &step)
  }

  private static func lowerHands(_ order: Order, _ rooms: inout Seating, _ step: inout Step) {
    tell(order, rooms.table, &step)
    let seats = order.params.user == nil ? rooms.table.members(of: order.key) : order.target.map { [$0] } ?? []
    for seat in seats { lowerHand(of: seat, &rooms, &step) }
  }

  private static func lowerHand(of seat: Seat, _ rooms: inout Seating, _ step: inout Step) {
    guard seat.handRaisedAt != nil else { return }
    rooms.table.update(seat.id) { $0.handRaisedAt = nil }
    rooms.announce(seat.id, toAll: rooms.table.isInCall(seat), &step)
  }

  // MARK: - Hands

  /// Raises one's hand, or lowers it. The others see since when it is up, so that there is a queue.
  /// - Throws: 2005 outside the room, 1006 for who does it too often.
  static func raiseHand(
    _ params: RaiseHandParams, _ session: SessionID, _ rooms: inout Rooms, _ step: inout Step
  ) throws(ErrorObject) -> Reply {
    let seat = try rooms.table.seat(of: session, inRoom: params.room)
    guard (seat.handRaisedAt != nil) != params.raised else { return .empty }
    // Others hear of it, as of a message of the chat.
    try rooms.chats.take(of: seat.member.identity, "raising your hand", at: step.now.instant)
    rooms.seating.table.update(seat.id) { $0.handRaisedAt = params.raised ? step.now.wallMilliseconds : nil }
    rooms.seating.announce(seat.id, &step)
    return .empty
  }
}
