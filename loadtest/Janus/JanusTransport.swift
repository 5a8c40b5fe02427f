// What a participant takes for a connection to Roost: behind it is a Janus gateway.

import RoostClient
import RoostProtocol

/// A transport that understands Roost's signalling and speaks Janus's, so that the load test's participants can fill video rooms
/// of Janus just as they fill Roost's. They come, publish, receive and go; nothing else is translated.
public final class JanusTransport: MessageTransport {
  /// What arrives, in order.
  public let received: AsyncStream<TransportEvent>
  private let arriving: AsyncStream<TransportEvent>.Continuation
  private let requests: AsyncStream<[UInt8]>.Continuation
  private let waiting: AsyncStream<[UInt8]>
  private let janus: JanusConnection
  private let seat: JanusSeat

  /// `socket` leads to Janus's WebSocket API, with the subprotocol `janus-protocol`.
  public init(_ socket: any MessageTransport) {
    let (received, arriving) = AsyncStream<TransportEvent>.makeStream(bufferingPolicy: .bufferingOldest(4_096))
    (self.received, self.arriving) = (received, arriving)
    let (waiting, requests) = AsyncStream<[UInt8]>.makeStream(bufferingPolicy: .bufferingOldest(4_096))
    (self.waiting, self.requests) = (waiting, requests)
    janus = JanusConnection(socket) {
      requests.finish()
      arriving.yield(.closed(code: nil, reason: "Janus closed the connection"))
      arriving.finish()
    }
    seat = JanusSeat(janus) { frame in
      if let bytes = try? frame.encode() { arriving.yield(.text(bytes)) }
    }
  }

  /// Connects, and opens a session with Janus.
  public func open() async throws(RoostError) {
    try await janus.open()
    let (seat, waiting) = (seat, waiting)
    Task {
      for await bytes in waiting {
        if case .request(let id, let request) = ClientFrame.decode(bytes) { await seat.take(id, request) }
      }
    }
  }

  /// Takes a request.
  public func send(_ text: [UInt8]) { requests.yield(text) }

  /// Ends the session with Janus, and the seat with it.
  public func close(code: UInt16, reason: String) {
    requests.finish()
    let janus = janus
    Task { await janus.close() }
  }
}
