// What a request's head says, read before libwebsockets has it, and the names that a server answers to.
import Basics
import TestSupport
import Testing

@testable import WebSockets

/// Reads `text` in pieces of `size` bytes. - Returns: what the library is given.
private func read(_ text: String, _ heads: inout RequestHeads, pieces size: Int = 4096) throws -> String {
  var bytes = Array(text.utf8)
  var start = 0
  while start < bytes.count {
    let end = min(start + size, bytes.count)
    _ = try bytes.withUnsafeMutableBufferPointer {
      try heads.read(UnsafeMutableBufferPointer(rebasing: $0[start..<end]))
    }
    start = end
  }
  return String(decoding: bytes, as: UTF8.self)
}

/// All that have been read.
private func all(_ heads: inout RequestHeads) -> [RequestHead] {
  var found: [RequestHead] = []
  while let head = heads.next() { found.append(head) }
  return found
}

@Suite struct RequestHeadTests {
  @Test(arguments: [1, 2, 3, 7, 4096]) func namesThatNobodyNeedsAreChanged(size: Int) throws {
    var heads = RequestHeads()
    let given = try read(
      "GET /rtc HTTP/1.1\r\nhOst: a:1\r\nX-Auth: 1\r\nOrigin:  http://evil.example \r\nCookie:x=y\r\nDNT:\r\n\r\n",
      &heads, pieces: size)
    #expect(
      given
        == "GET /rtc HTTP/1.1\r\nhOst: a:1\r\nX-Auth~:1\r\nOrigin:  http://evil.example \r\nCookie~:=y\r\nDNT~:\n\r\n"
    )
    let found = all(&heads)
    #expect(found.map(\.hosts) == [["a:1"]] && found.map(\.origins) == [["http://evil.example"]])
    #expect(found.map(\.isOld) == [false])
  }

  /// The blank behind a colon is optional (RFC 9112 §5.1).
  @Test(arguments: [1, 4096]) func aValueNeedsNoBlankBeforeIt(size: Int) throws {
    var heads = RequestHeads()
    let lines = "Host:a\r\nAuthorization:Bearer t\r\nCookie: x=y\r\nDNT:1\r\nX:\r\nVia:\t 1.1 p \r\n"
    _ = try read("GET / HTTP/1.1\r\n\(lines)\r\n", &heads, pieces: size)
    #expect(heads.next()?.headers.map(\.value) == ["a", "Bearer t", "x=y", "1", "", "1.1 p"])
    heads = RequestHeads()
    #expect(throws: RequestHeads.Fault.self) { try read("GET / HTTP/1.1\r\nDNT:\u{1}\r\n\r\n", &heads, pieces: size) }
  }

  @Test func requestsFollowEachOther() throws {
    var heads = RequestHeads()
    _ = try read("GET /a HTTP/1.1\r\nHost: a\r\n\r\nGET /b HTTP/1.0\r\n\r\n", &heads, pieces: 5)
    let found = all(&heads)
    #expect(found.map(\.hosts) == [["a"], []] && found.map(\.isOld) == [false, true])
  }

  /// What follows the head of such a request is not one of ours, whatever it looks like.
  @Test(arguments: ["Content-Length: 40", "Transfer-Encoding: chunked", "Upgrade: websocket", "Content-Length: 0, 5"])
  func contentIsNoRequest(line: String) throws {
    var heads = RequestHeads()
    _ = try read("POST /a HTTP/1.1\r\nHost: a\r\n\(line)\r\n\r\nGET /b HTTP/1.1\r\nHost: b\r\n\r\n", &heads)
    #expect(all(&heads).map(\.hosts) == [["a"]])
  }

  @Test(arguments: [
    "GET / HTTP/1.1\nHost: a\n\n", "GET / HTTP/1.1\r\nHost: a\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n",
    "GET / HTTP/1.1\r\nHost : a\r\n\r\n", "GET / HTTP/1.1\r\n: a\r\n\r\n", "GET / HTTP/1.1\r\nX-Y:\nHost: a\r\n\r\n",
    "GET / HTTP/1.1\r\nno colon\r\n\r\n", "GET / HTTP/1.1\r\nA: \u{0}\r\n\r\n", "GET /\r\n\r\n", "\r\n\r\n",
    "GET / HTTP/2.0\r\n\r\n", "GET / HTTP/1.1\r\nA: \rb\r\n\r\n",
    "GET / HTTP/1.1\r\nUpgrade:\r\n\r\n", "GET / HTTP/1.1\r\nUpgrade: websocket, h2c\r\n\r\n",
    "GET / HTTP/1.1\r\nUpgrade: websocket\r\nupgrade: websocket\r\n\r\n",
  ]) func whatIsNoHeadIsRefused(text: String) throws {
    for size in [1, 4096] {
      var heads = RequestHeads()
      #expect(throws: RequestHeads.Fault.self) { try read(text, &heads, pieces: size) }
      #expect(all(&heads).isEmpty)
    }
  }

  /// RFC 9110 §7.8: a server may pass over an upgrade. The library, which would answer it itself, sees none, however it comes.
  @Test(arguments: [
    "Upgrade: h2c", "upgrade:h2c", "Upgrade:   TLS/1.0, HTTP/1.1", "Upgrade: h2c, websocket",
    "Upgrade: h2c\r\nUpgrade: h2c",
  ]) func anUpgradeToSomethingElseIsPassedOver(line: String) throws {
    for size in [1, 3, 4096] {
      var heads = RequestHeads()
      let text = "GET /a HTTP/1.1\r\nHost: a\r\n\(line)\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\nOrigin: http://a\r\n\r\n"
      let seen = try read(text + "GET /b HTTP/1.1\r\nHost: b\r\n\r\n", &heads, pieces: size)
      for word in ["h2c", "TLS", "websocket", "HTTP2-Settings:"] { #expect(!seen.contains(word), "\(seen)") }
      #expect(seen.utf8.count == (text + "GET /b HTTP/1.1\r\nHost: b\r\n\r\n").utf8.count)
      let requests = all(&heads)
      #expect(requests.map(\.target) == ["/a", "/b"] && requests[0].origins == ["http://a"])
      #expect(requests[0].headers.allSatisfy { $0.name != "upgrade" })
    }
  }

  @Test func anUpgradeToWebSocketIsRead() throws {
    var heads = RequestHeads()
    _ = try read("GET /rtc HTTP/1.1\r\nUpgrade: WebSocket\r\nOrigin: http://a\r\n\r\n", &heads)
    #expect(heads.next()?.origins == ["http://a"])
    #expect(heads.current?.origins == ["http://a"], "for the WebSocket that it becomes")
  }

  /// An idle connection keeps nothing of what it has asked.
  @Test func aRequestIsNotKept() throws {
    var heads = RequestHeads()
    _ = try read("GET /a HTTP/1.1\r\nHost: a\r\n\r\n", &heads)
    #expect(heads.next()?.target == "/a")
    #expect(heads.current == nil)
  }

  @Test func linesOfAHeadAreCounted() throws {
    var heads = RequestHeads()
    let lines = String(repeating: "a:\r\n", count: 100)
    _ = try read("GET / HTTP/1.1\r\n\(lines)\r\nGET / HTTP/1.1\r\n\(lines)\r\n", &heads)
    #expect(all(&heads).map(\.headers.count) == [100, 100], "each request has its own")
    for size in [1, 4096] {
      heads = RequestHeads()
      #expect(throws: RequestHeads.Fault(status: 431, reason: "the head of a request has 100 header lines at most")) {
        try read("GET / HTTP/1.1\r\n\(lines)a:\r\n\r\n", &heads, pieces: size)
      }
      #expect(all(&heads).isEmpty)
    }
  }

  @Test(arguments: [
    "GET HTTP/1.1", " / HTTP/1.1", "GET  HTTP/1.1", "GET  / HTTP/1.1", "GET /  HTTP/1.1", "GET / x HTTP/1.1",
    "G(T / HTTP/1.1", "GÉT / HTTP/1.1", "GET\t/ HTTP/1.1", "GET /a\tb HTTP/1.1", "GET a HTTP/1.1", "GET * HTTP/1.1",
    "OPTIONS * HTTP/1.1",
    "GET http://a/ HTTP/1.1", "CONNECT a:80 HTTP/1.1", "OPTIONS *a HTTP/1.1", "OPTIONS ** HTTP/1.0", " HTTP/1.1",
  ]) func aRequestLineHasThreeWords(line: String) throws {
    for size in [1, 4096] {
      var heads = RequestHeads()
      let fault = #expect(throws: RequestHeads.Fault.self) {
        try read("\(line)\r\nHost: a\r\n\r\n", &heads, pieces: size)
      }
      #expect(fault?.status == 400 && all(&heads).isEmpty)
    }
  }

  @Test(arguments: [
    ("GET / HTTP/1.1", "/"), ("OPTIONS /a HTTP/1.0", "/a"), ("PUT /ä? HTTP/1.1", "/ä?"),
  ]) func aTargetIsAPath(line: String, target: String) throws {
    var heads = RequestHeads()
    _ = try read("\(line)\r\nHost: a\r\n\r\n", &heads)
    #expect(all(&heads).map(\.target) == [target])
  }

  /// What a proxy and the library would not read alike.
  @Test(arguments: [
    ("/x/../metrics", "a path has no . or .."), ("/.", "a path has no . or .."), ("/./a", "a path has no . or .."),
    ("/%2e%2E/a", "a path has no . or .."), ("/.%2e", "a path has no . or .."),
    ("/..%3f/metrics", "a path has no . or .."),
    ("/x/..?/metrics", "a path has no . or .."), ("/x#/../metrics", "a path has no fragment"),
    ("/a?b#c", "a path has no fragment"), ("/%zz", "a % in a path or query is followed by two hexadecimal digits"),
    ("/%u0061", "a % in a path or query is followed by two hexadecimal digits"),
    ("/a%4", "a % in a path or query is followed by two hexadecimal digits"),
    ("/a?b=%", "a % in a path or query is followed by two hexadecimal digits"),
    ("/metrics%0a", "a path or query has no NUL or line end"),
    ("/a%00", "a path or query has no NUL or line end"),
    ("/a?room=demo%0aX", "a path or query has no NUL or line end"),
    ("/a?room=demo%0D", "a path or query has no NUL or line end"),
  ]) func aPathHasOneReading(target: String, reason: String) throws {
    for size in [1, 4096] {
      var heads = RequestHeads()
      #expect(throws: RequestHeads.Fault(status: 400, reason: reason)) {
        try read("GET \(target) HTTP/1.1\r\nHost: a\r\n\r\n", &heads, pieces: size)
      }
      #expect(all(&heads).isEmpty)
    }
  }

  @Test(arguments: [
    "/...", "/..a", "/a.", "/a/b..c", "/?a=/../b", "/?..", "/%20%23%3F", "/a?%23", "/a?%07%7f", "/a//b", "/%C3%A4?%2e",
  ])
  func pathsThatOnlyLookSoAreTaken(target: String) throws {
    var heads = RequestHeads()
    _ = try read("GET \(target) HTTP/1.1\r\nHost: a\r\n\r\n", &heads)
    #expect(all(&heads).map(\.target) == [target])
  }

  @Test func headsAreBounded() throws {
    func head(of bytes: Int) -> String {
      let (begin, end) = ("GET / HTTP/1.1\r\nA: ", "\r\n\r\n")
      return begin + String(repeating: "a", count: bytes - begin.utf8.count - end.utf8.count) + end
    }
    var heads = RequestHeads()
    _ = try read(head(of: 8_192), &heads)
    #expect(all(&heads).count == 1)
    #expect(throws: RequestHeads.Fault(status: 431, reason: "the head of a request has 8192 bytes at most")) {
      try read(head(of: 8_193), &heads)
    }
  }

  /// It would be taken for its own content by the library.
  @Test(arguments: ["Content-Length: 1", "Content-Length: 1\r\nUpgrade: websocket", "Transfer-Encoding: chunked"])
  func aRequestWithContentWaitsForTheAnswerToTheOneBefore(line: String) throws {
    let (plain, long) = ("GET / HTTP/1.1\r\n\r\n", "POST / HTTP/1.1\r\n\(line)\r\n\r\n")
    func isTaken(_ pieces: [String], answered: Int) -> Bool {
      var heads = RequestHeads()
      do {
        for (index, piece) in pieces.enumerated() {
          if index > 0 { for _ in 0..<answered { heads.answered() } }
          _ = try read(piece, &heads)
        }
        return true
      } catch {
        return false
      }
    }
    #expect(isTaken([long], answered: 0) && isTaken([plain, long], answered: 1))
    #expect(isTaken([plain + plain, long], answered: 2))
    #expect(!isTaken([plain + long], answered: 0), "both came at once")
    #expect(!isTaken([plain, long], answered: 0), "the first is not answered yet")
    #expect(!isTaken([plain + plain, long], answered: 1))
    #expect(!isTaken([plain + long.prefix(4), String(long.dropFirst(4))], answered: 1), "it began behind the first")
    #expect(isTaken([plain + plain + "GET / HTTP/1.1\r\nContent-Length: 0\r\n\r\n"], answered: 0), "that has none")
  }

  @Test func soManyRequestsWaitAndNotOneMore() throws {
    var heads = RequestHeads()
    _ = try read(String(repeating: "GET / HTTP/1.1\r\n\r\n", count: RequestHeads.mostWaiting), &heads)
    #expect(heads.next() != nil, "who is answered makes space")
    _ = try read("GET / HTTP/1.1\r\n\r\n", &heads)
    #expect(all(&heads).count == 16)
    heads = RequestHeads()
    #expect(throws: RequestHeads.Fault.self) {
      try read(String(repeating: "GET / HTTP/1.1\r\n\r\n", count: RequestHeads.mostWaiting + 1), &heads)
    }
  }
}

@Suite struct HostPolicyTests {
  private let loopbacks = ["127.0.0.1", "127.8.8.8", "::1"].compactMap { SocketAddress(host: $0, port: 8080) }
  private let elsewhere = SocketAddress(host: "192.0.2.1", port: 8080)

  @Test(arguments: [
    "localhost", "LOCALHOST:8080", "localhost.", "roost.localhost:1", "127.0.0.1", "127.0.0.1:8080", "127.1.2.3:9",
    "[::1]", "[::1]:8080",
  ]) func ownNamesAreAlwaysKnown(host: String) {
    for policy in [HostPolicy(), HostPolicy(names: ["conf.example.org"])] {
      for local in loopbacks + [elsewhere] {
        #expect(policy.judge([host], isOld: false, reachedAt: local) == .known)
      }
    }
  }

  @Test(arguments: [
    ("rebind.evil:8080", "rebind.evil"), ("localhost.evil", "localhost.evil"), ("127.0.0.1.evil", "127.0.0.1.evil"),
    ("192.0.2.1:8080", "192.0.2.1"), ("notlocalhost", "notlocalhost"), ("0.0.0.0", "0.0.0.0"),
  ]) func onLoopbackOthersAreForeign(host: String, name: String) {
    for local in loopbacks { #expect(HostPolicy().judge([host], isOld: false, reachedAt: local) == .foreign(name)) }
    #expect(HostPolicy().judge([host], isOld: false, reachedAt: nil) == .foreign(name))
    #expect(HostPolicy().judge([host], isOld: false, reachedAt: elsewhere) == .known)
    #expect(HostPolicy(names: ["*"]).judge([host], isOld: false, reachedAt: loopbacks[0]) == .known)
  }

  @Test func configuredNamesAreKnown() {
    let policy = HostPolicy(names: ["Conf.example.org", "2001:db8::1"], besides: ["app.example.org:8443"])
    for local in [loopbacks[0], elsewhere] {
      for host in [
        "conf.example.org", "CONF.example.org:443", "conf.example.org.", "[2001:DB8::1]:1", "app.example.org",
      ] {
        #expect(policy.judge([host], isOld: false, reachedAt: local) == .known, "\(host)")
      }
      #expect(policy.judge(["evil.example.org"], isOld: false, reachedAt: local) == .foreign("evil.example.org"))
    }
    #expect(policy.judge(["192.0.2.7"], isOld: false, reachedAt: elsewhere) == .known, "an address is nobody's name")
  }

  @Test(arguments: [
    [], ["a", "a"], [""], ["a b"], ["a:b"], ["a:123456"], ["[::1"], ["[a]"], ["user@localhost"], ["a/b"],
  ])
  func oneHostIsNeeded(hosts: [String]) {
    for local in [loopbacks[0], elsewhere] {
      #expect(HostPolicy(names: ["*"]).judge(hosts, isOld: false, reachedAt: local) == .malformed)
    }
  }

  @Test func theOldVersionNeedsNone() {
    #expect(HostPolicy().judge([], isOld: true, reachedAt: loopbacks[0]) == .known)
    #expect(HostPolicy().judge(["evil"], isOld: true, reachedAt: loopbacks[0]) == .foreign("evil"))
  }
}

/// The same at a server's door.
@Suite struct DoorNameTests {
  private func ask(
    _ request: String, _ change: (inout WebServerConfiguration) -> Void = { _ in }
  ) async throws -> String {
    let server = try startEcho(routes: [.get("/healthz") { _ in .text(200, "ok") }], change: change)
    defer { server.stop() }
    let raw = try RawConnection(port: server.port)
    raw.write(request)
    return await raw.readToEnd()
  }

  private static let upgrade =
    "GET /rtc HTTP/1.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"

  @Test func aStrangersNameIsRefusedEverywhere() async throws {
    let told = Locked<[String]>([])
    for head in ["GET /healthz HTTP/1.1\r\n", "GET /nothing HTTP/1.1\r\n", "PUT /healthz HTTP/1.1\r\n", Self.upgrade] {
      let answer = try await ask(head + "Host: rebind.evil:8080\r\nOrigin: http://rebind.evil:8080\r\n\r\n") {
        $0.hostRefused = { name, peer in told.withLock { $0.append("\(name) \(peer?.host ?? "")") } }
      }
      #expect(answer.dropFirst(8).hasPrefix(" 421 "), "\(answer)")
      #expect(answer.contains("listen.hosts") && answer.contains("rebind.evil"))
    }
    #expect(told.withLock { $0 } == Array(repeating: "rebind.evil 127.0.0.1", count: 4))
  }

  @Test func aConfiguredNameIsLetIn() async throws {
    let answer = try await ask("GET /healthz HTTP/1.1\r\nHost: conf.example.org\r\nConnection: close\r\n\r\n") {
      $0.hosts = HostPolicy(names: ["conf.example.org"])
    }
    #expect(answer.hasPrefix("HTTP/1.1 200"))
  }

  @Test(arguments: ["", "Host: localhost\r\nHost: localhost\r\n", "Host:\r\n"]) func oneHostIsNeeded(hosts: String)
    async throws
  {
    for head in ["GET /healthz HTTP/1.1\r\n", Self.upgrade] {
      let answer = try await ask(head + hosts + "Connection: close\r\n\r\n")
      #expect(answer.dropFirst(8).hasPrefix(" 400 "), "\(answer)")
    }
  }

  /// Names of which the library knows longer ones: `x-auth-token:`, `accept-charset:` and the like.
  @Test(arguments: [
    "X-Auth", "Accept-", "X", "Sec-WebSocket", "S", "Content", "If", "Access-Control", "Proxy-Auth", "G",
  ])
  func noLineIsLost(name: String) async throws {
    let foreign = try await ask(Self.upgrade + "Host: localhost\r\n\(name): 1\r\nOrigin: http://evil.example\r\n\r\n")
    #expect(foreign.dropFirst(8).hasPrefix(" 403 "), "\(foreign)")
    for end in [": 1", ":1", ":", ": a:b"] {
      let last = try await ask("GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\(name)\(end)\r\n\r\n")
      #expect(last.hasPrefix("HTTP/1.1 200"), "\(name)\(end): \(last)")
      let host = try await ask(
        "GET /healthz HTTP/1.1\r\nConnection: close\r\nHost: localhost\r\n\(name)\(end)\r\nHost: evil\r\n\r\n")
      #expect(host.hasPrefix("HTTP/1.1 400"), "\(name)\(end): \(host)")
    }
  }
}
