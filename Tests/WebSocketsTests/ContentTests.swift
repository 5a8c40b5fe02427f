// Requests with content, over real sockets: what a route is given, and what hostile clients do with lengths.
import Basics
import Foundation
import TestSupport
import Testing

@testable import WebSockets

private let limit = 1_000

/// Says what it was asked.
private func describe(_ request: HTTPRequest) -> HTTPResponse {
  let segments = request.segments.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: "|")
  let text = "\(request.method.rawValue) [\(segments)] \(String(decoding: request.content, as: UTF8.self))"
  return HTTPResponse(
    status: 201, contentType: "text/plain",
    headers: [
      .init("Location", "/whip/a/1"), .init("ETag", "\"7\""), .init("Link", "<stun:a>; rel=\"ice-server\""),
      .init("Link", "<stun:b>; rel=\"ice-server\""), .init("X-Type", request.header("content-type") ?? "none"),
      .init("X-Match", request.header("if-match") ?? "none"), .init("X-Auth", request.authorization ?? "none"),
    ], body: Array(text.utf8))
}

private let routes: [HTTPRoute] = [
  .get("/hello") { _ in .text(200, "hello") },
  HTTPRoute(
    .pattern(PathPattern("/whip/{room}")), methods: [.post, .options], contentLimit: limit,
    late: { request, answer in answer(request.method == .options ? HTTPResponse(status: 204) : describe(request)) }),
  HTTPRoute(
    .pattern(PathPattern("/whip/{room}/{id}")), methods: [.patch, .delete, .get], contentLimit: limit,
    late: { $1(describe($0)) }),
  HTTPRoute(.path("/unread"), methods: [.put], late: { $1(describe($0)) }),
]

private let post = "POST /whip/a HTTP/1.1\r\nHost: localhost\r\n"

@Suite(.timeLimit(.minutes(5))) struct ContentTests {
  /// What comes until the server ends the connection.
  private func exchange(
    _ request: String, routes: [HTTPRoute] = routes, then rest: [String] = [],
    _ change: (inout WebServerConfiguration) -> Void = { _ in }
  ) async throws -> String {
    let server = try startEcho(routes: routes, change: change)
    defer { server.stop() }
    let raw = try RawConnection(port: server.port)
    raw.write(request)
    for piece in rest {
      try await Task.sleep(for: .milliseconds(20))
      raw.write(piece)
    }
    return await raw.readToEnd()
  }

  @Test func contentReachesItsRouteWithHeadersInAndOut() async throws {
    let answer = try await exchange(
      post + "Content-Type: application/sdp\r\nAuthorization: Bearer x\r\nIf-Match: \"a\"\r\nif-match: \"b\"\r\n"
        + "Content-Length: 5\r\n\r\nv=0\r\n")
    let lines = answer.lowercased()
    #expect(answer.hasPrefix("HTTP/1.1 201") && answer.hasSuffix("\r\n\r\nPOST [room=a] v=0\r\n"), "\(answer)")
    for line in [
      "location: /whip/a/1", "etag: \"7\"", "link: <stun:a>; rel=\"ice-server\"\r\nlink: <stun:b>", "connection: close",
      "x-type: application/sdp", "x-match: \"a\", \"b\"", "x-auth: bearer x",
    ] { #expect(lines.contains("\r\n" + line), "\(line) is not in \(answer)") }
  }

  @Test(arguments: ["PATCH", "DELETE", "GET"]) func otherMethodsMayHaveContent(method: String) async throws {
    let head = "\(method) /whip/a/1 HTTP/1.1\r\nHost: localhost\r\n"
    let full = try await exchange(head + "Content-Length: 4\r\n\r\nfour")
    #expect(full.hasSuffix("\r\n\r\n\(method) [id=1|room=a] four"), "\(full)")
    let empty = try await exchange(head + "Content-Length: 0\r\nConnection: close\r\n\r\n")
    #expect(empty.hasSuffix("\r\n\r\n\(method) [id=1|room=a] "), "\(empty)")
  }

  /// However it is cut, and as long as may be.
  @Test func contentComesInPieces() async throws {
    let content = String(repeating: "0123456789", count: limit / 10)
    let head = post + "Content-Length: \(limit)\r\n\r\n"
    let pieces = stride(from: 0, to: limit, by: 250).map { String(content.dropFirst($0).prefix(250)) }
    let answer = try await exchange(head, then: pieces)
    #expect(answer.hasPrefix("HTTP/1.1 201") && answer.hasSuffix("[room=a] " + content), "\(answer)")
  }

  @Test func aLateAnswerToContentComes() async throws {
    let route = HTTPRoute(.path("/late"), methods: [.post], contentLimit: limit) { request, answer in
      Task {
        try await Task.sleep(for: .milliseconds(50))
        answer(describe(request))
      }
    }
    let request = "POST /late HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\nhi"
    let answer = try await exchange(request, routes: [route])
    #expect(answer.hasPrefix("HTTP/1.1 201") && answer.hasSuffix("POST [] hi"), "\(answer)")
    // What was sent behind it meanwhile is no request.
    let behind = try await exchange(
      request, routes: [route] + routes, then: ["GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n"])
    #expect(behind.hasPrefix("HTTP/1.1 201") && !behind.contains("hello"), "\(behind)")
  }

  /// Under TLS the same, where what was sent at once is read at once.
  @Test(arguments: ["", "GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n", String(repeating: "z", count: 9_000)])
  func contentComesUnderTLS(behind: String) async throws {
    let folder = try TemporaryFolder()
    try folder.makeCertificate()
    let files = TLSFiles(certificate: folder.path("certificate.pem"), privateKey: folder.path("key.pem"))
    let server = try startEcho(routes: routes) { $0.tls = files }
    defer { server.stop() }
    let content = String(repeating: "x", count: limit)
    let asking = ["s_client", "-quiet", "-connect", "127.0.0.1:\(server.port)"]
    let answer = try await withCheckedThrowingContinuation { continuation in
      DispatchQueue(label: "openssl").async {
        continuation.resume(
          with: Result { try openssl(asking, saying: post + "Content-Length: \(limit)\r\n\r\n" + content + behind) })
      }
    }
    #expect(answer.hasPrefix("HTTP/1.1 201") && answer.hasSuffix("[room=a] " + content), "\(answer)")
  }

  @Test(arguments: [limit + 1, 1 << 20, 999_999_999_999_999]) func longContentIsRefusedUnread(bytes: Int) async throws {
    let sent = String(repeating: "x", count: min(bytes, 1 << 20))
    let answer = try await exchange(post + "Content-Length: \(bytes)\r\n\r\n" + sent)
    #expect(answer.hasPrefix("HTTP/1.1 413") && answer.contains("1000 bytes at most"), "\(answer)")
    #expect(!answer.dropFirst(1).contains("HTTP/1.1"))
  }

  /// A handler that keeps nothing waiting frees what it took; until then no more is read than the server may have.
  @Test func contentOfAllConnectionsIsBounded() async throws {
    let half = limit / 2
    let server = try startEcho(routes: routes) { $0.maximumContentBytes = limit + half }
    defer { server.stop() }
    let first = try RawConnection(port: server.port)
    first.write(post + "Content-Length: \(limit)\r\nExpect: 100-continue\r\n\r\n")
    #expect(await first.readHead() == "HTTP/1.1 100 Continue\r\n\r\n")
    let second = try RawConnection(port: server.port)
    second.write(post + "Content-Length: \(half + 1)\r\n\r\n")
    let refused = await second.readToEnd()
    #expect(refused.hasPrefix("HTTP/1.1 503") && refused.lowercased().contains("retry-after: 1"), "\(refused)")
    let fits = try RawConnection(port: server.port)
    fits.write(post + "Content-Length: \(half)\r\nExpect: 100-continue\r\n\r\n")
    #expect(await fits.readHead() == "HTTP/1.1 100 Continue\r\n\r\n", "one byte less is what is left")
    for (one, bytes) in [(first, limit), (fits, half)] {
      one.write(String(repeating: "x", count: bytes))
      #expect(await one.readToEnd().hasPrefix("HTTP/1.1 201"))
    }
    let gone = try RawConnection(port: server.port)
    gone.write(post + "Content-Length: \(limit)\r\nExpect: 100-continue\r\n\r\n")
    #expect(await gone.readHead().hasPrefix("HTTP/1.1 100"))
    gone.reset()
    #expect(await eventually { server.statistics.connections == 0 })
    let third = try RawConnection(port: server.port)
    third.write(post + "Content-Length: \(limit)\r\n\r\n" + String(repeating: "y", count: limit))
    #expect(await third.readToEnd().hasPrefix("HTTP/1.1 201"), "what the others had is free again")
  }

  /// Announced is not sent: it costs nothing, and must not be all that there is.
  @Test func oneAddressCannotTakeAllOfIt() async throws {
    let server = try startEcho(routes: routes) {
      ($0.maximumContentBytes, $0.maximumContentBytesPerAddress) = (4 * limit, 2 * limit)
    }
    defer { server.stop() }
    func announce(_ bytes: Int, from last: UInt32 = 1) throws -> RawConnection {
      let connection = try RawConnection(port: server.port, from: last)
      connection.write(post + "Content-Length: \(bytes)\r\nExpect: 100-continue\r\n\r\n")
      return connection
    }
    let (first, second) = (try announce(limit), try announce(limit - 1))
    for one in [first, second] { #expect(await one.readHead() == "HTTP/1.1 100 Continue\r\n\r\n") }
    #expect(try await announce(2).readToEnd().hasPrefix("HTTP/1.1 503"), "one byte more than is left")
    let last = try announce(1)
    #expect(await last.readHead().hasPrefix("HTTP/1.1 100"))
    let neighbour = try announce(limit, from: 2)
    #expect(await neighbour.readHead().hasPrefix("HTTP/1.1 100"), "others are served")
    neighbour.write(String(repeating: "x", count: limit))
    #expect(await neighbour.readToEnd().hasPrefix("HTTP/1.1 201"))
    first.reset()
    #expect(await eventually { server.statistics.connections == 2 })
    let again = try announce(limit)
    #expect(await again.readHead().hasPrefix("HTTP/1.1 100"), "what was given up is free again")
    withExtendedLifetime((second, last)) {}
  }

  @Test(arguments: [
    ("no length", "", "411"), ("chunked", "Transfer-Encoding: chunked\r\n", "411"),
    ("two lengths", "Content-Length: 3\r\nContent-Length: 4\r\n", "400"),
    ("the same length twice", "Content-Length: 3\r\nContent-Length: 3\r\n", "400"),
    ("a list of lengths", "Content-Length: 3, 3\r\n", "400"), ("a sign", "Content-Length: +3\r\n", "400"),
    ("a negative length", "Content-Length: -3\r\n", "400"), ("no number", "Content-Length: x\r\n", "400"),
    ("hexadecimal", "Content-Length: 0x3\r\n", "400"), ("nothing", "Content-Length:\r\n", "400"),
    ("more than an integer holds", "Content-Length: 18446744073709551619\r\n", "400"),
    ("both", "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", "400"),
    ("both, the other way round", "Transfer-Encoding: identity\r\nContent-Length: 3\r\n", "400"),
  ])
  func whatCannotBeFramedIsRefused(name: String, headers: String, status: String) async throws {
    let answer = try await exchange(post + headers + "\r\n")
    #expect(answer.hasPrefix("HTTP/1.1 \(status)"), "\(name): \(answer)")
    #expect(answer.lowercased().contains("connection: close"))
    // Programs read why.
    if status == "411" {
      #expect(
        answer.contains("content-type: application/problem+json") && answer.contains("\"detail\":\""), "\(answer)")
    }
  }

  /// A request in the content, or behind it, is none of ours.
  @Test(arguments: [
    ("Content-Length: 3\r\n", "400"), ("Transfer-Encoding: chunked\r\nContent-Length: 3\r\n", "400"),
    ("Transfer-Encoding: chunked\r\n", "411"),
  ])
  func whatIsSmuggledIsNotServed(framing: String, status: String) async throws {
    let inner = "GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n"
    let head = framing.hasPrefix("Content") ? framing + framing : framing
    let answer = try await exchange(post + head + "\r\n0\r\n\r\n" + inner)
    #expect(answer.hasPrefix("HTTP/1.1 \(status)") && !answer.contains("hello"), "\(answer)")
  }

  /// Longer than declared: the content ends where its length says, and the connection with the answer.
  @Test(arguments: [
    "", "\r\n", "GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n", String(repeating: "z", count: 60_000),
  ])
  func whatFollowsContentIsNoRequest(behind: String) async throws {
    let answer = try await exchange(post + "Content-Length: 3\r\n\r\nabc" + behind)
    #expect(answer.hasSuffix("\r\n\r\nPOST [room=a] abc"), "\(answer)")
    #expect(!answer.contains("hello"))
    let unread = try await exchange(
      "PUT /unread HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc" + behind)
    #expect(unread.hasSuffix("\r\n\r\nPUT [] ") && !unread.contains("hello"), "\(unread)")
  }

  /// The library would look for the rest of such content for ever, on the thread that serves everybody.
  @Test(arguments: ["GET /none", "POST /whip/a", "GET /hello"], ["Content-Length: 5", "Transfer-Encoding: chunked"])
  func contentBehindAnotherRequestIsRefusedAndStopsNobody(request: String, framing: String) async throws {
    let server = try startEcho(routes: routes)
    defer { server.stop() }
    let first = "GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n"
    let raw = try RawConnection(port: server.port)
    raw.write(
      first + first + "\(request) HTTP/1.1\r\nHost: localhost\r\n\(framing)\r\n\r\n"
        + String(repeating: "5", count: 400))
    let answers = await raw.readToEnd()
    #expect(
      answers.contains("HTTP/1.1 400 ") && answers.hasSuffix("waits for the answer to the one before\n"), "\(answers)")
    // A WebSocket, which stays: a connection that waits for another request goes at the same time.
    let other = try RawConnection(port: server.port)
    #expect(await other.upgrade().hasPrefix("HTTP/1.1 101"))
    #expect(await eventually { server.statistics.connections == 1 }, "who was refused is gone")
    other.send(text: "x")
    #expect(await other.receiveText() == "x")
  }

  /// A head in the content is content.
  @Test func contentIsNoHead() async throws {
    let inner = "GET /hello HTTP/1.1\r\nHost: evil\r\nX-Auth: 1\r\n\r\n\u{1}"
    let answer = try await exchange(post + "Content-Length: \(inner.utf8.count)\r\n\r\n" + inner)
    #expect(answer.hasSuffix("[room=a] " + inner), "\(answer)")
  }

  /// Shorter than declared, and then the end: nobody is asked.
  @Test func contentThatEndsEarlyIsNotServed() async throws {
    let count = Locked(0)
    let route = HTTPRoute(.path("/short"), methods: [.post], contentLimit: limit) { request, answer in
      count.withLock { $0 += 1 }
      answer(describe(request))
    }
    let server = try startEcho(routes: [route])
    defer { server.stop() }
    let raw = try RawConnection(port: server.port)
    raw.write("POST /short HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 10\r\n\r\nabc")
    #expect(await raw.readHead().hasPrefix("HTTP/1.1 100"))
    raw.shutDown()
    #expect(await eventually { server.statistics.connections == 0 })
    #expect(count.withLock { $0 } == 0)
  }

  @Test func contentThatNeverComesIsNotWaitedFor() async throws {
    let answer = try await exchange(post + "Content-Length: 10\r\n\r\nabc") { $0.handshakeSeconds = 1 }
    #expect(answer.hasPrefix("HTTP/1.1 408") && answer.lowercased().contains("connection: close"), "\(answer)")
  }

  /// What keeps coming does not put the end off.
  @Test func slowContentIsCutOff() async throws {
    let server = try startEcho(routes: routes) { $0.handshakeSeconds = 1 }
    defer { server.stop() }
    let slow = try RawConnection(port: server.port)
    slow.write(post + "Content-Length: 900\r\n\r\n")
    let isOver = Locked(false)
    let trickle = Task.detached {
      for _ in 0..<300 where !Task.isCancelled {
        slow.write("x")
        try? await Task.sleep(for: .milliseconds(100))
      }
      isOver.withLock { $0 = true }
    }
    #expect(await slow.readHead().hasPrefix("HTTP/1.1 408"))
    #expect(!isOver.withLock { $0 })
    trickle.cancel()
    #expect(await eventually { server.statistics.connections == 0 })
  }

  @Test(arguments: [
    ("PUT", "/whip/a", "post, options"), ("GET", "/whip/a", "post, options"),
    ("POST", "/whip/a/1", "patch, delete, get"),
    ("OPTIONS", "/whip/a/1", "patch, delete, get"), ("PATCH", "/hello", "get, head"),
    ("OPTIONS", "/hello", "get, head"),
  ])
  func aKnownPathSaysWhatItAllows(method: String, path: String, allowed: String) async throws {
    let answer = try await exchange(
      "\(method) \(path) HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
    #expect(answer.hasPrefix("HTTP/1.1 405"), "\(answer)")
    #expect(answer.lowercased().contains("\r\nallow: \(allowed)\r\n"), "\(answer)")
  }

  @Test func optionsAreAnsweredByTheirRoute() async throws {
    let answer = try await exchange(
      "OPTIONS /whip/a HTTP/1.1\r\nHost: localhost\r\nOrigin: https://a.example\r\n"
        + "Access-Control-Request-Method: POST\r\nConnection: close\r\n\r\n")
    #expect(
      answer.hasPrefix("HTTP/1.1 204") && answer.lowercased().contains("\r\nallow: post, options\r\n"), "\(answer)")
    #expect(!answer.lowercased().contains("content-length"))
  }

  /// `%2F` parts no segments, and what is decoded is checked.
  @Test(arguments: [
    ("/whip/a%2Fb/1?x=/y", "[id=1|room=a/b]"), ("/whip/%C3%A4%20b/%31", "[id=1|room=ä b]"),
    ("/%77hip/a/1", "405"), ("/whip/" + String(repeating: "r", count: 256) + "/1", "[id=1|room=rrr"),
    ("/whip/" + String(repeating: "r", count: 257) + "/1", "400"), ("/whip/%FF/1", "400"), ("/whip/%7F/1", "400"),
    ("/whip/a/%2e%2E", "400"), ("/whip//1", "400"), ("/whip/a/1/2", "405"), ("/other/a/1", "405"),
  ])
  func segmentsAreDecodedOnce(path: String, expected: String) async throws {
    let answer = try await exchange("DELETE \(path) HTTP/1.1\r\nHost: localhost\r\n\r\n")
    if expected.hasPrefix("[") {
      #expect(answer.hasPrefix("HTTP/1.1 201") && answer.contains("DELETE " + expected), "\(answer)")
    } else {
      #expect(answer.hasPrefix("HTTP/1.1 \(expected)"), "\(answer)")
    }
  }
}

@Suite struct PathPatternTests {
  private let pattern = PathPattern("/a/{x}/c")

  @Test(arguments: [
    ("/a/b/c", "b"), ("/a/%62/c", "b"), ("/a/%2f/c", "/"), ("/a/+/c", "+"), ("/a/{x}/c", "{x}"),
  ])
  func segmentsAreFound(target: String, value: String) { #expect(pattern.match(target) == .found(["x": value])) }

  @Test(arguments: [
    "", "/", "a/b/c", "/a/b/c/", "/a/b", "/a/b/d", "//a/b/c", "/A/b/c", "/%61/b/c", "http://h/a/b/c", "/a/b/%6",
  ])
  func othersAreNot(target: String) { #expect(pattern.match(target) == .other) }

  @Test(arguments: [
    "/a//c", "/a/%/c", "/a/%g0/c", "/a/%00/c", "/a/%7f/c", "/a/../c", "/a/./c", "/a/%c0%af/c", "/a/%+1/c",
  ])
  func badSegmentsAreTold(target: String) { #expect(pattern.match(target) == .malformed) }

  /// One `/` behind a name changes nothing; two do.
  @Test(arguments: [
    ("/whip/room", PathPattern.Match.found(["room": "room"])), ("/whip/room/", .found(["room": "room"])),
    ("/whip/room//", .other), ("/whip/", .other), ("/whip//", .malformed), ("/whip", .other),
  ])
  func aSlashBehindANameIsPassedOver(target: String, match: PathPattern.Match) {
    #expect(PathPattern("/whip/{room}").match(target) == match)
    #expect(PathPattern("/whip/{room}/{id}").match("/whip/room/") == .other)
  }
}
