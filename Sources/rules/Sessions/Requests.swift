// Actions as sessions take them: each is whose session's it is, is served once, and its reply is repeated where it comes again.

import Basics
import Members
import RoostProtocol

extension Sessions {
  /// Hands an action on with whose it is, unless it was asked before: then its reply is repeated, or is on its way.
  mutating func recognize(_ action: Action, _ step: inout Step) {
    guard case .connection(let connection, let id) = action.who else { return }
    if case .request(.session(.ping), _) = action.wish { return step.add(.reply(connection, id, .success(.empty))) }
    guard let session = table[on: connection] else { return step.send(.actions(.known(action))) }
    let key = RequestKey(session: session, id: id)
    let known = Action(.session(key), action.wish)
    // Doors give each of what they ask by themselves another id.
    guard let request = action.wish.request else { return step.send(.actions(.known(known))) }
    switch table.begin(request, id, of: session) {
    case .new: step.send(.actions(.known(known)))
    case .pending, nil: break
    case .done(let result): step.add(.reply(connection, id, result))
    case .seated(let seat, let origin):
      let isThere = table[session]?.seat == seat
      step.send(.actions(.replyAgain(origin, isThere ? seat : nil, key, on: connection)))
    case .forgotten:
      let error = ErrorObject.requestID("reply_gone", "This was done, but its reply is no longer kept.")
      step.add(.reply(connection, id, .failure(error)))
    case .taken:
      let error = ErrorObject.requestID("id_taken", "This id was used for another request.")
      step.add(.reply(connection, id, .failure(error)))
    }
  }

  /// A page says goodbye when it is loaded anew, too. Who leaves for good leaves the room first.
  mutating func bye(_ key: RequestKey, _ step: inout Step) {
    guard let connection = table[key.session]?.connection else { return }
    step.send(.keepPlace(key.session))
    end(key.session, .left, &step)
    step.add(.reply(connection, key.id, .success(.empty)))
    step.add(.closeConnection(connection, .bye))
  }

  /// Takes what an action weighs from the rates of its session.
  mutating func charge(_ key: RequestKey, _ rate: SessionRate, then action: Action, _ step: inout Step) {
    do throws(ErrorObject) {
      switch rate {
      case .offer: try table.takeOffer(of: key.session, at: step.now.instant)
      case .shows(let count, let what): try table.takeShows(count, what, of: key.session, at: step.now.instant)
      }
      step.send(.actions(.charged(action)))
    } catch {
      step.refuse(action, error)
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
