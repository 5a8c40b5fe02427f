// HTTP, handshakes that are turned away, and requests that nobody should send.
import Basics
import Foundation
import TestSupport
import Testing

@testable import WebSockets

private let routes: [HTTPRoute] = [
  .get("/hello") { .text(200, "hello \($0.query)") },
  .get("/large") { _ in HTTPResponse(contentType: "text/plain", body: [UInt8](repeating: 0x61, count: 3_000_000)) },
  .get("/headers") { request in
    HTTPResponse(
      status: 200, headers: [.init("X-Echo", "a\r\nSet-Cookie: evil=\(request.path)"), .init("ETag", "\"1\"")],
      body: [0x31])
  },
  .get("/cached") { $0.ifNoneMatch == "\"1\"" ? HTTPResponse(status: 304) : .text(200, "fresh") },
  HTTPRoute(.path("/things"), methods: [.put, .delete]) { request, answer in
    let arguments = request.arguments.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
    let all = request.isQueryWhole ? "" : " and more"
    answer(.text(200, "\(request.method.rawValue) [\(arguments.joined(separator: "|"))]\(all)"))
  },
  HTTPRoute(.prefix("/files/")) { .text(200, "file \($0.path)") },
]

private func names(_ count: Int, _ separator: String) -> String {
  (10..<10 + count).map { "a\($0)=" }.joined(separator: separator)
}

@Suite struct HandshakeTests {
  private func exchange(_ request: String) async throws -> String {
    let server = try startEcho(routes: routes)
    defer { server.stop() }
    let raw = try RawConnection(port: server.port)
    raw.write(request)
    return await raw.readToEnd()
  }
  private func get(_ path: String, method: String = "GET", headers: String = "") async throws -> String {
    try await exchange("\(method) \(path) HTTP/1.1\r\nHost: localhost\r\n\(headers)Connection: close\r\n\r\n")
  }

  @Test func routesAreFound() async throws {
    let hello = try await get("/hello?a=1&b=%20")
    #expect(hello.hasPrefix("HTTP/1.1 200"))
    #expect(hello.lowercased().contains("content-type: text/plain; charset=utf-8"))
    #expect(hello.lowercased().contains("x-content-type-options: nosniff"))
    #expect(hello.contains("\r\n\r\nhello a=1"))
    #expect(try await get("/files/a/b").hasSuffix("file /files/a/b\n"))
    #expect(try await get("/files/../hello").hasPrefix("HTTP/1.1 400"))
    for other in ["//hello", "/%68ello", "/hello/", "/hello%3f", "/Hello"] {
      #expect(try await get(other).hasPrefix("HTTP/1.1 404"), "routes are found by what is written: \(other)")
    }
    #expect(try await get("/nothing").hasPrefix("HTTP/1.1 404"))
    #expect(try await get("/rtc").hasPrefix("HTTP/1.1 426"))
    #expect(try await get("/cached", headers: "If-None-Match: \"1\"\r\n").hasPrefix("HTTP/1.1 304"))
  }

  @Test func headAndOtherMethods() async throws {
    let head = try await get("/hello", method: "HEAD")
    #expect(head.hasPrefix("HTTP/1.1 200"))
    #expect(head.lowercased().contains("content-length: 7"))
    #expect(head.hasSuffix("\r\n\r\n"))
    for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"] {
      let answer = try await get("/hello", method: method, headers: "Content-Length: 0\r\n")
      #expect(answer.hasPrefix("HTTP/1.1 405"), "\(method): \(answer)")
      #expect(answer.lowercased().contains("allow: get, head"))
    }
  }

  @Test func longNamesInAQueryArePassedOver() async throws {
    let most = String(repeating: "n", count: ServerLoop.longestArgument)
    for (name, shown) in [(most, "[\(most)=1]"), (most + "n", "[] and more")] {
      #expect(try await get("/things?\(name)=1", method: "PUT").hasSuffix("PUT \(shown)\n"))
    }
  }

  /// A route may take other methods; what a request means is in its query, decoded.
  @Test func aRouteTakesTheMethodsThatItNames() async throws {
    for method in ["PUT", "DELETE"] {
      for headers in ["", "Content-Length: 0\r\n"] {
        let path = "/things?a=1%26b%3D2%3Bc&name=%C3%A4%20%2B%25&empty="
        let answer = try await get(path, method: method, headers: headers)
        #expect(answer.hasPrefix("HTTP/1.1 200"), "\(answer)")
        #expect(answer.hasSuffix("\r\n\r\n\(method) [a=1&b=2;c|empty=|name=ä +%]\n"), "\(answer)")
        #expect(answer.lowercased().contains("connection: close"))
      }
    }
    let refused = try await get("/things")
    #expect(refused.hasPrefix("HTTP/1.1 405") && refused.contains("only PUT and DELETE are served"))
    #expect(refused.lowercased().contains("allow: put, delete"))
  }

  /// A query of which a part is lost or odd may mean something else than what is left of it.
  @Test(arguments: [
    ("", "[]"), ("?a=1;b=2", "[a=1|b=2]"), ("?a=1&a=2", "[a=1] and more"), ("?a=1&odd", "[a=1] and more"),
    ("?a=1;odd", "[a=1] and more"), ("?a=1&b=" + String(repeating: "x", count: 3_000), "[a=1] and more"),
    ("?b=" + String(repeating: "x", count: 3_000) + "&a=1", "[] and more"),
    ("?" + names(16, "&"), "[" + names(16, "|") + "]"), ("?" + names(17, "&"), "[" + names(16, "|") + "] and more"),
  ])
  func aQueryIsWholeOrSaidNotToBe(_ query: String, _ read: String) async throws {
    let answer = try await get("/things\(query)", method: "PUT")
    #expect(answer.hasSuffix("\r\n\r\nPUT \(read)\n"), "\(answer)")
  }

  @Test func aLargeBodyArrivesWhole() async throws {
    let answer = try await get("/large")
    #expect(answer.lowercased().contains("content-length: 3000000"))
    #expect(answer.utf8.suffix(3_000_000).allSatisfy { $0 == 0x61 })
  }

  @Test func headersCannotBeSplit() async throws {
    let answer = try await get("/headers")
    #expect(answer.contains("x-echo: aSet-Cookie: evil=/headers\r\n"))
  }

  @Test func aConnectionServesSeveralRequests() async throws {
    let server = try startEcho(routes: routes) { $0.handshakeSeconds = 60 }
    defer { server.stop() }
    let raw = try RawConnection(port: server.port)
    for n in 0..<5 {
      raw.write("GET /hello?\(n) HTTP/1.1\r\nHost: localhost\r\n\r\n")
      #expect(await raw.readHead().hasPrefix("HTTP/1.1 200"))
      #expect(String(decoding: await raw.read(8), as: UTF8.self) == "hello \(n)\n")
    }
    #expect(server.statistics.httpRequests == 5)
  }

  /// The library answers an upgrade to something else itself on a connection that has served a request.
  @Test(arguments: [
    "Upgrade: websocket, h2c", "Upgrade: websocket\r\nUpgrade: websocket", "Upgrade:", "Upgrade: websocket ",
    "Upgrade:\twebsocket", "Upgrade: websoc\u{212A}et", "Upgrade: websocket\r\nUpgrade: h2c",
    "Upgrade: h2c\r\nUpgrade: websocket",
  ])
  func anotherUpgradeGetsOneAnswer(line: String) async throws {
    let server = try startEcho(routes: routes)
    defer { server.stop() }
    for isReused in [false, true] {
      let raw = try RawConnection(port: server.port)
      if isReused {
        raw.write("GET /hello?1 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        _ = await raw.readHead()
        _ = await raw.read(8)
      }
      raw.write("GET /hello?2 HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\n\(line)\r\n\r\n")
      let answer = await raw.readToEnd()
      #expect(answer.hasPrefix("HTTP/1.1 400"), "\(isReused): \(answer)")
      #expect(answer.components(separatedBy: "HTTP/1.").count == 2, "\(isReused): \(answer)")
    }
  }

  /// What Java's HttpClient and `curl --http2` say with each request over plain HTTP: they get HTTP/1.1.
  @Test(arguments: ["GET", "POST"], [" ", "", "\t"])
  func whoOffersHTTP2IsServed(method: String, blank: String) async throws {
    let post = HTTPRoute(.path("/post"), methods: [.post], contentLimit: 64) { request, answer in
      answer(.text(200, "\(request.content.count) bytes"))
    }
    let server = try startEcho(routes: routes + [post])
    defer { server.stop() }
    let raw = try RawConnection(port: server.port)
    let content = method == "POST" ? "Content-Length: 3\r\n\r\nabc" : "\r\n"
    let path = method == "POST" ? "/post" : "/hello?h2c"
    raw.write(
      "\(method) \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade:\(blank)h2c\r\n"
        + "HTTP2-Settings: AAMAAABkAAQAAP__\r\n" + content)
    let head = await raw.readHead()
    #expect(head.hasPrefix("HTTP/1.1 200"), "\(head)")
  }

  /// A client that wants a subprotocol is told that there is none, and can be read by people.
  @Test func anUnknownSubprotocolGetsAnAnswer() async throws {
    let server = try startEcho()
    defer { server.stop() }
    for names in ["sip", "roost, x", ""] {
      let raw = try RawConnection(port: server.port)
      raw.write(
        "GET /rtc HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
          + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: \(names)\r\n\r\n"
      )
      let answer = await raw.readToEnd()
      #expect(answer.hasPrefix("HTTP/1.1 400") && answer.contains("Sec-WebSocket-Protocol"), "\(answer)")
    }
  }

  /// An answer that takes its time holds up nobody: not the WebSockets, not other requests, only its own connection.
  @Test func aLateAnswerHoldsUpNobodyElse() async throws {
    let answers = Locked<[@Sendable (HTTPResponse) -> Void]>([])
    let late = HTTPRoute(.path("/late"), late: { _, answer in answers.withLock { $0.append(answer) } })
    let server = try startEcho(routes: routes + [late])
    defer { server.stop() }
    let (asking, gone) = (try RawConnection(port: server.port), try RawConnection(port: server.port))
    asking.write("GET /late HTTP/1.1\r\nHost: localhost\r\n\r\nGET /hello?next HTTP/1.1\r\nHost: localhost\r\n\r\n")
    gone.write("GET /late HTTP/1.1\r\nHost: localhost\r\n\r\n")
    #expect(await eventually { answers.withLock { $0.count } == 2 })
    gone.reset()
    let raw = try RawConnection(port: server.port)
    await raw.upgrade()
    raw.send(text: "x")
    #expect(await raw.receiveText() == "x")
    for answer in answers.withLock({ $0 }) {
      for _ in 0..<2 { answer(.text(200, "here")) }
    }
    #expect(await asking.readHead().hasPrefix("HTTP/1.1 200"))
    #expect(String(decoding: await asking.read(5), as: UTF8.self) == "here\n")
    #expect(await asking.readHead().hasPrefix("HTTP/1.1 200"))
    #expect(String(decoding: await asking.read(11), as: UTF8.self) == "hello next\n")
    let head = try RawConnection(port: server.port)
    head.write("HEAD /late HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    #expect(await eventually { answers.withLock { $0.count } == 3 })
    answers.withLock { $0.last }?(.text(200, "here"))
    #expect(await head.readToEnd().hasSuffix("\r\n\r\n"))
  }

  /// A route that never answers does not keep its connection for ever.
  @Test func anAnswerThatNeverComesEndsTheConnection() async throws {
    let server = try startEcho(routes: [HTTPRoute(.path("/never"), late: { _, _ in })]) { $0.handshakeSeconds = 1 }
    defer { server.stop() }
    let raw = try RawConnection(port: server.port)
    raw.write("GET /never HTTP/1.1\r\nHost: localhost\r\n\r\n")
    #expect(await raw.readToEnd() == "")
    #expect(await eventually { server.statistics.connections == 0 })
  }

  @Test(arguments: [
    ("/other", "", "404"), ("/rtc", "Origin: http://evil.example\r\n", "403"),
    ("/rtc", "Origin: null\r\n", "403"), ("/rtc", "Origin: http://127.0.0.1:81\r\n", "403"),
    ("/rtc", "Origin: https://app.example\r\n", "101"), ("/rtc", "Origin: http://127.0.0.1\r\n", "101"),
    ("/rtc", "", "101"), ("/rtc?a=b", "", "101"), ("//rtc", "", "404"), ("/%72tc", "", "404"), ("/rtc/", "", "404"),
    ("/rtc%3f", "", "404"),
  ])
  func upgrades(path: String, headers: String, status: String) async throws {
    let log = EventLog()
    let server = try startEcho(log: log) { $0.origins = .sameHost(allowing: ["https://app.example"]) }
    defer { server.stop() }
    let raw = try RawConnection(port: server.port)
    let head = await raw.upgrade(path: path, headers: headers)
    #expect(head.split(separator: " ").dropFirst().first == Substring(status))
    if status == "101" {
      raw.send(text: "x")
      #expect(await raw.receiveText() == "x")
    } else {
      #expect(await raw.readToEnd().hasSuffix("\n"))
      #expect(await eventually { server.statistics.handshakesRefused == 1 })
      #expect(log.all.isEmpty)
    }
  }

  @Test(arguments: ["POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"])
  func onlyAGetIsUpgraded(method: String) async throws {
    let log = EventLog()
    let server = try startEcho(log: log)
    defer { server.stop() }
    let raw = try RawConnection(port: server.port)
    let head = await raw.upgrade(method)
    #expect(head.hasPrefix("HTTP/1.1 405") && head.lowercased().contains("allow: get\r\n"), "\(head)")
    #expect(await eventually { server.statistics.handshakesRefused == 1 && log.all.isEmpty })
  }

  @Test func originsAreComparedWithTheirPorts() {
    for (allowed, good, bad) in [
      ("capacitor://localhost", ["capacitor://localhost"], ["ionic://localhost", "capacitor://localhost.evil"]),
      ("null", ["null"], ["nullx", "https://null"]),
      (
        "https://*.example.org", ["https://a.example.org", "https://a.b.EXAMPLE.org"],
        [
          "https://example.org", "https://evilexample.org", "http://a.example.org", "https://a.example.org:8443",
          "https://.example.org", "https://a.example.org.evil", "https://evil/.example.org", "https://x@y.example.org",
        ]
      ),
      ("https://*.example.org:8443", ["https://a.example.org:8443"], ["https://a.example.org"]),
    ] {
      for policy in [OriginPolicy.sameHost(allowing: [allowed]), .sameName(allowing: [allowed])] {
        for origin in good { #expect(policy.allows(origin: origin, host: "conf.local"), "\(allowed) \(origin)") }
        for origin in bad { #expect(!policy.allows(origin: origin, host: "conf.local"), "\(allowed) \(origin)") }
      }
    }
    let policy = OriginPolicy.sameHost(allowing: ["https://App.example"])
    #expect(policy.allows(origin: nil, host: nil))
    #expect(policy.allows(origin: "http://127.0.0.1:8080", host: "127.0.0.1:8080"))
    #expect(policy.allows(origin: "https://roost.example", host: "roost.example:443"))
    #expect(policy.allows(origin: "https://APP.example", host: "roost.example"))
    #expect(!policy.allows(origin: "http://localhost:8080", host: "127.0.0.1:8080"))
    #expect(!policy.allows(origin: "http://roost.example.evil", host: "roost.example"))
    #expect(!policy.allows(origin: "file://", host: ""))
    #expect(!policy.allows(origin: "http://a", host: nil))
    #expect(OriginPolicy.any.allows(origin: "http://evil", host: "a"))
  }

  @Test func originsMayBeComparedByNameAlone() {
    let policy = OriginPolicy.sameName(allowing: ["https://App.example"])
    #expect(policy.allows(origin: nil, host: nil))
    #expect(policy.allows(origin: "http://127.0.0.1:8080", host: "127.0.0.1:8443"))
    #expect(policy.allows(origin: "https://roost.example", host: "Roost.example:8443"))
    #expect(policy.allows(origin: "http://[::1]:8080", host: "[::1]:8443"))
    #expect(policy.allows(origin: "https://APP.example", host: "roost.example:8443"))
    #expect(!policy.allows(origin: "http://[::1]:8080", host: "[::2]:8443"))
    #expect(!policy.allows(origin: "http://localhost:8080", host: "127.0.0.1:8443"))
    #expect(!policy.allows(origin: "http://roost.example.evil:8443", host: "roost.example:8443"))
    #expect(!policy.allows(origin: "https://app.example:8443", host: "roost.example:8443"))
    #expect(!policy.allows(origin: "file://", host: "") && !policy.allows(origin: "http://a", host: nil))
  }

  struct Garbage: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var request: String
    init(_ name: String, _ request: String) {
      testDescription = name
      self.request = request
    }
  }

  /// None of these may do more than end its own connection.
  @Test(arguments: [
    Garbage("control bytes", "\u{0}\u{1}\u{2}garbage\r\n\r\n"), Garbage("no path", "GET\r\n\r\n"),
    Garbage("version 9.9", "GET / HTTP/9.9\r\n\r\n"),
    Garbage("unknown method", "FOO /hello HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    Garbage("CONNECT", "CONNECT example.org:80 HTTP/1.1\r\nHost: localhost\r\n\r\nraw bytes"),
    Garbage("NUL in the path", "GET /%00 HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    Garbage(
      "h2c",
      "GET /hello HTTP/1.1\r\nHost: localhost\r\nUpgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\n"
        + "HTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n"),
    Garbage("HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    Garbage(
      "path of 100 KB", "GET /" + String(repeating: "a", count: 100_000) + " HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    Garbage(
      "20,000 headers", "GET /hello HTTP/1.1\r\n" + (0..<20_000).map { "X-\($0): y\r\n" }.joined() + "\r\n"),
    Garbage("host of 65 KB", "GET /hello HTTP/1.1\r\nHost: " + String(repeating: "h", count: 65_000) + "\r\n\r\n"),
    Garbage(
      "WebSocket version 99",
      "GET /rtc HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 99\r\n"
        + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"),
    Garbage("no key", "GET /rtc HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"),
    Garbage("endless body", "POST /hello HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999999999\r\n\r\nx"),
  ])
  func garbageHurtsNobodyElse(garbage: Garbage) async throws {
    let log = EventLog()
    let server = try startEcho(log: log, routes: routes) { $0.handshakeSeconds = 2 }
    defer { server.stop() }
    let good = try RawConnection(port: server.port)
    await good.upgrade()
    let bad = try RawConnection(port: server.port)
    bad.write(garbage.request)
    let answer = await bad.readToEnd()
    #expect(!answer.hasPrefix("HTTP/1.1 101"))
    good.send(text: "fine")
    #expect(await good.receiveText() == "fine")
    let opened = log.all.count { if case .opened = $0 { true } else { false } }
    #expect(opened == 1)
    #expect(await eventually { server.statistics.connections == 1 })
  }

  @Test func slowHeadersAreCutOff() async throws {
    let server = try startEcho { $0.handshakeSeconds = 1 }
    defer { server.stop() }
    let start = ContinuousClock.now
    let silent = try RawConnection(port: server.port)
    let slow = try RawConnection(port: server.port)
    slow.write("GET / HTTP/1.1\r\n")
    let isOver = Locked(false)
    let trickle = Task.detached {
      for n in 0..<300 where !Task.isCancelled {
        slow.write("X-\(n): y\r\n")
        try? await Task.sleep(for: .milliseconds(100))
      }
      isOver.withLock { $0 = true }
    }
    #expect(await eventually { server.statistics.connections == 0 })
    #expect(!isOver.withLock { $0 }, "headers that keep coming do not put it off")
    #expect(await silent.read(1).isEmpty)
    #expect(ContinuousClock.now - start >= .milliseconds(900), "until then they have time")
    trickle.cancel()
  }

  @Test func reportsWhatCannotBeListenedOn() async throws {
    let server = try startEcho()
    defer { server.stop() }
    let taken = SocketAddress(v4: 0x7f00_0001, port: server.port)
    #expect(throws: WebSocketError.cannotListen(taken, reason: "Address already in use")) {
      _ = try WebServer.start(WebServerConfiguration(addresses: [taken])) { _ in }
    }
    #expect(throws: WebSocketError.noAddress) {
      _ = try WebServer.start(WebServerConfiguration(addresses: [])) { _ in }
    }
  }

  @Test func listensOnIPv6AndIPv4Together() async throws {
    let six = try #require(SocketAddress(host: "::1", port: 0))
    let server = try WebServer.start(
      WebServerConfiguration(addresses: [loopback, six]), routes: routes, handler: { _ in })
    defer { server.stop() }
    #expect(server.addresses.count == 2)
    #expect(server.addresses.allSatisfy { $0.port != 0 })
    #expect(server.addresses[1].description == "[::1]:\(server.addresses[1].port)")
    let raw = try RawConnection(port: server.addresses[0].port)
    raw.write("GET /hello HTTP/1.0\r\n\r\n")
    #expect(await raw.readToEnd().hasPrefix("HTTP/1"))
  }
}
