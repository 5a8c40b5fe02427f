// The server's WebSocket end point over real loopback sockets.
import Basics
import Foundation
import TestSupport
import Testing

@testable import WebSockets

@Suite struct ServerTests {
  @Test func echoesTextAndSaysWhoCame() async throws {
    let log = EventLog()
    let server = try startEcho(log: log)
    defer { server.stop() }
    let raw = try RawConnection(port: server.port)
    let head = await raw.upgrade(headers: "Origin: http://127.0.0.1\r\n")
    #expect(head.hasPrefix("HTTP/1.1 101"))
    #expect(head.lowercased().contains("s3pplmbitxaq9kygzzhzrbk+xoo="))
    raw.send(text: "hallo, wörld")
    #expect(await raw.receiveText() == "hallo, wörld")
    let peer = await log.first { if case .opened(_, let peer) = $0 { peer } else { nil } }
    #expect(peer?.address?.host == "127.0.0.1")
    #expect(peer?.origin == "http://127.0.0.1")
    #expect(server.statistics.messagesIn == 1)
    #expect(server.statistics.webSocketsOpen == 1)
  }

  /// A close frame's payload, and whether the peer is taken to have meant it.
  @Test(
    arguments: [
      ([0x03, 0xe8], 1000, true), ([0x03, 0xe9], 1001, true), ([], 1005, true),
      ([0x0b, 0xb8, 0x62, 0x79, 0x65], 3000, false),
      ([0x03, 0xf3], 1011, false),
    ] as [([UInt8], UInt16, Bool)])
  func closeFrames(payload: [UInt8], code: UInt16, clean: Bool) async throws {
    let log = EventLog()
    let server = try startEcho(log: log)
    defer { server.stop() }
    let raw = try RawConnection(port: server.port)
    await raw.upgrade()
    raw.send(8, payload)
    #expect(await raw.receive()?.opcode == 8)
    let closure = await log.closure()
    #expect(closure?.cause == .peer)
    #expect(closure?.code == code)
    #expect(closure?.clean == clean)
    #expect(await raw.read(1).isEmpty)
  }

  /// The service thread waits before it makes these messages, until it is told to go on.
  private static func held(
    _ server: WebServer, before ids: [WebSocketID], _ make: @escaping @Sendable (Int) -> [UInt8]
  ) async -> () -> Void {
    let (isWaiting, mayGoOn) = (Locked(false), Locked(false))
    server.sender.send(toEach: ids) { index in
      isWaiting.withLock { $0 = true }
      for _ in 0..<3_000 where !mayGoOn.withLock({ $0 }) { Thread.sleep(forTimeInterval: 0.01) }
      return make(index)
    }
    #expect(await eventually { isWaiting.withLock { $0 } })
    return { mayGoOn.withLock { $0 = true } }
  }

  /// One who says goodbye and goes has not been lost, though the server's next writes fail before it reads that. The control goes
  /// without a word.
  @Test(arguments: [true, false]) func aCloseFrameIsReadThoughWritingFailsBefore(saysGoodbye: Bool) async throws {
    let log = EventLog()
    let server = try startEcho(log: log)
    defer { server.stop() }
    let raw = try RawConnection(port: server.port)
    await raw.upgrade()
    let id = try #require(await log.opened())
    // Before the first of three messages, until nobody takes them any more.
    let goOn = await Self.held(server, before: [id, id, id]) { Array("message \($0)".utf8) }
    if saysGoodbye { raw.send(8, [0x03, 0xe9]) }
    await raw.shutDownBehindWhatIsQueued()
    goOn()
    let closure = await log.closure()
    #expect(closure?.cause == (saysGoodbye ? .peer : .lost))
    #expect(closure?.code == (saysGoodbye ? 1001 : nil))
    #expect(await eventually { server.statistics.connections == 0 && server.statistics.webSocketsOpen == 0 })
  }

  /// A farewell that arrives while a message leaves is one: whatever a message's length, no frame of it is left half written.
  @Test(arguments: [100, 4_200, 6_000, OutputQueue.frameBytes, 3 * OutputQueue.frameBytes])
  func aCloseFrameIsReadBesideAMessage(of bytes: Int) async throws {
    let log = EventLog()
    let server = try startEcho(log: log)
    defer { server.stop() }
    let raw = try RawConnection(port: server.port)
    await raw.upgrade()
    let id = try #require(await log.opened())
    // Until the close frame is there: then the thread can both write and read.
    let goOn = await Self.held(server, before: [id]) { _ in [UInt8](repeating: 0x61, count: bytes) }
    raw.send(8, [0x03, 0xe9])
    await raw.allIsWritten()
    goOn()
    let closure = await log.closure()
    #expect(closure?.cause == .peer)
    #expect(closure?.code == 1001)
    #expect(await eventually { server.statistics.connections == 0 })
  }

  @Test(arguments: [true, false]) func aBrokenConnectionIsNotAClose(reset: Bool) async throws {
    let log = EventLog()
    let server = try startEcho(log: log)
    defer { server.stop() }
    let raw = try RawConnection(port: server.port)
    await raw.upgrade()
    #expect(await log.opened() != nil)
    if reset { raw.reset() } else { raw.shutDown() }
    let closure = await log.closure()
    #expect(closure?.cause == .lost)
    #expect(closure?.clean == false)
    #expect(await eventually { server.statistics.webSocketsOpen == 0 && server.statistics.connections == 0 })
    #expect(await eventually { server.statistics.closed[.lost] == 1 })
  }

  @Test func fragmentsAreJoinedAroundControlFrames() async throws {
    let server = try startEcho()
    defer { server.stop() }
    let raw = try RawConnection(port: server.port)
    await raw.upgrade()
    let text = Array("zwölf Boxkämpfer".utf8)
    raw.send(1, Array(text[..<3]), fin: false)  // splits the ö
    raw.send(9, [1, 2, 3])
    raw.send(0, [], fin: false)
    raw.send(0, Array(text[3...]), fin: true)
    // The pong may leave before the text or behind it.
    let frames = [try #require(await raw.receive()), try #require(await raw.receive())].sorted { $0.opcode < $1.opcode }
    #expect(frames.map(\.opcode) == [1, 10])
    #expect(frames[0].payload == text && frames[1].payload == [1, 2, 3])
    raw.send(1, [])
    #expect(await raw.receiveText() == "")
  }

  @Test func binaryIsReportedAndThrownAway() async throws {
    let log = EventLog()
    let server = try startEcho(log: log)
    defer { server.stop() }
    let raw = try RawConnection(port: server.port)
    await raw.upgrade()
    raw.send(2, [0xff, 0xfe], fin: false)
    raw.send(0, [0xff], fin: true)
    raw.send(text: "after")
    #expect(await raw.receiveText() == "after")
    #expect(log.all.filter { if case .binary = $0 { true } else { false } }.count == 1)
    #expect(log.texts == ["after"])
  }

  @Test(
    arguments: [
      [0xff], [0xc3], [0xed, 0xa0, 0x80], [0x61, 0xf4, 0x90, 0x80, 0x80], [0xc0, 0x80],
    ] as [[UInt8]])
  func textThatIsNotUTF8Closes1007(bytes: [UInt8]) async throws {
    let log = EventLog()
    let server = try startEcho(log: log)
    defer { server.stop() }
    let raw = try RawConnection(port: server.port)
    await raw.upgrade()
    raw.send(1, bytes)
    let frame = await raw.receive()
    #expect(frame?.opcode == 8)
    #expect(frame?.payload.prefix(2) == [0x03, 0xef])
    #expect(await log.closure()?.cause == .invalidText)
  }

  /// Frames that RFC 6455 forbids end the socket and nothing else.
  @Test(
    arguments: [
      RawConnection.frame(3, [1]), RawConnection.frame(0, [1]), RawConnection.frame(9, [1], fin: false),
      [0xf1, 0x80, 0, 0, 0, 0],
      [0x89, 0xfe, 0x01, 0x00, 0, 0, 0, 0], [0x81, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0],
    ] as [[UInt8]])
  func forbiddenFramesEndTheSocket(bytes: [UInt8]) async throws {
    let log = EventLog()
    let server = try startEcho(log: log)
    defer { server.stop() }
    let good = try RawConnection(port: server.port)
    await good.upgrade()
    let bad = try RawConnection(port: server.port)
    await bad.upgrade()
    bad.write(bytes)
    let frame = await bad.receive()
    #expect(frame == nil || frame?.opcode == 8)
    bad.send(8, [])
    #expect(await log.closure()?.clean == false)
    good.send(text: "still here")
    #expect(await good.receiveText() == "still here")
  }

  @Test func closeFollowsWhatIsQueued() async throws {
    let log = EventLog()
    let server = try startEcho(log: log)
    defer { server.stop() }
    let raw = try RawConnection(port: server.port)
    await raw.upgrade()
    let id = try #require(await log.opened())
    for n in 0..<50 { server.send(Array("\(n)".utf8) + Array(repeating: 0x20, count: 9000), to: id) }
    server.close(id, code: 4001, reason: "enough")
    server.send(Array("too late".utf8), to: id)
    for n in 0..<50 { #expect(await raw.receiveText()?.hasPrefix("\(n) ") == true) }
    let frame = try #require(await raw.receive())
    #expect(frame.opcode == 8)
    #expect(frame.payload == [0x0f, 0xa1] + Array("enough".utf8))
    let closure = await log.closure()
    #expect(closure == WebSocketClosure(cause: .local, code: 4001, reason: "enough"))
    server.close(id, code: 1000, reason: "twice")
    server.send([], to: WebSocketID(rawValue: 999))
    #expect(await eventually { server.statistics.messagesOut == 50 })
  }

  @Test func anOpenTextFromAnotherThreadKeepsItsOrder() async throws {
    let log = EventLog()
    let server = try startEcho(
      limits: .patient {
        $0.maximumQueuedBytes = 1 << 24
        $0.maximumQueuedMessages = 20_000
      }, log: log)
    defer { server.stop() }
    let raw = try RawConnection(port: server.port)
    await raw.upgrade()
    let id = try #require(await log.opened())
    let total = 10_000
    let sender = Task.detached {
      for n in 0..<total {
        if n % 2 == 0 { server.send(Array("\(n)".utf8), to: id) } else { server.send(to: id) { Array("\(n)".utf8) } }
      }
    }
    for n in 0..<total {
      let text = await raw.receiveText()
      if text != "\(n)" {
        Issue.record("message \(n) is \(text ?? "missing")")
        break
      }
    }
    await sender.value
    #expect(server.statistics.messagesOut == UInt64(total))
  }

  @Test func receivedMessagesKeepTheirOrder() async throws {
    let log = EventLog()
    let limits = WebSocketLimits.patient { $0.maximumQueuedMessages = 20_000 }
    let server = try startEcho(limits: limits, log: log)
    defer { server.stop() }
    let raw = try RawConnection(port: server.port)
    await raw.upgrade()
    let expected = (0..<10_000).map { "m\($0)" }
    var stream: [UInt8] = []
    for text in expected { stream += RawConnection.frame(1, Array(text.utf8)) }
    raw.write(stream)
    var answers = 0
    while answers < 10_000, await raw.receiveText() != nil { answers += 1 }
    #expect(answers == 10_000)
    #expect(log.texts.elementsEqual(expected) == true)
  }

  @Test func aClientThatStopsReadingIsDroppedAlone() async throws {
    let log = EventLog()
    let server = try startEcho(log: log)
    defer { server.stop() }
    let slow = try RawConnection(port: server.port, receiveBuffer: 4096)
    await slow.upgrade()
    let slowID = try #require(await log.opened())
    let quick = try RawConnection(port: server.port)
    await quick.upgrade()
    let piece = Array(repeating: UInt8(ascii: "a"), count: 65_536)
    var rounds = 0
    while server.statistics.closed[.slowReader] != 1, rounds < 2000 {
      for _ in 0..<4 { server.send(piece, to: slowID) }
      quick.send(text: "ping")
      #expect(await quick.receiveText() == "ping")
      rounds += 1
    }
    let closure = await log.closure(of: slowID)
    #expect(closure?.cause == .slowReader)
    #expect(closure?.reason.contains("bytes unread") == true)
    quick.send(text: "goes on")
    #expect(await quick.receiveText() == "goes on")
    #expect(await eventually { server.statistics.connections == 1 })
  }

  /// What waits for it is not sent any more; the code comes behind what was on its way.
  @Test func aSlowReaderThatReadsOnIsToldWhy() async throws {
    let log = EventLog()
    let server = try startEcho(log: log)
    defer { server.stop() }
    let slow = try RawSocket(port: server.port, receiveBuffer: 4096)
    slow.upgrade()
    let id = try #require(await log.opened())
    let piece = Array(repeating: UInt8(ascii: "a"), count: 65_536)
    let isGivenUp = await eventually {
      for _ in 0..<4 { server.send(piece, to: id) }
      return server.statistics.closed[.slowReader] == 1
    }
    #expect(isGivenUp)
    #expect(await log.closure(of: id)?.code == 4002)
    #expect(await eventually { slow.closeCode != nil || slow.isOver })
    #expect(slow.closeCode == 4002)
  }

  @Test func tooManySmallMessagesDropAStoppedReaderToo() async throws {
    let log = EventLog()
    let server = try startEcho(
      limits: .patient {
        $0.maximumQueuedBytes = 1 << 30
        $0.maximumQueuedMessages = 100
      }, log: log)
    defer { server.stop() }
    let slow = try RawConnection(port: server.port, receiveBuffer: 4096)
    await slow.upgrade()
    let id = try #require(await log.opened())
    let piece = Array(repeating: UInt8(ascii: "a"), count: 32_768)
    let dropped = await eventually {
      for _ in 0..<10 { server.send(piece, to: id) }
      return log.all.contains { if case .closed = $0 { true } else { false } }
    }
    #expect(dropped)
    #expect(await log.closure()?.cause == .slowReader)
  }

  @Test func aFullMailboxDropsTheSocketWhoseCommandDidNotFit() async throws {
    let log = EventLog()
    let gate = Locked(())
    let server = try startEcho(log: log) { $0.mailboxCapacity = 64 }
    defer { server.stop() }
    let raw = try RawConnection(port: server.port)
    await raw.upgrade()
    let id = try #require(await log.opened())
    // The service thread waits inside the first command, so that the others pile up.
    let refused = gate.withLock { _ -> Int in
      server.send(to: id) {
        Thread.sleep(forTimeInterval: 0.3)
        return []
      }
      Thread.sleep(forTimeInterval: 0.1)
      return (0..<100).count { _ in !server.send([0x78], to: id) }
    }
    #expect(refused == 36)
    #expect(await log.closure()?.cause == .overloaded)
  }

  @Test func aMessageToEachIsMadeForThoseWhoAreThere() async throws {
    let log = EventLog()
    let server = try startEcho(log: log)
    defer { server.stop() }
    let raws = try [RawConnection(port: server.port), RawConnection(port: server.port)]
    for raw in raws { await raw.upgrade() }
    let ids = await log.opened(2)
    try #require(ids.count == 2)
    let made = Locked<[Int]>([])
    server.sender.send(toEach: [ids[0], WebSocketID(rawValue: 99), ids[1]]) { index in
      made.withLock { $0.append(index) }
      return [UInt8(ascii: "a") + UInt8(index)]
    }
    var texts: Set<String> = []
    for raw in raws { texts.insert(try #require(await raw.receiveText())) }
    #expect(texts == ["a", "c"] && made.withLock { $0 } == [0, 2])
  }

  @Test func silenceIsPingedAndThenFatal() async throws {
    let log = EventLog()
    let limits = WebSocketLimits(pingInterval: .milliseconds(200), silenceLimit: .milliseconds(2500))
    let server = try startEcho(limits: limits, log: log)
    defer { server.stop() }
    let silent = try RawConnection(port: server.port)
    await silent.upgrade()
    let silentID = try #require(await log.opened())
    let polite = try RawConnection(port: server.port)
    await polite.upgrade()
    let pings = await polite.answerPings { pings in
      pings >= 3 && log.all.contains { if case .closed = $0 { true } else { false } }
    }
    #expect(pings >= 3)
    let closures = log.all.compactMap { if case .closed(let id, let closure) = $0 { (id, closure) } else { nil } }
    #expect(closures.count == 1)
    #expect(closures.first?.0 == silentID)
    #expect(closures.first?.1.cause == .silent)
    polite.send(text: "alive")
    #expect(await polite.receiveText() == "alive")
  }

  @Test func twoHundredAtOnce() async throws {
    let log = EventLog()
    let server = try startEcho(limits: WebSocketLimits(silenceLimit: .milliseconds(120_000)), log: log)
    defer { server.stop() }
    var connections: [RawConnection] = []
    for _ in 0..<200 {
      let connection = try RawConnection(port: server.port)
      #expect((await connection.upgrade()).hasPrefix("HTTP/1.1 101"))
      connections.append(connection)
    }
    for (n, connection) in connections.enumerated() { connection.send(text: "from \(n)") }
    for (n, connection) in connections.enumerated() { #expect(await connection.receiveText() == "from \(n)") }
    #expect(server.statistics.webSocketsOpen == 200)
    for connection in connections { connection.send(8, [0x03, 0xe9]) }
    #expect(await eventually { server.statistics.webSocketsOpen == 0 && server.statistics.connections == 0 })
    #expect(await eventually { server.statistics.closed[.peer] == 200 })
    #expect(Set(await log.opened(200)).count == 200)
  }

  @Test func connectionsAreCapped() async throws {
    let server = try startEcho { $0.maximumConnections = 3 }
    defer { server.stop() }
    let first = try (0..<3).map { _ in try RawConnection(port: server.port) }
    for connection in first { #expect(await connection.upgrade().hasPrefix("HTTP/1.1 101")) }
    let refused = try RawConnection(port: server.port)
    #expect(await refused.upgrade() == "")
    #expect(await eventually { server.statistics.connectionsRefused == 1 })
    first[0].shutDown()
    #expect(await eventually { server.statistics.connections == 2 })
    let again = try RawConnection(port: server.port)
    #expect(await again.upgrade().hasPrefix("HTTP/1.1 101"))
  }

  @Test func oneAddressCannotTakeEveryConnection() async throws {
    let server = try startEcho {
      $0.addresses = [SocketAddress(v4: 0x7f00_0001, port: 0)]
      $0.maximumConnectionsPerAddress = 2
    }
    defer { server.stop() }
    let first = try (0..<2).map { _ in try RawConnection(port: server.port) }
    for connection in first { #expect(await connection.upgrade().hasPrefix("HTTP/1.1 101")) }
    #expect(await (try RawConnection(port: server.port)).upgrade() == "")
    #expect(await eventually { server.statistics.connectionsRefused == 1 })
    first[0].shutDown()
    #expect(await eventually { server.statistics.connections == 1 })
    #expect(await (try RawConnection(port: server.port)).upgrade().hasPrefix("HTTP/1.1 101"))
  }

  @Test(arguments: [
    (SocketAddress(v4: 0x0a00_0001, port: 1), SocketAddress(v4: 0x0a00_0001, port: 2), true),
    (SocketAddress(v4: 0x0a00_0001, port: 1), SocketAddress(v4: 0x0a00_0002, port: 1), false),
    (SocketAddress(high: 7, low: 1, port: 1), SocketAddress(high: 7, low: 2, port: 1), true),
    (SocketAddress(high: 7, low: 1, port: 1), SocketAddress(high: 8, low: 1, port: 1), false),
  ])
  func connectionsAreCountedByNetwork(_ a: SocketAddress, _ b: SocketAddress, same: Bool) {
    #expect((PeerNetwork(a) == PeerNetwork(b)) == same)
  }

  @Test func stoppingSaysSoToEveryone() async throws {
    let log = EventLog()
    let server = try startEcho(log: log)
    var connections: [RawConnection] = []
    for _ in 0..<20 {
      connections.append(try RawConnection(port: server.port))
      await connections.last?.upgrade()
    }
    let start = ContinuousClock.now
    server.stop()
    #expect(ContinuousClock.now - start < .seconds(5), "400 ms, and what a busy machine adds")
    for connection in connections { #expect(await connection.receive()?.payload.prefix(2) == [0x03, 0xe9]) }
    let closures = log.all.compactMap { if case .closed(_, let closure) = $0 { closure.cause } else { nil } }
    #expect(closures == Array(repeating: .stopping, count: 20))
    server.stop()
    #expect(!server.send([], to: WebSocketID(rawValue: 1)))
    #expect(throws: WebSocketError.self) { _ = try RawConnection(port: server.port) }
  }
}

@Suite struct OutputQueueTests {
  /// Who has taken a part of a long message is behind by the rest of it alone.
  @Test func whatIsWrittenOfAMessageMakesRoom() throws {
    var queue = OutputQueue(limits: WebSocketLimits(maximumQueuedBytes: 20_000))
    let first = queue.append([UInt8](repeating: 1, count: 30_000))
    #expect(first, "the first may be longer than all that may wait")
    var second = queue.append([2])
    #expect(!second)
    for left in [30_000 - OutputQueue.frameBytes, 30_000 - 2 * OutputQueue.frameBytes] {
      let next = try #require(queue.next)
      queue.advance(next.frame)
      #expect(queue.queuedBytes == left)
    }
    second = queue.append([2])
    #expect(second)
    while let next = queue.next { queue.advance(next.frame) }
    #expect(queue.isEmpty && queue.queuedBytes == 0)
  }
}
