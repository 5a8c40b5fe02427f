// A TCP connection to a server on loopback, from an address of our choice, that speaks HTTP or small WebSocket messages and waits for the
// answers itself: what the answers took is what they took, with no thread in between.

import Basics
import Glibc

/// One connection. Everything on it waits for half a minute at most.
final class SignallingSocket {
  private let descriptor: Int32
  private var unread: [UInt8] = []

  /// Connects to `port` of 127.0.0.1 from `address`; nil where that fails. `path` is that of a WebSocket; nil for plain HTTP.
  init?(port: UInt16, from address: SocketAddress, path: String?) {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var patience = timeval(tv_sec: 30, tv_usec: 0)
    var yes: Int32 = 1
    setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
    guard Self.with(address, 0, { bind(descriptor, $0, $1) }) == 0,
      Self.with(SocketAddress(v4: 0x7f00_0001, port: 0), port, { connect(descriptor, $0, $1) }) == 0,
      path.map({ upgrade($0) }) ?? true
    else { return nil }
  }

  deinit { close(descriptor) }

  private static func with(
    _ address: SocketAddress, _ port: UInt16, _ call: (UnsafePointer<sockaddr>, socklen_t) -> Int32
  ) -> Int32 {
    var text = sockaddr_in()
    text.sin_family = sa_family_t(AF_INET)
    text.sin_port = port.bigEndian
    text.sin_addr.s_addr = UInt32(truncatingIfNeeded: address.low).bigEndian
    return withUnsafePointer(to: &text) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { call($0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
    }
  }

  private func upgrade(_ path: String) -> Bool {
    let head =
      "GET \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
      + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    guard write(Array(head.utf8)) else { return false }
    while true {
      if let end = unread.indices.dropLast(3).first(where: { unread[$0..<($0 + 4)].elementsEqual([13, 10, 13, 10]) }) {
        let isOpen = unread.starts(with: "HTTP/1.1 101".utf8)
        unread.removeFirst(end + 4)
        return isOpen
      }
      guard readMore() else { return false }
    }
  }

  /// Writes all of it; false when the connection is gone, or takes nothing any more.
  @discardableResult func write(_ bytes: [UInt8]) -> Bool {
    var sent = 0
    while sent < bytes.count {
      let count = bytes.withUnsafeBytes {
        send(descriptor, $0.baseAddress.map { $0 + sent }, bytes.count - sent, Int32(MSG_NOSIGNAL))
      }
      if count <= 0 { return false }
      sent += count
    }
    return true
  }

  /// A text message as a masked frame; up to 64 KiB.
  static func frame(_ text: String) -> [UInt8] {
    let payload = Array(text.utf8)
    let size = payload.count
    let head: [UInt8] =
      size < 126 ? [0x81, 0x80 | UInt8(size)] : [0x81, 0xfe, UInt8(size >> 8 & 255), UInt8(size & 255)]
    return head + [0, 0, 0, 0] + payload
  }

  /// Sends a message and waits for one that has `mark` in it; nil when the connection ends before.
  func ask(_ text: String, until mark: String) -> String? {
    guard write(Self.frame(text)) else { return nil }
    while let message = nextMessage() {
      if message.contains(mark) { return message }
    }
    return nil
  }

  /// The next text message; nil when the connection ends.
  private func nextMessage() -> String? {
    while true {
      while let (opcode, payload) = takeFrame() {
        switch opcode {
        case 1: return String(decoding: payload, as: UTF8.self)
        case 8: return nil
        default: continue
        }
      }
      guard readMore() else { return nil }
    }
  }

  /// A whole frame of those that a server sends.
  private func takeFrame() -> (opcode: UInt8, payload: [UInt8])? {
    guard unread.count >= 2 else { return nil }
    var (size, head) = (Int(unread[1] & 127), 2)
    if size >= 126 {
      let more = size == 126 ? 2 : 8
      guard unread.count >= head + more else { return nil }
      size = unread[head..<(head + more)].reduce(0) { $0 << 8 | Int($1) }
      head += more
    }
    guard unread.count >= head + size else { return nil }
    defer { unread.removeFirst(head + size) }
    return (unread[0] & 15, Array(unread[head..<(head + size)]))
  }

  private func readMore() -> Bool {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    let count = recv(descriptor, &buffer, buffer.count, 0)
    guard count > 0 else { return false }
    unread += buffer.prefix(count)
    return true
  }

  /// Throws away what has come; false when the other side has ended the connection.
  func discard() -> Bool {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
      if count == 0 { return false }
      if count < 0 { return errno == EAGAIN || errno == EINTR }
    }
  }
}
