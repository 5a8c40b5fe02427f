// The content of requests (RFC 9110 §6.4, RFC 9112 §6): how much of it comes, who wants it, and until when it may come.
//
// The connection ends with the answer to a request that has content. So what is sent behind it is never taken for a request.
import Basics

internal import CWebSockets

/// How the content of a request is framed.
package enum ContentFraming: Equatable, Sendable {
  /// Neither `Content-Length` nor `Transfer-Encoding`: there is none.
  case absent
  /// So many bytes follow the head.
  case length(Int)
  /// `Transfer-Encoding` alone, which is not served.
  case encoded
  /// Its end cannot be told for sure.
  case malformed(String)

  /// RFC 9112 §6.3, strict: a request that two servers could read in two ways is refused.
  init(lengths: [String], isEncoded: Bool, isOld: Bool) {
    if isEncoded {
      let isAlone = lengths.isEmpty && !isOld
      self = isAlone ? .encoded : .malformed("Transfer-Encoding goes with neither Content-Length nor HTTP/1.0")
    } else if let length = lengths.first {
      // Fifteen digits are a petabyte, and fit into any integer.
      let isNumber = !length.isEmpty && length.utf8.count <= 15 && length.utf8.allSatisfy { (0x30...0x39).contains($0) }
      if lengths.count == 1, isNumber, let bytes = Int(length) {
        self = .length(bytes)
      } else {
        self = .malformed("Content-Length must be there once, with digits alone")
      }
    } else {
      self = .absent
    }
  }

  /// Bytes that follow the head; nil where that cannot be said.
  var bytes: Int? {
    switch self {
    case .absent: 0
    case .length(let bytes): bytes
    case .encoded, .malformed: nil
    }
  }

  /// Whether anything may follow the head.
  var mayHaveContent: Bool { bytes != 0 }

  /// What is wrong with it for any route.
  var objection: HTTPResponse? {
    switch self {
    case .absent, .length: nil
    case .encoded:
      .problem(411, "Length Required", "Transfer-Encoding is not served: send the content with a Content-Length")
    case .malformed(let reason): .text(400, reason)
    }
  }
}

/// A request whose content is still coming.
struct PendingRequest {
  let handler: HTTPRoute.LateHandler
  /// With the content so far.
  var request: HTTPRequest
  /// Bytes that are to come.
  var left: Int
  /// All its bytes, as they count among those of all connections.
  let reserved: Int
  /// Whose they are.
  var network: PeerNetwork { PeerNetwork(request.peer) }

  /// More than was announced counts for nothing.
  mutating func take(_ piece: UnsafeRawBufferPointer) {
    let taken = piece.prefix(left)
    request.content += taken
    left -= taken.count
  }
}

/// Bytes that requests have announced as their content, and that are being waited for.
struct AnnouncedContent {
  private var all = 0
  private var byNetwork: [PeerNetwork: Int] = [:]

  /// Whether there is space for so many more of a network.
  func hasSpace(for bytes: Int, of network: PeerNetwork, _ configuration: WebServerConfiguration) -> Bool {
    bytes <= configuration.maximumContentBytes - all
      && bytes <= configuration.maximumContentBytesPerAddress - byNetwork[network, default: 0]
  }

  mutating func add(_ bytes: Int, of network: PeerNetwork) {
    all += bytes
    byNetwork[network, default: 0] += bytes
  }

  mutating func remove(_ bytes: Int, of network: PeerNetwork) {
    all -= bytes
    byNetwork[network, default: bytes] -= bytes
    if byNetwork[network] == 0 { byNetwork[network] = nil }
  }
}

extension ServerLoop {
  private static let continued = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)

  /// What a route has against the content of a request, before any of it is read.
  func objection(_ head: RequestHead, _ route: HTTPRoute, _ request: HTTPRequest) -> HTTPResponse? {
    guard let most = route.contentLimit else { return nil }
    guard case .length(let bytes) = head.framing else {
      return request.method.hasContent
        ? .problem(411, "Length Required", "a Content-Length is needed, also where it is 0") : nil
    }
    if bytes > most {
      return .problem(413, "Content Too Large", "the content of a request has \(most) bytes at most here")
    }
    if !announced.hasSpace(for: bytes, of: PeerNetwork(request.peer), shared.configuration) {
      return .text(503, "too many requests with content at once").with("retry-after", "1")
    }
    return nil
  }

  /// Waits for the content, within the time that a client has for its head.
  func awaitContent(_ wsi: OpaquePointer, _ pending: PendingRequest, isHead: Bool, isExpected: Bool) -> Int32 {
    var exchange = HTTPExchange(id: nextRequestID(), isHead: isHead)
    exchange.pending = pending
    exchanges[wsi] = exchange
    announced.add(pending.reserved, of: pending.network)
    let patience = min(shared.configuration.handshakeSeconds, 3600)
    // The library would wait for so long after each piece, and hang up without a word.
    lws_set_timeout(wsi, PENDING_TIMEOUT_HTTP_CONTENT, Int32(clamping: patience + 5))
    lws_set_timer_usecs(wsi, Int64(patience) * 1_000_000)
    guard isExpected else { return 0 }
    var buffer = WriteBuffer(capacity: Self.continued.count)
    return buffer.write(Self.continued, 0..<Self.continued.count, to: wsi, LWS_WRITE_HTTP) ? 0 : -1
  }

  /// A piece has come. Of a request that is answered already, or whose route wants no content, nothing is kept.
  func hasContent(_ wsi: OpaquePointer, _ piece: UnsafeRawBufferPointer) { exchanges[wsi]?.pending?.take(piece) }

  /// All has come, so the route is asked.
  func contentEnded(_ wsi: OpaquePointer) -> Int32 {
    guard let exchange = exchanges[wsi], let pending = exchange.pending else { return 0 }
    endExchange(wsi)
    guard pending.left == 0 else { return answer(.text(400, "the content has not come whole"), wsi) }
    return ask(pending.handler, pending.request, wsi, isHead: exchange.isHead, isLast: true)
  }

  /// The time is up: a client that sends byte by byte holds a connection for no longer than one that sends nothing.
  func contentIsLate(_ wsi: OpaquePointer) -> Int32 {
    guard exchanges[wsi]?.pending != nil else { return 0 }
    endExchange(wsi)
    return answer(.text(408, "the content of the request did not come in time"), wsi)
  }

  /// What was reserved for its content is free again.
  func release(_ pending: PendingRequest?, of wsi: OpaquePointer) {
    guard let pending else { return }
    announced.remove(pending.reserved, of: pending.network)
    lws_set_timer_usecs(wsi, -1)
  }
}
