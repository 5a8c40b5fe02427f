// The clients' service thread: one libwebsockets context, touched by this thread alone (lws_cancel_service excepted).
import Basics
import Threads

internal import CWebSockets

/// Everything that belongs to the clients' service thread, which runs as long as the process.
final class ClientLoop {
  private static let protocolName = "roost-client"
  private static let connectSeconds: UInt32 = 10

  private let service: ClientService
  private var handlers: [WebSocketID: @Sendable (WebSocketEvent) -> Void] = [:]
  private var context: OpaquePointer?
  private var vhost: OpaquePointer?
  private lazy var sockets = SocketService(report: { [unowned self] in self.report($0) })

  private let loop: EventLoop

  private init(_ service: ClientService, _ loop: EventLoop) { (self.service, self.loop) = (service, loop) }

  static func run(_ service: ClientService, tls: Bool, started: (Result<Void, WebSocketError>) -> Void) {
    guard let eventLoop = EventLoop() else {
      return started(.failure(.exhausted("no descriptor for the clients' loop")))
    }
    let loop = ClientLoop(service, eventLoop)
    let protocols = ProtocolTable([(protocolName, clientCallback)])
    guard let context = loop.makeContext(protocols, tls: tls) else {
      protocols.free()
      return started(.failure(.exhausted("libwebsockets could not start: \(LibraryLog.lastLine)")))
    }
    service.mailbox.attach(context)
    loop.sockets.attach(eventLoop)
    eventLoop.watchTimeouts(of: context)
    started(.success(()))
    loop.serve()
    loop.sockets.detach()
    eventLoop.forgetTimeouts()
    service.mailbox.detach()
    lws_context_destroy(context)
    protocols.free()
    withExtendedLifetime(loop) {}
  }

  private func makeContext(_ protocols: ProtocolTable, tls: Bool) -> OpaquePointer? {
    LibraryLog.install()
    var info = lws_context_creation_info()
    info.port = Int32(CONTEXT_PORT_NO_LISTEN)
    info.protocols = UnsafePointer(protocols.base)
    info.options = LWSOption.explicitVhosts | LWSOption.noSystemStates
    info.user = Unmanaged.passUnretained(self).toOpaque()
    info.timeout_secs = Self.connectSeconds
    info.connect_timeout_secs = Self.connectSeconds
    guard let context = loop.makeContext(&info, tls: tls) else { return nil }
    // An empty address keeps libwebsockets from taking a proxy out of the environment.
    vhost = "".withCString { none in
      info.http_proxy_address = none
      defer { info.http_proxy_address = nil }
      return lws_create_vhost(context, &info)
    }
    guard vhost != nil else {
      lws_context_destroy(context)
      return nil
    }
    self.context = context
    return context
  }

  private func serve() {
    while true {
      let batch = service.mailbox.drain()
      sockets.carryOut(batch) { connect($0, $1) }
      if batch.stopRequested { return }
      loop.turn()
    }
  }

  private func report(_ event: WebSocketEvent) {
    let handler = handlers[event.id]
    if case .closed(let id, _) = event { handlers[id] = nil }
    handler?(event)
  }

  private func connect(_ id: WebSocketID, _ target: ClientTarget) {
    handlers[id] = target.handler
    guard let address = target.address else { return unreachable(id, "the host \(target.url.host) has no address") }
    // Nothing is called back before this returns but the end of a connection that failed at once.
    guard let wsi = start(target, address: address) else {
      return unreachable(id, "no connection to \(target.url)")
    }
    sockets.add(Socket(id: id, wsi: wsi, limits: target.limits, phase: .connecting, now: MonotonicClock.now()))
  }

  private func unreachable(_ id: WebSocketID, _ reason: String) {
    report(.closed(id, WebSocketClosure(cause: .unreachable, reason: reason)))
  }

  private func start(_ target: ClientTarget, address: String) -> OpaquePointer? {
    var info = lws_client_connect_info()
    info.context = context
    info.vhost = vhost
    info.port = Int32(target.url.port)
    info.ssl_connection = Self.flags(target)
    return address.withCString { address in
      target.url.path.withCString { path in
        target.url.hostHeader.withCString { host in
          Self.protocolName.withCString { local in
            withOptionalCString(target.origin) { origin in
              withOptionalCString(target.subprotocol) { subprotocol in
                info.address = address
                info.path = path
                info.host = host
                info.origin = origin
                info.protocol = subprotocol
                info.local_protocol_name = local
                return lws_client_connect_via_info(&info)
              }
            }
          }
        }
      }
    }
  }

  private static func flags(_ target: ClientTarget) -> Int32 {
    guard target.url.isSecure else { return 0 }
    var flags = LCCSCF_USE_SSL.rawValue
    if target.trust == .anyCertificate {
      flags |= LCCSCF_ALLOW_SELFSIGNED.rawValue | LCCSCF_SKIP_SERVER_CERT_HOSTNAME_CHECK.rawValue
      flags |= LCCSCF_ALLOW_EXPIRED.rawValue | LCCSCF_ALLOW_INSECURE.rawValue
    }
    return Int32(bitPattern: flags)
  }

  /// A result other than 0 closes the connection.
  fileprivate func handle(_ wsi: OpaquePointer, _ reason: lws_callback_reasons, _ input: UnsafeRawBufferPointer)
    -> Int32
  {
    switch reason {
    case LWS_CALLBACK_CLIENT_ESTABLISHED: opened(wsi)
    case LWS_CALLBACK_CLIENT_RECEIVE: return sockets.received(wsi, input)
    case LWS_CALLBACK_CLIENT_RECEIVE_PONG: sockets.ponged(wsi)
    case LWS_CALLBACK_CLIENT_WRITEABLE: return sockets.writable(wsi)
    case LWS_CALLBACK_WS_PEER_INITIATED_CLOSE: sockets.peerClosed(wsi, input)
    case LWS_CALLBACK_CLIENT_CLOSED: sockets.destroyed(wsi, cause: .lost, reason: "the connection broke")
    case LWS_CALLBACK_CLIENT_CONNECTION_ERROR:
      sockets.destroyed(wsi, cause: .unreachable, reason: String(decoding: input, as: UTF8.self))
    case LWS_CALLBACK_WSI_DESTROY: sockets.destroyed(wsi, cause: .unreachable, reason: "closed before it was open")
    default: break
    }
    return 0
  }

  private func opened(_ wsi: OpaquePointer) {
    guard let socket = sockets.socket(of: wsi) else { return }
    let descriptor = lws_get_socket_fd(wsi)
    let address = descriptor >= 0 ? SocketAddress.peer(of: descriptor) : nil
    sockets.opened(socket, WebSocketPeer(address: address, origin: nil))
  }
}

private func clientCallback(
  wsi: OpaquePointer?, reason: lws_callback_reasons, user: UnsafeMutableRawPointer?, input: UnsafeMutableRawPointer?,
  length: Int
) -> Int32 {
  guard let wsi, let context = lws_get_context(wsi), let user = lws_context_user(context) else { return 0 }
  let loop = Unmanaged<ClientLoop>.fromOpaque(user).takeUnretainedValue()
  return loop.handle(wsi, reason, UnsafeRawBufferPointer(start: input, count: input == nil ? 0 : length))
}

private func withOptionalCString<R>(_ text: String?, _ body: (UnsafePointer<CChar>?) -> R) -> R {
  if let text { return text.withCString { body($0) } }
  return body(nil)
}
