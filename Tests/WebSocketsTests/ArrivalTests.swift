// Work that strangers can ask of a web server, and that is bounded for each address: connections, TLS handshakes, requests.
import Basics
import TLSClient
import TestSupport
import Testing
import Threads

@testable import WebSockets

@Suite struct ArrivalTests {
  /// The least that a ClientHello of TLS 1.2 has, in one record (RFC 5246 §7.4.1.2).
  private static let clientHello: [UInt8] = {
    let extensions: [UInt8] =
      [0, 10, 0, 4, 0, 2, 0, 23] + [0, 11, 0, 2, 1, 0] + [0, 13, 0, 8, 0, 6, 4, 3, 8, 4, 4, 1] + [0xff, 1, 0, 1, 0]
    let body: [UInt8] =
      [3, 3] + (0..<32).map { UInt8($0) } + [0, 0, 4, 0xc0, 0x2b, 0xc0, 0x2f, 1, 0, 0, UInt8(extensions.count)]
      + extensions
    let message: [UInt8] = [1, 0, 0, UInt8(body.count)] + body
    return [22, 3, 1, 0, UInt8(message.count)] + message
  }()

  private func secure(_ body: (WebServer) async throws -> Void) async throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    try folder.makeCertificate()
    let files = TLSFiles(certificate: folder.path("certificate.pem"), privateKey: folder.path("key.pem"))
    let server = try startEcho {
      // Patient: the test may have to wait for its turn on a busy machine.
      ($0.tls, $0.maximumConnectionsPerAddress, $0.handshakeSeconds) = (files, TLSArrivals.usualConnections, 60)
    }
    defer { server.stop() }
    try await body(server)
  }

  /// Whether there may be so many of a bucket in a time.
  private func isBounded(_ count: Int, burst: Int, perSecond: Double, since start: Instant) -> Bool {
    let most = Double(burst) + perSecond * (MonotonicClock.now() - start).seconds + 1
    return count >= burst && Double(count) <= most
  }

  @Test func anAddressBeginsSoManyConnections() async throws {
    let most = WebServerConfiguration.leastConnections
    let server = try startEcho { $0.maximumConnectionsPerAddress = most }
    defer { server.stop() }
    let start = MonotonicClock.now()
    var taken = 0
    for _ in 0..<most + 60 {
      let connection = try RawConnection(port: server.port)
      connection.write("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
      if await connection.read(4) == Array("HTTP".utf8) { taken += 1 }
      connection.shutDown()
    }
    let perSecond = Double(most) / WebServerConfiguration.secondsForAllConnections
    #expect(isBounded(taken, burst: most, perSecond: perSecond, since: start), "\(taken)")
    let refused = UInt64(most + 60 - taken)
    #expect(await eventually { server.statistics.connectionsRefused == refused })
    let other = try RawConnection(port: server.port, from: 2)
    #expect(await other.upgrade().hasPrefix("HTTP/1.1 101"), "another address has its own")
  }

  /// Whatever is asked for, and whether there is such a thing.
  @Test func anAddressHasSoManyRequests() async throws {
    let server = try startEcho(routes: [.get("/page") { _ in .text(200, "page") }]) {
      ($0.maximumRequestsPerAddress, $0.requestsPerSecondPerAddress) = (40, 1)
    }
    defer { server.stop() }
    #expect(WebServerConfiguration(addresses: []).maximumRequestsPerAddress == 2_000)
    #expect(WebServerConfiguration(addresses: []).requestsPerSecondPerAddress == 200)
    let start = MonotonicClock.now()
    var (served, refusal) = (0, "")
    while refusal.isEmpty, served < 100 {
      let connection = try RawConnection(port: server.port)
      for path in ["/page", "/nothing"] where refusal.isEmpty {
        connection.write("GET \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        let head = await connection.readHead()
        if head.hasPrefix("HTTP/1.1 429 ") {
          refusal = head.lowercased()
        } else {
          _ = await connection.read(path == "/page" ? 5 : 10)
          served += 1
        }
      }
    }
    #expect(isBounded(served, burst: 40, perSecond: 1, since: start), "\(served)")
    #expect(refusal.contains("retry-after: 1\r\n") && refusal.contains("connection: close\r\n"), "\(refusal)")
    let other = try RawConnection(port: server.port, from: 2)
    other.write("GET /page HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    #expect(await other.readHead().hasPrefix("HTTP/1.1 200 "), "another address has its own")
  }

  /// With the third token of a connection that is not accepted it ends.
  @Test func withTheThirdThatFailsAConnectionEnds() async throws {
    let ranks = Locked<[TurnRank]>([])
    let server = try startEcho(
      routes: [
        .get("/guess") { request in
          ranks.withLock { $0.append(request.rank) }
          var answer = HTTPResponse.text(request.query.isEmpty ? 401 : 429, "no")
          answer.credentials = request.query.isEmpty ? .failed : .sentAway
          return answer
        }
      ])
    defer { server.stop() }
    let connection = try RawConnection(port: server.port)
    for query in ["", "?later", "", ""] {
      connection.write("GET /guess\(query) HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
      _ = await connection.readHead()
      _ = await connection.read(3)
    }
    #expect(await connection.readToEnd() == "" && ranks.withLock { $0.count } == 4)
    let wanted = [0, 1, 1, 2].map { TurnRank(failures: $0) }
    #expect(ranks.withLock { $0 } == wanted)
  }

  /// With one more the oldest gives way, and whoever else is at the address gets on.
  @Test func soManyHandshakesOfAnAddressAreHalfOpen() async throws {
    try await secure { server in
      let most = TLSArrivals.mostHalfOpen
      #expect(most == 100)
      let sockets = try (0..<most + 20).map { _ in try RawConnection(port: server.port) }
      for socket in sockets {
        socket.write(Self.clientHello)
        #expect(await socket.read(1) == [22])
      }
      #expect(await eventually { server.statistics.connectionsRefused == 20 })
      #expect(await eventually { server.statistics.connections == most })
      for socket in sockets.prefix(20) { _ = await socket.readToEnd() }
      let context = try #require(TLSClientContext())
      let other = try RawConnection(port: server.port)
      #expect(await other.shakeHands(context))
      #expect(await eventually { server.statistics.connections == most && server.statistics.connectionsRefused == 21 })
      let pieces = try RawConnection(port: server.port)
      for byte in Self.clientHello { pieces.write([byte]) }
      #expect(await pieces.read(1) == [22], "also where it comes in pieces")
    }
  }

  /// Browsers connect ahead of what they will ask for: a handshake that is done is not half open.
  @Test func aHandshakeIsOverWhenItIsFinished() async throws {
    try await secure { server in
      let context = try #require(TLSClientContext())
      let most = TLSArrivals.mostHalfOpen
      let sockets = try (0..<most + 10).map { _ in try RawConnection(port: server.port) }
      for socket in sockets { #expect(await socket.shakeHands(context)) }
      #expect(await eventually { server.statistics.connections == most + 10 })
      #expect(server.statistics.connectionsRefused == 0)
    }
  }

  /// One that begins and breaks off handshakes has no more of them than its turns; what is more waits.
  @Test func handshakesOfAnAddressTakeTurns() async throws {
    try await secure { server in
      let start = MonotonicClock.now()
      var (begun, atOnce) = (0, 0)
      while begun < TLSArrivals.burst + 30 {
        let sockets = try (0..<10).map { _ in try RawConnection(port: server.port) }
        for socket in sockets { socket.write(Self.clientHello) }
        for socket in sockets {
          if await socket.read(1) == [22] { begun += 1 }
          socket.shutDown()
        }
        if begun == TLSArrivals.burst { atOnce = begun }
        let seconds = (MonotonicClock.now() - start).seconds
        let most = Double(TLSArrivals.burst) + TLSArrivals.perSecond * seconds + 1
        #expect(Double(begun) <= most, "\(begun) in \(seconds) s")
        if seconds > 30 { break }
      }
      #expect(begun >= TLSArrivals.burst + 30 && atOnce == TLSArrivals.burst)
      #expect(TLSArrivals.burst == 200 && TLSArrivals.perSecond == 50)
    }
  }

  /// A byte that is urgent is one like any other. Else the thread is woken for it all the time, until the patience is over.
  @Test func anUrgentByteIsOneOfTheFirstRecord() async throws {
    try await secure { server in
      let socket = try RawConnection(port: server.port)
      socket.write(Array(Self.clientHello[..<20]))
      socket.write(urgent: Self.clientHello[20])
      socket.write(Array(Self.clientHello[21...]))
      #expect(await socket.read(1) == [22])
    }
  }

  /// A connection that says nothing is closed in time, before a handshake as well.
  @Test func whoBeginsNoHandshakeIsClosed() async throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    try folder.makeCertificate()
    let files = TLSFiles(certificate: folder.path("certificate.pem"), privateKey: folder.path("key.pem"))
    let server = try startEcho {
      ($0.tls, $0.handshakeSeconds) = (files, 1)
    }
    defer { server.stop() }
    let (silent, half) = (try RawConnection(port: server.port), try RawConnection(port: server.port))
    half.write(Array(Self.clientHello.prefix(40)))
    #expect(await silent.readToEnd() == "")
    #expect(await half.readToEnd() == "")
    #expect(await eventually { server.statistics.connectionsRefused == 2 })
  }

  /// One that ends in the middle of its hello is left to the library at once: it is not refused for being late, and others get on.
  @Test func whoBreaksAHandshakeOffDisturbsNobody() async throws {
    try await secure { server in
      let broken = try RawConnection(port: server.port)
      broken.write(Array(Self.clientHello.prefix(40)))
      await broken.allIsWritten()
      broken.shutDown()
      let context = try #require(TLSClientContext())
      let other = try RawConnection(port: server.port)
      #expect(await other.shakeHands(context))
      #expect(await eventually { server.statistics.connections == 1 })
      #expect(server.statistics.connectionsRefused == 0)
    }
  }
}
