// The first exchange on a new connection: one request, its reply, and whatever came before the reply.
import RoostProtocol

/// Reads a transport's stream; handed on from the first exchange to the session.
struct TransportReader: Sendable {
  private let stream: AsyncStream<TransportEvent>
  init(_ stream: AsyncStream<TransportEvent>) { self.stream = stream }

  func next() async -> TransportEvent? {
    var iterator = stream.makeAsyncIterator()
    return await iterator.next()
  }
}

/// What the first exchange brought.
struct Opening: Sendable {
  /// The reply to the first request.
  var first: Result<Reply, ErrorObject>
  /// Messages that came before it.
  var early: [[UInt8]]
  /// What comes after it.
  var rest: TransportReader
}

extension RoostSession {
  /// Connects, sends `request` and waits for its reply.
  static func begin(
    _ url: String, _ request: Request, _ options: SessionOptions
  ) async throws(RoostError) -> (any MessageTransport, Opening) {
    let transport = try options.transport(url)
    // A server remembers ids across resumes, so that each connection's first needs one of its own.
    let firstID = RequestID.string("open-\(UInt64.random(in: 0 ... .max))")
    guard let bytes = try? ClientFrame.encode(request, id: firstID) else { throw .unexpectedReply(request.method) }
    let timer = Task {
      try? await Task.sleep(for: options.requestTimeout)
      if !Task.isCancelled { transport.close(code: 4900, reason: "no reply in time") }
    }
    defer { timer.cancel() }
    try await transport.open()
    transport.send(bytes)
    let reader = TransportReader(transport.received)
    var early: [[UInt8]] = []
    while let event = await reader.next() {
      switch event {
      case .closed(_, let reason): throw .unreachable(reason)
      case .text(let message):
        let frame = try? ServerFrame.decode(message, pending: { $0 == firstID ? request.method : nil })
        switch frame {
        case .reply(firstID, let reply): return (transport, Opening(first: .success(reply), early: early, rest: reader))
        case .failure(firstID, let error), .failure(nil, let error):
          return (transport, Opening(first: .failure(error), early: early, rest: reader))
        default: early.append(message)
        }
      }
    }
    throw .timedOut(request.method)
  }
}
