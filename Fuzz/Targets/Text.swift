// What comes over the WebSocket: session descriptions and requests, and at the client results and events. What is
// understood survives being written and read.
import RoostProtocol
import SDP

@Sendable func readSDP(_ input: Span<UInt8>) {
  guard let description = try? SessionDescription.parse(input) else { return }
  for line in description.media {
    _ = description.direction(of: line)
    _ = description.transport(of: line)
  }
  let text = description.serialized()
  guard let again = try? SessionDescription.parse(text) else { preconditionFailure("what we write can be read") }
  precondition(again.serialized() == text, "writing and reading comes to rest")
}

@Sendable func readRequest(_ input: Span<UInt8>) {
  switch ClientFrame.decode(input.bytes()) {
  case .invalid(let id, _, let error):
    guard let answer = try? ServerFrame.failure(id, error).encode() else { preconditionFailure("an error is sayable") }
    precondition(answer.count < 4096 + input.count, "an error is not longer than what it is about")
  case .request(let id, let request):
    guard let text = try? ClientFrame.encode(request, id: id) else { preconditionFailure("a request is sayable") }
    precondition(ClientFrame.decode(text) == .request(id, request), "a request survives being written and read")
  }
}

/// What a client reads. The number of a request chooses whose result it is.
@Sendable func readMessage(_ input: Span<UInt8>) {
  func method(_ id: RequestID) -> Method? {
    guard case .number(let number) = id else { return nil }
    return Method.scripted[Int(number.magnitude % UInt64(Method.scripted.count))]
  }
  guard let frame = try? ServerFrame.decode(input.bytes(), pending: method) else { return }
  if case .unknownEvent = frame { return }
  messageGoals.note(frame.goal)
  guard let text = try? frame.encode() else { preconditionFailure("a message is sayable") }
  guard let again = try? ServerFrame.decode(text, pending: method) else {
    preconditionFailure("what we write can be read")
  }
  precondition(again == frame, "a message survives being written and read")
}

/// What a client may read.
enum MessageGoal: String, CaseIterable { case reply, failure, event }

let messageGoals = Goals<MessageGoal>()

extension ServerFrame {
  fileprivate var goal: MessageGoal {
    switch self {
    case .reply: .reply
    case .failure: .failure
    case .event, .unknownEvent: .event
    }
  }
}
