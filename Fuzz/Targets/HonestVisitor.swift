// Somebody with a session at the front door, and a connection for HTTP, whose requests are answered whatever others say.
import Basics
import Glibc
import TestSupport

struct HonestVisitor: Sendable {
  private let port: UInt16
  private let webSocket: Int32
  private var asked = 0

  init(port: UInt16) {
    (self.port, webSocket) = (port, Self.connect(port))
    write(webSocket, Array(DoorVisitor.upgrade.utf8))
    precondition(readHead(webSocket).hasPrefix("HTTP/1.1 101 "), "who asks for a WebSocket gets one")
    say(#"{"id":1,"method":"session.hello","params":{"user":"honest","deviceId":"d"}}"#)
    precondition(hear(1).contains(#""result":"#), "who says hello has a session")
  }

  private static func connect(_ port: UInt16) -> Int32 {
    guard let socket = try? Loopback.connect(port) else { preconditionFailure("the server listens") }
    var patience = timeval(tv_sec: 10, tv_usec: 0)
    setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    return socket
  }

  /// Asks for something over HTTP now and then, and more rarely over the WebSocket, and gets it.
  mutating func ask() {
    asked += 1
    guard asked % 8 == 0 else { return }
    let http = Self.connect(port)
    defer { close(http) }
    write(http, Array("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8))
    precondition(readHead(http).hasPrefix("HTTP/1.1 200 "), "who asks is answered")
    precondition(read(http, 3) == Array("ok\n".utf8))
    // Less often than a session may ask.
    guard asked % 64 == 0 else { return }
    say(#"{"id":2,"method":"ping"}"#)
    _ = hear(2)
  }

  // MARK: frames

  private func say(_ text: String) {
    let payload = Array(text.utf8)
    precondition(payload.count < 126)
    write(webSocket, [0x81, 0x80 | UInt8(payload.count), 0, 0, 0, 0] + payload)
  }

  /// The reply to a request; events may come before it.
  private func hear(_ id: Int) -> String {
    for _ in 0..<10_000 {
      let head = read(webSocket, 2)
      var length = Int(head[1])
      if length == 126 { length = read(webSocket, 2).reduce(0) { $0 << 8 | Int($1) } }
      let payload = read(webSocket, length)
      precondition(head[0] == 0x81 || head[0] == 0x89, "nobody closes the honest one's connection")
      let text = String(decoding: payload, as: UTF8.self)
      if text.contains("\"id\":\(id),") { return text }
    }
    preconditionFailure("who asks over the WebSocket is answered")
  }

  // MARK: bytes

  private func write(_ socket: Int32, _ bytes: [UInt8]) {
    let count = bytes.withUnsafeBytes { bytes in
      uninterrupted { send(socket, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL)) }
    }
    precondition(count == bytes.count, "the honest one's connection is open")
  }

  private func readHead(_ socket: Int32) -> String {
    var head: [UInt8] = []
    while !head.suffix(4).elementsEqual(Array("\r\n\r\n".utf8)) { head += read(socket, 1) }
    return String(decoding: head, as: UTF8.self)
  }

  private func read(_ socket: Int32, _ count: Int) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    var done = 0
    while done < count {
      let more = bytes.withUnsafeMutableBytes { bytes in
        uninterrupted { recv(socket, bytes.baseAddress.map { $0 + done }, count - done, 0) }
      }
      precondition(more > 0, "the honest one is served")
      done += more
    }
    return bytes
  }
}
