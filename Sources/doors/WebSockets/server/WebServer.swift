// The HTTP and WebSocket server. This handle may be used from any thread; what it serves lives on the service thread.
import Basics
import Threads

/// An HTTP and WebSocket server on a thread of its own.
///
///     let server = try WebServer.start(
///       WebServerConfiguration(addresses: [SocketAddress(v4: 0x7f00_0001, port: 8080)]),
///       routes: [.get("/healthz") { _ in .text(200, "ok") }]
///     ) { event in
///       inbox.append(event)  // on the service thread: be quick, never wait
///     }
///     server.send(Array("{}".utf8), to: id)
///     server.stop()
///
/// Commands are carried out in the order in which they were given, and a socket's messages reach it in that order.
public final class WebServer: Sendable {
  /// Where the server listens, with the ports that the system chose.
  public let addresses: [SocketAddress]
  private let shared: ServerShared
  private let thread: OwnerThread

  /// The port of the first address.
  public var port: UInt16 { addresses.first?.port ?? 0 }
  /// Counters since the start.
  public var statistics: WebServerStatistics { shared.statistics.withLock { $0 } }

  /// Binds, starts the service thread and returns once requests are answered. `handler` is called on the service thread.
  public static func start(
    _ configuration: WebServerConfiguration, routes: [HTTPRoute] = [],
    handler: @escaping @Sendable (WebSocketEvent) -> Void
  ) throws(WebSocketError) -> WebServer {
    try start(configuration, routes: routes) { _ in handler }
  }

  /// The same for a handler that answers: `makeHandler` is given what it answers with, before the first event can come.
  public static func start(
    _ configuration: WebServerConfiguration, routes: [HTTPRoute] = [],
    makeHandler: (WebSocketSender) -> @Sendable (WebSocketEvent) -> Void
  ) throws(WebSocketError) -> WebServer {
    let listeners = try ListeningSocket.open(configuration.addresses)
    let mailbox = SocketMailbox(capacity: configuration.mailboxCapacity)
    let shared = ServerShared(
      configuration: configuration, routes: RouteTable(routes), mailbox: mailbox,
      handler: makeHandler(WebSocketSender(mailbox: mailbox)))
    let started = Promise<Result<Void, WebSocketError>>()
    let descriptors = listeners.map(\.descriptor)
    let thread: OwnerThread
    do throws(ThreadError) {
      thread = try OwnerThread(starting: "web") {
        ServerLoop.run(shared, listeners: descriptors) { started.give($0) }
      }
    } catch {
      ListeningSocket.close(descriptors)
      throw .exhausted("no thread for the web server")
    }
    switch started.take() {
    case .success: return WebServer(addresses: listeners.map(\.address), shared: shared, thread: thread)
    case .failure(let error):
      thread.join()
      throw error
    }
  }

  private init(addresses: [SocketAddress], shared: ServerShared, thread: OwnerThread) {
    self.addresses = addresses
    self.shared = shared
    self.thread = thread
  }

  deinit { stop() }

  /// What messages are sent with.
  public var sender: WebSocketSender { WebSocketSender(mailbox: shared.mailbox) }

  /// See `WebSocketSender.send(_:to:)`.
  @discardableResult
  public func send(_ text: [UInt8], to id: WebSocketID) -> Bool { sender.send(text, to: id) }

  /// See `WebSocketSender.send(to:encode:)`.
  @discardableResult
  public func send(to id: WebSocketID, encode: @escaping @Sendable () -> [UInt8]) -> Bool {
    sender.send(to: id, encode: encode)
  }

  /// See `WebSocketSender.close(_:code:reason:)`.
  public func close(_ id: WebSocketID, code: UInt16, reason: String) { sender.close(id, code: code, reason: reason) }

  /// Closes the listening sockets and every WebSocket (1001), within half a second, and ends the thread. After it
  /// returns the handler is not called again. May be called twice; not from the handler.
  public func stop() {
    shared.mailbox.requestStop()
    thread.join()
  }
}

/// Gives a server's WebSockets their commands, from any thread. A value; copies are the same sender.
public struct WebSocketSender: Sendable {
  let mailbox: SocketMailbox

  /// Queues a text message, which must be UTF-8. Messages for a socket that is closed, or unknown, vanish.
  /// - Returns: false when the mailbox is full; the socket is then dropped with the cause `overloaded`.
  @discardableResult
  public func send(_ text: [UInt8], to id: WebSocketID) -> Bool { mailbox.post(.send(id, .bytes(text))) }

  /// Queues a text message that is made on the service thread, in its turn: so the sender's thread need not encode.
  /// Where the socket is gone by then it is not made at all.
  /// - Returns: false when the mailbox is full; the socket is then dropped with the cause `overloaded`.
  @discardableResult
  public func send(to id: WebSocketID, encode: @escaping @Sendable () -> [UInt8]) -> Bool {
    mailbox.post(.send(id, .deferred(encode)))
  }

  /// Queues a text message for each of several sockets, made on the service thread from the socket's place in `ids`.
  /// - Returns: false when the mailbox is full; all of these sockets are then dropped with the cause `overloaded`.
  @discardableResult
  public func send(toEach ids: [WebSocketID], encode: @escaping @Sendable (Int) -> [UInt8]) -> Bool {
    mailbox.post(.sendEach(ids, encode))
  }

  /// Sends what is queued so far, then a close frame with `code` (1000, 1001, 1007 … 1011 or 3000 … 4999) and `reason`
  /// (its first 120 bytes). The handler hears `closed` with the cause `local` as soon as the command is taken up.
  public func close(_ id: WebSocketID, code: UInt16, reason: String) {
    mailbox.post(.close(id, code: code, reason: reason))
  }

  /// Has `errand` called on the service thread at a time, once: it must be quick and must not wait.
  /// - Returns: false when the mailbox is full, or the server is stopped; it is not called then.
  @discardableResult
  public func run(at time: Instant, _ errand: @escaping @Sendable () -> Void) -> Bool {
    mailbox.post(.run(time, errand))
  }

  /// Has `call` made on the service thread in its next turn, also when the mailbox is full: who asks must have one call waiting at most.
  /// It must not wait. What it sends leaves in the same turn.
  /// - Returns: false when the server is stopped; it is not made then.
  @discardableResult
  public func wake(_ call: @escaping @Sendable () -> Void) -> Bool { mailbox.wake(call) }

  /// Drops a socket for which too much waits (`overloaded`), as one that a full mailbox has refused something for.
  public func drop(_ id: WebSocketID) { mailbox.drop(id) }

  /// From what is sent afterwards on, the socket may send messages of `maximumMessageBytes`; before, of `strangersMessageBytes`.
  public func admit(_ id: WebSocketID) { mailbox.post(.admit(id)) }

  /// Says whether a socket only waits: then it is pinged every `idlePingInterval` and dead after three, else every `pingInterval`
  /// and dead after `silenceLimit`, which is how it begins. Either way it counts as heard of now.
  public func setWaiting(_ isWaiting: Bool, _ id: WebSocketID) {
    mailbox.post(.pace(id, isWaiting ? .waiting(nil) : .busy))
  }
}

/// Counters of a server.
public struct WebServerStatistics: Sendable, Equatable {
  /// WebSockets open now.
  public var webSocketsOpen = 0
  /// WebSockets opened so far.
  public var webSocketsOpened: UInt64 = 0
  /// TCP connections now, HTTP and WebSocket.
  public var connections = 0
  /// TCP connections turned away because there were too many.
  public var connectionsRefused: UInt64 = 0
  /// WebSocket handshakes turned away: wrong path, foreign origin.
  public var handshakesRefused: UInt64 = 0
  /// Requests whose head was no head of HTTP/1.1, or too long.
  public var malformedRequests: UInt64 = 0
  /// HTTP requests answered.
  public var httpRequests: UInt64 = 0
  /// Text messages and their bytes taken in.
  public var messagesIn: UInt64 = 0
  /// Bytes of the text messages taken in.
  public var bytesIn: UInt64 = 0
  /// Text messages handed to the network.
  public var messagesOut: UInt64 = 0
  /// Bytes of the text messages handed to the network.
  public var bytesOut: UInt64 = 0
  /// Text messages above the size limit.
  public var oversized: UInt64 = 0
  /// WebSockets gone, by cause.
  public var closed: [WebSocketClosure.Cause: UInt64] = [:]
}

/// What the handle and the service thread share.
final class ServerShared: Sendable {
  let configuration: WebServerConfiguration
  let routes: RouteTable
  let handler: @Sendable (WebSocketEvent) -> Void
  let mailbox: SocketMailbox
  let statistics = Locked(WebServerStatistics())

  init(
    configuration: WebServerConfiguration, routes: RouteTable, mailbox: SocketMailbox,
    handler: @escaping @Sendable (WebSocketEvent) -> Void
  ) {
    self.configuration = configuration
    self.routes = routes
    self.handler = handler
    self.mailbox = mailbox
  }
}
