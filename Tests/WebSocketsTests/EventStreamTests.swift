// Server-sent events: what they are on the wire, who reads them, and what a reader that goes, stops or talks costs.
import Basics
import Foundation
import TestSupport
import Testing

@testable import WebSockets

#if canImport(Glibc)
  import Glibc
#endif

/// The streams of one server, and what was said of their ends.
private final class Streams: Sendable {
  let open = Locked<[EventStream]>([])
  let ended = Locked(0)
  /// The clock of the service thread's CPU time.
  let clock = Locked<clockid_t?>(nil)

  func start(_ change: (inout WebServerConfiguration) -> Void = { _ in }) throws -> WebServer {
    let route = HTTPRoute(.path("/events")) { _ in
      .events(
        EventStreamOwner(
          opened: { stream in self.open.withLock { $0.append(stream) } },
          ended: { self.ended.withLock { $0 += 1 } }))
    }
    let measured = HTTPRoute(.path("/clock")) { _ in
      var clock = clockid_t()
      pthread_getcpuclockid(pthread_self(), &clock)
      self.clock.withLock { [clock] in $0 = clock }
      return .text(200, "measured")
    }
    let never = HTTPRoute(.path("/late"), late: { _, _ in })
    let long = HTTPRoute(.path("/long")) { _ in .text(200, Streams.longText) }
    // By another thread: the service thread has stopped reading by then.
    let soon = HTTPRoute(
      .path("/soon"), late: { _, answer in DispatchQueue.global().async { answer(.text(200, "soon")) } })
    return try startEcho(routes: [route, measured, never, long, soon], change: change)
  }

  /// More than a connection takes at once.
  static let longText = String(repeating: "all work and no play ", count: 1 << 19)

  var count: Int { open.withLock { $0.count } }

  /// Seconds of CPU time of the service thread in `seconds`.
  func busy(_ server: WebServer, for seconds: Double) async throws -> Double {
    let asking = try RawConnection(port: server.port)
    asking.write("GET /clock HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    _ = await asking.readToEnd()
    let clock = try #require(clock.withLock { $0 })
    func now() -> Double {
      var time = timespec()
      clock_gettime(clock, &time)
      return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
    let began = now()
    try await Task.sleep(for: .seconds(seconds))
    return now() - began
  }
}

private func ask(_ method: String = "GET", _ path: String = "/events") -> String {
  "\(method) \(path) HTTP/1.1\r\nHost: localhost\r\n\r\n"
}

@Suite(.timeLimit(.minutes(5))) struct EventStreamTests {
  @Test(arguments: [
    (ServerSentEvent(data: "plain"), "data: plain\n\n"),
    (ServerSentEvent("active", data: "{}", id: "7"), "event: active\nid: 7\ndata: {}\n\n"),
    (ServerSentEvent(data: "two\nlines"), "data: two\ndata: lines\n\n"),
    (ServerSentEvent(data: "a\r\nb\rc"), "data: a\ndata: b\ndata: c\n\n"),
    (ServerSentEvent(data: ""), "data: \n\n"),
    (ServerSentEvent("a\nb", data: "x", id: "1\r\n\u{0}2"), "event: ab\nid: 12\ndata: x\n\n"),
  ])
  func anEventOnTheWire(_ event: ServerSentEvent, _ expected: String) {
    #expect(String(decoding: event.encoded, as: UTF8.self) == expected)
  }

  @Test func eventsComeInTheirOrderUntilTheStreamEnds() async throws {
    let streams = Streams()
    let server = try streams.start()
    defer { server.stop() }
    let reader = try RawConnection(port: server.port)
    reader.write(ask())
    let head = await reader.readHead().lowercased()
    #expect(head.hasPrefix("http/1.1 200"))
    #expect(head.contains("\r\ncontent-type: text/event-stream\r\n"))
    #expect(head.contains("\r\ncache-control: no-store\r\n"))
    #expect(!head.contains("content-length") && head.contains("\r\nconnection: close\r\n"), "\(head)")
    #expect(await eventually { streams.count == 1 })
    let stream = try #require(streams.open.withLock { $0.first })
    for number in 0..<1000 { #expect(stream.send(ServerSentEvent("tick", data: "\(number)"))) }
    #expect(streams.ended.withLock { $0 } == 0)
    stream.end()
    let text = await reader.readToEnd()
    #expect(text == (0..<1000).map { "event: tick\ndata: \($0)\n\n" }.joined())
    #expect(await eventually { streams.ended.withLock { $0 } == 1 && server.statistics.connections == 0 })
    stream.send(ServerSentEvent(data: "to nobody"))
    stream.end()
  }

  @Test(arguments: ["closes", "resets", "talks"]) func aReaderThatLeavesEndsItsStreamAlone(_ how: String) async throws {
    let streams = Streams()
    let server = try streams.start()
    defer { server.stop() }
    let (leaving, staying) = (try RawConnection(port: server.port), try RawConnection(port: server.port))
    leaving.write(ask())
    _ = await leaving.readHead()
    #expect(await eventually { streams.count == 1 })
    staying.write(ask())
    _ = await staying.readHead()
    #expect(await eventually { streams.count == 2 })
    switch how {
    case "closes": leaving.shutDown()
    case "resets": leaving.reset()
    default: leaving.write("G")
    }
    #expect(await eventually { streams.ended.withLock { $0 } == 1 && server.statistics.connections == 1 })
    for stream in streams.open.withLock({ $0 }) { stream.send(ServerSentEvent(data: "still?")) }
    #expect(String(decoding: await staying.read(14), as: UTF8.self) == "data: still?\n\n")
    #expect(streams.ended.withLock { $0 } == 1)
  }

  @Test func aReaderThatDoesNotReadIsCutOffAlone() async throws {
    let streams = Streams()
    let server = try streams.start()
    defer { server.stop() }
    let slow = try RawConnection(port: server.port, receiveBuffer: 4096)
    let quick = try RawConnection(port: server.port)
    slow.write(ask())
    #expect(await eventually { streams.count == 1 })
    quick.write(ask())
    #expect(await eventually { streams.count == 2 })
    _ = await quick.readHead()
    let event = ServerSentEvent(data: String(repeating: "x", count: 8000))
    var sent = 0
    while streams.ended.withLock({ $0 }) == 0, sent < 5000 {
      for stream in streams.open.withLock({ $0 }) { stream.send(event) }
      sent += 1
      #expect(await quick.read(event.encoded.count) == event.encoded)
    }
    #expect(streams.ended.withLock { $0 } == 1, "after \(sent) events")
    #expect(await eventually { server.statistics.connections == 1 })
  }

  @Test func aSilentStreamIsKeptAlive() async throws {
    let streams = Streams()
    let server = try streams.start { $0.streamCommentInterval = .milliseconds(50) }
    defer { server.stop() }
    let reader = try RawConnection(port: server.port)
    reader.write(ask())
    _ = await reader.readHead()
    #expect(String(decoding: await reader.read(9), as: UTF8.self) == ":\n\n:\n\n:\n\n")
  }

  @Test func thereAreOnlySoMany() async throws {
    let streams = Streams()
    let server = try streams.start { $0.maximumEventStreams = 2 }
    defer { server.stop() }
    let readers = try (0..<2).map { _ in try RawConnection(port: server.port) }
    for reader in readers {
      reader.write(ask())
      _ = await reader.readHead()
    }
    #expect(await eventually { streams.count == 2 })
    let refused = try RawConnection(port: server.port)
    refused.write(ask())
    let answer = await refused.readToEnd()
    #expect(answer.hasPrefix("HTTP/1.1 503") && answer.lowercased().contains("retry-after: 10"), "\(answer)")
    readers[0].shutDown()
    #expect(await eventually { streams.ended.withLock { $0 } == 1 })
    let next = try RawConnection(port: server.port)
    next.write(ask())
    #expect(await next.readHead().hasPrefix("HTTP/1.1 200"))
  }

  @Test func oneAddressCannotTakeThemAll() async throws {
    let streams = Streams()
    let server = try streams.start { $0.maximumEventStreamsPerAddress = 2 }
    defer { server.stop() }
    let readers = try (0..<2).map { _ in try RawConnection(port: server.port) }
    for reader in readers {
      reader.write(ask())
      _ = await reader.readHead()
    }
    let refused = try RawConnection(port: server.port)
    refused.write(ask())
    #expect(await refused.readToEnd().hasPrefix("HTTP/1.1 503"))
    let other = try RawConnection(port: server.port, from: 2)
    other.write(ask())
    #expect(await other.readHead().hasPrefix("HTTP/1.1 200"))
    readers[0].shutDown()
    #expect(await eventually { streams.ended.withLock { $0 } == 1 })
    let next = try RawConnection(port: server.port)
    next.write(ask())
    #expect(await next.readHead().hasPrefix("HTTP/1.1 200"))
  }

  @Test func nothingGoesOnBehindAHeadOrInFrontOfAnotherRequest() async throws {
    let streams = Streams()
    let server = try streams.start()
    defer { server.stop() }
    let head = try RawConnection(port: server.port)
    head.write(ask("HEAD"))
    let answer = await head.readToEnd()
    #expect(answer.hasPrefix("HTTP/1.1 200") && answer.hasSuffix("\r\n\r\n"), "\(answer)")
    for more in [ask(), "GET /ev"] {
      let pipelined = try RawConnection(port: server.port)
      pipelined.write(ask() + more)
      #expect(await pipelined.readHead().hasPrefix("HTTP/1.1 400"))
    }
    // In front of it too: what the library has kept of its own it would ask to write for, for ever.
    let behind = try RawConnection(port: server.port)
    behind.write("HEAD /clock HTTP/1.1\r\nHost: localhost\r\n\r\n" + ask())
    #expect(await behind.readHead().hasPrefix("HTTP/1.1 200"))
    #expect(await behind.readHead().hasPrefix("HTTP/1.1 400"))
    #expect(streams.count == 0)
    // One after the other is all right.
    let later = try RawConnection(port: server.port)
    later.write("HEAD /clock HTTP/1.1\r\nHost: localhost\r\n\r\n")
    #expect(await later.readHead().hasPrefix("HTTP/1.1 200"))
    later.write(ask())
    #expect(await later.readHead().hasPrefix("HTTP/1.1 200"))
    #expect(await eventually { streams.count == 1 })
  }

  /// All in one go, before the thread has written any of it.
  @Test func aQuickReaderGetsABurst() async throws {
    let streams = Streams()
    let server = try streams.start()
    defer { server.stop() }
    let reader = try RawConnection(port: server.port)
    reader.write(ask())
    _ = await reader.readHead()
    #expect(await eventually { streams.count == 1 })
    let stream = try #require(streams.open.withLock { $0.first })
    let event = ServerSentEvent(data: String(repeating: "x", count: 20_000))
    for _ in 0..<6 { stream.send(event) }
    stream.end()
    #expect(await reader.readToEnd().utf8.count == 6 * event.encoded.count)
  }

  @Test func stoppingEndsStreams() async throws {
    let streams = Streams()
    let server = try streams.start()
    let reader = try RawConnection(port: server.port)
    reader.write(ask())
    _ = await reader.readHead()
    #expect(await eventually { streams.count == 1 })
    server.stop()
    #expect(streams.ended.withLock { $0 } == 1)
    #expect(await reader.readToEnd().isEmpty)
  }

  @Test func eventsComeUnderTLS() async throws {
    let folder = try TemporaryFolder()
    try folder.makeCertificate()
    let streams = Streams()
    let server = try streams.start {
      $0.tls = TLSFiles(certificate: folder.path("certificate.pem"), privateKey: folder.path("key.pem"))
    }
    defer { server.stop() }
    let telling = Task.detached {
      _ = await eventually { streams.count == 1 }
      for stream in streams.open.withLock({ $0 }) {
        for number in 0..<100 { stream.send(ServerSentEvent(data: "\(number)")) }
        stream.end()
      }
    }
    let asking = ["s_client", "-quiet", "-connect", "127.0.0.1:\(server.port)"]
    let answer = try await withCheckedThrowingContinuation { continuation in
      DispatchQueue(label: "openssl").async { continuation.resume(with: Result { try openssl(asking, saying: ask()) }) }
    }
    await telling.value
    #expect(answer.hasSuffix((0..<100).map { "data: \($0)\n\n" }.joined()), "\(answer.suffix(100))")
    #expect(streams.ended.withLock { $0 } == 1)
  }

  /// A client that says something while it is answered costs nobody anything: the library would ask again and again whether it can read.
  @Test(arguments: [("", "/late"), ("", "/events"), ("HEAD /clock HTTP/1.1\r\nHost: localhost\r\n\r\n", "/late")])
  func aByteDuringAnAnswerDoesNotKeepTheThread(_ before: String, _ path: String) async throws {
    let streams = Streams()
    let server = try streams.start()
    defer { server.stop() }
    let talker = try RawConnection(port: server.port, receiveBuffer: 4096)
    talker.write(before + ask("GET", path))
    #expect(await eventually { server.statistics.httpRequests == (before.isEmpty ? 1 : 2) })
    try await Task.sleep(for: .milliseconds(100))
    if before.isEmpty { talker.write("G") }
    let busy = try await streams.busy(server, for: 1)
    #expect(busy < 0.3, "\(busy) seconds in one")
  }

  /// Who reads none of many answers, and asks on, is not read either once the connection takes no more.
  @Test(arguments: [("HEAD", "/clock"), ("GET", "/clock"), ("HEAD", "/soon"), ("GET", "/soon")])
  func whoAsksOnAndNeverReadsDoesNotKeepTheThread(method: String, path: String) async throws {
    let streams = Streams()
    let server = try streams.start()
    defer { server.stop() }
    let talker = try RawConnection(port: server.port, receiveBuffer: 2048, segment: 536)
    var answered: UInt64 = 0
    for number in 1...20_000 {
      talker.write(ask(method, path))
      guard
        await eventually(
          within: .seconds(3), every: .milliseconds(1), { server.statistics.httpRequests == number })
      else { break }
      answered = UInt64(number)
    }
    #expect(answered > 100 && answered < 20_000, "\(answered) answers fill the buffer")
    let busy = try await streams.busy(server, for: 1)
    #expect(busy < 0.3, "\(busy) seconds in one")
  }

  /// The same of an answer that is left half read. Where more than its request was read already, the connection is ended.
  @Test(arguments: ["", "HEAD /clock HTTP/1.1\r\nHost: localhost\r\n\r\n"])
  func aByteBehindAHalfReadAnswerDoesNotKeepTheThread(_ before: String) async throws {
    let streams = Streams()
    let server = try streams.start()
    defer { server.stop() }
    let talker = try RawConnection(port: server.port, receiveBuffer: 4096)
    talker.write(before + ask("GET", "/long"))
    #expect(await talker.readHead().hasPrefix("HTTP/1.1 200"))
    try await Task.sleep(for: .milliseconds(200))
    talker.write("G")
    let busy = try await streams.busy(server, for: 1)
    #expect(busy < 0.3, "\(busy) seconds in one")
  }

  /// Who reads slowly gets all of an answer, and the answer to what was asked meanwhile.
  @Test(arguments: [false, true]) func aSlowReaderGetsAllOfAnAnswer(asksMeanwhile: Bool) async throws {
    let streams = Streams()
    let server = try streams.start()
    defer { server.stop() }
    let reader = try RawConnection(port: server.port, receiveBuffer: 4096)
    for turn in 0..<2 {
      if turn == 0 || !asksMeanwhile { reader.write(ask("GET", "/long")) }
      #expect(await reader.readHead().hasPrefix("HTTP/1.1 200"))
      try await Task.sleep(for: .milliseconds(200))
      if turn == 0, asksMeanwhile { reader.write(ask("GET", "/long")) }
      let text = Array((Streams.longText + "\n").utf8)
      #expect(await reader.read(text.count) == text)
    }
    reader.shutDown()
    #expect(await eventually { server.statistics.connections == 0 })
  }

  /// Who does not read an answer for ten seconds is cut off, as who hangs up is.
  @Test(arguments: [false, true]) func whoLeavesAnAnswerHalfReadIsCutOff(hangsUp: Bool) async throws {
    let streams = Streams()
    let server = try streams.start { $0.handshakeSeconds = 2 }
    defer { server.stop() }
    let reader = try RawConnection(port: server.port, receiveBuffer: 4096)
    reader.write(ask("GET", "/long"))
    #expect(await reader.readHead().hasPrefix("HTTP/1.1 200"))
    if hangsUp { reader.reset() }
    #expect(await eventually(within: .seconds(20)) { server.statistics.connections == 0 })
  }
}
