// Event streams on the service thread: what waits for each reader, and how it is noticed that one has gone.
//
// While libwebsockets answers it does not read, but goes on asking whether it could: one byte of a client would keep the thread busy.
// So its reading is stopped. Then it tells nobody when the connection takes more, either; `StreamSocket` does both.
import Basics
import Threads

internal import CWebSockets

/// A stream that is open.
final class OpenStream {
  let owner: EventStreamOwner
  /// Whose it is.
  let network: PeerNetwork?
  /// What waits until the reader takes it.
  var waiting: [UInt8] = []
  /// Nothing more comes: the connection ends when all is written.
  var isEnding = false
  fileprivate let socket: StreamSocket

  fileprivate init(_ owner: EventStreamOwner, _ socket: StreamSocket, of network: PeerNetwork?) {
    (self.owner, self.socket, self.network) = (owner, socket, network)
  }
}

extension ServerLoop {
  /// Bytes of one write. A connection that takes anything takes so many: none may be left half done, since the library would not go on
  /// with it.
  static let streamPieceBytes = 2048

  /// Why a stream cannot begin on this connection; nil where it can.
  func streamObjection(_ wsi: OpaquePointer) -> HTTPResponse? {
    guard isAlone(wsi) else {
      return .text(400, "a request for a stream of events comes alone, and is the last of its connection")
    }
    guard openStreams.count < shared.configuration.maximumEventStreams else {
      return .text(503, "there are \(openStreams.count) streams of events, and no more at once")
        .with("retry-after", "10")
    }
    let most = shared.configuration.maximumEventStreamsPerAddress
    if let network = connections.network(wsi), streamsByNetwork[network] ?? 0 >= most {
      return .text(503, "your address has \(most) streams of events, and no more at once").with("retry-after", "10")
    }
    return nil
  }

  /// The head of a stream is out; events may follow.
  func beginStream(_ owner: EventStreamOwner, _ id: HTTPRequestID, _ wsi: OpaquePointer) -> Int32 {
    let socket = StreamSocket(
      of: lws_get_socket_fd(wsi), loop, writable: { [unowned self] in writeStream(id) },
      gone: { [unowned self] in closeStream(id) })
    guard let socket, lws_partial_buffered(wsi) == 0 else { return -1 }
    stopReading(wsi)
    socket.watchPeer()
    lws_set_timeout(wsi, NO_PENDING_TIMEOUT, 0)
    requests[id] = wsi
    let network = connections.network(wsi)
    openStreams[id] = OpenStream(owner, socket, of: network)
    if let network { streamsByNetwork[network, default: 0] += 1 }
    owner.opened(EventStream(id: id, mailbox: shared.mailbox))
    if streamAlarm == nil { streamAlarm = Alarm(loop) { [unowned self] _ in sendComments() } }
    if streamAlarm?.due == .distantFuture { setStreamAlarm() }
    return 0
  }

  /// An event for a reader. It leaves in a later turn, with what comes until then.
  func send(_ bytes: [UInt8], to id: HTTPRequestID) {
    guard let stream = openStreams[id], !stream.isEnding else { return }
    // What came in one go may be more than may wait.
    if stream.waiting.count + bytes.count > shared.configuration.maximumStreamBytes { writeStream(id) }
    guard openStreams[id] != nil else { return }
    guard stream.waiting.count + bytes.count <= shared.configuration.maximumStreamBytes else { return closeStream(id) }
    stream.waiting += bytes
    stream.socket.askWritable()
  }

  func endStream(_ id: HTTPRequestID) {
    openStreams[id]?.isEnding = true
    openStreams[id]?.socket.askWritable()
  }

  /// The connection takes more of a stream.
  private func writeStream(_ id: HTTPRequestID) {
    guard let stream = openStreams[id], let wsi = requests[id] else { return }
    var written = 0
    var buffer = WriteBuffer(capacity: Self.streamPieceBytes)
    while written < stream.waiting.count, lws_send_pipe_choked(wsi) == 0 {
      let end = min(written + Self.streamPieceBytes, stream.waiting.count)
      guard buffer.write(stream.waiting, written..<end, to: wsi, LWS_WRITE_HTTP), lws_partial_buffered(wsi) == 0 else {
        return closeStream(id)
      }
      written = end
    }
    stream.waiting.removeFirst(written)
    if !stream.waiting.isEmpty { return stream.socket.askWritable() }
    guard stream.isEnding else { return }
    // Whole, and not cut off (RFC 8446 §6.1).
    if let tls = lws_get_ssl(wsi) { SSL_shutdown(tls) }
    closeStream(id)
  }

  /// The stream is over, and its owner is told. The exchange has ended, or ends now.
  func forgetStream(_ id: HTTPRequestID) {
    guard let stream = openStreams.removeValue(forKey: id) else { return }
    if let network = stream.network {
      streamsByNetwork[network, default: 1] -= 1
      if streamsByNetwork[network] == 0 { streamsByNetwork[network] = nil }
    }
    stream.owner.ended()
  }

  /// All is sent, or the reader has hung up, does not read, or sends what nobody asked for.
  private func closeStream(_ id: HTTPRequestID) {
    guard let wsi = requests[id] else { return }
    if let socket = openStreams[id]?.socket {
      socket.stop()
      // Not closed before the connection is: what epoll still has of it could not be taken out any more, and libev would put all sockets
      // in anew.
      endingStreams[wsi] = socket
    }
    endExchange(wsi)
    lws_set_timeout(wsi, PENDING_TIMEOUT_CLOSE_SEND, LWS_TO_KILL_ASYNC)
  }

  private func sendComments() {
    for (id, stream) in openStreams where stream.waiting.isEmpty { send(ServerSentEvent.comment, to: id) }
    if !openStreams.isEmpty { setStreamAlarm() }
  }

  private func setStreamAlarm() {
    let now = MonotonicClock.now()
    streamAlarm?.set(now + shared.configuration.streamCommentInterval, now: now)
  }
}
