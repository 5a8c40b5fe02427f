// A call's room: hidden, named `call:<callId>`, made for its first seat and closed with the call. Its seats, tracks,
// mutes and chat are those of any room.

import Basics
import Calls
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
  /// Whether a seat is in a call's room.
  func isInCall(_ seat: Seat) -> Bool { isCallRoom(rooms[seat.room]?.name ?? "") }

  func isCallRoom(_ name: String) -> Bool { name.hasPrefix(ProtocolLimits.callRoomPrefix) }

  /// Whether this is the room of a call that is not over.
  func isOfRunningCall(_ name: String) -> Bool {
    isCallRoom(name) && calls.isRunning(CallID(String(name.dropFirst(ProtocolLimits.callRoomPrefix.count))))
  }

  /// How long a seat is kept whose socket or media is lost.
  func grace(of seat: SeatID?) -> TimeDelta {
    guard let seat = seat.flatMap({ seats[$0] }), isInCall(seat) else { return rules.resumeGrace }
    return rules.calls.resumeGrace
  }

  // MARK: - What the switchboard says

  mutating func sit(_ id: SessionID, in call: CallID, _ media: MediaClass, _ wish: SeatWish) {
    if let seat = sessions[id]?.seat { leave(seat, .left) }
    guard let session = sessions[id] else { return }
    let name = ProtocolLimits.callRoomPrefix + call.text
    let room = roomNames[name] ?? addRoom(name: name, rules: rules.callRoom, isNamed: false)
    rooms[room]?.media = media
    take(
      session, in: room, RoomJoinParams(room: name, metadata: wish.metadata, autoSubscribe: wish.autoSubscribe))
  }

  /// Takes a seat away; who did not ask for that himself is told.
  mutating func unseat(_ id: SessionID, _ reason: LeaveReason, isActing: Bool) {
    guard let seat = sessions[id]?.seat.flatMap({ seats[$0] }), isInCall(seat) else { return }
    let room = rooms[seat.room]?.name ?? ""
    leave(seat.id, reason)
    if !isActing { send(.roomClosed(RoomClosed(room: room, reason: RoomClosedReason(reason))), to: id) }
  }

  mutating func moveSeat(from old: SessionID, to new: SessionID, _ wish: SeatWish) {
    if let seat = sessions[new]?.seat { leave(seat, .left) }
    guard let seat = sessions[old]?.seat.flatMap({ seats[$0] }), let session = sessions[new] else { return }
    move(
      seat, to: session,
      RoomJoinParams(
        room: "", displayName: seat.displayName, metadata: wish.metadata ?? seat.metadata,
        autoSubscribe: wish.autoSubscribe))
  }

  /// Accepting or joining once more, on the device that has the seat, changes what was said of it.
  mutating func renewSeat(of id: SessionID, _ wish: SeatWish) {
    guard let seat = sessions[id]?.seat.flatMap({ seats[$0] }), isInCall(seat) else { return }
    renew(seat.id, displayName: seat.displayName, wish.metadata, wish.autoSubscribe)
  }

  mutating func closeRoom(of call: CallID, except actor: SessionID?) {
    guard let key = roomNames[ProtocolLimits.callRoomPrefix + call.text] else { return }
    empty(key, .left, except: actor)
  }

  /// In an audio call nobody sends video: what is sent ends, and whoever sent it is told as well.
  mutating func setMedia(_ media: MediaClass, of call: CallID) {
    guard let key = roomNames[ProtocolLimits.callRoomPrefix + call.text] else { return }
    rooms[key]?.media = media
    guard media == .audio else { return }
    for seat in rooms[key]?.members ?? [] {
      for track in seats[seat]?.tracks ?? [] where tracks[track]?.wire.kind == .video {
        endTrack(track)
        announceEnd(of: track, seat: seat, toAll: true)
      }
    }
  }

  // MARK: - What happens to a seat in a call

  /// Gives up whatever seat a session has, which in a call is a hang-up.
  mutating func vacate(_ id: SessionID) {
    // The seat goes first: whoever gives it up himself needs not be told that it is gone.
    let effects = calls.leave(id.device, at: now)
    if let seat = sessions[id]?.seat { leave(seat, .left) }
    carry(effects)
  }

  /// `room.leave` on a call's room.
  mutating func hangUp(_ key: RequestKey, room: String) throws(ErrorObject) {
    let params = CallHangupParams(callId: String(room.dropFirst(ProtocolLimits.callRoomPrefix.count)))
    carry(try calls.hangup(params, from: key.session.device, at: now), key, reply: .empty)
  }

  /// The media of a seat is lost for the moment or found again.
  mutating func noteMedia(isLost: Bool, of seat: SeatID) {
    guard let session = seats[seat]?.session else { return }
    carry(calls.mediaLost(isLost, on: session.device, at: now))
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
