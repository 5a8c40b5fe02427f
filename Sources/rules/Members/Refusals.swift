// Requests that are refused: what the log is told, and whether it has been told already.

import Basics
import RoostProtocol

extension Step {
  /// Refuses a request of a session.
  package mutating func refuse(_ request: Request, _ key: RequestKey, _ error: ErrorObject) {
    refuse(Action(request, key), error)
  }

  /// The same of one of a front door.
  package mutating func refuse(_ request: StreamRequest, _ key: RequestKey, _ error: ErrorObject) {
    refuse(Action(.session(key), .stream(request)), error)
  }
}

extension Request {
  /// Whether a refusal with this error leaves a line of its own at once: `join_refused`, or `publish_refused`, which is about what is to be
  /// published: who has no seat publishes nothing.
  package func hasRefusalLine(for error: ErrorObject) -> Bool {
    switch self {
    case .room(.join): true
    case .peerConnection(.offer(let params)): params.pc != .subscribe && error.code != .notJoined
    case .peerConnection, .room, .session, .userQuery, .block, .chat, .message, .track, .subscription, .view,
      .call:
      false
    }
  }
}
