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
  /// The room that it names, where it names one.
  package var roomName: String? {
    switch self {
    case .room(.join(let params)): params.room
    case .room(.moderate(let params)): params.room
    case .room(.raiseHand(let params)): params.room
    case .room(.info(let params)), .room(.leave(let params)): params.room
    case .chat(.send(let params)): params.room
    case .chat(.history(let params)): params.room
    case .room(.list), .session, .userQuery, .block, .peerConnection, .track, .subscription, .view, .call: nil
    }
  }

  /// Whether a refusal with this error leaves a line of its own at once: `join_refused`, or `publish_refused`, which is about what is to be
  /// published: who has no seat publishes nothing.
  package func hasRefusalLine(for error: ErrorObject) -> Bool {
    switch self {
    case .room(.join): true
    case .peerConnection(.offer(let params)): params.pc != .subscribe && error.code != .notJoined
    case .peerConnection, .room, .session, .userQuery, .block, .chat, .track, .subscription, .view, .call: false
    }
  }
}
