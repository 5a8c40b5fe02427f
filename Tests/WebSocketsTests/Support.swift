// The other side of the wire for these tests: an event log, and a TCP client that can say anything.
import Basics
import Foundation
import TLSClient
import TestSupport

@testable import WebSockets

/// Collects events and lets a test wait for what it expects.
final class EventLog: Sendable {
  private let events = Locked<[WebSocketEvent]>([])

  var handler: @Sendable (WebSocketEvent) -> Void { { event in self.events.withLock { $0.append(event) } } }
  var all: [WebSocketEvent] { events.withLock { $0 } }

  /// Waits until `pick` finds something in the events so far; nil after the time is up.
  func first<T>(_ pick: (WebSocketEvent) -> T?) async -> T? {
    var found: T?
    _ = await eventually(every: .milliseconds(5)) {
      found = all.lazy.compactMap(pick).first
      return found != nil
    }
    return found
  }

  func opened() async -> WebSocketID? {
    await first { if case .opened(let id, _) = $0 { id } else { nil } }
  }
  /// Waits until so many sockets are open. - Returns: them, in their order; fewer after the time is up.
  func opened(_ count: Int) async -> [WebSocketID] {
    var ids: [WebSocketID] = []
    _ = await eventually(every: .milliseconds(5)) {
      ids = all.compactMap { if case .opened(let id, _) = $0 { id } else { nil } }
      return ids.count >= count
    }
    return ids
  }
  func closure(of id: WebSocketID? = nil) async -> WebSocketClosure? {
    await first {
      if case .closed(let closed, let closure) = $0, id == nil || id == closed { closure } else { nil }
    }
  }
  var closures: [WebSocketClosure] { all.compactMap { if case .closed(_, let closure) = $0 { closure } else { nil } } }
  var texts: [String] {
    all.compactMap { if case .text(_, let bytes) = $0 { String(decoding: bytes, as: UTF8.self) } else { nil } }
  }
}

let loopback = SocketAddress(v4: 0x7f00_0001, port: 0)

/// A blocking TCP connection to a server on loopback, with a patience of half a minute for every read.
/// Reads and writes have a queue each, so one may wait for the other.
final class RawConnection: @unchecked Sendable {
  // Unchecked: `unread` and `tls` belong to the queue `reading`, and the descriptor changes only when a test has done with it.
  private var descriptor: Int32
  private var unread: [UInt8] = []
  private let reading = DispatchQueue(label: "read")
  private let writing = DispatchQueue(label: "write")
  private var tls: TLSClientStream?

  /// `segment`: bytes of a TCP segment; small ones keep the server's buffer small. It comes from 127.0.0.`last`.
  init(port: UInt16, receiveBuffer: Int32? = nil, segment: Int32? = nil, from last: UInt32 = 1) throws {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    if let receiveBuffer { setOption(descriptor, SOL_SOCKET, SO_RCVBUF, receiveBuffer) }
    if let segment { setOption(descriptor, Int32(IPPROTO_TCP), TCP_MAXSEG, segment) }
    var patience = timeval(tv_sec: 30, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    let bound = SocketAddress(v4: 0x7f00_0000 | last, port: 0).withSocketAddress { bind(descriptor, $0, $1) }
    if bound != 0 { throw WebSocketError.exhausted("bind: \(SystemError.last)") }
    let status = SocketAddress(v4: 0x7f00_0001, port: port).withSocketAddress { connect(descriptor, $0, $1) }
    if status != 0 { throw WebSocketError.exhausted("connect: \(SystemError.last)") }
  }
  deinit { if descriptor >= 0 { close(descriptor) } }

  func write(_ text: String) { write(Array(text.utf8)) }
  /// Queues bytes; another thread writes them, in order.
  func write(_ bytes: [UInt8]) {
    writing.async { [self] in
      var sent = 0
      while sent < bytes.count {
        let count = bytes.withUnsafeBytes {
          Foundation.send(descriptor, $0.baseAddress.map { $0 + sent }, bytes.count - sent, Int32(MSG_NOSIGNAL))
        }
        if count <= 0 { return }
        sent += count
      }
    }
  }

  /// Queues one byte that is urgent (RFC 9293 §3.8.5).
  func write(urgent byte: UInt8) {
    writing.async { [self] in
      _ = Foundation.send(descriptor, [byte], 1, Int32(MSG_OOB | MSG_NOSIGNAL))
    }
  }

  /// Reads `count` bytes; fewer when the connection ends or nothing comes for half a minute. Another thread waits for
  /// them, since tests share few threads.
  func read(_ count: Int) async -> [UInt8] {
    await withCheckedContinuation { continuation in
      reading.async { [self] in continuation.resume(returning: blockingRead(count)) }
    }
  }

  private func blockingRead(_ count: Int) -> [UInt8] {
    while unread.count < count {
      var buffer = [UInt8](repeating: 0, count: 65_536)
      let got = recv(descriptor, &buffer, buffer.count, 0)
      if got <= 0 { break }
      unread += buffer.prefix(got)
    }
    defer { unread.removeFirst(min(count, unread.count)) }
    return Array(unread.prefix(count))
  }

  /// Reads all there is until the other side closes.
  func readToEnd() async -> String { String(decoding: await read(1 << 24), as: UTF8.self) }

  /// Reads a head of HTTP, up to the empty line.
  func readHead() async -> String {
    var head: [UInt8] = []
    while !head.suffix(4).elementsEqual([13, 10, 13, 10]) {
      let byte = await read(1)
      if byte.isEmpty { break }
      head += byte
    }
    return String(decoding: head, as: UTF8.self)
  }

  /// Cuts the connection with a TCP reset.
  func reset() {
    var abort = linger(l_onoff: 1, l_linger: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &abort, socklen_t(MemoryLayout<linger>.size))
    close(descriptor)
    descriptor = -1
  }
  func shutDown() {
    close(descriptor)
    descriptor = -1
  }

  /// Waits until all that was queued is written.
  func allIsWritten() async {
    await withCheckedContinuation { continuation in writing.async { continuation.resume() } }
  }

  /// Closes when all that was to be written is.
  func shutDownBehindWhatIsQueued() async {
    await withCheckedContinuation { continuation in
      writing.async { [self] in
        shutDown()
        continuation.resume()
      }
    }
  }

  /// Shakes hands by TLS, and says nothing more. - Returns: whether that went well.
  func shakeHands(_ context: TLSClientContext) async -> Bool {
    await withCheckedContinuation { continuation in
      reading.async { [self] in
        tls = TLSClientStream(context, socket: descriptor)
        continuation.resume(returning: tls?.handshake() == .done(0))
      }
    }
  }

  // MARK: WebSocket frames by hand

  /// - Returns: the head of the server's answer.
  @discardableResult
  func upgrade(_ method: String = "GET", path: String = "/rtc", headers: String = "") async -> String {
    write(
      "\(method) \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\(headers)"
        + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n")
    return await readHead()
  }

  static func frame(_ opcode: UInt8, _ payload: [UInt8], fin: Bool = true) -> [UInt8] {
    let mask: [UInt8] = [0x12, 0x34, 0x56, 0x78]
    var frame: [UInt8] = [(fin ? 0x80 : 0) | opcode]
    switch payload.count {
    case ..<126: frame.append(0x80 | UInt8(payload.count))
    case ..<65_536: frame += [0x80 | 126, UInt8(payload.count >> 8), UInt8(payload.count & 255)]
    default: frame += [0x80 | 127] + (0..<8).map { UInt8(truncatingIfNeeded: payload.count >> (56 - 8 * $0)) }
    }
    frame += mask
    frame += payload.indices.map { payload[$0] ^ mask[$0 & 3] }
    return frame
  }
  func send(_ opcode: UInt8, _ payload: [UInt8], fin: Bool = true) { write(Self.frame(opcode, payload, fin: fin)) }
  func send(text: String) { send(1, Array(text.utf8)) }

  /// The next frame that is no ping, nil when there is none. Pings are answered: a busy machine may let one come.
  func receive() async -> (opcode: UInt8, fin: Bool, payload: [UInt8])? {
    while let frame = await receiveAny() {
      guard frame.opcode == 9 else { return frame }
      send(10, frame.payload)
    }
    return nil
  }

  /// The next frame, nil when there is none.
  func receiveAny() async -> (opcode: UInt8, fin: Bool, payload: [UInt8])? {
    let head = await read(2)
    guard head.count == 2 else { return nil }
    var length = Int(head[1] & 0x7f)
    if length == 126 { length = await read(2).reduce(0) { $0 << 8 | Int($1) } }
    if length == 127 { length = await read(8).reduce(0) { $0 << 8 | Int($1) } }
    return (head[0] & 15, head[0] & 0x80 != 0, await read(length))
  }
  /// Answers pings until `isOver`, which is asked after each, or anything else comes. All of it on a thread of its own: tests share
  /// few threads, and one that waits for them is silent.
  /// - Returns: how many pings were answered.
  func answerPings(until isOver: @escaping @Sendable (Int) -> Bool) async -> Int {
    await withCheckedContinuation { continuation in
      reading.async { [self] in
        var pings = 0
        while !isOver(pings) {
          let head = blockingRead(2)
          guard head.count == 2, head[0] == 0x89 else { break }
          pings += 1
          write(Self.frame(10, blockingRead(Int(head[1] & 0x7f))))
        }
        continuation.resume(returning: pings)
      }
    }
  }
  /// The next message of text.
  func receiveText() async -> String? {
    var text: [UInt8] = []
    while let frame = await receive() {
      guard frame.opcode < 2 else { return nil }
      text += frame.payload
      if frame.fin { return String(decoding: text, as: UTF8.self) }
    }
    return nil
  }
}

/// What a server with TLS answers until it hangs up. Another thread waits for it.
func sayUnderTLS(_ words: String, to server: WebServer) async throws -> String {
  let asking = ["s_client", "-quiet", "-connect", "127.0.0.1:\(server.port)"]
  return try await withCheckedThrowingContinuation { continuation in
    DispatchQueue(label: "openssl").async {
      continuation.resume(with: Result { try openssl(asking, saying: words) })
    }
  }
}

extension WebSocketLimits {
  /// For tests of anything but pings: none falls due, so a machine that is busy for half a minute closes no socket.
  static func patient(_ change: (inout Self) -> Void = { _ in }) -> Self {
    var limits = Self(pingInterval: .seconds(600), silenceLimit: .seconds(1200))
    change(&limits)
    return limits
  }
}

/// A server that echoes every text.
func startEcho(
  limits: WebSocketLimits = .patient(), log: EventLog = EventLog(), routes: [HTTPRoute] = [],
  change: (inout WebServerConfiguration) -> Void = { _ in }
) throws -> WebServer {
  var configuration = WebServerConfiguration(addresses: [loopback], limits: limits)
  change(&configuration)
  let echo = Echo()
  let server = try WebServer.start(configuration, routes: routes) { event in
    log.handler(event)
    if case .text(let id, let bytes) = event { echo.server.withLock { $0.value }?.send(bytes, to: id) }
  }
  echo.server.withLock { $0.value = server }
  return server
}

private final class Echo: Sendable {
  struct Reference { weak var value: WebServer? }
  let server = Locked(Reference())
}
