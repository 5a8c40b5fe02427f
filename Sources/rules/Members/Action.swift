// What the conference is asked for, and by whom: clients by any door, and operators. Each is one `Action`, and one function begins them all
// (`Beginning.swift`). Here is what it is; whoever serves it says what comes of it.

import Basics
import RoostProtocol

/// Who asks for what.
package struct Action: Sendable {
  /// Who.
  package enum Who: Sendable {
    /// Whoever is on this connection; their request has this id. One that has a session is that session's once it is known.
    case connection(ConnectionID, RequestID)
    /// A session, by its request.
    case session(RequestKey)
    /// An operator.
    case `operator`(Operator)
  }

  /// What.
  package enum Wish: Sendable {
    /// A request, and the network that it came from where that is known.
    case request(Request, from: PeerNetwork?)
    /// A session, and whose it is to be.
    indirect case hello(HelloParams, Identity)
    /// What a further token gives, and whose it is.
    indirect case token(TokenParams, Identity)
    /// Something about a media connection that a front door opens for its client.
    indirect case stream(StreamRequest)
    /// What operators do.
    indirect case operate(OperatorAction)
  }

  /// Who.
  package let who: Who
  /// What.
  package internal(set) var wish: Wish
  /// What the application has changed of a join or of an offer to publish: it cannot be said in the request.
  package internal(set) var given: QuestionChanges?

  package init(_ who: Who, _ wish: Wish) { (self.who, self.wish) = (who, wish) }

  /// A request of a session.
  package init(_ request: Request, _ key: RequestKey, given: QuestionChanges? = nil) {
    self.init(.session(key), .request(request, from: nil))
    self.given = given
  }
}

/// An operator: who, and from where.
package struct Operator: Hashable, Sendable {
  /// The name of what they showed, such as `admin.token`.
  package let name: String
  /// From where the wish came; nil where that is not known. Every line of the step says it.
  package let peer: String?

  package init(name: String, peer: String?) { (self.name, self.peer) = (name, peer) }
}

extension Action.Wish {
  /// The request of the room protocol that it is; nil where it is none of them.
  package var request: Request? {
    switch self {
    case .request(let request, _): request
    case .hello(let params, _): .session(.hello(params))
    case .token(let params, _): .session(.token(params))
    case .stream, .operate: nil
    }
  }

  /// What it takes from its user's budget of requests; 0: nothing. A further proof is taken whatever its user has asked for: what it does
  /// not allow any more must end. Doors bound how many are shown.
  package var weight: Int {
    switch self {
    case .request(let request, _): request.endsSomething ? 0 : request.weight
    case .hello(let params, _): Request.session(.hello(params)).weight
    case .stream(let request): request.weight
    case .token, .operate: 0
    }
  }

  /// What a refusal with this error is called in the log; nil where it leaves a line of its own.
  fileprivate func nameInLog(for error: ErrorObject) -> String? {
    switch self {
    case .request, .hello, .token:
      request.flatMap { $0.hasRefusalLine(for: error) ? nil : $0.method.rawValue }
    case .stream(let request): request.nameInLog
    case .operate: nil
    }
  }
}

extension Step {
  /// Says no, to whoever asked: with a line in the log where a session did, unless it has one of its own.
  package mutating func refuse(_ action: Action, _ error: ErrorObject) {
    switch action.who {
    case .operator: conclude(.failure(error))
    case .connection(let connection, let id): add(.reply(connection, id, .failure(error)))
    case .session(let key):
      if let name = action.wish.nameInLog(for: error) {
        send(.sessions(.noteRefusal(key, method: name, room: action.wish.request?.roomName, error)))
      }
      answer(key, .failure(error))
    }
  }
}
