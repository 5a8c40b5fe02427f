// Messages that begin and are not whole: for how long, and how much of them one address may have.
import Basics
import TestSupport
import Testing

@testable import WebSockets

@Suite struct UnfinishedFrameTests {
  /// What is unfinished behind each of these pieces: the number of what it is, and its bytes.
  private func follow(_ pieces: [[UInt8]]) -> [String] {
    var heads = FrameHeads()
    return pieces.map { piece in
      _ = piece.withUnsafeBytes { heads.read($0) }
      return heads.unfinished.map { "\($0.number):\($0.bytes)" } ?? "-"
    }
  }

  private func frame(_ opcode: UInt8, _ count: Int, fin: Bool = true) -> [UInt8] {
    RawConnection.frame(opcode, [UInt8](repeating: 0x61, count: count), fin: fin)
  }

  @Test func aMessageIsAllItsFrames() {
    let text = frame(1, 300)
    #expect(follow([[text[0]], [text[1]], Array(text[2..<9]), Array(text[9...])]) == ["1:0", "1:0", "1:300", "-"])
    // Control frames between its frames belong to it, and end nothing.
    #expect(
      follow([frame(1, 10, fin: false), frame(9, 4), frame(0, 20, fin: false), frame(0, 0, fin: false), frame(0, 5)])
        == ["1:10", "1:10", "1:30", "1:30", "-"])
    // A control frame that is alone is something of its own, and so is each message in one piece with others.
    let ping = frame(9, 4)
    #expect(follow([[ping[0]], Array(ping[1...]), text + [text[0]], Array(text[1...])]) == ["1:0", "-", "3:0", "-"])
    #expect(follow([frame(2, 70_000, fin: false) + frame(0, 0)]) == ["-"])
    #expect(follow([[0x82, 0xff] + [UInt8](repeating: 0xff, count: 8)]) == ["1:\(UInt64.max - 4)"])
    let endless: [UInt8] = [0x80, 0xff] + [UInt8](repeating: 0xff, count: 8)
    #expect(follow([frame(1, 5, fin: false) + endless]) == ["1:\(UInt64.max)"])
  }
}

@Suite struct UnfinishedTimeTests {
  private let here = PeerNetwork(SocketAddress(v4: 0xc000_0201, port: 1))
  private func at(_ milliseconds: Int) -> Instant { Instant.zero + .milliseconds(milliseconds) }
  private func message(_ number: UInt64, _ bytes: UInt64 = 100) -> FrameHeads.Unfinished {
    FrameHeads.Unfinished(number: number, bytes: bytes)
  }

  /// When a message is late that begins at 0, in milliseconds. `then`: what its frames announce later.
  private func end(_ bytes: UInt64, then more: (Int, UInt64)? = nil) -> Int64? {
    var all = UnfinishedMessages(MessageBounds())
    var state = MessageState(network: here)
    let id = WebSocketID(rawValue: 1)
    all.saw(message(1, bytes), of: id, &state, at: .zero)
    if let more { all.saw(message(1, more.1), of: id, &state, at: at(more.0)) }
    while all.next != .distantFuture {
      let next = all.next
      #expect(all.count == 1)
      while let due = all.nextDue(at: next) {
        if all.isLate(due.id, &state, due.moment, at: next) { return (next - .zero).milliseconds }
      }
    }
    return nil
  }

  @Test func aMessageHasTenSecondsAndALongOneThirty() {
    #expect(end(0) == 10_000 && end(65_536) == 10_000)
    #expect(end(65_537) == 30_000 && end(.max) == 30_000)
    #expect(end(10, then: (9_000, 65_537)) == 30_000, "the frame that makes it long comes later")
  }

  /// Who is late at a time, of one socket.
  private func isLate(_ all: inout UnfinishedMessages, _ state: inout MessageState, _ milliseconds: Int) -> Bool {
    var isLate = false
    while let due = all.nextDue(at: at(milliseconds)) {
      if all.isLate(due.id, &state, due.moment, at: at(milliseconds)) { isLate = true }
    }
    return isLate
  }

  /// Whatever comes in time costs one entry, and whoever is whole before the moment is let alone.
  @Test func whoIsWholeInTimeGoesOn() {
    var all = UnfinishedMessages(MessageBounds())
    var state = MessageState(network: here)
    let id = WebSocketID(rawValue: 1)
    for number in 0..<UInt64(1_000) {
      all.saw(message(number), of: id, &state, at: at(Int(number) * 9))
      all.saw(nil, of: id, &state, at: at(Int(number) * 9 + 1))
    }
    #expect(all.count == 1)
    all.saw(message(1_000), of: id, &state, at: at(9_999))
    #expect(!isLate(&all, &state, 10_000) && all.next == at(19_999))
    all.saw(nil, of: id, &state, at: at(19_998))
    #expect(!isLate(&all, &state, 19_999) && all.next == .distantFuture)
  }

  /// A short message behind a long one is looked at in its own time.
  @Test func aShortMessageBehindALongOneHasTenSeconds() {
    var all = UnfinishedMessages(MessageBounds())
    var state = MessageState(network: here)
    let id = WebSocketID(rawValue: 1)
    all.saw(message(1, 100_000), of: id, &state, at: .zero)
    all.saw(message(2, 5), of: id, &state, at: at(1_000))
    #expect(!isLate(&all, &state, 10_999) && isLate(&all, &state, 11_000))
  }

  /// While the thread could not look, nothing could be read.
  @Test func aStalledMachineIsNoSlowPeer() {
    var all = UnfinishedMessages(MessageBounds())
    var state = MessageState(network: here)
    let id = WebSocketID(rawValue: 1)
    all.saw(message(1), of: id, &state, at: .zero)
    all.woke(due: at(10_000), at: at(14_000))
    #expect(!isLate(&all, &state, 13_999) && all.next == at(14_000))
    #expect(isLate(&all, &state, 14_000))
    all.saw(message(2), of: id, &state, at: at(14_000))
    #expect(!isLate(&all, &state, 23_999) && isLate(&all, &state, 24_000))
  }

  @Test func anAddressHasFourMegabytesAndNotOneByteMore() {
    var all = UnfinishedMessages(MessageBounds())
    var states = (0..<10).map { _ in MessageState(network: here) }
    func keep(_ bytes: Int, _ index: Int) -> Int? {
      all.keep(bytes, of: WebSocketID(rawValue: UInt64(index)), &states[index])?.count
    }
    for index in 0..<8 { #expect(keep(512 << 10, index) == nil) }
    #expect(all.bytes(of: here) == 4 << 20)
    #expect(keep(1, 8) == 9, "all that have a part in it are named")
    var other = MessageState(network: PeerNetwork(SocketAddress(v4: 0xc000_0202, port: 1)))
    #expect(all.keep(512 << 10, of: WebSocketID(rawValue: 99), &other) == nil, "another address has its own")
    #expect(keep(0, 0) == nil && keep(2, 8) == nil)
    for index in 0..<10 { _ = keep(0, index) }
    #expect(all.bytes(of: here) == 0)
  }
}

@Suite(.timeLimit(.minutes(2))) struct UnfinishedMessageTests {
  private static func server(_ log: EventLog, _ change: (inout MessageBounds) -> Void) throws -> WebServer {
    try startEcho(log: log) { change(&$0.messages) }
  }

  /// The code of the close frame that comes.
  private static func code(_ raw: RawConnection) async -> Int {
    while let frame = await raw.receiveAny() {
      if frame.opcode == 8 { return frame.payload.prefix(2).reduce(0) { $0 << 8 | Int($1) } }
    }
    return 0
  }

  /// Ways to begin something, and what is said from time to time so that it does not end.
  private static let ways: [(about: String, first: [UInt8], more: [UInt8])] = [
    ("one byte of a head", [0x81], []),
    ("half a length", [0x81, 0xff, 0, 0, 0], []),
    ("a message and no end", Array(RawConnection.frame(1, [UInt8](repeating: 0x61, count: 5_000)).dropLast()), []),
    ("empty frames without end", RawConnection.frame(1, [], fin: false), RawConnection.frame(0, [], fin: false)),
    ("byte by byte", [0x81, 0xfe, 0x40, 0, 1, 2, 3, 4], [0x61]),
    ("with pings between", RawConnection.frame(1, [0x61], fin: false), RawConnection.frame(9, [1, 2])),
    ("bytes thrown away", RawConnection.frame(2, [1, 2, 3], fin: false), RawConnection.frame(0, [4], fin: false)),
    ("half a ping", [0x89, 0x84, 1, 2], []),
    ("half a close frame", [0x88, 0x82, 1, 2, 3, 4, 5], []),
  ]

  /// However it is not ended, and whatever is said meanwhile; and who sends whole ones goes on.
  @Test func whatDoesNotComeWholeIsCutOff() async throws {
    let log = EventLog()
    let server = try Self.server(log) { $0.patience = .seconds(3) }
    defer { server.stop() }
    let good = try RawConnection(port: server.port)
    await good.upgrade()
    var raws: [RawConnection] = []
    for way in Self.ways {
      let raw = try RawConnection(port: server.port)
      await raw.upgrade()
      raw.write(way.first)
      raws.append(raw)
    }
    func closed() -> [WebSocketClosure.Cause] {
      log.all.compactMap { if case .closed(_, let closure) = $0 { closure.cause } else { nil } }
    }
    // The good one sends in pieces, with pings between them, for as long as the others are there. They say what they say meanwhile.
    var texts = 0
    while closed().count < Self.ways.count, texts < 3_000 {
      good.send(1, Array("a\(texts)".utf8), fin: false)
      good.send(9, [7])
      let pong = await good.receive()
      #expect(pong?.opcode == 10 && pong?.payload == [7])
      good.send(0, Array("b".utf8))
      #expect(await good.receiveText() == "a\(texts)b")
      texts += 1
      for (raw, way) in zip(raws, Self.ways) where !way.more.isEmpty { raw.write(way.more) }
      try await Task.sleep(for: .milliseconds(20))
    }
    #expect(closed() == Array(repeating: .unfinished, count: Self.ways.count) && texts > 1)
    for (raw, way) in zip(raws, Self.ways) { #expect(await Self.code(raw) == 4004, "\(way.about)") }
    good.send(text: "after")
    #expect(await good.receiveText() == "after")
  }

  /// The time counts from the first byte, and a long message has more of it.
  @Test func aLongMessageHasItsOwnTime() async throws {
    let log = EventLog()
    let server = try Self.server(log) { ($0.patience, $0.longPatience) = (.milliseconds(500), .seconds(60)) }
    defer { server.stop() }
    let (short, long) = (try RawConnection(port: server.port), try RawConnection(port: server.port))
    for raw in [short, long] { await raw.upgrade() }
    let text = String(repeating: "x", count: (64 << 10) + 1)
    let frame = RawConnection.frame(1, Array(text.utf8))
    long.write(Array(frame.dropLast()))
    await long.allIsWritten()
    short.write(Array(RawConnection.frame(1, Array(text.utf8.dropLast())).dropLast()))
    #expect(await Self.code(short) == 4004)
    long.write(Array(frame.suffix(1)))
    #expect(await long.receiveText() == text)
  }

  /// The oldest gives way, and newer ones go on; other addresses have their own share.
  @Test func unfinishedBytesOfAnAddressAreBounded() async throws {
    let log = EventLog()
    let server = try Self.server(log) { $0.bytesPerAddress = 100_000 }
    defer { server.stop() }
    let raws = try (0..<4).map { try RawConnection(port: server.port, from: $0 == 3 ? 2 : 1) }
    for raw in raws { await raw.upgrade() }
    /// Begins a message, and waits until the server has it.
    func begin(_ index: Int, _ count: Int) async {
      raws[index].send(1, [UInt8](repeating: 0x61, count: count), fin: false)
      raws[index].send(9, [1])
      #expect(await raws[index].receive()?.opcode == 10)
    }
    await begin(0, 60_000)
    await begin(1, 40_000)
    await begin(3, 60_000)
    #expect(log.all.allSatisfy { if case .closed = $0 { false } else { true } }, "as much as may be")
    await begin(2, 1)
    #expect(await Self.code(raws[0]) == 4004)
    for (index, count) in [(1, 40_000), (2, 1), (3, 60_000)] {
      raws[index].send(0, [0x62])
      #expect(await raws[index].receiveText()?.utf8.count == count + 1)
    }
    // What is whole, thrown away or gone takes nothing any more.
    for _ in 0..<3 {
      await begin(1, 99_999)
      raws[1].send(0, [0x62])
      #expect(await raws[1].receiveText()?.utf8.count == 100_000)
    }
    #expect(log.all.count { if case .closed = $0 { true } else { false } } == 1)
  }
}
