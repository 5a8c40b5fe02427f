// Event streams on the service thread: what waits for each reader, and how it is noticed that one has gone.
//
// While libwebsockets answers it does not read, but goes on asking whether it could: one byte of a client would keep the thread busy.
// So its reading is stopped. Then it tells nobody when the connection takes more, either; `StreamSocket` does both.
import Basics
import Threads

internal import CWebSockets

/// Those who read a stream of events. On the service thread alone.
final class EventReaders {
  /// Bytes of one write. A connection that takes anything takes so many: none may be left half done, since the library would not go on
  /// with it.
  static let pieceBytes = 2048

  /// A stream that is open.
  private final class Reader {
    let owner: EventStreamOwner
    let wsi: OpaquePointer
    let socket: StreamSocket
    /// Whose it is.
    let network: PeerNetwork?
    /// What waits until the reader takes it.
    var waiting: [UInt8] = []
    /// Nothing more comes: the connection ends when all is written.
    var isEnding = false

    init(_ owner: EventStreamOwner, _ wsi: OpaquePointer, _ socket: StreamSocket, of network: PeerNetwork?) {
      (self.owner, self.wsi, self.socket, self.network) = (owner, wsi, socket, network)
    }
  }

  private let loop: EventLoop
  private let configuration: WebServerConfiguration
  /// Ends the exchange of a connection.
  private let hangUp: (OpaquePointer) -> Void
  private var open: [HTTPRequestID: Reader] = [:]
  /// How many of them each network has.
  private var byNetwork: [PeerNetwork: Int] = [:]
  /// Of connections whose streams are over, until they are closed.
  private var ending: [OpaquePointer: StreamSocket] = [:]
  /// When streams are kept alive next.
  private var alarm: Alarm?

  /// Nobody reads. `hangUp` is called when a stream is over that its connection still waits for.
  init(_ loop: EventLoop, _ configuration: WebServerConfiguration, hangUp: @escaping (OpaquePointer) -> Void) {
    (self.loop, self.configuration, self.hangUp) = (loop, configuration, hangUp)
  }

  /// Why a stream cannot begin for this network; nil where it can.
  func objection(of network: PeerNetwork?) -> HTTPResponse? {
    guard open.count < configuration.maximumEventStreams else {
      return .text(503, "there are \(open.count) streams of events, and no more at once").with("retry-after", "10")
    }
    let most = configuration.maximumEventStreamsPerAddress
    if let network, byNetwork[network] ?? 0 >= most {
      return .text(503, "your address has \(most) streams of events, and no more at once").with("retry-after", "10")
    }
    return nil
  }

  /// The head of a stream is out; events may follow. False where the connection cannot be watched, and is to be closed.
  func begin(_ stream: EventStream, _ owner: EventStreamOwner, _ wsi: OpaquePointer, of network: PeerNetwork?) -> Bool {
    let id = stream.id
    let socket = StreamSocket(
      of: lws_get_socket_fd(wsi), loop, writable: { [unowned self] in write(id) }, gone: { [unowned self] in close(id) }
    )
    guard let socket, lws_partial_buffered(wsi) == 0 else { return false }
    socket.watchPeer()
    lws_set_timeout(wsi, NO_PENDING_TIMEOUT, 0)
    open[id] = Reader(owner, wsi, socket, of: network)
    if let network { byNetwork[network, default: 0] += 1 }
    owner.opened(stream)
    if alarm == nil { alarm = Alarm(loop) { [unowned self] _ in sendComments() } }
    if alarm?.due == .distantFuture { setAlarm() }
    return true
  }

  /// An event for a reader. It leaves in a later turn, with what comes until then.
  func send(_ bytes: [UInt8], to id: HTTPRequestID) {
    guard let reader = open[id], !reader.isEnding else { return }
    // What came in one go may be more than may wait.
    if reader.waiting.count + bytes.count > configuration.maximumStreamBytes { write(id) }
    guard open[id] != nil else { return }
    guard reader.waiting.count + bytes.count <= configuration.maximumStreamBytes else { return close(id) }
    reader.waiting += bytes
    reader.socket.askWritable()
  }

  /// Nothing more comes of a stream: it ends when all is written.
  func end(_ id: HTTPRequestID) {
    open[id]?.isEnding = true
    open[id]?.socket.askWritable()
  }

  /// The exchange has ended, or ends now, and with it the stream, whose owner is told.
  func forget(_ id: HTTPRequestID) {
    guard let reader = open.removeValue(forKey: id) else { return }
    if let network = reader.network {
      byNetwork[network, default: 1] -= 1
      if byNetwork[network] == 0 { byNetwork[network] = nil }
    }
    reader.owner.ended()
  }

  /// A connection is closed.
  func forgetConnection(_ wsi: OpaquePointer) { ending[wsi] = nil }

  /// No stream is kept alive any more.
  func stop() { alarm = nil }

  /// The connection takes more of a stream.
  private func write(_ id: HTTPRequestID) {
    guard let reader = open[id] else { return }
    var written = 0
    var buffer = WriteBuffer(capacity: Self.pieceBytes)
    while written < reader.waiting.count, lws_send_pipe_choked(reader.wsi) == 0 {
      let end = min(written + Self.pieceBytes, reader.waiting.count)
      guard buffer.write(reader.waiting, written..<end, to: reader.wsi, LWS_WRITE_HTTP),
        lws_partial_buffered(reader.wsi) == 0
      else { return close(id) }
      written = end
    }
    reader.waiting.removeFirst(written)
    if !reader.waiting.isEmpty { return reader.socket.askWritable() }
    guard reader.isEnding else { return }
    // Whole, and not cut off (RFC 8446 §6.1).
    if let tls = lws_get_ssl(reader.wsi) { SSL_shutdown(tls) }
    close(id)
  }

  /// All is sent, or the reader has hung up, does not read, or sends what nobody asked for.
  private func close(_ id: HTTPRequestID) {
    guard let reader = open[id] else { return }
    reader.socket.stop()
    // Not closed before the connection is: what epoll still has of it could not be taken out any more, and libev would put all sockets
    // in anew.
    ending[reader.wsi] = reader.socket
    hangUp(reader.wsi)
    lws_set_timeout(reader.wsi, PENDING_TIMEOUT_CLOSE_SEND, LWS_TO_KILL_ASYNC)
  }

  private func sendComments() {
    for (id, reader) in open where reader.waiting.isEmpty { send(ServerSentEvent.comment, to: id) }
    if !open.isEmpty { setAlarm() }
  }

  private func setAlarm() {
    let now = MonotonicClock.now()
    alarm?.set(now + configuration.streamCommentInterval, now: now)
  }
}
