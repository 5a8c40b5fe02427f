// What clients do on purpose, or half: errors to HEAD, keys that are none, heads that do not end, and the end of the server in the midst of it.
import Basics
import Foundation
import TestSupport
import Testing

@testable import WebSockets

private let routes: [HTTPRoute] = [
  .get("/hello") { .text(200, "hello \($0.query)") },
  HTTPRoute(.path("/big"), methods: [.post], contentLimit: 10) { _, answer in
    answer(HTTPResponse(contentType: "text/plain", body: [UInt8](repeating: 0x61, count: 8_000_000)))
  },
  HTTPRoute(.path("/things"), methods: [.put], late: { $1(.text(200, "put")) }),
]

private func get(_ path: String, host: String = "localhost", more: String = "") -> String {
  "GET \(path) HTTP/1.1\r\nHost: \(host)\r\n\(more)\r\n"
}

@Suite(.timeLimit(.minutes(5))) struct HardeningTests {
  private func ask(_ server: WebServer, _ request: String) async throws -> String {
    let raw = try RawConnection(port: server.port)
    raw.write(request)
    return await raw.readToEnd()
  }

  // MARK: Answers to what is wrong

  /// No answer to HEAD has a body, whatever is wrong with the request (RFC 9110 §9.3.2).
  @Test(arguments: [
    ("/nothing", "Host: localhost\r\n", "404"), ("/things", "Host: localhost\r\n", "405"),
    ("/hello", "Host: evil.example\r\n", "421"), ("/hello", "Host: localhost\r\nX\u{1}: y\r\n", "400"),
    ("/hello", "", "400"),
  ])
  func errorsToHeadHaveNoBody(_ path: String, _ headers: String, _ status: String) async throws {
    let server = try startEcho(routes: routes)
    defer { server.stop() }
    let answer = try await ask(server, "HEAD \(path) HTTP/1.1\r\n\(headers)Connection: close\r\n\r\n")
    #expect(answer.hasPrefix("HTTP/1.1 \(status)") && answer.hasSuffix("\r\n\r\n"), "\(answer)")
    #expect(answer.components(separatedBy: "\r\n\r\n").count == 2, "\(answer)")
    // The control: the same request as GET has one.
    let full = try await ask(server, "GET \(path) HTTP/1.1\r\n\(headers)Connection: close\r\n\r\n")
    #expect(full.hasPrefix("HTTP/1.1 \(status)") && !full.hasSuffix("\r\n\r\n"), "\(full)")
  }

  // MARK: The handshake

  @Test(arguments: [
    ("dGhlIHNhbXBsZSBub25jZQ==", "13", "101"), ("dGhlIHNhbXBsZSBub25jZR==", "13", "400"),
    ("dGhlIHNhbXBsZSBub25jZQ=", "13", "400"), ("dGhlIHNhbXBsZSBub25j!Q==", "13", "400"),
    ("dGhlIHNhbXBsZSBub25jZQAA", "13", "400"), ("dGhlIHNhbXBsZSBub25jZQ==", "8", "426"),
  ])
  func keysAndVersionsAreChecked(_ key: String, _ version: String, _ status: String) async throws {
    let server = try startEcho()
    defer { server.stop() }
    let raw = try RawConnection(port: server.port)
    raw.write(
      get(
        "/rtc",
        more:
          "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: \(key)\r\nSec-WebSocket-Version: \(version)\r\n"
      ))
    let head = await raw.readHead().lowercased()
    #expect(head.hasPrefix("http/1.1 \(status)"), "\(head)")
    guard status == "426" else { return }
    #expect(
      head.contains("\r\nupgrade: websocket\r\n") && head.contains("\r\nsec-websocket-version: 13\r\n"), "\(head)")
  }

  /// The second request of a connection has no more time than the first.
  @Test func aSecondHeadIsCutOffToo() async throws {
    let server = try startEcho(routes: routes) { $0.handshakeSeconds = 1 }
    defer { server.stop() }
    let slow = try RawConnection(port: server.port)
    slow.write(get("/hello?1"))
    #expect(await slow.readHead().hasPrefix("HTTP/1.1 200"))
    let isOver = Locked(false)
    let trickle = Task.detached {
      slow.write("GET / HTTP/1.1\r\n")
      for n in 0..<80 where !Task.isCancelled {
        slow.write("X-\(n): y\r\n")
        try? await Task.sleep(for: .milliseconds(100))
      }
      isOver.withLock { $0 = true }
    }
    #expect(await eventually { server.statistics.connections == 0 })
    #expect(!isOver.withLock { $0 }, "headers that keep coming do not put it off")
    trickle.cancel()
  }

  /// The version is that of the server, whatever is wrong (RFC 9112 §2.3).
  @Test(arguments: [
    "GET /hello HTTP/1.0\r\n\r\n", "BREW /hello HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    "GET /rtc HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
    "GET /rtc HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
  ])
  func everyAnswerIsOfHTTP11(_ request: String) async throws {
    let server = try startEcho(routes: routes)
    defer { server.stop() }
    let answer = try await ask(server, request)
    #expect(answer.hasPrefix("HTTP/1.1 "), "\(answer)")
  }

  // MARK: Several servers

  /// Another listener of the same process: its own port, routes, path and origins.
  @Test func aSecondListenerHasItsOwnRoutesAndOrigins() async throws {
    let one = try startEcho(routes: [.get("/one") { _ in .text(200, "one") }])
    defer { one.stop() }
    let two = try startEcho(routes: [.get("/two") { _ in .text(200, "two") }]) {
      $0.webSocketPath = "/"
      $0.origins = .sameHost(allowing: ["https://app.example"])
    }
    defer { two.stop() }
    let close = "Connection: close\r\n"
    #expect(try await ask(one, get("/one", more: close)).hasPrefix("HTTP/1.1 200"))
    #expect(try await ask(one, get("/two", more: close)).hasPrefix("HTTP/1.1 404"))
    #expect(try await ask(two, get("/two", more: close)).hasPrefix("HTTP/1.1 200"))
    #expect(try await ask(two, get("/one", more: close)).hasPrefix("HTTP/1.1 404"))
    for (server, path, origin, status) in [
      (one, "/rtc", "https://app.example", "403"), (one, "/", "https://app.example", "404"),
      (two, "/", "https://app.example", "101"), (two, "/", "https://evil.example", "403"),
      (two, "/rtc", "https://app.example", "404"),
    ] {
      let raw = try RawConnection(port: server.port)
      let head = await raw.upgrade(path: path, headers: "Origin: \(origin)\r\n")
      #expect(head.hasPrefix("HTTP/1.1 \(status)"), "\(path) \(origin): \(head)")
      guard status == "101" else { continue }
      raw.send(text: "there?")
      #expect(await raw.receiveText() == "there?")
    }
    one.stop()
    #expect(try await ask(two, get("/two", more: close)).hasPrefix("HTTP/1.1 200"), "one ends without the other")
  }

  // MARK: TLS

  /// Writes that end half way, to a client that reads slowly.
  @Test func aLargeBodyArrivesWholeUnderTLS() async throws {
    let folder = try TemporaryFolder()
    try folder.makeCertificate()
    let files = TLSFiles(certificate: folder.path("certificate.pem"), privateKey: folder.path("key.pem"))
    let server = try startEcho(routes: routes) { $0.tls = files }
    defer { server.stop() }
    let asking = ["s_client", "-quiet", "-connect", "127.0.0.1:\(server.port)"]
    let request = "POST /big HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\nhi"
    let answer = try await withCheckedThrowingContinuation { continuation in
      DispatchQueue(label: "openssl").async {
        continuation.resume(with: Result { try openssl(asking, saying: request) })
      }
    }
    #expect(answer.hasPrefix("HTTP/1.1 200") && answer.utf8.suffix(8_000_000).allSatisfy { $0 == 0x61 })
    #expect(answer.utf8.count > 8_000_000 && answer.utf8.count < 8_002_000)
  }

  // MARK: The end

  /// Whoever was told of as open is told of as closed, also where the server stops in the midst of it, and then nothing more comes.
  @Test func stoppingInTheMidstOfHandshakesForgetsNobody() async throws {
    for _ in 0..<5 {
      let log = EventLog()
      let server = try startEcho(log: log, routes: routes)
      let raws = try (0..<100).map { _ in try RawSocket(port: server.port) }
      let upgrade =
        "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
        + "Sec-WebSocket-Version: 13\r\n"
      Thread.detachNewThread {
        for (n, raw) in raws.enumerated() {
          // Some in whole, some in half, some not at all.
          let request = Array(get("/rtc", more: upgrade).utf8)
          if n % 3 > 0 { raw.write(n % 3 == 1 ? request : Array(request.prefix(60))) }
        }
      }
      _ = await eventually(every: .milliseconds(1)) { server.statistics.webSocketsOpened > 3 }
      server.stop()
      let events = log.all
      var open: Set<WebSocketID> = []
      for event in events {
        switch event {
        case .opened(let id, _): #expect(open.insert(id).inserted)
        case .closed(let id, _): #expect(open.remove(id) != nil)
        default: break
        }
      }
      #expect(open.isEmpty && server.statistics.webSocketsOpen == 0 && server.statistics.connections == 0)
      try await Task.sleep(for: .milliseconds(20))
      #expect(log.all.count == events.count, "nothing comes after stop")
      #expect(await eventually { raws.allSatisfy(\.isOver) })
    }
  }
}
