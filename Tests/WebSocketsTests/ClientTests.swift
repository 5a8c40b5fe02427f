// The client end, against the real server and against a scripted one.
import Basics
import Foundation
import TestSupport
import Testing

@testable import WebSockets

@Suite struct ClientTests {
  private func url(_ server: WebServer, secure: Bool = false) throws -> WebSocketURL {
    try WebSocketURL("\(secure ? "wss" : "ws")://127.0.0.1:\(server.port)/rtc")
  }

  @Test func sendsBeforeItIsOpenAndClosesCleanly() async throws {
    let serverLog = EventLog()
    let server = try startEcho(log: serverLog)
    defer { server.stop() }
    let log = EventLog()
    let client = try WebSocketClient.connect(to: url(server), handler: log.handler)
    client.send(Array("early".utf8))
    #expect(await eventually { log.texts == ["early"] })
    client.send(Array(String(repeating: "ü", count: 100_000).utf8))
    #expect(await eventually { log.texts.count == 2 })
    #expect(log.texts.last == String(repeating: "ü", count: 100_000))
    client.close(code: 1000, reason: "bye")
    let closure = await serverLog.closure()
    #expect(closure == WebSocketClosure(cause: .peer, code: 1000, reason: "bye"))
    #expect(await log.closure()?.cause == .local)
    guard case .opened(_, let peer) = log.all.first else {
      Issue.record("opened comes first")
      return
    }
    #expect(peer.address?.port == server.port)
    client.send([0x61])  // into the void
  }

  @Test func hearsTheServersClose() async throws {
    let serverLog = EventLog()
    let server = try startEcho(log: serverLog)
    defer { server.stop() }
    let log = EventLog()
    let client = try WebSocketClient.connect(to: url(server), handler: log.handler)
    let id = try #require(await serverLog.opened())
    server.close(id, code: 4003, reason: "no more")
    let closure = await log.closure()
    #expect(closure == WebSocketClosure(cause: .peer, code: 4003, reason: "no more"))
    withExtendedLifetime(client) {}
  }

  @Test func saysThatNobodyListens() async throws {
    let server = try startEcho()
    let port = server.port
    server.stop()
    let log = EventLog()
    let client = try WebSocketClient.connect(to: WebSocketURL("ws://127.0.0.1:\(port)/rtc"), handler: log.handler)
    #expect(await log.closure()?.cause == .unreachable)
    #expect(log.all.count == 1)
    withExtendedLifetime(client) {}
  }

  @Test func saysThatTheHandshakeWasRefused() async throws {
    let server = try startEcho()
    defer { server.stop() }
    let log = EventLog()
    let wrong = try WebSocketURL("ws://127.0.0.1:\(server.port)/elsewhere")
    let client = try WebSocketClient.connect(to: wrong, handler: log.handler)
    #expect(await log.closure()?.cause == .unreachable)
    let foreign = EventLog()
    let page = try WebSocketClient.connect(to: url(server), origin: "http://evil.example", handler: foreign.handler)
    #expect(await foreign.closure()?.cause == .unreachable)
    #expect(server.statistics.handshakesRefused == 2)
    withExtendedLifetime((client, page)) {}
  }

  @Test func looksUpHostNames() async throws {
    let server = try startEcho { $0.addresses = [loopback] }
    defer { server.stop() }
    let log = EventLog()
    let client = try WebSocketClient.connect(
      to: WebSocketURL("ws://localhost:\(server.port)/rtc"), handler: log.handler)
    client.send([0x61])
    #expect(
      await eventually { log.texts == ["a"] || log.all.contains { if case .closed = $0 { true } else { false } } })
    let nowhere = EventLog()
    let lost = try WebSocketClient.connect(to: WebSocketURL("ws://nowhere.invalid/rtc"), handler: nowhere.handler)
    let closure = await nowhere.closure()
    #expect(closure?.cause == .unreachable)
    #expect(closure?.reason.contains("nowhere.invalid") == true)
    withExtendedLifetime((client, lost)) {}
  }

  @Test func aServerThatGoesSilentIsGivenUp() async throws {
    let log = EventLog()
    let server = try startEcho()
    let limits = WebSocketLimits(pingInterval: .milliseconds(200), silenceLimit: .milliseconds(2000))
    let client = try WebSocketClient.connect(to: url(server), limits: limits, handler: log.handler)
    #expect(await log.opened() != nil)
    try await Task.sleep(for: .milliseconds(2600))
    #expect(log.all.count == 1, "pongs keep it alive")
    server.stop()
    #expect(await log.closure() != nil)
    withExtendedLifetime(client) {}
  }

  @Test func hundredsShareAThread() async throws {
    let server = try startEcho()
    defer { server.stop() }
    let logs = (0..<300).map { _ in EventLog() }
    let clients = try logs.map { try WebSocketClient.connect(to: url(server), handler: $0.handler) }
    for (n, client) in clients.enumerated() { client.send(Array("\(n)".utf8)) }
    for (n, log) in logs.enumerated() { #expect(await eventually { log.texts == ["\(n)"] }) }
    #expect(server.statistics.webSocketsOpen == 300)
    for client in clients { client.close(code: 1001) }
    #expect(await eventually { server.statistics.webSocketsOpen == 0 })
    #expect(await eventually { server.statistics.closed[.peer] == 300 })
  }

  @Test(
    arguments: [
      ("ws://a/b?c=d", false, "a", 80, "/b?c=d"), ("wss://a", true, "a", 443, "/"),
      ("ws://1.2.3.4:80/x#y", false, "1.2.3.4", 80, "/x"),
      ("WS://[::1]:8080/rtc", false, "::1", 8080, "/rtc"), ("https://h:1?q", true, "h", 1, "/?q"),
    ] as [(String, Bool, String, UInt16, String)])
  func goodURLs(text: String, secure: Bool, host: String, port: UInt16, path: String) throws {
    let url = try WebSocketURL(text)
    #expect(url.isSecure == secure)
    #expect(url.host == host)
    #expect(url.port == port)
    #expect(url.path == path)
    #expect(try WebSocketURL(url.description) == url)
  }

  @Test(arguments: [
    "", "ws://", "ftp://a", "ws://a:0", "ws://a:70000", "ws://a:x", "ws://u@a", "ws://[::1", "ws://::1", "ws://a b",
    "ws://a\r\nX: y",
    "ws://ä",
  ])
  func badURLs(text: String) {
    #expect(throws: WebSocketError.badURL(text)) { _ = try WebSocketURL(text) }
  }
}

@Suite struct TLSTests {
  /// A certificate of this test's own making.
  private static func makeFiles() throws -> (folder: TemporaryFolder, files: TLSFiles) {
    let folder = try TemporaryFolder()
    try folder.makeCertificate()
    return (folder, TLSFiles(certificate: folder.path("certificate.pem"), privateKey: folder.path("key.pem")))
  }

  /// A server that starts must not disturb the handshakes of others.
  @Test func serversThatComeDisturbNobody() async throws {
    let (folder, files) = try Self.makeFiles()
    defer { withExtendedLifetime(folder) {} }
    let server = try startEcho { $0.tls = files }
    defer { server.stop() }
    let url = try WebSocketURL("wss://127.0.0.1:\(server.port)/rtc")
    let others = Task {
      while !Task.isCancelled { try startEcho { $0.tls = files }.stop() }
    }
    defer { others.cancel() }
    for _ in 0..<100 {
      let log = EventLog()
      let client = try WebSocketClient.connect(to: url, trust: .anyCertificate, handler: log.handler)
      client.send(Array("hello".utf8))
      _ = await log.first { event in
        switch event {
        case .text, .closed: true
        default: nil as Bool?
        }
      }
      #expect(log.texts == ["hello"], "\(log.all)")
      client.close()
      if log.texts.isEmpty { break }
    }
  }

  @Test func carriesWebSocketsAndChecksCertificates() async throws {
    let (folder, files) = try Self.makeFiles()
    defer { withExtendedLifetime(folder) {} }
    let server = try startEcho { $0.tls = files }
    defer { server.stop() }
    let url = try WebSocketURL("wss://127.0.0.1:\(server.port)/rtc")
    let log = EventLog()
    let client = try WebSocketClient.connect(to: url, trust: .anyCertificate, handler: log.handler)
    let text = String(repeating: "sealed ", count: 30_000)
    client.send(Array(text.utf8))
    #expect(await eventually { log.texts == [text] })
    client.close()
    #expect(await eventually { server.statistics.closed[.peer] == 1 })

    let suspicious = EventLog()
    let refused = try WebSocketClient.connect(to: url, handler: suspicious.handler)
    #expect(await suspicious.closure()?.cause == .unreachable)
    withExtendedLifetime(refused) {}

    let plain = try RawConnection(port: server.port)
    #expect(!(await plain.upgrade()).hasPrefix("HTTP/1.1 101"))
  }

  @Test func namesTheFileThatIsWrong() throws {
    let (folder, files) = try Self.makeFiles()
    let missing = folder.path("nothing.pem")
    func start(_ files: TLSFiles) throws {
      try WebServer.start(WebServerConfiguration(addresses: [loopback], tls: files)) { _ in }.stop()
    }
    #expect(throws: WebSocketError.unreadableFile(path: missing, reason: "No such file or directory")) {
      try start(TLSFiles(certificate: missing, privateKey: files.privateKey))
    }
    #expect(throws: WebSocketError.unreadableFile(path: missing, reason: "No such file or directory")) {
      try start(TLSFiles(certificate: files.certificate, privateKey: missing))
    }
    let swapped = TLSFiles(certificate: files.privateKey, privateKey: files.certificate)
    let error = #expect(throws: WebSocketError.self) { try start(swapped) }
    #expect(error?.description.contains(files.privateKey) == true)
    guard case .unusableCertificate = error else {
      Issue.record("\(String(describing: error))")
      return
    }
  }
}
