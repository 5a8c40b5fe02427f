// Answers that a connection does not take at once. What their reader sends meanwhile must not keep the service thread busy: while
// libwebsockets answers it does not read, but goes on asking whether it could.
import Basics

internal import CWebSockets

/// The connections of a server that did not take an answer at once. On the service thread alone.
final class SlowReaders {
  /// Kept until the connection ends, as those of streams are (`EventReaders.ending`).
  private var sockets: [OpaquePointer: StreamSocket] = [:]
  private unowned let server: ServerLoop

  init(of server: ServerLoop) { self.server = server }

  /// Whether the connection is one of them.
  func has(_ wsi: OpaquePointer) -> Bool { sockets[wsi] != nil }

  /// The rest of an answer, as `state` says what that is, waits until the connection takes more, for as long as a client has for its head.
  /// - Returns: −1 where it cannot wait.
  func wait(_ wsi: OpaquePointer, _ state: HTTPExchange.State) -> Int32 {
    server.exchanges[wsi]?.state = state
    lws_set_timeout(
      wsi, PENDING_TIMEOUT_HTTP_CONTENT, Int32(clamping: server.shared.configuration.handshakeSeconds))
    guard let socket = socket(wsi) else { return -1 }
    // What the library has taken and not written it writes itself, and it does not while its reading is stopped. Nor does it stop where it
    // has read more than this request. Then the reader may say nothing.
    if server.isAlone(wsi), lws_partial_buffered(wsi) == 0 {
      server.stopReading(wsi)
      socket.askWritable()
    } else {
      socket.watchPeer()
      lws_callback_on_writable(wsi)
    }
    return 0
  }

  /// An answer has left whole: the connection may go on with its next request.
  func allIsTaken(_ wsi: OpaquePointer) {
    guard let socket = sockets[wsi] else { return }
    socket.stop()
    lws_rx_flow_control(wsi, 1)
  }

  /// The connection is closed.
  func forget(_ wsi: OpaquePointer) { sockets[wsi] = nil }

  private func socket(_ wsi: OpaquePointer) -> StreamSocket? {
    if let socket = sockets[wsi] { return socket }
    // Both are called while the connection is open, since the watch ends with it.
    let socket = StreamSocket(
      of: lws_get_socket_fd(wsi), server.loop, writable: { [unowned self] in writeMore(wsi) },
      gone: { [unowned self] in hangUp(wsi) })
    sockets[wsi] = socket
    return socket
  }

  private func writeMore(_ wsi: OpaquePointer) {
    if server.writeAnswer(wsi) != 0 { hangUp(wsi) }
  }

  /// At once: the library's timers wait while there is something to read on any connection. Not from a callback of the library.
  private func hangUp(_ wsi: OpaquePointer) {
    sockets[wsi]?.stop()
    server.endExchange(wsi)
    lws_set_timeout(wsi, PENDING_TIMEOUT_CLOSE_SEND, LWS_TO_KILL_SYNC)
  }
}
