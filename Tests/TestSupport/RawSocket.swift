// A TCP connection to a server on loopback that says anything, WebSocket frames by hand included, and reads only when asked.

import Basics
import Glibc

/// One connection. Nothing but the handshake waits for the other side.
public final class RawSocket: Sendable {
  fileprivate struct Incoming {
    var unread: [UInt8] = []
    var isPastHead = false
    /// What has come of a message in several frames.
    var part: [UInt8] = []
    var texts: [String] = []
    var closeCode: UInt16?
    var isOver = false
  }

  private let descriptor: Int32
  private let incoming = Locked(Incoming())

  /// Connects to `port`; `receiveBuffer` bounds what the kernel takes in for a socket that does not read.
  public init(port: UInt16, receiveBuffer: Int32? = nil) throws {
    descriptor = try Loopback.connect(port, receiveBuffer: receiveBuffer)
    var patience = timeval(tv_sec: 60, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
  }

  deinit { close(descriptor) }

  /// Writes all of it. - Returns: false when the connection is gone.
  @discardableResult public func write(_ bytes: [UInt8]) -> Bool {
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

  /// Makes it a WebSocket, and waits for the first bytes of the answer. `headers` are lines that end with CRLF.
  public func upgrade(path: String = "/rtc", headers: String = "") {
    let head =
      "GET \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
      + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\(headers)\r\n"
    write(Array(head.utf8))
    read(flags: 0)
  }

  /// A masked frame.
  public static func frame(_ opcode: UInt8, _ payload: [UInt8], isFinal: Bool = true) -> [UInt8] {
    let size = payload.count
    var frame: [UInt8] = [(isFinal ? 0x80 : 0) | opcode]
    switch size {
    case ..<126: frame.append(0x80 | UInt8(size))
    case ..<65_536: frame += [0x80 | 126, UInt8(size >> 8), UInt8(size & 255)]
    default: frame += [0x80 | 127] + (0..<8).map { UInt8(truncatingIfNeeded: size >> (56 - 8 * $0)) }
    }
    return frame + [0, 0, 0, 0] + payload
  }

  /// Sends a text message. - Returns: false when the connection is gone.
  @discardableResult public func say(_ text: String) -> Bool { write(Self.frame(1, Array(text.utf8))) }

  /// All text messages that have come so far.
  public var texts: [String] {
    look()
    return incoming.withLock { $0.texts }
  }
  /// The code of the close frame that came, if one did.
  public var closeCode: UInt16? {
    look()
    return incoming.withLock { $0.closeCode }
  }
  /// Whether the other side has closed the connection.
  public var isOver: Bool {
    look()
    return incoming.withLock { $0.isOver }
  }

  /// Ends the connection with a TCP reset.
  public func reset() { Loopback.reset(descriptor) }

  // MARK: Reading

  private func look() { while read(flags: Int32(MSG_DONTWAIT)) {} }

  @discardableResult private func read(flags: Int32) -> Bool {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    let count = recv(descriptor, &buffer, buffer.count, flags)
    if count < 0 && (errno == EAGAIN || errno == EINTR) { return false }
    return incoming.withLock { incoming in
      guard count > 0 else {
        incoming.isOver = true
        return false
      }
      incoming.unread += buffer.prefix(count)
      incoming.parse { pong in write(pong) }
      return true
    }
  }
}

extension RawSocket.Incoming {
  mutating func parse(answer: ([UInt8]) -> Void) {
    if !isPastHead {
      let end = unread.indices.dropLast(3).first { unread[$0..<($0 + 4)].elementsEqual([13, 10, 13, 10]) }
      guard let end else { return }
      unread.removeFirst(end + 4)
      isPastHead = true
    }
    while let (head, payload) = nextFrame() {
      switch head & 15 {
      case 8: closeCode = payload.count >= 2 ? UInt16(payload[0]) << 8 | UInt16(payload[1]) : 1005
      case 9: answer(RawSocket.frame(10, payload))
      case 10: break
      default:
        part += payload
        guard head & 0x80 != 0 else { continue }
        texts.append(String(decoding: part, as: UTF8.self))
        part = []
      }
    }
  }

  private mutating func nextFrame() -> (head: UInt8, payload: [UInt8])? {
    guard unread.count >= 2 else { return nil }
    var start = 2
    var length = Int(unread[1] & 0x7f)
    if length >= 126 {
      start += length == 126 ? 2 : 8
      guard unread.count >= start else { return nil }
      length = unread[2..<start].reduce(0) { $0 << 8 | Int($1) }
    }
    guard unread.count >= start + length else { return nil }
    defer { unread.removeFirst(start + length) }
    return (unread[0], Array(unread[start..<(start + length)]))
  }
}
