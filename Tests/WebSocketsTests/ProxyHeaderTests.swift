// The PROXY protocol: headers of both versions as bytes, and connections that begin with them, plain and under TLS.
import Basics
import Foundation
import TestSupport
import Testing

@testable import WebSockets

private let signature: [UInt8] = [13, 10, 13, 10, 0, 13, 10, 0x51, 0x55, 0x49, 0x54, 10]

/// A header of version 1.
private func line(_ text: String) -> [UInt8] { Array(text.utf8) }

/// A header of version 2.
private func block(_ command: UInt8, _ family: UInt8, _ content: [UInt8]) -> [UInt8] {
  var bytes = signature
  bytes += [command, family, UInt8(content.count >> 8), UInt8(content.count & 255)]
  bytes += content
  return bytes
}

private func zeros(_ count: Int) -> [UInt8] { [UInt8](repeating: 0, count: count) }
private func fill(_ count: Int) -> String { String(repeating: "f", count: count) }

private let v4: [UInt8] = [203, 0, 113, 9, 127, 0, 0, 1, 0xc3, 0x50, 0x1f, 0x90]
private let v6: [UInt8] = [
  0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xc3, 0x50,
  0x1f, 0x90,
]

private let goodHeaders: [([UInt8], String)] = [
  (line("PROXY TCP4 203.0.113.9 127.0.0.1 50000 8080\r\n"), "203.0.113.9:50000"),
  (line("PROXY TCP6 2001:db8::5 ::1 50000 8080\r\n"), "[2001:db8::5]:50000"),
  (line("PROXY TCP6 ::ffff:203.0.113.9 ::ffff:127.0.0.1 1 2\r\n"), "203.0.113.9:1"),
  (line("PROXY UNKNOWN\r\n"), "unknown"), (line("PROXY UNKNOWN what ever 1 2\r\n"), "unknown"),
  // The longest line there is.
  (line("PROXY UNKNOWN \(fill(91))\r\n"), "unknown"),
  (block(0x21, 0x11, v4), "203.0.113.9:50000"), (block(0x21, 0x21, v6), "[2001:db8::5]:50000"),
  // The longest block.
  (block(0x21, 0x11, v4 + zeros(996)), "203.0.113.9:50000"),
  (block(0x20, 0, []), "proxy"), (block(0x20, 0x11, v4), "proxy"), (block(0x21, 0, []), "unknown"),
  (block(0x21, 0x31, zeros(216)), "unknown"), (block(0x21, 0x12, v4), "unknown"),
]

private let badLines = [
  "GET / HTTP/1.1\r\n", "PROXY\r\n\r\n\r\n\r\n\r\n", "PROXY TCP4 203.0.113.9 127.0.0.1 50000 8080\n", "PROXY \r\n",
  "PROXY TCP4 203.0.113.9 127.0.0.1 50000\r\n", "PROXY TCP4 203.0.113.9 127.0.0.1 65536 8080\r\n",
  "PROXY TCP4 203.0.113.9 127.0.0.1 50000 8080 \r\n", "PROXY TCP4 2001:db8::5 ::1 50000 8080\r\n",
  "PROXY TCP6 203.0.113.9 127.0.0.1 50000 8080\r\n", "PROXY TCP4 rubbish 127.0.0.1 1 2\r\n",
  "PROXY  TCP4 203.0.113.9 127.0.0.1 1 2\r\n", "proxy TCP4 203.0.113.9 127.0.0.1 1 2\r\n",
  "PROXY UNKNOWN \(fill(92))\r\n", fill(200),
]

private let badBlocks: [[UInt8]] = [
  block(0x22, 0x11, v4), block(0x11, 0x11, v4), block(0x21, 0x11, Array(v4.dropLast())),
  block(0x21, 0x21, Array(v6.dropLast())), block(0x21, 0x11, zeros(1009)),
  [13, 10, 13, 10, 0, 13, 10, 0x51, 0x55, 0x49, 0x54, 11, 0x21, 0x11],
]

private let badHeaders: [[UInt8]] = badLines.map(line) + badBlocks

@Suite struct ProxyHeaderTests {
  /// Reads a header that comes in pieces of `size`. - Returns: whom it names, and what is behind it.
  private func read(_ bytes: [UInt8], pieces size: Int) throws -> (source: ProxyHeader.Source?, rest: [UInt8]) {
    var header = ProxyHeader()
    var index = 0
    var there = 0
    while header.wanted > 0, there < bytes.count || index < there {
      if index == there { there = min(there + size, bytes.count) }
      let piece = bytes[index..<min(there, index + header.wanted)]
      let taken = try header.take(piece)
      #expect(taken > 0 && taken <= piece.count)
      index += taken
    }
    return (header.source, Array(bytes[index...]))
  }

  private func described(_ source: ProxyHeader.Source?) -> String? {
    switch source {
    case nil: nil
    case .proxy: "proxy"
    case .unknown: "unknown"
    case .client(let client): client.description
    }
  }

  @Test(arguments: goodHeaders) func aHeaderIsReadAndNothingBehindIt(_ bytes: [UInt8], _ expected: String) throws {
    for size in [1, 2, 5, 16, 4096] {
      let behind = Array("\u{16}\u{3}\u{1}\r\nGET / HTTP/1.1".utf8)
      let (source, rest) = try read(bytes + behind, pieces: size)
      #expect(described(source) == expected && rest == behind, "\(size)")
      let (part, nothing) = try read(Array(bytes.dropLast()), pieces: size)
      #expect(part == nil && nothing.isEmpty, "it is not whole")
    }
  }

  @Test(arguments: badHeaders) func whatIsNoneIsRefused(_ bytes: [UInt8]) {
    for size in [1, 3, 16, 4096] {
      #expect(throws: ProxyHeader.Malformed.self) { _ = try read(bytes, pieces: size) }
    }
  }
}

@Suite(.timeLimit(.minutes(2))) struct ProxyGreetingTests {
  private let routes: [HTTPRoute] = [.get("/who") { .text(200, $0.peer?.description ?? "nobody") }]
  private static let request = Array("GET /who HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".utf8)

  private func start(
    trusting: String = "127.0.0.1", change: (inout WebServerConfiguration) -> Void = { _ in }
  ) throws -> WebServer {
    let range = try #require(AddressRange(trusting))
    return try startEcho(routes: routes) {
      $0.proxies = TrustedProxies([range])
      $0.takesProxyHeaders = true
      change(&$0)
    }
  }

  @Test(arguments: goodHeaders) func whomTheHeaderNamesAsks(_ header: [UInt8], _ expected: String) async throws {
    let server = try start()
    defer { server.stop() }
    for pause in [false, true] {
      let raw = try RawConnection(port: server.port)
      if pause {
        raw.write(Array(header.prefix(7)))
        try await Task.sleep(for: .milliseconds(30))
        raw.write(Array(header.dropFirst(7)))
        await raw.allIsWritten()
        raw.write(Self.request)
      } else {
        raw.write(header + Self.request)
      }
      let answer = await raw.readToEnd()
      let wanted = expected == "unknown" ? "nobody" : expected == "proxy" ? "127.0.0.1:" : expected
      #expect(answer.hasPrefix("HTTP/1.1 200 ") && answer.contains("\r\n\r\n\(wanted)"), "\(answer)")
    }
    #expect(await eventually { server.statistics.connections == 0 })
  }

  @Test(arguments: badHeaders) func aConnectionWithoutItIsClosed(_ bytes: [UInt8]) async throws {
    let told = Locked<[String]>([])
    let server = try start { $0.proxyHeaderMissing = { peer in told.withLock { $0.append(peer?.host ?? "") } } }
    defer { server.stop() }
    let raw = try RawConnection(port: server.port)
    raw.write(bytes + Self.request)
    #expect(await raw.readToEnd() == "")
    #expect(await eventually { server.statistics.malformedRequests == 1 && server.statistics.connections == 0 })
    #expect(told.withLock { $0 } == ["127.0.0.1"])
  }

  /// Nobody else can say whom they bring.
  @Test func whoIsNoTrustedProxyCannotConnect() async throws {
    let server = try start(trusting: "10.0.0.0/8")
    defer { server.stop() }
    let raw = try RawConnection(port: server.port)
    raw.write(goodHeaders[0].0 + Self.request)
    #expect(await raw.readToEnd() == "")
    #expect(await eventually { server.statistics.connectionsRefused == 1 && server.statistics.httpRequests == 0 })
  }

  @Test func whoSaysNothingIsCutOff() async throws {
    let server = try start { $0.handshakeSeconds = 1 }
    defer { server.stop() }
    let raws = try (0..<3).map { _ in try RawConnection(port: server.port) }
    raws[1].write("PROXY TCP4 203")
    raws[2].write(Array(signature.prefix(9)))
    for raw in raws { #expect(await raw.readToEnd() == "") }
    #expect(await eventually { server.statistics.malformedRequests == 3 })
    let good = try RawConnection(port: server.port)
    good.write(goodHeaders[0].0 + Self.request)
    #expect(await good.readToEnd().hasPrefix("HTTP/1.1 200 "))
  }

  /// Those that have not said it yet count among all.
  @Test func thereAreSoManyAndNoMore() async throws {
    let server = try start {
      $0.maximumConnections = 4
      $0.maximumConnectionsPerAddress = 2
    }
    defer { server.stop() }
    let silent = try (0..<4).map { _ in try RawConnection(port: server.port) }
    let late = try RawConnection(port: server.port)
    #expect(await late.readToEnd() == "")
    for raw in silent { raw.shutDown() }
    // Each client has its own.
    func answer(_ client: Int) async throws -> (RawConnection, String) {
      let raw = try RawConnection(port: server.port)
      raw.write("PROXY TCP4 203.0.113.\(client) 127.0.0.1 1 2\r\n")
      return (raw, await raw.upgrade())
    }
    var held: [RawConnection] = []
    for (client, isServed) in [(1, true), (1, true), (1, false), (2, true)] {
      var (raw, head) = try await answer(client)
      // Those that are gone may count for a moment.
      if isServed {
        _ = await eventually {
          if !head.isEmpty { return true }
          (raw, head) = (try? await answer(client)) ?? (raw, "")
          return !head.isEmpty
        }
      }
      #expect(head.hasPrefix("HTTP/1.1 101 ") == isServed, "\(client): \(head)")
      held.append(raw)
    }
    #expect(held.count == 4)
  }

  /// The header stands before the handshake of TLS.
  @Test func itIsReadBeforeTLS() async throws {
    let folder = try TemporaryFolder()
    try folder.makeCertificate()
    let files = TLSFiles(certificate: folder.path("certificate.pem"), privateKey: folder.path("key.pem"))
    let server = try start { $0.tls = files }
    defer { server.stop() }
    // The first bytes of a ClientHello, answered by an alert: TLS begins behind the header.
    let raw = try RawConnection(port: server.port)
    raw.write(goodHeaders[0].0 + [0x16, 3, 1, 0, 4, 1, 0, 0, 0])
    #expect(await raw.read(1) == [0x15])
    #expect(server.statistics.malformedRequests == 0)
    // The control: without it the very same bytes are no header.
    let bare = try RawConnection(port: server.port)
    bare.write([0x16, 3, 1, 0, 4, 1, 0, 0, 0])
    #expect(await bare.read(1) == [])
    #expect(await eventually { server.statistics.malformedRequests == 1 })
  }
}
