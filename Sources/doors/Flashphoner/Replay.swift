// A client's frames through a session without a server: what the fuzzer runs.
import Basics
import Members
import RoostProtocol

/// Plays frames to the session of a client that has been let in, whose every second wish the core refuses. How many messages it was
/// sent, each of which was encoded, and how many rooms and streams it is left with.
public func replayFlashphoner(_ frames: [[UInt8]]) -> (messages: Int, members: Int) {
  let numbers = Locked(UInt64(0))
  let number: @Sendable () -> UInt64 = {
    numbers.withLock { number in
      number += 1
      return number
    }
  }
  var session = Session(number: number, digits: { "00000000" })
  let identity = Identity(user: "A", device: nil, displayName: "A", rights: .all, isVerified: false)
  let wish = ConnectionWish(appKey: "defaultApp", login: "A", token: nil, authToken: nil, whole: [:])
  _ = session.connected(wish, HelloParams(user: "A"), identity, authToken: "a", proofs: [:])
  var messages = 0
  for frame in frames {
    guard let message = try? ClientMessage(frame) else { continue }
    var actions = session.received(message)
    while !actions.isEmpty {
      let action = actions.removeFirst()
      actions += answer(action, &session)
      if case .send(let message) = action, (try? message.frame(operation: "1")) != nil { messages += 1 }
    }
  }
  return (messages, session.members.count)
}

/// What the core might say.
private func answer(_ action: SessionAction, _ session: inout Session) -> [SessionAction] {
  switch action {
  case .send, .leave, .warn, .close: []
  case .hello(let number, _, _):
    number % 2 == 0 ? session.on(number) { $0.replied(Membership.hello, .failure(ErrorObject(.overloaded))) } : []
  case .ask(let number, let id, _), .stream(let number, let id, _):
    session.on(number) { $0.replied(id, .failure(ErrorObject(.rateLimited))) }
  }
}
