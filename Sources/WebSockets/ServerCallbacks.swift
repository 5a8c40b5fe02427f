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
  }
  guard let wsi, let loop = serverLoop(wsi) else { return 0 }
  return loop.handle(wsi, reason, UnsafeRawBufferPointer(start: input, count: input == nil ? 0 : length))
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
    case LWS_CALLBACK_HTTP: return answer(wsi, input)
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
    let origin = heads.removeValue(forKey: lws_get_socket_fd(wsi))?.current?.origins.first
    sockets.opened(socket, WebSocketPeer(address: peerAddress(wsi), origin: origin))
  }

  private func forget(_ wsi: OpaquePointer) {
    endExchange(wsi)
    endingStreams[wsi] = nil
    slowReaders.forget(wsi)
    guard let (network, descriptor) = connections.removeValue(forKey: wsi) else { return }
    heads[descriptor] = nil
    byNetwork[network, default: 1] -= 1
    if byNetwork[network] == 0 { byNetwork[network] = nil }
    shared.statistics.withLock { $0.connections -= 1 }
  }

  func peerAddress(_ wsi: OpaquePointer) -> SocketAddress? {
    let descriptor = lws_get_socket_fd(wsi)
    return descriptor >= 0 ? SocketAddress.peer(of: descriptor) : nil
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

  // MARK: Accepting

  func adoptListener(_ descriptor: Int32) -> Bool {
    guard let vhost else { return false }
    let listener = lws_adopt_descriptor_vhost(
      vhost, LWS_ADOPT_RAW_FILE_DESC, lws_sock_file_fd_type(filefd: descriptor), Self.listenerName, nil)
    guard let listener else {
      close(descriptor)
      return false
    }
    listeners[listener] = descriptor
    return true
  }

  fileprivate func accept(_ listener: OpaquePointer) {
    guard let descriptor = listeners[listener] else { return }
    for _ in 0..<64 {
      let new = Glibc.accept(descriptor, nil, nil)
      guard new >= 0 else {
        if errno == EINTR || errno == ECONNABORTED { continue }
        if errno == EMFILE || errno == ENFILE { turnAwayOne(descriptor) }
        return
      }
      _ = fcntl(new, F_SETFD, FD_CLOEXEC)
      let network = PeerNetwork(SocketAddress.peer(of: new))
      if connections.count < shared.configuration.maximumConnections,
        byNetwork[network, default: 0] < shared.configuration.maximumConnectionsPerAddress
      {
        serve(new, of: network)
      } else {
        close(new)
        shared.statistics.withLock { $0.connectionsRefused += 1 }
      }
    }
  }

  private func serve(_ descriptor: Int32, of network: PeerNetwork) {
    setOption(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, 1)
    setPatience(descriptor, shared.configuration.limits.silenceLimit)
    heads[descriptor] = RequestHeads()
    guard let vhost, let wsi = lws_adopt_socket_vhost(vhost, descriptor) else {
      heads[descriptor] = nil
      return
    }
    connections[wsi] = (network, descriptor)
    byNetwork[network, default: 0] += 1
    shared.statistics.withLock { $0.connections += 1 }
  }

  /// Out of descriptors: without this the waiting connection would wake the loop for ever.
  private func turnAwayOne(_ listener: Int32) {
    shared.statistics.withLock { $0.connectionsRefused += 1 }
    guard spareDescriptor >= 0 else { return }
    close(spareDescriptor)
    let refused = Glibc.accept(listener, nil, nil)
    if refused >= 0 { close(refused) }
    spareDescriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)
  }
}
