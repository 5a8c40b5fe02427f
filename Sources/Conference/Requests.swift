// From a request to what serves it. One line a case: rules live with what they are about.

import RoostProtocol

extension ConferenceCore {
  /// Serves a request, or repeats its reply where it has been served before.
  mutating func handle(_ request: Request, id: RequestID, on connection: ConnectionID) {
    if case .session(.ping) = request { return effects.append(.client(.reply(connection, id, .success(.empty)))) }
    guard let session = connections[connection] else { return handleBeforeLogin(request, id: id, on: connection) }
    switch sessions[session]?.requests.begin(id, request) {
    case .new: break
    case .pending, nil: return
    case .some(let known): return effects.append(.client(.reply(connection, id, replyAgain(known, session))))
    }
    if case .session(.bye) = request { return bye(session, id: id, on: connection) }
    let key = RequestKey(session: session, id: id)
    do throws(ErrorObject) {
      if let reply = try perform(request, key) { finish(key, .success(reply)) }
    } catch {
      finish(key, .failure(error))
    }
  }

  /// The reply to a request that has been served before.
  private mutating func replyAgain(
    _ known: RequestWindow.Known, _ session: SessionID
  ) -> Result<Reply, ErrorObject> {
    switch known {
    case .done(let result): return result
    case .seated(let seat, let origin):
      return Result { () throws(ErrorObject) in try replyAgain(origin, seat, session) }
    case .forgotten: return .failure(.requestID("reply_gone", "This was done, but its reply is no longer kept."))
    case .taken, .new, .pending: return .failure(.requestID("id_taken", "This id was used for another request."))
    }
  }

  /// The room, and the call where it was one's, as they are now: what has changed since, a resume has told already.
  private mutating func replyAgain(
    _ origin: RequestWindow.Origin, _ seat: SeatID, _ session: SessionID
  ) throws(ErrorObject) -> Reply {
    let room = sessions[session]?.seat == seat ? snapshot(seat) : nil
    switch origin {
    case .room:
      guard let room else { throw ErrorObject(.notJoined, "You have left this room since.") }
      return .room(room)
    case .call(let id):
      let (call, room) = try callAgain(id, room, session)
      return .callRoom(CallRoomResult(call: call, room: room))
    case .started(let id, let busy, let unreachable, let glare):
      let (call, room) = try callAgain(id, room, session)
      return .callStarted(
        CallStartResult(call: call, room: room, busy: busy, unreachable: unreachable, glare: glare))
    }
  }

  /// - Throws: 3001 and 3002 where the call is over since, 3006 where the seat in it was left.
  private mutating func callAgain(
    _ id: String, _ room: RoomSnapshot?, _ session: SessionID
  ) throws(ErrorObject) -> (Call, RoomSnapshot) {
    let call = try calls.get(CallParams(callId: id), from: session.device, at: now)
    if call.state == .ended { throw .callEnded(call) }
    guard let room, room.room == call.room else {
      throw ErrorObject(.notInCall, "You have left this call since.")
    }
    return (call, room)
  }

  private mutating func handleBeforeLogin(_ request: Request, id: RequestID, on connection: ConnectionID) {
    do throws(ErrorObject) {
      switch request {
      case .session(.hello(let params)): try hello(params, id: id, on: connection)
      case .session(.resume(let params)): try resume(params, id: id, on: connection)
      case .session(.bye), .session(.ping), .userQuery, .room, .chat, .peerConnection, .track, .subscription, .call:
        throw ErrorObject(.notLoggedIn)
      }
    } catch {
      effects.append(.client(.reply(connection, id, .failure(error))))
    }
  }

  /// The result; nil where the reply comes later.
  private mutating func perform(_ request: Request, _ key: RequestKey) throws(ErrorObject) -> Reply? {
    switch request {
    case .session(let request): return try perform(request)
    case .userQuery(let params): return .users(presence(of: params.users))
    case .room(let request): return try perform(request, key)
    case .chat(let request): return try perform(request, key)
    case .peerConnection(let request): return try perform(request, key)
    case .track(let request): return try perform(request, key.session)
    case .subscription(let request): return try perform(request, key)
    case .call(let request): return try perform(request, key)
    }
  }

  /// What a connection that has its session may say of sessions; `session.bye` is served before.
  private func perform(_ request: SessionRequest) throws(ErrorObject) -> Reply {
    switch request {
    case .ping, .bye: return .empty
    case .hello, .resume: throw ErrorObject(.invalidState, "This connection has its session.")
    }
  }

  private mutating func perform(_ request: RoomRequest, _ key: RequestKey) throws(ErrorObject) -> Reply? {
    switch request {
    case .join(let params): return try joinLogged(params, key.session)
    case .leave(let params): return try leave(params, key)
    case .list: return .rooms(RoomListResult(rooms: roomList()))
    case .info(let params): return .roomInfo(try roomInfo(params))
    }
  }

  private mutating func perform(_ request: ChatRequest, _ key: RequestKey) throws(ErrorObject) -> Reply? {
    switch request {
    case .send(let params): return try sendChat(params, key)
    case .history(let params): return .messages(try chatHistory(params, key.session))
    }
  }

  private mutating func perform(_ request: PeerConnectionRequest, _ key: RequestKey) throws(ErrorObject) -> Reply? {
    switch request {
    case .offer(let params): return try negotiatePublish(params, key)
    case .answer(let params): return try negotiateAnswer(params, key)
    case .restart: return try restartSubscribe(key.session)
    }
  }

  private mutating func perform(_ request: TrackRequest, _ session: SessionID) throws(ErrorObject) -> Reply {
    switch request {
    case .unpublish(let params): return try unpublish(params, session)
    case .mute(let params): return try setMuted(true, params, session)
    case .unmute(let params): return try setMuted(false, params, session)
    }
  }

  private mutating func perform(_ request: SubscriptionRequest, _ key: RequestKey) throws(ErrorObject) -> Reply? {
    switch request {
    case .subscribe(let params): return try subscribe(params, key.session)
    case .unsubscribe(let params): return try unsubscribe(params, key.session)
    case .update(let params): return try updateSubscription(params, key.session)
    case .swap(let params): return try swapSubscriptions(params, key)
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
