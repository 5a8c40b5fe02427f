// HTTP answers and the decision over WebSocket handshakes (RFC 9110, RFC 6455 §4.2).
import Basics

internal import CWebSockets

#if canImport(Glibc)
  import Glibc
#endif

/// A body on its way out.
struct PendingBody {
  var bytes: [UInt8]
  var offset = 0
}

extension ServerLoop {
  private static let bodyPieceBytes = 16_384
  private static let headerBytes = 12_288

  func answer(_ wsi: OpaquePointer, _ path: UnsafeRawBufferPointer) -> Int32 {
    shared.statistics.withLock { $0.httpRequests += 1 }
    var unused: UnsafeMutablePointer<CChar>?
    var unusedLength: Int32 = 0
    let method = lws_http_get_uri_and_method(wsi, &unused, &unusedLength)
    guard method == Int32(LWSHUMETH_GET) || method == Int32(LWSHUMETH_HEAD) else {
      return send(.text(405, "only GET and HEAD are served").with("allow", "GET, HEAD").closing, to: wsi, head: false)
    }
    let request = HTTPRequest(
      path: String(decoding: path, as: UTF8.self), query: header(wsi, WSI_TOKEN_HTTP_URI_ARGS) ?? "",
      host: header(wsi, WSI_TOKEN_HOST), ifNoneMatch: header(wsi, WSI_TOKEN_HTTP_IF_NONE_MATCH),
      authorization: header(wsi, WSI_TOKEN_HTTP_AUTHORIZATION), peer: peerAddress(wsi))
    let response: HTTPResponse =
      if let handler = shared.routes.handler(for: request.path) {
        handler(request)
      } else if request.path == shared.configuration.webSocketPath {
        .text(426, "this is a WebSocket end point").with("upgrade", "websocket")
      } else {
        .text(404, "not found")
      }
    return send(response, to: wsi, head: method == Int32(LWSHUMETH_HEAD))
  }

  private func send(_ response: HTTPResponse, to wsi: OpaquePointer, head: Bool) -> Int32 {
    guard writeHead(response, to: wsi, bodyFollows: !head && !response.body.isEmpty) else { return -1 }
    if head || response.body.isEmpty { return lws_http_transaction_completed(wsi) == 0 ? 0 : -1 }
    bodies[wsi] = PendingBody(bytes: response.body)
    lws_callback_on_writable(wsi)
    return 0
  }

  private func writeHead(_ response: HTTPResponse, to wsi: OpaquePointer, bodyFollows: Bool) -> Bool {
    let front = Int(roost_lws_pre())
    var buffer = [UInt8](repeating: 0, count: front + Self.headerBytes)
    return buffer.withUnsafeMutableBufferPointer { buffer in
      guard let base = buffer.baseAddress else { return false }
      let start = base + front
      let end = base + buffer.count
      var position: UnsafeMutablePointer<UInt8>? = start
      guard lws_add_http_header_status(wsi, UInt32(clamping: response.status), &position, end) == 0 else {
        return false
      }
      for header in response.headers {
        let name = Array((header.name.lowercased() + ":").utf8.filter(\.isHeaderByte)) + [0]
        let value = Array(header.value.utf8.filter(\.isHeaderByte))
        let status = lws_add_http_header_by_name(wsi, name, value, Int32(clamping: value.count), &position, end)
        guard status == 0 else { return false }
      }
      // 1xx, 204 and 304 have no content, so no length of it either (RFC 9110 §8.6).
      if response.status != 204 && response.status != 304 {
        guard lws_add_http_header_content_length(wsi, UInt64(response.body.count), &position, end) == 0 else {
          return false
        }
      }
      return lws_finalize_write_http_header(wsi, start, &position, end) == 0
    }
  }

  func writeBody(_ wsi: OpaquePointer) -> Int32 {
    guard var body = bodies[wsi] else { return 0 }
    var buffer = WriteBuffer(capacity: Self.bodyPieceBytes)
    while lws_send_pipe_choked(wsi) == 0 {
      let end = min(body.offset + Self.bodyPieceBytes, body.bytes.count)
      let last = end == body.bytes.count
      guard buffer.write(body.bytes, body.offset..<end, to: wsi, last ? LWS_WRITE_HTTP_FINAL : LWS_WRITE_HTTP) else {
        return -1
      }
      body.offset = end
      if last {
        bodies[wsi] = nil
        return lws_http_transaction_completed(wsi) == 0 ? 0 : -1
      }
    }
    bodies[wsi] = body
    lws_set_timeout(wsi, PENDING_TIMEOUT_HTTP_CONTENT, Int32(clamping: shared.configuration.handshakeSeconds))
    lws_callback_on_writable(wsi)
    return 0
  }

  // MARK: The handshake

  /// 0 lets the handshake go on, 1 says that an answer was written instead, −1 hangs up.
  func confirmUpgrade(_ wsi: OpaquePointer, _ input: UnsafeRawBufferPointer) -> Int32 {
    guard let refusal = refusal(wsi) else { return 0 }
    shared.statistics.withLock { $0.handshakesRefused += 1 }
    let response = refusal.closing
    guard writeHead(response, to: wsi, bodyFollows: true) else { return -1 }
    var buffer = WriteBuffer(capacity: Self.bodyPieceBytes)
    return buffer.write(response.body, 0..<response.body.count, to: wsi, LWS_WRITE_HTTP_FINAL) ? 1 : -1
  }

  private func refusal(_ wsi: OpaquePointer) -> HTTPResponse? {
    guard header(wsi, WSI_TOKEN_UPGRADE)?.lowercased() == "websocket" else {
      return .text(400, "only an upgrade to websocket is served")
    }
    guard header(wsi, WSI_TOKEN_GET_URI) == shared.configuration.webSocketPath else {
      return .text(404, "there is no WebSocket end point here; it is at \(shared.configuration.webSocketPath)")
    }
    guard header(wsi, WSI_TOKEN_VERSION) == "13" else {
      return .text(426, "only version 13 of WebSocket is served").with("sec-websocket-version", "13")
    }
    guard header(wsi, WSI_TOKEN_KEY)?.utf8.count == 24 else {
      return .text(400, "Sec-WebSocket-Key must be 16 bytes in base64")
    }
    let origin = header(wsi, WSI_TOKEN_ORIGIN)
    guard shared.configuration.origins.allows(origin: origin, host: header(wsi, WSI_TOKEN_HOST)) else {
      return .text(403, "pages of this origin may not connect")
    }
    return nil
  }
}

extension HTTPResponse {
  fileprivate func with(_ name: String, _ value: String) -> HTTPResponse {
    var copy = self
    copy.headers.append(Header(name, value))
    return copy
  }
  fileprivate var closing: HTTPResponse { with("connection", "close") }
}

extension UInt8 {
  /// Neither a line break nor a NUL: a header cannot be made into two.
  fileprivate var isHeaderByte: Bool { self != 0 && self != 10 && self != 13 }
}
