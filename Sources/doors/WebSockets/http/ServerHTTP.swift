// HTTP answers and the decision over WebSocket handshakes (RFC 9110, RFC 6455 §4.2).
import Basics
import Threads

internal import CWebSockets

#if canImport(Glibc)
  import Glibc
#endif

/// Names a request until it is answered. Never used again, so that a late answer meets nobody else's connection.
struct HTTPRequestID: Hashable, Sendable {
  var rawValue: UInt64
}

/// What a connection's request has come to.
struct HTTPExchange {
  enum State {
    /// Its route has been asked.
    case waiting
    /// Answered, to be written when the connection can take it.
    case answered(HTTPResponse)
    /// The head is out; the body follows from `offset`.
    case sending([UInt8], offset: Int)
    /// All is out, and the connection takes no more for now.
    case sent
    /// The head is out; events follow.
    case streaming
  }

  let id: HTTPRequestID
  /// A HEAD request: the body is left out.
  let isHead: Bool
  /// The request, while its content is coming.
  var pending: PendingRequest?
  /// The answer says that the connection ends with it.
  var isLast = false
  var state = State.waiting
}

extension ServerLoop {
  /// As much as the library writes at once: what is more it keeps, and goes on with it in a turn of its own.
  private static let bodyPieceBytes = OutputQueue.frameBytes
  private static let headerBytes = 12_288

  /// The library has read a head.
  func answer(_ wsi: OpaquePointer) -> Int32 {
    shared.statistics.withLock { $0.httpRequests += 1 }
    let head: RequestHead
    switch nextHead(wsi) {
    case .failure(let objection): return answer(objection.response, wsi, isBodiless: objection.isBodiless)
    case .success(let next): head = next
    }
    if let wait = connections.wait(of: connections.client(wsi, head), at: MonotonicClock.now()) {
      let response = HTTPResponse.problem(429, "Too Many Requests", "too many requests come from this address")
      return answer(response.with("retry-after", "\((wait + 999) / 1000)"), wsi, isBodiless: head.isBodiless)
    }
    var unused: UnsafeMutablePointer<CChar>?
    var unusedLength: Int32 = 0
    let method = HTTPMethod(lws_http_get_uri_and_method(wsi, &unused, &unusedLength))
    let path = head.path
    switch shared.routes.find(path) {
    case .malformed:
      let response = HTTPResponse.problem(
        400, "Bad Request", "a part of the path is empty, too long, badly escaped, or has a control character")
      return answer(response, wsi, isBodiless: head.isBodiless)
    case .nothing:
      guard let method, [.get, .head].contains(method) else { return answer(.notAllowed([.get, .head]), wsi) }
      // Behind content nothing more is read of a connection.
      if head.framing.mayHaveContent { return answer(notFound(path), wsi, isBodiless: method == .head) }
      return send(notFound(path), to: wsi, head: method == .head)
    case .route(let route, let segments):
      guard let method, route.methods.contains(method) else {
        return answer(.notAllowed(route.methods), wsi, isBodiless: head.isBodiless)
      }
      var request = request(wsi, method, path, head)
      request.segments = segments
      if let objection = objection(head, route, request) {
        return answer(objection, wsi, isBodiless: head.isBodiless)
      }
      return begin(route, request, head, wsi)
    }
  }

  /// An answer with which the connection ends.
  func answer(_ response: HTTPResponse, _ wsi: OpaquePointer, isBodiless: Bool = false) -> Int32 {
    send(response.closing, to: wsi, head: isBodiless)
  }

  private func notFound(_ path: String) -> HTTPResponse {
    path == shared.configuration.webSocketPath
      ? .text(426, "this is a WebSocket end point").with("upgrade", "websocket") : .text(404, "not found")
  }

  private func request(_ wsi: OpaquePointer, _ method: HTTPMethod, _ path: String, _ head: RequestHead) -> HTTPRequest {
    let (arguments, isWhole) = arguments(wsi)
    let client = connections.client(wsi, head)
    var request = HTTPRequest(
      method, path: path, query: header(wsi, WSI_TOKEN_HTTP_URI_ARGS) ?? "", arguments: arguments,
      isQueryWhole: isWhole, peer: client)
    request.rank = connections.rank(wsi, of: client, at: MonotonicClock.now())
    request.isSecure = connections.isSecure(wsi, head)
    request.headers = head.headers
    request.host = head.hosts.first
    request.ifNoneMatch = request.header("if-none-match")
    request.authorization = request.header("authorization")
    return request
  }

  /// Asks the route, or waits for the content that it wants.
  private func begin(_ route: HTTPRoute, _ request: HTTPRequest, _ head: RequestHead, _ wsi: OpaquePointer) -> Int32 {
    let isHead = request.method == .head
    var handler = route.handler
    if request.method == .options { handler = route.tellingWhatIsAllowed }
    let bytes = head.framing.bytes ?? 0
    guard bytes > 0, route.contentLimit != nil else {
      return ask(handler, request, wsi, isHead: isHead, isLast: request.method.endsConnection || bytes > 0)
    }
    let pending = PendingRequest(handler: handler, request: request, left: bytes, reserved: bytes)
    return awaitContent(wsi, pending, isHead: isHead, isExpected: head.expectsContinue)
  }

  /// Bytes that the name of an argument may have; others are passed over. Raising it makes names dearer that are looked up.
  static let longestArgument = 64

  /// The library has the query in pieces, which it has decoded: a `&` that was escaped does not part them.
  private func arguments(_ wsi: OpaquePointer) -> (arguments: [String: String], isWhole: Bool) {
    var result: [String: String] = [:]
    var isWhole = true
    // What the pieces have together, and what parts them, is what the library says it has.
    var rest = Int(lws_hdr_total_length(wsi, WSI_TOKEN_HTTP_URI_ARGS))
    var buffer = [CChar](repeating: 0, count: 2049)
    for index in 0..<Int32(16) {
      let length = Int(
        lws_hdr_copy_fragment(wsi, &buffer, Int32(buffer.count), WSI_TOKEN_HTTP_URI_ARGS, index))
      guard length >= 0, length < buffer.count else { break }
      rest -= index == 0 ? length : length + 1
      let piece = buffer.prefix(length).map { UInt8(bitPattern: $0) }
      let parts = piece.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2, parts[0].count <= Self.longestArgument else {
        isWhole = isWhole && length == 0
        continue
      }
      let name = String(decoding: parts[0], as: UTF8.self)
      isWhole = isWhole && result[name] == nil
      result[name] = result[name] ?? String(decoding: parts[1], as: UTF8.self)
    }
    return (result, isWhole && rest == 0)
  }

  /// An answer that is given at once is written at once; a later one comes back through the mailbox.
  func ask(
    _ handler: HTTPRoute.LateHandler, _ request: HTTPRequest, _ wsi: OpaquePointer, isHead: Bool, isLast: Bool
  ) -> Int32 {
    let id = nextRequestID()
    exchanges[wsi] = HTTPExchange(id: id, isHead: isHead)
    requests[id] = wsi
    let mailbox = shared.mailbox
    let early = Locked(EarlyAnswer.open)
    handler(request) { given in
      let response = isLast ? given.closing : given
      let isEarly = early.withLock { state in
        guard case .open = state else { return false }
        state = .given(response)
        return true
      }
      if !isEarly { mailbox.post(.respond(id, response)) }
    }
    let given = early.withLock { state in
      defer { state = .closed }
      return state
    }
    if case .given(let response) = given { return send(response, to: wsi, head: isHead) }
    stopReading(wsi)
    lws_set_timeout(wsi, PENDING_TIMEOUT_HTTP_CONTENT, Int32(clamping: shared.configuration.handshakeSeconds))
    return 0
  }

  /// The library would not read while an answer is made, and still ask in each turn whether it could. Where it has kept bytes itself it
  /// would not stop, but ask whether it can write, and never hear that it can.
  func stopReading(_ wsi: OpaquePointer) {
    if isAlone(wsi) { lws_rx_flow_control(wsi, 0) }
  }

  /// Whether nothing else of its connection was read than the request that is being answered.
  func isAlone(_ wsi: OpaquePointer) -> Bool {
    guard let heads = heads[lws_get_socket_fd(wsi)] else { return false }
    return heads.isAlone && !heads.hasMore
  }

  private enum EarlyAnswer: Sendable {
    case open, closed
    case given(HTTPResponse)
  }

  /// A late answer is here.
  func respond(_ id: HTTPRequestID, _ response: HTTPResponse) {
    guard let wsi = requests[id], case .waiting? = exchanges[wsi]?.state else { return }
    exchanges[wsi]?.state = .answered(response)
    // Else it would not say that it can write, either.
    lws_rx_flow_control(wsi, 1)
    lws_callback_on_writable(wsi)
  }

  /// The connection, or its request, is over.
  func endExchange(_ wsi: OpaquePointer) {
    guard let exchange = exchanges.removeValue(forKey: wsi) else { return }
    requests[exchange.id] = nil
    release(exchange.pending, of: wsi)
    readers.forget(exchange.id)
  }

  private func send(_ given: HTTPResponse, to wsi: OpaquePointer, head: Bool) -> Int32 {
    var response =
      connections.note(given.credentials, wsi, at: MonotonicClock.now()) && !given.isClosing ? given.closing : given
    if given.stream != nil { response = objectionToStream(wsi)?.closing ?? given.closing }
    let isStream = response.stream != nil
    guard writeHead(response, to: wsi, bodyFollows: !head && (isStream || !response.body.isEmpty)) else { return -1 }
    var exchange = exchanges[wsi] ?? HTTPExchange(id: nextRequestID(), isHead: head)
    exchange.isLast = response.isClosing
    exchange.state = isStream ? .streaming : .sending(response.body, offset: 0)
    exchanges[wsi] = exchange
    if head || !isStream && response.body.isEmpty { return completed(wsi) }
    if let owner = response.stream { return beginStream(owner, exchange.id, wsi) }
    if lws_send_pipe_choked(wsi) != 0 { return slowReaders.wait(wsi, .sending(response.body, offset: 0)) }
    lws_callback_on_writable(wsi)
    return 0
  }

  /// Why a stream cannot begin on this connection; nil where it can.
  private func objectionToStream(_ wsi: OpaquePointer) -> HTTPResponse? {
    guard isAlone(wsi) else {
      return .text(400, "a request for a stream of events comes alone, and is the last of its connection")
    }
    return readers.objection(of: connections.network(wsi))
  }

  /// The head of a stream is out; events may follow.
  private func beginStream(_ owner: EventStreamOwner, _ id: HTTPRequestID, _ wsi: OpaquePointer) -> Int32 {
    stopReading(wsi)
    requests[id] = wsi
    let stream = EventStream(id: id, mailbox: shared.mailbox)
    return readers.begin(stream, owner, wsi, of: connections.network(wsi)) ? 0 : -1
  }

  private func completed(_ wsi: OpaquePointer) -> Int32 {
    let isLast = exchanges[wsi]?.isLast ?? false
    // The library would wait until it can write, and look at what comes meanwhile again and again, without reading it.
    if lws_send_pipe_choked(wsi) != 0, !isLast || lws_partial_buffered(wsi) > 0 { return slowReaders.wait(wsi, .sent) }
    endExchange(wsi)
    heads[lws_get_socket_fd(wsi)]?.answered()
    slowReaders.allIsTaken(wsi)
    if isLast { return -1 }
    return lws_http_transaction_completed(wsi) == 0 ? 0 : -1
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
      // The library answers with the version that it has read, or with 1.0 where it has read none. We speak 1.1 (RFC 9112 §2.3).
      if start[7] == UInt8(ascii: "0") { start[7] = UInt8(ascii: "1") }
      for header in response.headers + shared.configuration.ownHeaders {
        let name = Array((header.name.lowercased() + ":").utf8.filter(\.isHeaderByte)) + [0]
        let value = Array(header.value.utf8.filter(\.isHeaderByte))
        let status = lws_add_http_header_by_name(wsi, name, value, Int32(clamping: value.count), &position, end)
        guard status == 0 else { return false }
      }
      // 1xx, 204 and 304 have no content, so no length of it either (RFC 9110 §8.6).
      // That of a stream is not known: it ends with the connection (RFC 9112 §6.3).
      if response.status != 204 && response.status != 304 && response.stream == nil {
        guard lws_add_http_header_content_length(wsi, UInt64(response.body.count), &position, end) == 0 else {
          return false
        }
      }
      return lws_finalize_write_http_header(wsi, start, &position, end) == 0
    }
  }

  /// The connection can take more of what is to be written to it.
  func writeAnswer(_ wsi: OpaquePointer) -> Int32 {
    guard let exchange = exchanges[wsi] else { return 0 }
    switch exchange.state {
    case .waiting, .streaming: return 0
    case .answered(let response): return send(response, to: wsi, head: exchange.isHead)
    case .sending(let body, let offset): return writeBody(body, from: offset, to: wsi)
    case .sent: return completed(wsi)
    }
  }

  func writeBody(_ body: [UInt8], from start: Int, to wsi: OpaquePointer) -> Int32 {
    var offset = start
    let pieceBytes = slowReaders.has(wsi) ? EventReaders.pieceBytes : Self.bodyPieceBytes
    var buffer = WriteBuffer(capacity: pieceBytes)
    while lws_send_pipe_choked(wsi) == 0 {
      let end = min(offset + pieceBytes, body.count)
      let last = end == body.count
      guard buffer.write(body, offset..<end, to: wsi, last ? LWS_WRITE_HTTP_FINAL : LWS_WRITE_HTTP) else { return -1 }
      offset = end
      if last { return completed(wsi) }
    }
    return slowReaders.wait(wsi, .sending(body, offset: offset))
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
    let head: RequestHead
    switch nextHead(wsi) {
    case .failure(let objection): return objection.response
    case .success(let next): head = next
    }
    guard !head.framing.mayHaveContent else { return .text(400, "a WebSocket handshake has no content") }
    guard header(wsi, WSI_TOKEN_UPGRADE)?.lowercased() == "websocket" else {
      return .text(400, "only an upgrade to websocket is served")
    }
    guard let path = shared.configuration.webSocketPath else {
      return .text(404, "there is no WebSocket end point here")
    }
    guard head.path == path else {
      return .text(404, "there is no WebSocket end point here; it is at \(path)")
    }
    // The library asks for a handshake with any method (RFC 6455 §4.2.1).
    guard header(wsi, WSI_TOKEN_GET_URI) != nil else { return .notAllowed([.get]) }
    guard header(wsi, WSI_TOKEN_VERSION) == "13" else {
      return .text(426, "only version 13 of WebSocket is served").with("upgrade", "websocket")
        .with("sec-websocket-version", "13")
    }
    guard header(wsi, WSI_TOKEN_KEY)?.isWebSocketKey == true else {
      return .text(400, "Sec-WebSocket-Key must be 16 bytes in base64")
    }
    // A client that has asked for one, and is given none, fails without a word (RFC 6455 §4.1).
    guard head.values("sec-websocket-protocol").isEmpty else {
      return .text(400, "no subprotocol is spoken here: leave Sec-WebSocket-Protocol out")
    }
    guard shared.configuration.origins.allows(origin: head.origins.first, host: head.hosts.first) else {
      return .text(403, "pages of this origin may not connect")
    }
    return nil
  }
}

extension String {
  /// Sixteen bytes in base64 (RFC 6455 §4.1): the last two characters fill up, and the one before has two bits.
  fileprivate var isWebSocketKey: Bool {
    let bytes = Array(utf8)
    guard bytes.count == 24, hasSuffix("=="), "AQgw".utf8.contains(bytes[21]) else { return false }
    return bytes.prefix(21).allSatisfy { byte in
      switch byte {
      case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, UInt8(ascii: "+"), UInt8(ascii: "/"): true
      default: false
      }
    }
  }
}

extension HTTPMethod {
  /// By the library's number.
  fileprivate init?(_ number: Int32) {
    switch number {
    case Int32(LWSHUMETH_GET): self = .get
    case Int32(LWSHUMETH_HEAD): self = .head
    case Int32(LWSHUMETH_POST): self = .post
    case Int32(LWSHUMETH_PUT): self = .put
    case Int32(LWSHUMETH_PATCH): self = .patch
    case Int32(LWSHUMETH_DELETE): self = .delete
    case Int32(LWSHUMETH_OPTIONS): self = .options
    default: return nil
    }
  }
}

extension HTTPResponse {
  func with(_ name: String, _ value: String) -> HTTPResponse {
    var copy = self
    copy.headers.append(Header(name, value))
    return copy
  }

  fileprivate static func notAllowed(_ served: [HTTPMethod]) -> HTTPResponse {
    let names = served.map(\.rawValue)
    let words = "only \(names.dropLast().joined(separator: ", ")) and \(names.last ?? "") are served"
    let text = names.count == 1 ? "only \(names[0]) is served" : words
    return .problem(405, "Method Not Allowed", text).with("allow", names.joined(separator: ", "))
  }

  fileprivate var closing: HTTPResponse { with("connection", "close") }
  fileprivate var isClosing: Bool { headers.contains(Header("connection", "close")) }
}

extension UInt8 {
  /// Neither a line break nor a NUL: a header cannot be made into two.
  fileprivate var isHeaderByte: Bool { self != 0 && self != 10 && self != 13 }
}

extension HTTPRoute {
  /// Its handler for OPTIONS (RFC 9110 §9.3.7).
  fileprivate var tellingWhatIsAllowed: LateHandler {
    let (handler, methods) = (handler, methods.map(\.rawValue).joined(separator: ", "))
    return { request, answer in
      handler(request) { response in
        let isTold = response.headers.contains { $0.name.lowercased() == "allow" }
        answer(isTold ? response : response.with("allow", methods))
      }
    }
  }
}
