// The server's service thread: one libwebsockets context on one event loop, touched by this thread alone (lws_cancel_service excepted).
import Basics

internal import CWebSockets

#if canImport(Glibc)
  import Glibc
#endif

/// Everything that belongs to the service thread. Made, used and destroyed on it.
final class ServerLoop {
  /// How long a stopping server waits for its last frames to leave.
  private static let stopMilliseconds = 400
  /// How often a stopping server makes the calls that it was asked for, as each may ask for another: raise it with what may wait for those
  /// who ask (`DoorThread.capacity`).
  private static let turnsAtStop = 128
  static let protocolName = "roost"
  static let listenerName = "roost-listener"

  let shared: ServerShared
  let sockets: SocketService
  let loop: EventLoop
  let connections: ServerConnections
  let news: RefusalNews
  /// Those of proxies that have not said yet whom they bring.
  lazy var greetings = ProxyGreetings(
    loop, patience: .seconds(min(shared.configuration.handshakeSeconds, 3600)),
    greeted: { [unowned self] descriptor, peer, source in
      switch source {
      case .proxy: admit(descriptor, peer, source)
      case .unknown: admit(descriptor, nil, source)
      case .client(let client):
        let isBelieved = peer.map { shared.configuration.proxies.believes($0, naming: client) } ?? false
        admit(descriptor, isBelieved ? client : nil, source)
      }
    },
    refused: { [unowned self] peer in
      shared.statistics.withLock { $0.malformedRequests += 1 }
      news.missedProxyHeader(of: peer)
    })
  /// Those of a TLS server whose handshake has not begun.
  lazy var arrivals = TLSArrivals(
    loop, patience: .seconds(min(shared.configuration.handshakeSeconds, 3600)),
    most: shared.configuration.maximumConnections,
    ofAddress: shared.configuration.maximumConnectionsPerAddress,
    begin: { [unowned self] descriptor, peer, source in adopt(descriptor, peer, source) },
    end: { lws_set_timeout($0, PENDING_TIMEOUT_CLOSE_SEND, LWS_TO_KILL_ASYNC) },
    refused: { [unowned self] in shared.statistics.withLock { $0.connectionsRefused += 1 } })
  /// What connections that are no WebSockets yet have asked for, by descriptor.
  var heads: [Int32: RequestHeads] = [:]
  /// Of those whose heads were none: how much more of them is thrown away.
  var turnedAway: [Int32: Int] = [:]
  /// The frames of those that are WebSockets, likewise.
  var frames: [Int32: (socket: Socket, heads: FrameHeads)] = [:]
  /// HTTP requests that are not answered yet, or not wholly.
  var exchanges: [OpaquePointer: HTTPExchange] = [:]
  var requests: [HTTPRequestID: OpaquePointer] = [:]
  lazy var readers = EventReaders(loop, shared.configuration, hangUp: { [unowned self] in endExchange($0) })
  lazy var slowReaders = SlowReaders(of: self)
  private lazy var errands = Errands(loop)
  var announced = AnnouncedContent()
  var vhost: OpaquePointer?
  var listeners: [OpaquePointer: Int32] = [:]
  /// Kept to be given up when there are no descriptors left, so that a connection can at least be turned away.
  var spareDescriptor: Int32
  /// The server's own TLS context for connections that it would open itself, which it never does. Without one libwebsockets
  /// makes one, reads all authorities of the system into it (700 KB) and never frees it.
  private var outgoingTLS: OpaquePointer?
  private var lastID: UInt64 = 0
  private var lastRequestID: UInt64 = 0

  private init(_ shared: ServerShared, _ loop: EventLoop) {
    self.shared = shared
    self.loop = loop
    connections = ServerConnections(shared.configuration)
    news = RefusalNews(shared.configuration)
    sockets = SocketService(
      bounds: shared.configuration.messages,
      queuedBytesPerAddress: shared.configuration.maximumQueuedBytesPerAddress,
      strangers: NetworkBuckets(
        burst: shared.configuration.strangersBytesAtOnce,
        perSecond: Double(shared.configuration.strangersBytesPerSecond)),
      report: shared.handler, count: { change in shared.statistics.withLock { change(&$0) } })
    spareDescriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)
  }

  deinit {
    if spareDescriptor >= 0 { close(spareDescriptor) }
    SSL_CTX_free(outgoingTLS)
  }

  /// Serves until the mailbox says stop. `started` is called once, when requests are answered or it is clear why not.
  static func run(
    _ shared: ServerShared, listeners: [Int32], started: (Result<Void, WebSocketError>) -> Void
  ) {
    guard let eventLoop = EventLoop() else {
      ListeningSocket.close(listeners)
      return started(.failure(.exhausted("no descriptor for the web server's loop")))
    }
    let loop = ServerLoop(shared, eventLoop)
    let protocols = ProtocolTable([
      (protocolName, serverCallback), (listenerName, listenerCallback),
    ])
    let context: OpaquePointer
    do throws(WebSocketError) {
      context = try loop.makeContext(protocols)
    } catch {
      ListeningSocket.close(listeners)
      protocols.free()
      return started(.failure(error))
    }
    let adopted = listeners.allSatisfy { loop.adoptListener($0) }
    shared.mailbox.attach(context)
    loop.sockets.attach(eventLoop)
    eventLoop.watchTimeouts(of: context)
    loop.watchReads()
    defer { ServerLoop.stopWatching() }
    started(adopted ? .success(()) : .failure(.exhausted("the listening sockets could not be watched")))
    if adopted { loop.serve() }
    loop.sockets.detach()
    loop.greetings.stop()
    loop.errands.stop()
    loop.arrivals.stop()
    loop.readers.stop()
    eventLoop.forgetTimeouts()
    shared.mailbox.detach()
    lws_context_destroy(context)
    protocols.free()
    withExtendedLifetime(loop) {}
  }

  private func makeContext(_ protocols: ProtocolTable) throws(WebSocketError) -> OpaquePointer {
    let configuration = shared.configuration
    LibraryLog.install()
    var info = lws_context_creation_info()
    info.port = Int32(CONTEXT_PORT_NO_LISTEN_SERVER)
    info.protocols = UnsafePointer(protocols.base)
    info.options = LWSOption.explicitVhosts | LWSOption.noSystemStates
    info.user = Unmanaged.passUnretained(self).toOpaque()
    info.timeout_secs = UInt32(clamping: configuration.handshakeSeconds)
    info.timeout_secs_ah_idle = info.timeout_secs
    info.keepalive_timeout = Int32(clamping: configuration.handshakeSeconds)
    // A head has 8 KiB (`RequestHeads.headBytes`); of each line the library keeps some bytes more.
    info.max_http_header_data = 12_288
    if let tls = configuration.tls {
      try Self.requireReadable(tls.certificate)
      try Self.requireReadable(tls.privateKey)
      outgoingTLS = SSL_CTX_new(TLS_client_method())
      info.provided_client_ssl_ctx = outgoingTLS
    }
    guard let context = loop.makeContext(&info, tls: configuration.tls != nil) else {
      throw .exhausted("libwebsockets could not start: \(LibraryLog.lastLine)")
    }
    vhost = Self.makeVhost(context, &info, configuration)
    guard vhost != nil else {
      let reason = LibraryLog.lastLine
      lws_context_destroy(context)
      throw configuration.tls.map { .unusableCertificate($0, reason: reason) } ?? .exhausted(reason)
    }
    return context
  }

  /// What a client of TLS 1.2 may choose from (RFC 9325 §4.2): a key of its own for each connection, so that what was recorded stays
  /// closed when the server's key is lost, and no CBC. TLS 1.3 has nothing else.
  static let tls12Ciphers = ["ECDSA", "RSA"].flatMap { kind in
    ["AES128-GCM-SHA256", "AES256-GCM-SHA384", "CHACHA20-POLY1305"].map { "ECDHE-\(kind)-\($0)" }
  }.joined(separator: ":")

  private static func makeVhost(
    _ context: OpaquePointer, _ info: inout lws_context_creation_info, _ configuration: WebServerConfiguration
  ) -> OpaquePointer? {
    guard let tls = configuration.tls else { return lws_create_vhost(context, &info) }
    return tls.certificate.withCString { certificate in
      tls.privateKey.withCString { key in
        "http/1.1".withCString { alpn in
          tls12Ciphers.withCString { ciphers in
            info.ssl_cert_filepath = certificate
            info.ssl_private_key_filepath = key
            info.alpn = alpn
            info.ssl_options_set = roost_lws_tls12_or_newer()
            info.ssl_cipher_list = ciphers
            defer {
              info.ssl_cert_filepath = nil
              info.ssl_private_key_filepath = nil
              info.alpn = nil
              info.ssl_cipher_list = nil
            }
            return lws_create_vhost(context, &info)
          }
        }
      }
    }
  }

  private static func requireReadable(_ path: String) throws(WebSocketError) {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw .unreadableFile(path: path, reason: SystemError.last) }
    var byte: UInt8 = 0
    let got = read(descriptor, &byte, 1)
    let reason = got == 0 ? "the file is empty" : SystemError.last
    close(descriptor)
    guard got == 1 else { throw .unreadableFile(path: path, reason: reason) }
  }

  private func serve() {
    while !obey() { loop.turn() }
    // What was asked for before the stop, of which much may wait.
    for _ in 0..<Self.turnsAtStop { _ = obey() }
    for listener in listeners.keys { lws_set_timeout(listener, PENDING_TIMEOUT_CLOSE_SEND, LWS_TO_KILL_ASYNC) }
    sockets.closeAll(code: 1001, reason: "the server is stopping", cause: .stopping)
    for _ in 0..<(Self.stopMilliseconds / 5) {
      loop.turnAtOnce()
      if sockets.isEmpty { break }
      usleep(5000)
    }
  }

  /// Makes the calls that others asked for, and carries out all commands, those of the calls too.
  /// - Returns: whether the server is to stop.
  private func obey() -> Bool {
    shared.mailbox.makeCalls()
    let batch = shared.mailbox.drain()
    sockets.carryOut(batch, others: carryOut)
    for id in batch.endedStreams { readers.end(id) }
    return batch.stopRequested
  }

  /// What is no WebSocket's.
  private func carryOut(_ command: SocketCommand) {
    switch command {
    case .respond(let id, let response): respond(id, response)
    case .event(let id, let event): readers.send(event.encoded, to: id)
    case .endStream(let id): readers.end(id)
    case .run(let time, let errand): errands.add(time, errand)
    case .connect, .send, .sendEach, .close, .pace, .admit: break
    }
  }

  func nextID() -> WebSocketID {
    lastID += 1
    return WebSocketID(rawValue: lastID)
  }

  func nextRequestID() -> HTTPRequestID {
    lastRequestID += 1
    return HTTPRequestID(rawValue: lastRequestID)
  }
}

/// Context options whose macros Swift cannot see.
enum LWSOption {
  static let libev: UInt64 = 1 << 4
  static let tls: UInt64 = 1 << 12
  static let explicitVhosts: UInt64 = 1 << 13
  static let noSystemStates: UInt64 = 1 << 35
}

/// The protocol list of a vhost, which libwebsockets reads for as long as the vhost lives.
struct ProtocolTable {
  let base: UnsafeMutablePointer<lws_protocols>
  private let count: Int

  typealias Callback =
    @convention(c) (
      OpaquePointer?, lws_callback_reasons, UnsafeMutableRawPointer?, UnsafeMutableRawPointer?, Int
    ) -> Int32

  /// Bytes of a frame that are delivered at once.
  private static let pieceBytes = 4096

  init(_ entries: [(name: String, callback: Callback)]) {
    count = entries.count
    base = .allocate(capacity: count + 1)
    base.initialize(repeating: lws_protocols(), count: count + 1)
    for (index, entry) in entries.enumerated() {
      base[index].name = strdup(entry.name).map { UnsafePointer($0) }
      base[index].callback = entry.callback
      base[index].rx_buffer_size = Self.pieceBytes
      // A frame leaves in one write: the library ends the connection without a word of the peer's close frame where it arrives
      // between two halves of a frame.
      base[index].tx_packet_size = OutputQueue.frameBytes
    }
  }

  func free() {
    for index in 0..<count { Glibc.free(UnsafeMutableRawPointer(mutating: base[index].name)) }
    base.deallocate()
  }
}
