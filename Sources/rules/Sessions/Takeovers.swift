// Requests that wait until it is known for how long the media of a seat are silent (`Comeback`).

import Basics
import Members
import RoostProtocol

/// Requests that wait until it is known for how long the media of a seat are silent.
struct Takeovers: Sendable {
  enum Request: Sendable {
    case request(RoostProtocol.Request, about: SeatID)
    case hello(Hello, about: SeatID)
  }

  private var waiting: [Asker: Request] = [:]

  var isEmpty: Bool { waiting.isEmpty }

  mutating func wait(_ asker: Asker, _ request: Request) { waiting[asker] = request }

  mutating func take(_ asker: Asker) -> Request? { waiting.removeValue(forKey: asker) }

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
  /// Workers have said for how long a seat's media are silent: what has waited for that is served.
  mutating func silenceTold(to asker: Asker, _ time: TimeDelta?, _ step: inout Step) {
    guard let waiting = takeovers.take(asker) else { return }
    switch (asker, waiting) {
    case (.request(let key), .request(let request, let seat)):
      // Its session may be gone by now.
      guard table[key.session] != nil else { return }
      step.send(.requests(.serve(request, key, proving: nil, MediaSilence(seat: seat, time: time))))
    case (.hello, .hello(var hello, let seat)):
      step.subject = LineSubject(hello.identity)
      hello.silence = MediaSilence(seat: seat, time: time)
      self.hello(hello, &step)
    case (.request, .hello), (.hello, .request): break
    }
  }
}
