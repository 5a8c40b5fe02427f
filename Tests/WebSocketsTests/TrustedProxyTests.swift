// Whose request it is that came through proxies: by X-Forwarded-For, from those that are believed alone.
import Basics
import TestSupport
import Testing
import Threads

@testable import WebSockets

private func range(_ text: String) throws -> AddressRange { try #require(AddressRange(text)) }

@Suite struct TrustedProxyTests {
  private func client(_ peer: String, _ lists: [String], other: String? = nil) throws -> String? {
    let proxies = TrustedProxies([try range("10.0.0.0/8"), try range("2001:db8:ffff::/48"), try range("127.0.0.1")])
    var head = RequestHead()
    head.headers = lists.map { HTTPHeader("x-forwarded-for", $0) } + (other.map { [HTTPHeader($0, "x")] } ?? [])
    let client = proxies.client(of: SocketAddress(host: peer, port: 50_000), head)
    return client.map { $0.port == 0 ? $0.host : $0.description }
  }

  @Test(
    arguments: [
      // From a peer that is not believed nothing counts.
      ("192.0.2.9", ["203.0.113.1"], "192.0.2.9:50000"), ("192.0.2.9", ["127.0.0.1", "::1"], "192.0.2.9:50000"),
      ("2001:db8::9", ["10.0.0.1"], "[2001:db8::9]:50000"), ("192.0.2.9", ["rubbish"], "192.0.2.9:50000"),
      // The last that is no proxy, whatever stands before it.
      ("10.0.0.1", ["203.0.113.1"], "203.0.113.1"), ("10.0.0.1", ["198.51.100.7, 203.0.113.1"], "203.0.113.1"),
      ("10.0.0.1", ["127.0.0.1,::1 , 203.0.113.1"], "203.0.113.1"),
      ("10.0.0.1", ["203.0.113.1, 10.1.2.3, 10.9.9.9"], "203.0.113.1"),
      ("10.0.0.1", ["198.51.100.7", "203.0.113.1", "10.1.2.3"], "203.0.113.1"),
      ("10.0.0.1", ["rubbish, , \u{1}, 203.0.113.1"], "203.0.113.1"),
      ("10.0.0.1", ["203.0.113.1 ,\t10.2.2.2\t"], "203.0.113.1"),
      // What is local to another machine is not local here.
      ("10.0.0.1", ["127.0.0.1"], nil), ("10.0.0.1", ["::1"], nil), ("127.0.0.1", ["127.0.0.1, 10.0.0.2"], nil),
      ("127.0.0.1", ["203.0.113.1, 127.0.0.1"], "203.0.113.1"), ("127.0.0.1", ["::1"], "::1"),
      // A comma that is half of a Character.
      ("10.0.0.1", ["\u{600}, 203.0.113.1"], "203.0.113.1"), ("10.0.0.1", ["203.0.113.1\u{600}"], nil),
      // All of them are proxies: the first.
      ("127.0.0.1", ["127.0.0.1"], "127.0.0.1"), ("10.0.0.1", ["10.0.0.3, 10.0.0.2"], "10.0.0.3"),
      // Ports and IPv6.
      ("10.0.0.1", ["203.0.113.1:4711"], "203.0.113.1:4711"), ("10.0.0.1", ["2001:db8::5"], "2001:db8::5"),
      ("10.0.0.1", ["[2001:db8::5]"], "2001:db8::5"), ("10.0.0.1", ["[2001:db8::5]:443"], "[2001:db8::5]:443"),
      ("2001:db8:ffff::1", ["2001:db8::5, 2001:db8:ffff::7"], "2001:db8::5"),
      ("10.0.0.1", ["::ffff:203.0.113.1"], "203.0.113.1"),
      ("10.0.0.1", ["203.0.113.1, ::ffff:10.0.0.2"], "203.0.113.1"),
      // What is no address is nobody's.
      ("10.0.0.1", ["unknown"], nil), ("10.0.0.1", [""], nil), ("10.0.0.1", ["203.0.113.1,"], nil),
      ("10.0.0.1", ["203.0.113.1, rubbish"], nil), ("10.0.0.1", ["203.0.113.1, rubbish, 10.0.0.2"], nil),
      ("10.0.0.1", ["203.0.113.1:"], nil), ("10.0.0.1", ["203.0.113.1:65536"], nil),
      ("10.0.0.1", ["[203.0.113.1]"], nil),
      ("10.0.0.1", ["[2001:db8::5"], nil), ("10.0.0.1", ["[2001:db8::5]443"], nil), ("10.0.0.1", ["fe80::1%eth0"], nil),
      ("10.0.0.1", ["203.0.113.1 203.0.113.2"], nil), ("10.0.0.1", ["203.0.113.1:+80"], nil),
      ("10.0.0.1", ["\"203.0.113.1\""], nil), ("10.0.0.1", [String(repeating: "1", count: 9_000)], nil),
    ] as [(String, [String], String?)])
  func theLastThatIsNoProxyAsks(peer: String, lists: [String], expected: String?) throws {
    #expect(try client(peer, lists) == expected)
  }

  @Test func soManyProxiesAndNoMore() throws {
    let list = (0..<(TrustedProxies.mostHops - 1)).map { "10.0.1.\($0)" }.joined(separator: ", ")
    #expect(try client("10.0.0.1", ["203.0.113.1, \(list)"]) == "203.0.113.1")
    #expect(try client("10.0.0.1", ["203.0.113.1, 10.0.2.1, \(list)"]) == nil)
    #expect(try client("10.0.0.1", ["203.0.113.1", "10.0.2.1", list]) == nil, "in however many headers")
  }

  /// A proxy that does not say whom it brings brings nobody, and never somebody local, whether it forgets the header or is none. One on
  /// another machine that says nothing at all is itself.
  @Test func whoSaysNothingIsNotLocal() throws {
    #expect(try client("127.0.0.1", []) == nil)
    #expect(try client("127.0.0.1", ["127.0.0.1"]) == "127.0.0.1", "a program on the proxy's machine says so")
    #expect(try client("10.0.0.1", []) == "10.0.0.1:50000")
    #expect(try client("127.0.0.9", []) == "127.0.0.9:50000", "the control: it is no trusted proxy")
    for header in ["via", "forwarded", "x-real-ip", "x-forwarded-proto", "x-forwarded-host"] {
      #expect(try client("127.0.0.1", [], other: header) == nil && client("10.0.0.1", [], other: header) == nil)
      #expect(try client("192.0.2.9", [], other: header) == "192.0.2.9:50000")
    }
  }

  @Test(
    arguments: [
      ("10.0.0.1", ["https"], true), ("10.0.0.1", [" HTTPS "], true), ("10.0.0.1", ["http, https"], true),
      ("10.0.0.1", ["https", "http"], false), ("10.0.0.1", ["http"], false), ("10.0.0.1", [], false),
      ("10.0.0.1", [""], false), ("192.0.2.9", ["https"], false),
    ] as [(String, [String], Bool)])
  func aProxySaysWhetherItWasTLS(peer: String, words: [String], isSecure: Bool) throws {
    var head = RequestHead()
    head.headers = words.map { HTTPHeader("x-forwarded-proto", $0) }
    let proxies = TrustedProxies([try range("10.0.0.0/8")])
    #expect(proxies.sayIsSecure(SocketAddress(host: peer, port: 1), head) == isSecure)
  }
}

@Suite(.timeLimit(.minutes(2))) struct ProxiedConnectionTests {
  private let routes: [HTTPRoute] = [
    .get("/who") { .text(200, "\($0.peer?.host ?? "nobody") \($0.isSecure)") }
  ]

  private func start(
    trusting: String? = "127.0.0.1", _ log: EventLog = EventLog(), more: [HTTPRoute] = [],
    change: (inout WebServerConfiguration) -> Void = { _ in }
  ) throws -> WebServer {
    let ranges = try trusting.map { [try range($0)] } ?? []
    return try startEcho(log: log, routes: routes + more) {
      $0.proxies = TrustedProxies(ranges)
      change(&$0)
    }
  }

  private func ask(_ server: WebServer, _ headers: String = "", path: String = "/who") async throws -> String {
    let raw = try RawConnection(port: server.port)
    raw.write("GET \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\(headers)\r\n")
    return await raw.readToEnd()
  }

  @Test func routesAndWebSocketsSeeTheClient() async throws {
    let cases: [(String?, String)] = [
      ("127.0.0.1", "203.0.113.9"), (nil, "127.0.0.1"), ("10.0.0.0/8", "127.0.0.1"),
    ]
    for (trusting, seen) in cases {
      let log = EventLog()
      let server = try start(trusting: trusting, log)
      defer { server.stop() }
      let headers =
        "X-Forwarded-For:198.51.100.1\r\nX-Forwarded-For: 127.0.0.5, 203.0.113.9\r\nX-Forwarded-Proto: https\r\n"
      let answer = try await ask(server, headers)
      #expect(answer.hasSuffix("\r\n\r\n\(seen) \(trusting == "127.0.0.1")\n"), "\(answer)")
      let unsaid = trusting == "127.0.0.1" ? "nobody" : "127.0.0.1"
      #expect(try await ask(server).hasSuffix("\r\n\r\n\(unsaid) false\n"))
      let raw = try RawConnection(port: server.port)
      #expect(await raw.upgrade(headers: headers).hasPrefix("HTTP/1.1 101 "))
      let peer = await log.first { if case .opened(_, let peer) = $0 { peer } else { nil } }
      #expect(peer?.address?.host == seen)
    }
  }

  /// It is told of once, however many such requests come; one that says whom it brings is no news, nor is anybody who is not trusted.
  @Test(arguments: [("127.0.0.1", 1), ("127.0.0.9", 0)]) func aProxyThatForgetsTheHeaderIsToldOf(
    trusting: String, count: Int
  ) async throws {
    let told = Locked<[String]>([])
    let server = try start(trusting: trusting) {
      $0.forwardedForMissing = { proxy in told.withLock { $0.append(proxy.host) } }
    }
    defer { server.stop() }
    #expect(try await ask(server, "X-Forwarded-For: 203.0.113.9\r\n").hasPrefix("HTTP/1.1 200 "))
    #expect(told.withLock { $0 } == [])
    for _ in 0..<3 { #expect(try await ask(server).hasPrefix("HTTP/1.1 200 ")) }
    #expect(told.withLock { $0 } == Array(repeating: "127.0.0.1", count: count))
  }

  /// Ten clients behind one proxy have limits of their own; so have those who say that they come through one, and do not.
  @Test func connectionsAreCountedByTheirClients() async throws {
    let server = try start { $0.maximumConnectionsPerAddress = 3 }
    defer { server.stop() }
    var open: [RawConnection] = []
    for client in 1...10 {
      for _ in 0..<3 {
        let raw = try RawConnection(port: server.port)
        let head = await raw.upgrade(headers: "X-Forwarded-For: 127.0.0.1, 203.0.113.\(client)\r\n")
        #expect(head.hasPrefix("HTTP/1.1 101 "), "\(client): \(head)")
        open.append(raw)
      }
    }
    for client in [1, 10] {
      let answer = try await ask(server, "X-Forwarded-For: 192.0.2.77, 203.0.113.\(client)\r\n")
      #expect(answer.hasPrefix("HTTP/1.1 429 ") && answer.contains("retry-after: 10"), "\(answer)")
      let handshake = try RawConnection(port: server.port)
      let head = await handshake.upgrade(headers: "X-Forwarded-For: 203.0.113.\(client)\r\n")
      #expect(head.hasPrefix("HTTP/1.1 429 "), "\(head)")
    }
    #expect(try await ask(server, "X-Forwarded-For: 203.0.113.11\r\n").hasPrefix("HTTP/1.1 200 "))
    #expect(await eventually { server.statistics.connectionsRefused == 4 })
    // Whoever goes makes space, and for themselves alone.
    open[0].shutDown()
    #expect(
      await eventually {
        (try? await ask(server, "X-Forwarded-For: 203.0.113.1\r\n"))?.hasPrefix("HTTP/1.1 200 ") ?? false
      })
    #expect(try await ask(server, "X-Forwarded-For: 203.0.113.2\r\n").hasPrefix("HTTP/1.1 429 "))
  }

  /// A proxy sends requests of several clients over one connection: it counts as that of the last.
  @Test func aConnectionIsItsLastClients() async throws {
    let server = try start { $0.maximumConnectionsPerAddress = 1 }
    defer { server.stop() }
    let shared = try RawConnection(port: server.port)
    for client in [1, 2, 1, 3] {
      shared.write("GET /who HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: 203.0.113.\(client)\r\n\r\n")
      #expect(await shared.readHead().hasPrefix("HTTP/1.1 200 "))
      #expect(await shared.read(18) == Array("203.0.113.\(client) false\n".utf8))
    }
    for (client, status) in [(1, "200"), (2, "200"), (3, "429")] {
      // A connection that has just been closed may still count.
      var answer = ""
      _ = await eventually {
        answer = (try? await ask(server, "X-Forwarded-For: 203.0.113.\(client)\r\n")) ?? ""
        return answer.hasPrefix("HTTP/1.1 \(status) ")
      }
      #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(client): \(answer)")
    }
  }

  /// Without trust the header changes nothing: who connects is counted, and a server for its own machine takes nobody from a proxy.
  /// Two offices behind a proxy that keeps its connections: they have the pace of requests, not that of connections that begin. A
  /// connection that becomes a WebSocket begins as its client's.
  @Test func aConnectionThatIsKeptBeginsOnce() async throws {
    let most = WebServerConfiguration.leastConnections
    let server = try start { $0.maximumConnectionsPerAddress = most }
    defer { server.stop() }
    let shared = try RawConnection(port: server.port)
    var refused = 0
    let started = MonotonicClock.now()
    for number in 0..<2 * most + 40 {
      shared.write("GET /who HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: 203.0.113.\(1 + number % 2)\r\n\r\n")
      if await !shared.readHead().hasPrefix("HTTP/1.1 200 ") { refused += 1 }
      _ = await shared.read(18)
    }
    #expect(refused == 0)
    var begun = 0
    for number in 0..<most + 30 {
      let raw = try RawConnection(port: server.port)
      raw.write("GET /who HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: 203.0.113.\(10 + number % 90)\r\n\r\n")
      _ = await raw.readHead()
      _ = await raw.read(19)
      if await raw.upgrade(headers: "X-Forwarded-For: 203.0.113.2\r\n").hasPrefix("HTTP/1.1 101 ") { begun += 1 }
      raw.shutDown()
    }
    let perSecond = Double(most) / WebServerConfiguration.secondsForAllConnections
    let bound = Double(most) + perSecond * (MonotonicClock.now() - started).seconds + 1
    #expect(begun >= most && Double(begun) <= bound, "\(begun)")
  }

  /// Whose credentials fail by way of a proxy comes after all others for a while, on whatever connection; the proxy's never end for it.
  @Test func failuresThatAProxyBringsCountForItsClient() async throws {
    let ranks = Locked<[TurnRank]>([])
    let guess = HTTPRoute.get("/guess") { request in
      ranks.withLock { $0.append(request.rank) }
      var answer = HTTPResponse.text(401, "no")
      answer.credentials = .failed
      return answer
    }
    let server = try start(more: [guess])
    defer { server.stop() }
    let connections = try (0..<2).map { _ in try RawConnection(port: server.port) }
    func fail(_ client: Int, by place: Int) async -> TurnRank? {
      let raw = connections[place]
      raw.write("GET /guess HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: 203.0.113.\(client)\r\n\r\n")
      #expect(await raw.readHead().hasPrefix("HTTP/1.1 401 "))
      _ = await raw.read(3)
      return ranks.withLock { $0.last }
    }
    #expect(await fail(7, by: 0) == TurnRank())
    // One comes back every five seconds, which may be a while on a busy machine.
    var isLast = false
    for number in 0..<40 where !isLast { isLast = await fail(7, by: number % 2) == TurnRank(failures: 1) }
    #expect(isLast)
    #expect(await fail(8, by: 0) == TurnRank(), "another client of the same proxy")
  }

  @Test func aForgedHeaderChangesNothing() async throws {
    let server = try start(trusting: nil) { $0.maximumConnectionsPerAddress = 2 }
    defer { server.stop() }
    let held = try (0..<2).map { _ in try RawConnection(port: server.port) }
    for (index, raw) in held.enumerated() { await raw.upgrade(headers: "X-Forwarded-For: 203.0.113.\(index)\r\n") }
    let third = try RawConnection(port: server.port)
    #expect(await third.upgrade(headers: "X-Forwarded-For: 203.0.113.200\r\n") == "", "closed as soon as it came")
  }

  @Test(arguments: [
    ("", false), ("X-Forwarded-For: 127.0.0.1\r\n", true), ("X-Forwarded-For: 203.0.113.9\r\n", false),
    ("X-Forwarded-For: 127.0.0.1, 203.0.113.9\r\n", false), ("X-Forwarded-For: rubbish\r\n", false),
    ("Via: 1.1 p\r\n", false), ("X-Forwarded-For: 203.0.113.9, 127.0.0.1\r\n", false),
  ]) func aServerForItsOwnMachineTakesItFromATrustedProxy(headers: String, isTaken: Bool) async throws {
    let told = Locked(0)
    let change: (inout WebServerConfiguration) -> Void = {
      $0.refusesProxied = true
      $0.proxyRefused = { _, _ in told.withLock { $0 += 1 } }
    }
    let server = try start(change: change)
    defer { server.stop() }
    let answer = try await ask(server, headers)
    #expect(answer.hasPrefix("HTTP/1.1 \(isTaken ? 200 : 403) "), "\(answer)")
    #expect(told.withLock { $0 } == (isTaken ? 0 : 1))
    // The control: whoever is not trusted is refused in any case.
    let other = try start(trusting: nil, change: change)
    defer { other.stop() }
    #expect(try await ask(other, headers).hasPrefix("HTTP/1.1 \(headers.isEmpty ? 200 : 403) "))
  }
}
