// From a request to what serves it. One line a case: rules live with what they are about.

import Basics
import Calls
import Members
import Names
import Rooms
import RoostProtocol
import Sessions

extension ConferenceCore {
  /// Begins a session, unless the connection has one: then a hello is a request like any other, and refused or repeated.
  mutating func handle(
    _ params: HelloParams, of identity: Identity, id: RequestID, on connection: ConnectionID, _ step: inout Step
  ) {
    guard sessions.session(on: connection) == nil else {
      return sessions.apply(.request(.session(.hello(params)), id, on: connection), &step)
    }
    do throws(ErrorObject) {
      // Doors have looked already. Behind this line names are compared as Swift does, which agrees with bytes among such names alone.
      try NameForm.check(identity.user, "user")
      try NameForm.check(identity.device, "deviceId")
      try budgets.take(hello: params, of: identity, at: step.now)
      sessions.apply(.hello(Hello(params, of: identity, id: id, on: connection)), &step)
    } catch {
      step.add(.reply(connection, id, .failure(error)))
    }
  }

  /// What sessions hand on of requests.
  mutating func take(_ message: RequestMessage, _ step: inout Step) {
    switch message {
    case .serve(let request, let key, let identity, let silence):
      serve(request, proving: identity, key, silence, &step)
    case .replyAgain(let origin, let seat, let key, let connection):
      let result = Result { () throws(ErrorObject) in try replyAgain(origin, seat, key.session, step.now) }
      step.send(.sessions(.repeated(key, on: connection, result)))
    case .charged(.request(let request), let key): tellRooms(request, key, nil, &step)
    case .charged(.stream(let request), let key): rooms.apply(.stream(request, key), &step)
    case .awaitStored(let ticket, let message): storing.wait(.message(message), for: ticket, step.now)
    case .awaitToo(let key, let ticket): storing.wait(key, for: ticket)
    }
  }

  /// Serves a request that is new, or, with `silence`, one that has waited for that.
  mutating func serve(
    _ request: Request, proving identity: Identity? = nil, _ key: RequestKey, _ silence: MediaSilence?,
    _ step: inout Step
  ) {
    do throws(ErrorObject) {
      // A further proof is taken whatever its user has asked for: what it does not allow any more must end. Doors bound how many are shown.
      let isFree = request.endsSomething || identity != nil || silence != nil
      try budgets.take(isFree ? 0 : request.weight, of: sessions.facts(of: key.session)?.identity, at: step.now)
      if let identity { return sessions.apply(.renew(key, identity), &step) }
      if let reply = try perform(request, key, silence, &step) { step.answer(key, .success(reply)) }
    } catch {
      step.refuse(request, key, error)
    }
  }

  /// The room, and the call where it was one's, as they are now: what has changed since, a resume has told already.
  private mutating func replyAgain(
    _ origin: SeatOrigin, _ seat: SeatID?, _ session: SessionID, _ now: Now
  ) throws(ErrorObject) -> Reply {
    let room = seat.flatMap { rooms.snapshot($0, at: now.wallMilliseconds) }
    switch origin {
    case .room:
      guard let room else { throw ErrorObject(.notJoined, "You have left this room since.") }
      return .room(room)
    case .call(let id):
      let (call, room) = try callAgain(id, room, session, now)
      return .callRoom(CallRoomResult(call: call, room: room))
    case .started(let id, let busy, let unreachable, let glare):
      let (call, room) = try callAgain(id, room, session, now)
      return .callStarted(
        CallStartResult(call: call, room: room, busy: busy, unreachable: unreachable, glare: glare))
    }
  }

  /// - Throws: 3001 and 3002 where the call is over since, 3006 where the seat in it was left.
  private mutating func callAgain(
    _ id: String, _ room: RoomSnapshot?, _ session: SessionID, _ now: Now
  ) throws(ErrorObject) -> (Call, RoomSnapshot) {
    let call = try calls.get(CallParams(callId: id), from: session.device, at: now)
    if call.state == .ended { throw .callEnded(call) }
    guard let room, room.room == call.room else {
      throw ErrorObject(.notInCall, "You have left this call since.")
    }
    return (call, room)
  }

  /// The result; nil where the reply comes later, or has gone out already.
  private mutating func perform(
    _ request: Request, _ key: RequestKey, _ silence: MediaSilence?, _ step: inout Step
  ) throws(ErrorObject) -> Reply? {
    switch request {
    // What a token changes was done before; where nobody verifies any, it changes nothing.
    case .session(.ping), .session(.bye), .session(.token): return .empty
    case .session(.hello), .session(.resume):
      throw ErrorObject(.invalidState, "This connection has its session.")
    case .userQuery(let params):
      try sessions.facts(of: key.session)?.checkQuery(params.users)
      return .users(sessions.presence(of: params.users) { calls.isBusy($0) })
    case .block(let request):
      try Blocks.perform(request, key, &self, &step)
      return nil
    case .room(.info(let params)):
      try sessions.facts(of: key.session)?.checkJoin(params.room)
      return .roomInfo(try rooms.info(params))
    case .peerConnection(.offer):
      step.send(.sessions(.charge(key, .offer, then: .request(request))))
      return nil
    case .view(.show(let params)):
      step.send(.sessions(.charge(key, .shows(params.views.count, "changing views"), then: .request(request))))
      return nil
    case .room, .chat, .peerConnection, .track, .subscription, .view:
      tellRooms(request, key, silence, &step)
      return nil
    case .call(let request): return try perform(request, key, silence, &step)
    }
  }

  /// Rooms serve a request, with what is known of who asks.
  private mutating func tellRooms(
    _ request: Request, _ key: RequestKey, _ silence: MediaSilence?, _ step: inout Step
  ) {
    var isInCall = false
    if case .room(.moderate(let params)) = request, let user = params.user, CallRoom.isName(params.room) {
      isInCall = calls.holds(user, in: CallRoom.callId(params.room))
    }
    let asked = MemberRequest(request, key, sessions.facts(of: key.session), silence, isInCall: isInCall)
    rooms.apply(.serve(asked), &step)
  }

  /// What a front door wants of a stream.
  mutating func handle(_ request: StreamRequest, id: RequestID, on connection: ConnectionID, _ step: inout Step) {
    guard let session = sessions.session(on: connection) else {
      return step.add(.reply(connection, id, .failure(ErrorObject(.notLoggedIn))))
    }
    let key = RequestKey(session: session, id: id)
    do throws(ErrorObject) {
      try budgets.take(request.weight, of: sessions.facts(of: session)?.identity, at: step.now)
      let views = try rooms.views(on: request.shown, of: session)
      guard let rate = request.rate(views: views) else { return rooms.apply(.stream(request, key), &step) }
      step.send(.sessions(.charge(key, rate, then: .stream(request))))
    } catch {
      step.refuse(request, key, error)
    }
  }
}
