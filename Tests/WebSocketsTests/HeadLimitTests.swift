// Heads at their limits over a socket: what just fits is answered, and one byte or line more gets 431 that its client can read.
import Foundation
import TestSupport
import Testing

@testable import WebSockets

private let routes: [HTTPRoute] = [
  HTTPRoute(.prefix("/hello")) { request in
    .text(200, "\(request.authorization?.utf8.count ?? 0) \(request.path.utf8.count) \(request.headers.count)")
  }
]

/// Where a head is made long.
enum LongPart: CaseIterable {
  case unknownHeader, knownHeader, token, path, query, parts, cookies

  /// A head of exactly `bytes` bytes.
  func head(of bytes: Int) -> String {
    let before = "GET /hello", after = " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
    func fill(_ line: String = "") -> Int { bytes - before.utf8.count - after.utf8.count - line.utf8.count - 2 }
    func text(_ count: Int) -> String { String(repeating: "a", count: count) }
    func with(_ name: String) -> String { before + after + name + text(fill(name + "\r\n")) + "\r\n\r\n" }
    switch self {
    case .unknownHeader: return with("X-Long: ")
    case .knownHeader: return with("If-None-Match: ")
    case .token: return with("Authorization: Bearer ")
    case .cookies: return with("Cookie: ")
    case .path: return before + "/" + text(fill("/")) + after + "\r\n"
    case .query: return before + "?" + text(fill("?")) + after + "\r\n"
    case .parts:
      let parts = String(repeating: "a&", count: RequestHeads.mostParts - 1)
      return before + "?" + parts + text(fill("?" + parts)) + after + "\r\n"
    }
  }
}

@Suite(.timeLimit(.minutes(2))) struct HeadLimitTests {
  private func ask(_ server: WebServer, _ request: String) async throws -> String {
    let raw = try RawConnection(port: server.port)
    raw.write(request)
    return await raw.readToEnd()
  }

  private static func isTooLong(_ answer: String, _ reason: String) -> Bool {
    answer.hasPrefix("HTTP/1.1 431 ") && answer.contains("\r\nconnection: close\r\n")
      && answer.hasSuffix("\r\n\r\nthe head of a request has \(reason) at most\n")
  }

  @Test(arguments: LongPart.allCases) func aHeadMayBeSoLongAndNoLonger(_ part: LongPart) async throws {
    let server = try startEcho(routes: routes)
    defer { server.stop() }
    let head = part.head(of: RequestHeads.headBytes)
    #expect(head.utf8.count == RequestHeads.headBytes)
    let whole = try await ask(server, head)
    #expect(whole.hasPrefix("HTTP/1.1 200 "), "\(part): \(whole)")
    let longer = try await ask(server, part.head(of: RequestHeads.headBytes + 1))
    #expect(Self.isTooLong(longer, "8192 bytes"), "\(part): \(longer)")
    #expect(await eventually { server.statistics.malformedRequests == 1 })
  }

  /// The same of a second request of a connection.
  @Test func aLaterHeadIsHeldToItToo() async throws {
    let server = try startEcho(routes: routes)
    defer { server.stop() }
    for (bytes, status) in [(RequestHeads.headBytes, "200"), (RequestHeads.headBytes + 1, "431")] {
      let raw = try RawConnection(port: server.port)
      raw.write("GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n")
      #expect(await raw.readHead().hasPrefix("HTTP/1.1 200 "))
      _ = await raw.read("0 6 1\n".utf8.count)
      raw.write(LongPart.cookies.head(of: bytes))
      let answer = await raw.readToEnd()
      #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(answer)")
    }
  }

  @Test func soManyLinesAndNoMore() async throws {
    let server = try startEcho(routes: routes)
    defer { server.stop() }
    func head(lines: Int) -> String {
      let more = (0..<(lines - 2)).map { "X-\($0): y\r\n" }.joined()
      return "GET /hello HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\(more)\r\n"
    }
    let whole = try await ask(server, head(lines: RequestHeads.mostLines))
    #expect(whole.hasPrefix("HTTP/1.1 200 ") && whole.hasSuffix("\r\n\r\n0 6 100\n"), "\(whole)")
    let longer = try await ask(server, head(lines: RequestHeads.mostLines + 1))
    #expect(Self.isTooLong(longer, "100 header lines"), "\(longer)")
  }

  /// The library has so many places for parts of a query and for the headers that it needs, and would hang up where they do not suffice.
  @Test func whatTheLibraryHasNoPlaceForIsRefusedToo() async throws {
    let server = try startEcho(routes: routes)
    defer { server.stop() }
    func head(parts: Int, needed: Int) -> String {
      let query = [String](repeating: "a=1", count: parts).joined(separator: "&")
      let more = "Connection: close\r\n" + String(repeating: "Sec-WebSocket-Version: x\r\n", count: needed - 2)
      return "GET /hello?\(query) HTTP/1.1\r\nHost: localhost\r\n\(more)\r\n"
    }
    let (parts, needed) = (RequestHeads.mostParts, RequestHeads.mostNeeded)
    for (parts, needed, status) in [
      (parts, needed, "200"), (parts + 1, 2, "414"), (1, needed + 1, "431"), (2_000, 2, "414"), (1, 99, "431"),
    ] {
      let answer = try await ask(server, head(parts: parts, needed: needed))
      #expect(answer.hasPrefix("HTTP/1.1 \(status) ") && answer.hasSuffix("\n"), "\(parts) \(needed): \(answer)")
    }
  }

  /// What was sent behind the limit is read and thrown away: else the kernel would take the answer back.
  @Test(arguments: [20_000, 200_000]) func theAnswerReachesWhoSendsFarTooMuch(_ bytes: Int) async throws {
    let server = try startEcho(routes: routes)
    defer { server.stop() }
    for _ in 0..<10 {
      let raw = try RawConnection(port: server.port)
      raw.write(LongPart.cookies.head(of: bytes))
      await raw.allIsWritten()
      let answer = await raw.readToEnd()
      #expect(Self.isTooLong(answer, "8192 bytes"), "\(answer)")
    }
    #expect(await eventually { server.statistics.connections == 0 }, "who has read it hangs up, and is forgotten")
  }

  /// There is an end to it, in bytes and in time.
  @Test func whoGoesOnIsCutOff() async throws {
    let server = try startEcho(routes: routes) { $0.handshakeSeconds = 1 }
    defer { server.stop() }
    let patient = try RawConnection(port: server.port)
    patient.write(LongPart.cookies.head(of: 9_000))
    let greedy = try RawConnection(port: server.port)
    greedy.write(LongPart.cookies.head(of: 4_000_000))
    #expect(await eventually { server.statistics.connections == 0 })
    #expect(Self.isTooLong(await patient.readToEnd(), "8192 bytes"))
  }

  /// So many bytes behind the refusal, and the connection is there; with one more it is gone.
  @Test func soManyBytesAreThrownAwayAndNotOneMore() async throws {
    let server = try startEcho(routes: routes) { $0.handshakeSeconds = 60 }
    defer { server.stop() }
    let raw = try RawConnection(port: server.port)
    raw.write(LongPart.cookies.head(of: RequestHeads.headBytes + 1))
    #expect(await raw.readHead().hasPrefix("HTTP/1.1 431 "), "all of the head has been read")
    raw.write([UInt8](repeating: UInt8(ascii: "a"), count: 256 << 10))
    await raw.allIsWritten()
    try await Task.sleep(for: .milliseconds(500))
    #expect(server.statistics.connections == 1)
    raw.write("a")
    #expect(await eventually { server.statistics.connections == 0 })
  }

  @Test func theSameUnderTLS() async throws {
    let folder = try TemporaryFolder()
    try folder.makeCertificate()
    let files = TLSFiles(certificate: folder.path("certificate.pem"), privateKey: folder.path("key.pem"))
    let server = try startEcho(routes: routes) { $0.tls = files }
    defer { server.stop() }
    for (bytes, status) in [(8192, "200"), (8193, "431"), (20_000, "431")] {
      let answer = try await sayUnderTLS(LongPart.token.head(of: bytes), to: server)
      #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(bytes): \(answer.prefix(200))")
    }
  }

  // MARK: Authorization and HSTS

  /// Names of headers have no case, and a token may be longer than any other header: it comes to the route whole.
  @Test(arguments: ["Authorization", "authorization", "AUTHORIZATION", "aUTHORIZATION"])
  func aTokenComesWholeUnderAnySpelling(_ name: String) async throws {
    let server = try startEcho(routes: routes)
    defer { server.stop() }
    let token = String(repeating: "t", count: 4096)
    let head = "GET /hello HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
    let answer = try await ask(server, head + "\(name): Bearer \(token)\r\n\r\n")
    #expect(answer.hasSuffix("\r\n\r\n4103 6 3\n"), "\(answer)")
  }

  /// Browsers are told to come back by TLS where they have come by it, with every answer; never without TLS (RFC 6797 §7.2).
  @Test func browsersComeBackByTLS() async throws {
    let folder = try TemporaryFolder()
    try folder.makeCertificate()
    let files = TLSFiles(certificate: folder.path("certificate.pem"), privateKey: folder.path("key.pem"))
    let requests = [
      ("GET /hello", "Host: localhost\r\n", "200"), ("GET /nothing", "Host: localhost\r\n", "404"),
      ("GET /hello", "", "400"), ("GET /hello", "Host: localhost\r\nX\u{1}: y\r\n", "400"),
      ("GET /rtc", "Host: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n", "426"),
    ]
    for (seconds, isSecure) in [(31_536_000, true), (31_536_000, false), (nil, true)] as [(Int?, Bool)] {
      let server = try startEcho(routes: routes) {
        $0.strictTransportSeconds = seconds
        $0.tls = isSecure ? files : nil
      }
      for (line, headers, status) in requests {
        let request = "\(line) HTTP/1.1\r\n\(headers)Connection: close\r\n\r\n"
        let answer = isSecure ? try await sayUnderTLS(request, to: server) : try await ask(server, request)
        #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(answer)")
        let isTold = answer.contains("\r\nstrict-transport-security: max-age=31536000\r\n")
        #expect(isTold == (isSecure && seconds != nil), "\(line) \(isSecure): \(answer)")
        #expect(answer.lowercased().contains("strict-transport") == isTold)
      }
      server.stop()
    }
  }
}
