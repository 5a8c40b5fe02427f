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
  static let most = 32.0
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
    let held = (0..<sockets).compactMap { _ in begin(port: server.port) }
    defer { withExtendedLifetime(held) {} }
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
  private static func begin(port: UInt16) -> SignallingSocket? {
    let socket = SignallingSocket(port: port, from: SocketAddress(v4: 0x7f00_0001, port: 0), path: "/rtc")
    let announced = UInt64(bytes + 10_000)
    let start = [0x81, 0xff] + (0..<8).map { UInt8(truncatingIfNeeded: announced >> (56 - 8 * $0)) } + [0, 0, 0, 0]
    socket?.write(start + [UInt8](repeating: 0x61, count: bytes))
    return socket
  }
}
