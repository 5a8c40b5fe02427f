// Answers that a connection does not take at once. What their reader sends meanwhile must not keep the service thread busy: while
// libwebsockets answers it does not read, but goes on asking whether it could.
import Basics

internal import CWebSockets

extension ServerLoop {
  /// The rest of an answer waits until the connection takes more. - Returns: −1 where it cannot wait.
  func awaitWritable(_ wsi: OpaquePointer) -> Int32 {
    guard let socket = slowSocket(wsi) else { return -1 }
    // What the library has taken and not written it writes itself, and it does not while its reading is stopped. Nor does it stop where it
    // has read more than this request. Then the reader may say nothing.
    if isAlone(wsi), lws_partial_buffered(wsi) == 0 {
      stopReading(wsi)
      socket.askWritable()
    } else {
      socket.watchPeer()
      lws_callback_on_writable(wsi)
    }
    return 0
  }

  private func slowSocket(_ wsi: OpaquePointer) -> StreamSocket? {
    if let socket = slowSockets[wsi] { return socket }
    // Both are called while the connection is open, since the watch ends with it.
    let socket = StreamSocket(
      of: lws_get_socket_fd(wsi), loop, writable: { [unowned self] in writeMore(wsi) },
      gone: { [unowned self] in hangUp(wsi) })
    slowSockets[wsi] = socket
    return socket
  }

  private func writeMore(_ wsi: OpaquePointer) {
    guard case .sending(let body, let offset)? = exchanges[wsi]?.state else { return }
    if writeBody(body, from: offset, to: wsi) != 0 { hangUp(wsi) }
  }

  /// At once: the library's timers wait while there is something to read on any connection. Not from a callback of the library.
  private func hangUp(_ wsi: OpaquePointer) {
    slowSockets[wsi]?.stop()
    endExchange(wsi)
    lws_set_timeout(wsi, PENDING_TIMEOUT_CLOSE_SEND, LWS_TO_KILL_SYNC)
  }

  /// An answer has left whole: the connection may go on with its next request.
  func allIsTaken(_ wsi: OpaquePointer) {
    guard let socket = slowSockets[wsi] else { return }
    socket.stop()
    lws_rx_flow_control(wsi, 1)
  }
}
