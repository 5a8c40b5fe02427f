// The WebSocket client. All clients of a process share one service thread, so that hundreds of them cost one.
import Basics
import Threads
import Synchronization

// Where a module is compiled as one file, this one's headers own the socket types.
internal import CWebSockets

#if canImport(Glibc)
  import Glibc
#endif

/// How far a client trusts a `wss` server.
public enum ServerTrust: Sendable, Hashable {
  /// Certificates of the system's authorities, for the host's name.
  case system
  /// Whatever certificate the server shows. For tests and closed networks.
  case anyCertificate
}

/// A WebSocket to a server.
///
///     let client = try WebSocketClient.connect(to: WebSocketURL("ws://127.0.0.1:8080/rtc")) { event in
///       switch event {
///       case .opened: …
///       case .text(_, let bytes): …
///       case .closed(_, let closure): …   // also when no connection could be made
///       default: break
///       }
///     }
///     client.send(Array(#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#.utf8))
///
/// Messages may be sent before the socket is open; they leave in order once it is.
public final class WebSocketClient: Sendable {
  /// The socket's name in its events.
  public let id: WebSocketID
  private let door: ClientDoor

  /// Starts to connect and returns at once. `handler` hears `opened` and everything after it, or `closed` with the cause
  /// `unreachable`; it is called on the shared service thread, so it must be quick and never wait.
  /// - Parameters:
  ///   - origin: the `Origin` header, which programs do not need.
  ///   - subprotocol: what is spoken inside (RFC 6455 §1.9), for servers that want it said.
  ///   - limits: its own limits; a client that reads slowly is not the server's fault.
  public static func connect(
    to url: WebSocketURL, origin: String? = nil, subprotocol: String? = nil, trust: ServerTrust = .system,
    limits: WebSocketLimits = WebSocketLimits(), handler: @escaping @Sendable (WebSocketEvent) -> Void
  ) throws(WebSocketError) -> WebSocketClient {
    let service = try ClientService.shared(tls: url.isSecure)
    let id = service.nextID()
    let door = ClientDoor(mailbox: service.mailbox, capacity: limits.maximumQueuedMessages)
    let target = ClientTarget(
      url: url, address: nil, origin: origin, subprotocol: subprotocol, trust: trust, limits: limits, handler: handler)
    service.connect(id, target, through: door)
    return WebSocketClient(id: id, door: door)
  }

  private init(id: WebSocketID, door: ClientDoor) {
    self.id = id
    self.door = door
  }

  /// Pings so often from now on, as one that only waits, and gives up after three times as long.
  public func setWaiting(_ interval: TimeDelta) { door.post(.pace(id, .waiting(interval))) }

  /// Pings as its limits say again, which is how it begins.
  public func setBusy() { door.post(.pace(id, .busy)) }

  /// Queues a text message, which must be UTF-8.
  public func send(_ text: [UInt8]) { door.post(.send(id, .bytes(text))) }

  /// Sends what is queued, then a close frame. The handler hears `closed` with the cause `local`.
  public func close(code: UInt16 = 1000, reason: String = "") {
    door.post(.close(id, code: code, reason: reason))
  }
}

/// Keeps a client's commands in order behind its `connect`, which waits for the host's address.
final class ClientDoor: Sendable {
  private struct State {
    var isOpen = false
    var waiting: [SocketCommand] = []
  }
  private let state = Locked(State())
  private let mailbox: SocketMailbox
  private let capacity: Int

  init(mailbox: SocketMailbox, capacity: Int) {
    self.mailbox = mailbox
    self.capacity = capacity
  }

  func post(_ command: SocketCommand) {
    state.withLock { state in
      if state.isOpen {
        mailbox.post(command)
      } else if state.waiting.count < capacity {
        state.waiting.append(command)
      }
    }
  }

  func open(with connect: SocketCommand) {
    state.withLock { state in
      mailbox.post(connect)
      for command in state.waiting { mailbox.post(command) }
      state = State(isOpen: true)
    }
  }
}

/// Where a client wants to go.
struct ClientTarget: Sendable {
  var url: WebSocketURL
  /// The host's address once it is looked up.
  var address: String?
  var origin: String?
  var subprotocol: String?
  var trust: ServerTrust
  var limits: WebSocketLimits
  var handler: @Sendable (WebSocketEvent) -> Void
}

/// The service thread that a process's clients share; one for `ws` and one for `wss`, because only the latter should
/// make OpenSSL ready.
final class ClientService: Sendable {
  private struct Running {
    var plain: ClientService?
    var secure: ClientService?
  }
  private static let running = Locked(Running())
  private static let lastID = Atomic<UInt64>(0)
  let mailbox = SocketMailbox(capacity: 262_144)

  static func shared(tls: Bool) throws(WebSocketError) -> ClientService {
    let result: Result<ClientService, WebSocketError> = running.withLock { running in
      if let service = tls ? running.secure : running.plain { return .success(service) }
      let started = start(tls: tls)
      if case .success(let service) = started {
        if tls { running.secure = service } else { running.plain = service }
      }
      return started
    }
    return try result.get()
  }

  private static func start(tls: Bool) -> Result<ClientService, WebSocketError> {
    let service = ClientService()
    let signal = Promise<Result<Void, WebSocketError>>()
    let thread = try? OwnerThread(starting: tls ? "wss-client" : "ws-client") {
      ClientLoop.run(service, tls: tls) { signal.give($0) }
    }
    guard thread != nil else { return .failure(.exhausted("no thread for WebSocket clients")) }
    return signal.take().map { service }
  }

  func nextID() -> WebSocketID {
    WebSocketID(rawValue: Self.lastID.wrappingAdd(1, ordering: .relaxed).newValue)
  }

  /// A host name is looked up on a thread of its own, for the look-up waits and the service thread must not.
  func connect(_ id: WebSocketID, _ target: ClientTarget, through door: ClientDoor) {
    if SocketAddress(host: target.url.host, port: 0) != nil {
      var target = target
      target.address = target.url.host
      return door.open(with: .connect(id, target))
    }
    let thread = try? OwnerThread(starting: "resolve") {
      var target = target
      target.address = Self.lookUp(target.url.host)
      door.open(with: .connect(id, target))
    }
    if thread == nil { door.open(with: .connect(id, target)) }
  }

  /// The first address of a host name as a literal, nil when it has none.
  private static func lookUp(_ host: String) -> String? {
    var hints = addrinfo()
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    var list: UnsafeMutablePointer<addrinfo>?
    guard getaddrinfo(host, nil, &hints, &list) == 0, let first = list else { return nil }
    defer { freeaddrinfo(first) }
    var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
    let status = getnameinfo(
      first.pointee.ai_addr, first.pointee.ai_addrlen, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST)
    guard status == 0 else { return nil }
    return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
