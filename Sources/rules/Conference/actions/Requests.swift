// From a request to what serves it. One line a case: rules live with what they are about.

import Basics
import Calls
import Members
import Names
import RoostProtocol

extension ConferenceCore {
  /// Begins a session, unless the connection has one: then a hello is a request like any other, and refused or repeated.
  mutating func handle(
    _ params: HelloParams, of identity: Identity, id: RequestID, on connection: ConnectionID, _ step: inout Step
  ) {
    guard sessions.table[on: connection] == nil else {
      return handle(.session(.hello(params)), id: id, on: connection, &step)
    }
    do throws(ErrorObject) {
      // Doors have looked already. Behind this line names are compared as Swift does, which agrees with bytes among such names alone.
      try NameForm.check(identity.user, "user")
      try NameForm.check(identity.device, "deviceId")
      try budgets.take(hello: params, of: identity, at: step.now)
      try takeovers.checkHello(on: connection, sessions.table)
      try hello(params, of: identity, id: id, on: connection, nil, &step)
    } catch {
      step.add(.reply(connection, id, .failure(error)))
    }
  }

  /// Serves a request, or repeats its reply where it has been served before. `identity`: whose the token in it is.
  mutating func handle(
    _ request: Request, proving identity: Identity? = nil, from network: PeerNetwork? = nil, id: RequestID,
    on connection: ConnectionID, _ step: inout Step
  ) {
    if case .session(.ping) = request { return step.add(.reply(connection, id, .success(.empty))) }
    guard let session = sessions.table[on: connection] else {
      return handleBeforeLogin(request, from: network, id: id, on: connection, &step)
    }
    switch sessions.table.begin(request, id, of: session) {
    case .new: break
    case .pending, nil: return
    case .some(let known): return step.add(.reply(connection, id, replyAgain(known, session, step.now)))
    }
    if case .session(.bye) = request {
      // A page says goodbye when it is loaded anew, too. Who leaves for good leaves the room first.
      Places.keep(rooms.table.stays[session]?.seat, &rooms, &step)
      end(session, .left, &step)
      step.add(.reply(connection, id, .success(.empty)))
      return step.add(.closeConnection(connection, .bye))
    }
    let key = RequestKey(session: session, id: id)
    serve(request, proving: identity, key, nil, &step)
  }

  /// Serves a request that is new, or, with `silence`, one that has waited for that.
  mutating func serve(
    _ request: Request, proving identity: Identity? = nil, _ key: RequestKey, _ silence: MediaSilence?,
    _ step: inout Step
  ) {
    do throws(ErrorObject) {
      // A further proof is taken whatever its user has asked for: what it does not allow any more must end. Doors bound how many are shown.
      let isFree = request.endsSomething || identity != nil || silence != nil
      try budgets.take(isFree ? 0 : request.weight, of: sessions.table[key.session]?.identity, at: step.now)
      if let identity {
        try Revoking.check(identity, sessions)
        try Proofs.renew(identity, of: key.session, &self, &step)
      }
      if let reply = try perform(request, key, silence, &step) { step.answer(key, .success(reply)) }
    } catch {
      if !request.hasRefusalLine(for: error) {
        RefusalLog.note(
          request.method.rawValue, in: request.roomName, error, of: sessions.table[key.session], &refusalLines, &step)
      }
      step.answer(key, .failure(error))
    }
  }

  /// The reply to a request that has been served before.
  private mutating func replyAgain(
    _ known: RequestWindow.Known, _ session: SessionID, _ now: Now
  ) -> Result<Reply, ErrorObject> {
    switch known {
    case .done(let result): return result
    case .seated(let seat, let origin):
      return Result { () throws(ErrorObject) in
        sessions.table.stamped(try replyAgain(origin, seat, session, now), for: session)
      }
    case .forgotten: return .failure(.requestID("reply_gone", "This was done, but its reply is no longer kept."))
    case .taken, .new, .pending: return .failure(.requestID("id_taken", "This id was used for another request."))
    }
  }

  /// The room, and the call where it was one's, as they are now: what has changed since, a resume has told already.
  private mutating func replyAgain(
    _ origin: RequestWindow.Origin, _ seat: SeatID, _ session: SessionID, _ now: Now
  ) throws(ErrorObject) -> Reply {
    let room = sessions.table[session]?.seat == seat ? rooms.snapshot(seat, at: now.wallMilliseconds) : nil
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

  private mutating func handleBeforeLogin(
    _ request: Request, from network: PeerNetwork?, id: RequestID, on connection: ConnectionID, _ step: inout Step
  ) {
    do throws(ErrorObject) {
      switch request {
      case .session(.resume(let params)): try resume(params, from: network, id: id, on: connection, &step)
      // Only `Command.hello` says whose hello it is.
      case .session(.hello), .session(.token), .session(.bye), .session(.ping), .userQuery, .block, .room, .chat,
        .peerConnection, .track,
        .subscription, .view, .call:
        throw ErrorObject(.notLoggedIn)
      }
    } catch {
      step.add(.reply(connection, id, .failure(error)))
    }
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
      try sessions.table.facts(of: key.session)?.checkQuery(params.users)
      return .users(sessions.table.presence(of: params.users, calls))
    case .block(let request):
      try Blocks.perform(request, key, &self, &step)
      return nil
    case .room(.join(let params)): return try joinLogged(params, key, silence, &step)
    case .room(.leave(let params)): return try leave(params, key, &step)
    case .room(.list(let params)): return .rooms(rooms.table.list(params, for: sessions.table.facts(of: key.session)))
    case .room(.info(let params)):
      try sessions.table.facts(of: key.session)?.checkJoin(params.room)
      return .roomInfo(try rooms.info(params))
    case .room(.moderate(let params)): return try Moderating.perform(params, key, &self, &step)
    case .room(.raiseHand(let params)): return try Moderating.raiseHand(params, key.session, &rooms, &step)
    case .chat(.send(let params)): return try rooms.sendChat(params, key, &storing, &step)
    case .chat(.history(let params)): return .messages(try rooms.chatHistory(params, key.session))
    case .peerConnection(.offer(let params)) where params.pc == .subscribe:
      try sessions.table.takeOffer(of: key.session, at: step.now.instant)
      return try Subscribing.answer(params, key, rooms, &step)
    case .peerConnection(.offer(let params)):
      try sessions.table.takeOffer(of: key.session, at: step.now.instant)
      return try publishing.negotiate(params, key, rooms, &step)
    case .peerConnection(.answer(let params)): return try subscribing.negotiate(params, key, rooms, &step)
    case .peerConnection(.restart): return try subscribing.restart(key.session, rooms, &step)
    case .track(let request):
      let reply = try publishing.perform(request, key.session, &rooms, &step)
      // The tracks of a connection that was closed are over: nothing of it is missed any more.
      if case .unpublish = request, let seat = rooms.table.currentSeat(of: key.session), seat.failures[.publish] != nil,
        !seat.misses(.publish, rooms.media), rooms.mediaFound(.publish, of: seat.id, &step)
      {
        carry(calls.mediaLost(false, on: key.session.device, at: step.now), &step)
      }
      return reply
    case .subscription(let request): return try subscribing.perform(request, key, &rooms.media, rooms.table, &step)
    case .view(let request):
      if case .show(let params) = request {
        try sessions.table.takeShows(params.views.count, "changing views", of: key.session, at: step.now.instant)
      }
      return try Viewing.perform(request, key.session, &rooms.media, rooms.table, &step)
    case .call(let request): return try perform(request, key, silence, &step)
    }
  }
}

extension Rooms {
  /// - Throws: 2001 where there is no such room; it is retryable where joining would make one.
  fileprivate func info(_ params: RoomParams) throws(ErrorObject) -> RoomInfo {
    do throws(ErrorObject) {
      return try table.info(params, media)
    } catch {
      guard error.code == .roomNotFound, rules.rules(forRoom: params.room) != nil else { throw error }
      throw ErrorObject(.roomNotFound) { $0.retryable = true }
    }
  }
}

extension ErrorObject {
  /// A request whose id tells of a mistake of the client's.
  fileprivate static func requestID(_ reason: String, _ message: String) -> ErrorObject {
    ErrorObject(.invalidRequest, message) {
      $0.field = "id"
      $0.reason = reason
    }
  }
}
