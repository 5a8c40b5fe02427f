// Connections as they come in.
import Basics
import Threads

internal import CWebSockets

#if canImport(Glibc)
  import Glibc
#endif

extension ServerLoop {
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

  func accept(_ listener: OpaquePointer) {
    guard let descriptor = listeners[listener] else { return }
    for _ in 0..<64 {
      let new = Glibc.accept(descriptor, nil, nil)
      guard new >= 0 else {
        if errno == EINTR || errno == ECONNABORTED { continue }
        if errno == EMFILE || errno == ENFILE { turnAwayOne(descriptor) }
        return
      }
      _ = fcntl(new, F_SETFD, FD_CLOEXEC)
      let peer = SocketAddress.peer(of: new)
      if !shared.configuration.takesProxyHeaders {
        admit(new, peer, nil)
      } else if shared.configuration.proxies.trusts(peer), connections.hasSpace(besides: others) {
        greetings.begin(new, of: peer)
      } else {
        refuse(new)
      }
    }
  }

  /// Lets in whoever it is of, where there is space. `source` is whom its PROXY header named; nil where it began with none.
  func admit(_ descriptor: Int32, _ peer: SocketAddress?, _ source: ProxyHeader.Source?) {
    let waiting = arrivals.count(of: PeerNetwork(peer))
    guard connections.hasSpace(besides: others), connections.hasSpace(for: peer, besides: waiting),
      connections.mayBegin(peer, at: MonotonicClock.now())
    else { return refuse(descriptor) }
    // Those of trusted proxies are many people's.
    guard shared.configuration.tls != nil, !shared.configuration.proxies.trusts(peer) else {
      _ = adopt(descriptor, peer, source)
      return
    }
    arrivals.add(descriptor, peer, source)
  }

  /// Connections that are not the library's yet.
  private var others: Int { greetings.count + arrivals.count }

  /// Gives a connection to the library.
  /// - Returns: what the library made of it; nil where it is closed already.
  func adopt(_ descriptor: Int32, _ peer: SocketAddress?, _ source: ProxyHeader.Source?) -> OpaquePointer? {
    setOption(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, 1)
    setPatience(descriptor, shared.configuration.limits.silenceLimit)
    heads[descriptor] = RequestHeads()
    guard let vhost, let wsi = lws_adopt_socket_vhost(vhost, descriptor) else {
      heads[descriptor] = nil
      arrivals.isOver(descriptor)
      return nil
    }
    connections.add(wsi, descriptor, peer, source)
    shared.statistics.withLock { $0.connections += 1 }
    return wsi
  }

  private func refuse(_ descriptor: Int32) {
    close(descriptor)
    shared.statistics.withLock { $0.connectionsRefused += 1 }
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
