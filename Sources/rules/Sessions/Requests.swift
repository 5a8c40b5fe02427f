// Requests as sessions take them: each is served once, and its reply repeated where it comes again.

import Basics
import Members
import RoostProtocol

extension Sessions {
  /// Hands a request on that is to be served, or repeats its reply where it has been served before.
  mutating func handle(
    _ request: Request, id: RequestID, on connection: ConnectionID, proving identity: Identity?,
    from network: PeerNetwork?, _ step: inout Step
  ) {
    if case .session(.ping) = request { return step.add(.reply(connection, id, .success(.empty))) }
    guard let session = table[on: connection] else {
      return handleBeforeLogin(request, from: network, id: id, on: connection, &step)
    }
    let key = RequestKey(session: session, id: id)
    switch table.begin(request, id, of: session) {
    case .new: break
    case .pending, nil: return
    case .done(let result): return step.add(.reply(connection, id, result))
    case .seated(let seat, let origin):
      let isThere = table[session]?.seat == seat
      return step.send(.requests(.replyAgain(origin, isThere ? seat : nil, key, on: connection)))
    case .forgotten:
      let error = ErrorObject.requestID("reply_gone", "This was done, but its reply is no longer kept.")
      return step.add(.reply(connection, id, .failure(error)))
    case .taken:
      let error = ErrorObject.requestID("id_taken", "This id was used for another request.")
      return step.add(.reply(connection, id, .failure(error)))
    }
    if case .session(.bye) = request { return bye(key, on: connection, &step) }
    step.send(.requests(.serve(request, key, proving: identity, nil)))
  }

  /// A page says goodbye when it is loaded anew, too. Who leaves for good leaves the room first.
  private mutating func bye(_ key: RequestKey, on connection: ConnectionID, _ step: inout Step) {
    step.send(.keepPlace(key.session))
    end(key.session, .left, &step)
    step.add(.reply(connection, key.id, .success(.empty)))
    step.add(.closeConnection(connection, .bye))
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

  /// Takes what a request weighs from the rates of its session.
  mutating func charge(
    _ key: RequestKey, _ rate: SessionRate, then request: ChargedRequest, _ step: inout Step
  ) {
    do throws(ErrorObject) {
      switch rate {
      case .offer: try table.takeOffer(of: key.session, at: step.now.instant)
      case .shows(let count, let what): try table.takeShows(count, what, of: key.session, at: step.now.instant)
      }
      step.send(.requests(.charged(request, key)))
    } catch {
      step.answer(key, .failure(error))
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
