// The transport on URLSession, for Apple's platforms. On Linux URLSessionWebSocketTask does not work.
#if !canImport(WebSockets) && canImport(Darwin)
  import Basics
  import Foundation

  /// A WebSocket of `URLSession`, with a ping every five seconds.
  public final class URLSessionTransport: MessageTransport {
    /// What arrives, in order.
    public let received: AsyncStream<TransportEvent>
    private let arriving: AsyncStream<TransportEvent>.Continuation
    private let task: URLSessionWebSocketTask
    private let pause = Locked(Duration.seconds(5))

    /// A transport to a `ws` or `wss` URL.
    public init(url: String, session: URLSession = .shared, buffer: Int = 4096) throws(RoostError) {
      guard let address = URL(string: url) else { throw .unreachable("\(url) is not a URL") }
      task = session.webSocketTask(with: address)
      task.maximumMessageSize = 8 << 20
      (received, arriving) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(buffer))
    }

    deinit { task.cancel(with: .goingAway, reason: nil) }

    /// Connects: the first pong shows that messages can be exchanged.
    public func open() async throws(RoostError) {
      task.resume()
      let failure: (any Error)? = await withCheckedContinuation { continuation in
        task.sendPing { continuation.resume(returning: $0) }
      }
      if let failure { throw .unreachable("\(failure)") }
      Task { [weak self] in await self?.read() }
      Task { [weak self] in await self?.ping() }
    }

    private func read() async {
      do {
        while true {
          if case .string(let text) = try await task.receive(), case .dropped = arriving.yield(.text(Array(text.utf8)))
          {
            return finish("too many messages wait to be read")
          }
        }
      } catch {
        finish("\(error)")
      }
    }

    private func ping() async {
      while task.closeCode == .invalid, !Task.isCancelled {
        try? await Task.sleep(for: pause.withLock { $0 })
        task.sendPing { [weak self] in if let error = $0 { self?.finish("\(error)") } }
      }
    }

    private func finish(_ reason: String) {
      let code = task.closeCode
      arriving.yield(.closed(code: code == .invalid ? nil : UInt16(clamping: code.rawValue), reason: reason))
      arriving.finish()
      task.cancel(with: .goingAway, reason: nil)
    }

    /// Pings at this pace from the next ping on.
    public func setPace(_ interval: Duration?) { pause.withLock { $0 = interval ?? .seconds(5) } }

    /// Queues a message.
    public func send(_ text: [UInt8]) {
      task.send(.string(String(decoding: text, as: UTF8.self))) { [weak self] in
        if let error = $0 { self?.finish("\(error)") }
      }
    }

    /// Closes after what is queued.
    public func close(code: UInt16, reason: String) {
      task.cancel(
        with: URLSessionWebSocketTask.CloseCode(rawValue: Int(code)) ?? .normalClosure, reason: Data(reason.utf8))
    }
  }
#endif
