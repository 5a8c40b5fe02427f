// Requests that wait until it is known for how long the media of a seat are silent (`Comeback`).

import Basics
import Members
import RoostProtocol

/// Requests that wait until it is known for how long the media of a seat are silent.
struct Takeovers: Sendable {
  /// What waits, and of whose media it waits to hear.
  struct Held: Sendable {
    let action: Action
    let seat: SeatID
  }

  private var waiting: [Asker: Held] = [:]

  var isEmpty: Bool { waiting.isEmpty }

  /// Asks workers. Operators take nobody's place.
  mutating func hold(_ action: Action, about seat: SeatID, _ step: inout Step) {
    let asker: Asker
    switch action.who {
    case .session(let key): asker = .request(key)
    case .connection(let connection, _): asker = .hello(connection)
    case .operator: return
    }
    waiting[asker] = Held(action: action, seat: seat)
    step.add(.askSilence(asker, seat))
  }

  mutating func take(_ asker: Asker) -> Held? { waiting.removeValue(forKey: asker) }

  mutating func forget(_ asker: Asker) { waiting[asker] = nil }

  /// - Throws: 3003 where a connection has a session, or a hello that waits.
  func checkHello(on connection: ConnectionID, _ sessions: SessionTable) throws(ErrorObject) {
    if sessions[on: connection] != nil { throw ErrorObject(.invalidState, "This connection has its session.") }
    if waiting[.hello(connection)] != nil {
      throw ErrorObject(.invalidState, "The hello of this connection waits for its answer.")
    }
  }
}

extension Sessions {
  /// Workers have said for how long a seat's media are silent: what has waited for that goes on.
  mutating func silenceTold(to asker: Asker, _ time: TimeDelta?, _ step: inout Step) {
    guard let held = takeovers.take(asker) else { return }
    switch (held.action.who, held.action.wish) {
    // Its session may be gone by now.
    case (.session(let key), _): guard table[key.session] != nil else { return }
    case (.connection, .hello(_, let identity)): step.subject = LineSubject(identity)
    case (.connection, .request), (.connection, .token), (.connection, .stream), (.connection, .operate),
      (.operator, _):
      break
    }
    step.send(.actions(.heard(held.action, MediaSilence(seat: held.seat, time: time))))
  }
}
