// The transport on libwebsockets. All of a process's transports share one service thread.
#if canImport(WebSockets)
  import Basics
  import WebSockets

  /// A WebSocket of libwebsockets. Unless its limits say otherwise it pings every five seconds and gives up after
  /// fifteen of silence.
  public final class LibWebSocketsTransport: MessageTransport {
    private struct State {
      var client: WebSocketClient?
      var opening: CheckedContinuation<Result<Void, RoostError>, Never>?
      /// How `open` ends, when that is known before it waits.
      var outcome: Result<Void, RoostError>?
    }

    /// What arrives, in order.
    public let received: AsyncStream<TransportEvent>
    private let arriving: AsyncStream<TransportEvent>.Continuation
    private let state = Locked(State())
    private let url: WebSocketURL
    private let subprotocol: String?
    private let trust: ServerTrust
    private let limits: WebSocketLimits

    /// A transport to a `ws` or `wss` URL.
    /// - Parameters:
    ///   - subprotocol: what is spoken inside (RFC 6455 §1.9), for servers other than Roost that want it said.
    ///   - limits: the longest message, how often it pings, and how much silence it takes for the end.
    ///   - buffer: messages that may wait for their reader. With more the connection is cut: the session is resumed then
    ///     and the events come again, so nothing is lost and nothing grows.
    public init(
      url: String, subprotocol: String? = nil, trust: ServerTrust = .system, limits: WebSocketLimits = .client,
      buffer: Int = 4096
    ) throws(RoostError) {
      do {
        self.url = try WebSocketURL(url)
      } catch {
        throw .unreachable("\(error)")
      }
      self.subprotocol = subprotocol
      self.trust = trust
      self.limits = limits
      (received, arriving) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(buffer))
    }

    deinit { state.withLock { $0.client }?.close(code: 1001) }

    /// Connects.
    public func open() async throws(RoostError) {
      do {
        let client = try WebSocketClient.connect(to: url, subprotocol: subprotocol, trust: trust, limits: limits) {
          [weak self] in self?.handle($0)
        }
        state.withLock { $0.client = client }
      } catch {
        throw .unreachable("\(error)")
      }
      let result = await withCheckedContinuation { continuation in
        let known = state.withLock { state in
          if state.outcome == nil { state.opening = continuation }
          return state.outcome
        }
        if let known { continuation.resume(returning: known) }
      }
      try result.get()
    }

    /// Queues a message.
    public func send(_ text: [UInt8]) { state.withLock { $0.client }?.send(text) }

    /// Closes after what is queued.
    public func close(code: UInt16, reason: String) { state.withLock { $0.client }?.close(code: code, reason: reason) }

    /// Pings at this pace, and gives up after three times as long.
    public func setPace(_ interval: Duration?) {
      let client = state.withLock { $0.client }
      if let interval { client?.setWaiting(.seconds(interval / .seconds(1))) } else { client?.setBusy() }
    }

    /// On the service thread.
    private func handle(_ event: WebSocketEvent) {
      switch event {
      case .opened: settle(.success(()))
      case .text(_, let bytes):
        if case .dropped = arriving.yield(.text(bytes)) { cut("too many messages wait to be read") }
      case .oversized(_, let limit): cut("the server sent a message of more than \(limit) bytes")
      case .unread: break  // Of servers alone.
      case .overdue: break  // It is given up when it has been silent for too long.
      case .binary: cut("the server sent a binary message")
      case .closed(_, let closure):
        let reason = closure.reason.isEmpty ? closure.cause.rawValue : closure.reason
        settle(.failure(.unreachable(reason)))
        finish(code: closure.cause == .peer ? closure.code : nil, reason)
      }
    }

    private func settle(_ outcome: Result<Void, RoostError>) {
      let waiting = state.withLock { state in
        guard state.outcome == nil else { return CheckedContinuation<Result<Void, RoostError>, Never>?.none }
        state.outcome = outcome
        defer { state.opening = nil }
        return state.opening
      }
      waiting?.resume(returning: outcome)
    }

    private func cut(_ reason: String) {
      finish(code: nil, reason)
      close(code: 4900, reason: reason)
    }

    private func finish(code: UInt16?, _ reason: String) {
      arriving.yield(.closed(code: code, reason: reason))
      arriving.finish()
    }
  }

  extension WebSocketLimits {
    /// For clients: snapshots of large rooms may be longer than what a client may send.
    public static var client: WebSocketLimits { WebSocketLimits(maximumMessageBytes: 8 << 20) }
  }
#endif
