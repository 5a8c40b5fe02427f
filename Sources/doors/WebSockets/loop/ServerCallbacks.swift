// What libwebsockets calls on the server's service thread, sorted by kind. One line a case.
import Basics
import Threads

internal import CWebSockets

#if canImport(Glibc)
  import Glibc
#endif

/// Finds the loop that a callback belongs to.
private func serverLoop(_ wsi: OpaquePointer?) -> ServerLoop? {
  guard let wsi, let context = lws_get_context(wsi), let user = lws_context_user(context) else { return nil }
  return Unmanaged<ServerLoop>.fromOpaque(user).takeUnretainedValue()
}

/// HTTP and WebSocket connections.
func serverCallback(
  wsi: OpaquePointer?, reason: lws_callback_reasons, user: UnsafeMutableRawPointer?, input: UnsafeMutableRawPointer?,
  length: Int
) -> Int32 {
  if reason == LWS_CALLBACK_OPENSSL_LOAD_EXTRA_SERVER_VERIFY_CERTS, let user {
    // The context of OpenSSL is made; no connection has it yet.
    roost_tls_be_brief(OpaquePointer(user))
    if let loop = serverLoop(wsi) {
      roost_tls_watch(OpaquePointer(user), handshakeCallback, Unmanaged.passUnretained(loop).toOpaque())
    }
  }
  guard let wsi, let loop = serverLoop(wsi) else { return 0 }
  return loop.handle(wsi, reason, UnsafeRawBufferPointer(start: input, count: input == nil ? 0 : length))
}

/// Steps of TLS handshakes.
private func handshakeCallback(tls: OpaquePointer?, step: Int32, result: Int32) {
  guard let tls, step & SSL_CB_HANDSHAKE_DONE != 0, let owner = roost_tls_owner(tls) else { return }
  Unmanaged<ServerLoop>.fromOpaque(owner).takeUnretainedValue().arrivals.isOver(SSL_get_fd(tls))
}

/// Listening sockets.
func listenerCallback(
  wsi: OpaquePointer?, reason: lws_callback_reasons, user: UnsafeMutableRawPointer?, input: UnsafeMutableRawPointer?,
  length: Int
) -> Int32 {
  guard let wsi, let loop = serverLoop(wsi) else { return 0 }
  switch reason {
  case LWS_CALLBACK_RAW_RX_FILE: loop.accept(wsi)
  case LWS_CALLBACK_RAW_CLOSE_FILE: loop.listeners[wsi] = nil
  default: break
  }
  return 0
}

extension ServerLoop {
  /// A result other than 0 closes the connection, except for a refused upgrade (see `confirmUpgrade`).
  fileprivate func handle(_ wsi: OpaquePointer, _ reason: lws_callback_reasons, _ input: UnsafeRawBufferPointer)
    -> Int32
  {
    switch reason {
    case LWS_CALLBACK_HTTP: return answer(wsi)
    case LWS_CALLBACK_HTTP_BODY: hasContent(wsi, input)
    case LWS_CALLBACK_HTTP_BODY_COMPLETION: return contentEnded(wsi)
    case LWS_CALLBACK_TIMER: return contentIsLate(wsi)
    case LWS_CALLBACK_HTTP_WRITEABLE: return writeAnswer(wsi)
    case LWS_CALLBACK_HTTP_CONFIRM_UPGRADE: return confirmUpgrade(wsi, input)
    case LWS_CALLBACK_ESTABLISHED: opened(wsi)
    case LWS_CALLBACK_RECEIVE: return sockets.received(wsi, input)
    case LWS_CALLBACK_RECEIVE_PONG: sockets.ponged(wsi)
    case LWS_CALLBACK_SERVER_WRITEABLE: return sockets.writable(wsi)
    case LWS_CALLBACK_WS_PEER_INITIATED_CLOSE: sockets.peerClosed(wsi, input)
    case LWS_CALLBACK_CLOSED: sockets.destroyed(wsi, cause: .lost, reason: "the connection broke")
    case LWS_CALLBACK_WSI_DESTROY: forget(wsi)
    // The method CONNECT would make a raw connection of it.
    case LWS_CALLBACK_RAW_ADOPT, LWS_CALLBACK_RAW_RX: return -1
    default: break
    }
    return 0
  }

  private func opened(_ wsi: OpaquePointer) {
    let now = MonotonicClock.now()
    let socket = Socket(id: nextID(), wsi: wsi, limits: shared.configuration.limits, phase: .connecting, now: now)
    sockets.add(socket)
    let descriptor = lws_get_socket_fd(wsi)
    let handshake = heads.removeValue(forKey: descriptor)
    let early = handshake?.frames ?? FrameHeads()
    frames[descriptor] = (socket, early)
    let head = handshake?.current
    let client = connections.client(wsi, head)
    socket.messages = MessageState(network: PeerNetwork(client))
    sockets.opened(socket, WebSocketPeer(address: client, origin: head?.origins.first))
    sockets.saw(early.unfinished, of: socket)
    if let fault = early.fault { sockets.hasSaid(fault, wsi) }
  }

  private func forget(_ wsi: OpaquePointer) {
    endExchange(wsi)
    readers.forgetConnection(wsi)
    slowReaders.forget(wsi)
    guard let descriptor = connections.remove(wsi)?.descriptor else { return }
    arrivals.isOver(descriptor)
    heads[descriptor] = nil
    turnedAway[descriptor] = nil
    frames[descriptor] = nil
    shared.statistics.withLock { $0.connections -= 1 }
  }

  /// The text of a request header, nil when it is absent or longer than 2 KiB.
  func header(_ wsi: OpaquePointer, _ token: lws_token_indexes) -> String? {
    let length = Int(lws_hdr_total_length(wsi, token))
    guard length > 0, length <= 2048 else { return nil }
    var buffer = [CChar](repeating: 0, count: length + 16)
    let copied = Int(lws_hdr_copy(wsi, &buffer, Int32(buffer.count), token))
    guard copied > 0, copied <= buffer.count else { return nil }
    return String(decoding: buffer.prefix(copied).map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
