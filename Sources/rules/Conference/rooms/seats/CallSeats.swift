// Seats in a call's room, which is made for its first seat and closed with the call. Its seats, tracks, mutes and chat are
// those of any room.

import Basics
import Calls
import Members
import RoostProtocol

/// What somebody who takes a seat in a call says of it, as `room.join` does for a named room.
struct SeatWish {
  var metadata: JSONValue?
  var autoSubscribe: Bool?
}

extension SeatWish {
  init(_ params: CallStartParams) { self.init(metadata: params.metadata, autoSubscribe: params.autoSubscribe) }
  init(_ params: CallAcceptParams) { self.init(metadata: params.metadata, autoSubscribe: params.autoSubscribe) }
  init(_ params: CallJoinParams) { self.init(metadata: params.metadata, autoSubscribe: params.autoSubscribe) }
}

extension ConferenceCore {
  /// Whether this is the room of a call that is not over.
  func isOfRunningCall(_ name: String) -> Bool {
    CallRoom.isName(name) && calls.isRunning(CallID(CallRoom.callId(name)))
  }

  // MARK: - What the switchboard says

  mutating func sit(
    _ id: SessionID, in call: CallID, _ media: MediaClass, _ wish: SeatWish, _ step: inout Step
  ) {
    if let seat = rooms.table.currentSeat(of: id) { leave(seat.id, .left, &step) }
    guard let session = sessions.table.facts(of: id) else { return }
    let name = CallRoom.name(call.text)
    let room = rooms.table[named: name] ?? addRoom(name: name, rules: rules.callRoom, isNamed: false, &step)
    let host = calls.host(of: call)
    rooms.table.update(room) { ($0.media, $0.host) = (media, $0.host ?? host) }
    rooms.take(
      session, in: room,
      RoomJoinParams(room: name, metadata: wish.metadata, autoSubscribe: wish.autoSubscribe), &step)
  }

  /// Takes a seat away; who did not ask for that themselves is told.
  mutating func unseat(_ id: SessionID, _ reason: LeaveReason, isActing: Bool, _ step: inout Step) {
    guard let seat = rooms.table.currentSeat(of: id), rooms.table.isInCall(seat) else { return }
    let room = rooms.table.name(of: seat.room)
    leave(seat.id, reason, &step)
    if isActing { return }
    let closed = RoomClosed(room: room, reason: RoomClosedReason(reason))
    step.tell(.roomClosed(closed), to: id)
  }

  mutating func moveSeat(from old: SessionID, to new: SessionID, _ wish: SeatWish, _ step: inout Step) {
    if let seat = rooms.table.currentSeat(of: new) { leave(seat.id, .left, &step) }
    guard let seat = rooms.table.currentSeat(of: old), let session = sessions.table.facts(of: new) else { return }
    var params = RoomJoinParams(
      room: "", displayName: seat.displayName, metadata: wish.metadata, autoSubscribe: wish.autoSubscribe)
    (params.displayName, params.metadata) = Renewals.taken(seat, by: session, params, rooms.table)
    move(seat, to: session, params, &step)
  }

  mutating func closeRoom(of call: CallID, except actor: SessionID?, _ step: inout Step) {
    guard let key = rooms.table[named: CallRoom.name(call.text)] else { return }
    empty(key, .left, except: actor, &step)
  }

  // MARK: - What happens to a seat in a call

  /// Gives up whatever seat a session has, which in a call is a hang-up.
  mutating func vacate(_ id: SessionID, _ step: inout Step) {
    // The seat goes first: those who give it up themselves need not be told that it is gone.
    let effects = calls.leave(id.device, at: step.now)
    if let seat = rooms.table.currentSeat(of: id) { leave(seat.id, .left, &step) }
    carry(effects, &step)
  }

  /// `room.leave` on a call's room.
  mutating func hangUp(_ key: RequestKey, room: String, _ step: inout Step) throws(ErrorObject) {
    let params = CallHangupParams(callId: CallRoom.callId(room))
    carry(try calls.hangup(params, from: key.session.device, at: step.now), for: key, reply: .empty, &step)
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
  /// What those are told whose seat in a call ended for a reason that is not their own. Reasons are open names, so that any
  /// other than these must mean something.
  fileprivate init(_ reason: LeaveReason) {
    switch reason {
    case .lost: self = .lost
    case .removed: self = .removed
    default: self = .replaced
    }
  }
}

extension Rooms {
  /// Accepting or joining once more, on the device that has the seat, changes what was said of it.
  mutating func renewSeat(of id: SessionID, _ wish: SeatWish, _ step: inout Step) {
    guard let seat = table.currentSeat(of: id), table.isInCall(seat) else { return }
    renew(seat.id, displayName: seat.displayName, wish.metadata, wish.autoSubscribe, &step)
  }
}
