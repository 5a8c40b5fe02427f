// TLS from the client's side over a socket of one's own, for devices by the thousand: nothing is verified, and a connection
// that waits holds no buffers. A fence of OpenSSL for the load test alone. One thread uses a stream at a time.

internal import COpenSSL

/// What all streams share.
public final class TLSClientContext: Sendable {
  // An SSL_CTX. It is not changed after `init`, and OpenSSL counts references to it atomically, so threads may share it.
  nonisolated(unsafe) fileprivate let context: OpaquePointer

  /// A context that takes any certificate; nil when the library refuses one.
  public init?() {
    ERR_clear_error()
    guard let context = SSL_CTX_new(TLS_client_method()) else { return nil }
    self.context = context
    let modes = SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS
    SSL_CTX_ctrl(context, SSL_CTRL_MODE, Int(modes), nil)
  }

  deinit { SSL_CTX_free(context) }
}

/// How a step of a stream went.
public enum TLSStep: Equatable, Sendable {
  /// So many bytes went over; of a handshake 0: it is complete.
  case done(Int)
  /// More must come before it goes on.
  case wantsToRead
  /// The socket must take more before it goes on.
  case wantsToWrite
  /// It is over: closed by the server, or broken.
  case ended
}

/// One connection. The socket stays its owner's, and is nonblocking.
public final class TLSClientStream {
  private let stream: OpaquePointer

  /// A client's end on a connected socket; nil when the library refuses.
  public init?(_ context: TLSClientContext, socket: Int32) {
    ERR_clear_error()
    guard let stream = SSL_new(context.context) else { return nil }
    guard SSL_set_fd(stream, socket) == 1 else {
      SSL_free(stream)
      return nil
    }
    SSL_set_connect_state(stream)
    self.stream = stream
  }

  deinit { SSL_free(stream) }

  /// Goes on with the handshake.
  public func handshake() -> TLSStep {
    ERR_clear_error()
    let result = SSL_do_handshake(stream)
    return result == 1 ? .done(0) : step(result)
  }

  /// Reads what has come, at most the buffer's length.
  public func read(into buffer: inout [UInt8]) -> TLSStep {
    ERR_clear_error()
    let result = SSL_read(stream, &buffer, Int32(clamping: buffer.count))
    return result > 0 ? .done(Int(result)) : step(result)
  }

  /// Writes what the socket takes.
  public func write(_ bytes: [UInt8]) -> TLSStep {
    if bytes.isEmpty { return .done(0) }
    ERR_clear_error()
    let result = SSL_write(stream, bytes, Int32(clamping: bytes.count))
    return result > 0 ? .done(Int(result)) : step(result)
  }

  private func step(_ result: Int32) -> TLSStep {
    switch SSL_get_error(stream, result) {
    case SSL_ERROR_WANT_READ: .wantsToRead
    case SSL_ERROR_WANT_WRITE: .wantsToWrite
    default: .ended
    }
  }
}
