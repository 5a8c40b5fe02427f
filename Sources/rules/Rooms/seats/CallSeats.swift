// Seats in a call's room, which is made for its first seat and closed with the call. Its seats, tracks, mutes and chat are
// those of any room.

import Basics
import Calls
import Members
import RoostProtocol

extension Rooms {
  /// Gives a session a seat in a call's room.
  mutating func sit(_ session: MemberFacts, on seat: CallSeat, _ wish: SeatWish, _ step: inout Step) {
    seating.leave(session.session, &step)
    let name = CallRoom.name(seat.call.text)
    let room = table[named: name] ?? addRoom(name: name, rules: rules.callRoom, isNamed: false, &step)
    seating.table.update(room) {
      ($0.media, $0.host, $0.callRuns) = (seat.media, $0.host ?? seat.host, seat.isRunning)
    }
    seating.take(
      session, in: room,
      RoomJoinParams(room: name, metadata: wish.metadata, autoSubscribe: wish.autoSubscribe), &step)
  }

  /// Joining a call once more counts as what it changes of the seat that is there.
  mutating func renew(
    _ key: RequestKey, _ request: CallRequest, in callId: String, _ wish: SeatWish, mayTakeOver: Bool,
    _ step: inout Step
  ) {
    do throws(ErrorObject) {
      try Renewals.take(of: key.session, in: callId, wish, &chats, table, at: step.now.instant)
      step.send(.proceed(key, request, mayTakeOver: mayTakeOver, wish))
    } catch {
      step.refuse(.call(request), key, error)
    }
  }
}

extension Seating {
  // MARK: - What the switchboard says

  /// Takes a seat away; who did not ask for that themselves is told.
  mutating func unseat(_ id: SessionID, _ reason: LeaveReason, isActing: Bool, _ step: inout Step) {
    guard let seat = table.currentSeat(of: id), table.isInCall(seat) else { return }
    let room = table.name(of: seat.room)
    leave(seat.id, reason, &step)
    if isActing { return }
    let closed = RoomClosed(room: room, reason: RoomClosedReason(reason))
    step.tell(.roomClosed(closed), to: id)
  }

  mutating func moveSeat(from old: SessionID, to session: MemberFacts, _ wish: SeatWish, _ step: inout Step) {
    leave(session.session, &step)
    guard let seat = table.currentSeat(of: old) else { return }
    var params = RoomJoinParams(
      room: "", displayName: seat.displayName, metadata: wish.metadata, autoSubscribe: wish.autoSubscribe)
    (params.displayName, params.metadata) = Renewals.taken(seat, by: session, params, table)
    move(seat, to: session, params, &step)
  }

  mutating func closeRoom(of call: CallID, except actor: SessionID?, _ step: inout Step) {
    guard let key = table[named: CallRoom.name(call.text)] else { return }
    empty(key, .left, except: actor, &step)
  }

  /// A session gives up whatever seat it has.
  mutating func leave(_ session: SessionID, _ step: inout Step) {
    if let seat = table.currentSeat(of: session) { leave(seat.id, .left, &step) }
  }

  /// A call is over: its room need not wait for anybody.
  mutating func callOver(_ call: CallID) {
    guard let key = table[named: CallRoom.name(call.text)] else { return }
    table.update(key) { $0.callRuns = false }
  }

  /// Who hosts a group call. They moderate it, and the others see that.
  mutating func setHost(_ user: String, of call: CallID, _ step: inout Step) {
    guard let room = table[named: CallRoom.name(call.text)], table[room]?.host != user else { return }
    table.update(room) { $0.host = user }
    if let seat = table.seat(ofUser: user, in: room) { Moderating.roleChanged(of: seat, &self, &step) }
  }

  /// In an audio call nobody sends video: what is sent ends, and its publisher is told as well.
  mutating func setMedia(_ kind: MediaClass, of call: CallID, _ step: inout Step) {
    guard let key = table[named: CallRoom.name(call.text)] else { return }
    table.update(key) { $0.media = kind }
    guard kind == .audio else { return }
    for seat in table.members(of: key) { RoomMedia.endVideo(of: seat, &media, table, &step) }
  }
}

extension Room {
  /// Whether what a moderator wants is there for this room: who comes into a call decides who invites, and what it carries
  /// `call.mediaChange`.
  /// - Throws: 1009.
  func checkOffers(_ action: ModerationAction) throws(ErrorObject) {
    guard isOfCall else { return }
    switch action {
    case .mute, .stopVideo, .kick, .role, .disableChat, .enableChat, .lowerHand, .end: return
    case .lock, .unlock, .lobby, .admit, .deny, .ban, .unban, .media:
      throw ErrorObject(
        .unsupported, "Calls have no doors and no bans, and change what they carry by call.mediaChange.")
    }
  }
}

extension RoomClosedReason {
  /// What those are told whose seat in a call ended for a reason that is not their own: reasons are open names, and any other means that
  /// another of their devices has it.
  fileprivate init(_ reason: LeaveReason) {
    self = reason == .lost ? .lost : reason == .removed ? .removed : .replaced
  }
}

extension Seating {
  /// Accepting or joining once more, on the device that has the seat, changes what was said of it.
  mutating func renewSeat(of id: SessionID, _ wish: SeatWish, _ step: inout Step) {
    guard let seat = table.currentSeat(of: id), table.isInCall(seat) else { return }
    renew(seat.id, displayName: seat.displayName, wish.metadata, wish.autoSubscribe, &step)
  }
}
