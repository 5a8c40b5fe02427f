// What one address can make a web server keep that begins messages and never ends them: with the bound, and without it for control. Both
// servers are in this process, and what it grows by is what they keep.

import Basics
import Glibc
import WebSockets

struct Hoarding: Encodable, Sendable, Equatable {
  /// WebSockets of the address.
  static let sockets = 300
  /// Bytes of each message that come; it announces more.
  static let bytes = 500_000
  /// What the process may grow by with the bound, which is 4 MiB; sockets and their buffers are among it.
  static let most = 48.0
  /// What it must grow by without it: else nothing was shown.
  static let least = 100.0

  /// What the process grew by, in MiB.
  var grown = 0.0
  /// The same without the bound.
  var grownWithout = 0.0
  /// WebSockets that the server ended for it.
  var ended: UInt64 = 0

  /// Everything that missed its bar.
  var complaints: [String] {
    var found: [String] = []
    if grown > Self.most { found.append("unfinished: the server kept \(rounded(grown)) MiB") }
    if grownWithout < Self.least {
      found.append("unfinished: without the bound it kept \(rounded(grownWithout)) MiB, so nothing was shown")
    }
    if ended == 0 { found.append("unfinished: nobody's message gave way") }
    return found
  }

  /// One line.
  var text: String {
    "unfinished messages, \(Self.sockets) of \(Self.bytes) bytes: \(rounded(grown)) MiB kept, "
      + "\(rounded(grownWithout)) without the bound; \(ended) gave way"
  }

  /// Makes both runs, the one with the bound first: memory that was given back may be had again.
  static func measure() throws -> Hoarding {
    var found = Hoarding()
    (found.grown, found.ended) = try run(MessageBounds())
    var unbound = MessageBounds()
    (unbound.bytesPerAddress, unbound.patience, unbound.longPatience) = (.max, .seconds(3600), .seconds(3600))
    (found.grownWithout, _) = try run(unbound)
    return found
  }

  private static func run(_ bounds: MessageBounds) throws -> (grown: Double, ended: UInt64) {
    var configuration = WebServerConfiguration(addresses: [SocketAddress(v4: 0x7f00_0001, port: 0)])
    configuration.messages = bounds
    let server = try WebServer.start(configuration) { _ in }
    defer { server.stop() }
    let before = resident
    let descriptors = (0..<sockets).compactMap { _ in begin(port: server.port) }
    defer { for descriptor in descriptors { close(descriptor) } }
    // Until nothing more comes of what was sent.
    var (last, calm) = (resident, 0)
    for _ in 0..<200 where calm < 5 {
      usleep(50_000)
      calm = resident == last ? calm + 1 : 0
      last = resident
    }
    return (Double(last - min(last, before)) / 1_048_576, server.statistics.closed[.unfinished] ?? 0)
  }

  private static var resident: UInt64 { ProcessUsage(pid: getpid())?.residentBytes ?? 0 }

  /// A WebSocket with a message that is never ended; nil where there is none.
  private static func begin(port: UInt16) -> Int32? {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var patience = timeval(tv_sec: 10, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    (address.sin_addr.s_addr, address.sin_port) = (UInt32(0x7f00_0001).bigEndian, port.bigEndian)
    let status = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    let head =
      "GET /rtc HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
      + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    var answer = [UInt8](repeating: 0, count: 4096)
    guard status == 0, send(Array(head.utf8), descriptor), recv(descriptor, &answer, answer.count, 0) > 0 else {
      close(descriptor)
      return nil
    }
    let announced = UInt64(bytes + 10_000)
    let start = [0x81, 0xff] + (0..<8).map { UInt8(truncatingIfNeeded: announced >> (56 - 8 * $0)) } + [0, 0, 0, 0]
    _ = send(start + [UInt8](repeating: 0x61, count: bytes), descriptor)
    return descriptor
  }

  private static func send(_ bytes: [UInt8], _ descriptor: Int32) -> Bool {
    var sent = 0
    while sent < bytes.count {
      let count = bytes.withUnsafeBytes {
        Glibc.send(descriptor, $0.baseAddress.map { $0 + sent }, bytes.count - sent, Int32(MSG_NOSIGNAL))
      }
      if count <= 0 { return false }
      sent += count
    }
    return true
  }
}
