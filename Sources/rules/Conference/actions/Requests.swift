// From a request to what serves it. One line a case: rules live with what they are about.

import Basics
import Calls
import Members
import Rooms
import RoostProtocol
import Sessions

extension ConferenceCore {
  /// The result; nil where the reply comes later, or has gone out already.
  mutating func perform(
    _ request: Request, _ key: RequestKey, _ silence: MediaSilence?, _ given: QuestionChanges?, _ step: inout Step
  ) throws(ErrorObject) -> Reply? {
    switch request {
    // Where nobody verifies tokens, they change nothing.
    case .session(.ping), .session(.token): return .empty
    case .session(.bye):
      sessions.apply(.bye(key), &step)
      return nil
    case .session(.hello), .session(.resume):
      throw ErrorObject(.invalidState, "This connection has its session.")
    case .userQuery(let params):
      try sessions.facts(of: key.session)?.checkQuery(params.users)
      return .users(sessions.presence(of: params.users) { calls.isBusy($0) })
    case .block(let request):
      try Blocks.perform(request, key, &self, &step)
      return nil
    case .message(let message):
      if let call = message.callId, !rooms.isSeated(key.session, inCall: call) {
        try calls.refuse(key.session.device, outside: call, at: step.now)
      }
      tellRooms(request, key, silence, given, &step)
      return nil
    case .room, .chat, .peerConnection, .track, .subscription, .view:
      tellRooms(request, key, silence, given, &step)
      return nil
    case .call(let request): return try perform(request, key, silence, &step)
    }
  }

  /// Rooms serve a request, with what is known of who asks.
  private mutating func tellRooms(
    _ request: Request, _ key: RequestKey, _ silence: MediaSilence?, _ given: QuestionChanges?, _ step: inout Step
  ) {
    var isInCall = false
    if case .room(.moderate(let params)) = request, let user = params.user, CallRoom.isName(params.room) {
      isInCall = calls.holds(user, in: CallRoom.callId(params.room))
    }
    let facts = sessions.facts(of: key.session)
    let asked = MemberRequest(
      request, key, given == nil ? facts : facts?.with(given, joining: request.roomName), silence, isInCall: isInCall)
    rooms.apply(.serve(asked), &step)
  }
}

extension MessageRequest {
  /// The call that it names.
  fileprivate var callId: String? {
    switch self {
    case .send(let params): params.callId
    case .request(let params): params.callId
    case .answer: nil
    }
  }
}

extension Switchboard {
  /// Why somebody who is not in a call may do nothing there.
  /// - Throws: 3001, 3002, or else 3006.
  fileprivate func refuse(_ device: DeviceID, outside callId: String, at now: Now) throws(ErrorObject) {
    let call = try get(CallParams(callId: callId), from: device, at: now)
    throw call.state == .ended ? .callEnded(call) : ErrorObject(.notInCall)
  }
}

/// The reply to a request that has been served before and took a seat: the room, and the call where it was one's, as they are now.
enum Repeating {
  /// What has changed since, a resume has told already.
  static func reply(
    _ origin: SeatOrigin, _ seat: SeatID?, _ session: SessionID, _ core: ConferenceCore, _ now: Now
  ) -> Result<Reply, ErrorObject> {
    Result { () throws(ErrorObject) in try again(origin, seat, session, core, now) }
  }

  private static func again(
    _ origin: SeatOrigin, _ seat: SeatID?, _ session: SessionID, _ core: ConferenceCore, _ now: Now
  ) throws(ErrorObject) -> Reply {
    let room = seat.flatMap { $0.snapshot(in: core.rooms, at: now.wallMilliseconds) }
    switch origin {
    case .room:
      guard let room else { throw ErrorObject(.notJoined, "You have left this room since.") }
      return .room(room)
    case .call(let id):
      let (call, room) = try callAgain(id, room, session, core.calls, now)
      return .callRoom(CallRoomResult(call: call, room: room))
    case .started(let id, let busy, let unreachable, let glare):
      let (call, room) = try callAgain(id, room, session, core.calls, now)
      return .callStarted(
        CallStartResult(call: call, room: room, busy: busy, unreachable: unreachable, glare: glare))
    }
  }

  /// - Throws: 3001 and 3002 where the call is over since, 3006 where the seat in it was left.
  private static func callAgain(
    _ id: String, _ room: RoomSnapshot?, _ session: SessionID, _ calls: Switchboard, _ now: Now
  ) throws(ErrorObject) -> (Call, RoomSnapshot) {
    let call = try calls.get(CallParams(callId: id), from: session.device, at: now)
    if call.state == .ended { throw .callEnded(call) }
    guard let room, room.room == call.room else {
      throw ErrorObject(.notInCall, "You have left this call since.")
    }
    return (call, room)
  }
}
