// What a session needs of a WebSocket, so that it does not care whose WebSocket it is.

/// One connection that carries text messages both ways in order. Used once: a new connection is a new transport.
public protocol MessageTransport: AnyObject, Sendable {
  /// What arrives, in order; ends after `closed`. To be read by one reader.
  var received: AsyncStream<TransportEvent> { get }
  /// Connects; returns when messages can be exchanged.
  /// - Throws: `RoostError.unreachable`.
  func open() async throws(RoostError)
  /// Queues a message of UTF-8 text. Lost when the connection is.
  func send(_ text: [UInt8])
  /// Sends what is queued, then a close frame.
  func close(code: UInt16, reason: String)
  /// From now on it asks no more often than so whether the server is there; nil: as often as it did first.
  func setPace(_ interval: Duration?)
}

extension MessageTransport {
  /// For transports that never ask.
  public func setPace(_ interval: Duration?) {}
}

/// What a transport reports.
public enum TransportEvent: Sendable, Hashable {
  /// A text message.
  case text([UInt8])
  /// The connection is gone. `code`: the peer's close code, nil when there was no close frame.
  case closed(code: UInt16?, reason: String)
}

/// Makes the transport for an address.
public typealias TransportFactory = @Sendable (_ url: String) throws(RoostError) -> any MessageTransport

/// The transport of this platform: libwebsockets on Linux, `URLSession` on Apple's.
public let defaultTransport: TransportFactory = { (url) throws(RoostError) in
  #if canImport(WebSockets)
    return try LibWebSocketsTransport(url: url)
  #else
    return try URLSessionTransport(url: url)
  #endif
}
