// Frames of clients that are not masked (RFC 6455 §5.1): the connection is closed with 1002, and nothing of them is heard.
import Foundation
import TestSupport
import Testing

@testable import WebSockets

/// A frame as a server sends it.
private func bare(_ opcode: UInt8, _ text: String, fin: Bool = true) -> [UInt8] {
  [(fin ? 0x80 : 0) | opcode, UInt8(text.utf8.count)] + Array(text.utf8)
}

private func masked(_ opcode: UInt8, _ count: Int) -> [UInt8] {
  RawConnection.frame(opcode, [UInt8](repeating: 0x61, count: count))
}

@Suite struct FrameHeadTests {
  /// - Returns: how many bytes were good ones, in pieces of `size`.
  private func read(_ bytes: [UInt8], pieces size: Int, _ heads: inout FrameHeads) -> Int {
    var good = 0
    for start in stride(from: 0, to: bytes.count, by: size) {
      let piece = Array(bytes[start..<min(start + size, bytes.count)])
      good += piece.withUnsafeBytes { heads.read($0) }
    }
    return good
  }

  @Test(arguments: [1, 2, 3, 7, 1000, 1 << 20]) func framesAreFollowed(_ size: Int) {
    let good =
      [0, 1, 125, 126, 65_535, 65_536, 100_000].flatMap { masked(1, $0) } + masked(9, 4)
      + RawConnection.frame(8, [3, 0xe8])
    var heads = FrameHeads()
    #expect(read(good, pieces: size, &heads) == good.count && heads.fault == nil)
    for kind: UInt8 in [0, 1, 2, 8, 9, 10] {
      var heads = FrameHeads()
      let bytes = good + bare(kind, "hi") + good
      let taken = read(bytes, pieces: size, &heads)
      #expect(heads.fault == .unmasked)
      // The flags may have been read before the length was there.
      #expect(taken == good.count || size < bytes.count && taken == good.count + 1, "\(taken)")
      #expect(read(good, pieces: size, &heads) == 0, "nothing more is taken")
    }
  }

  /// A length that no frame has: it is followed, and nothing is counted over.
  @Test func theLongestLengthIsNoTrap() {
    var heads = FrameHeads()
    let bytes: [UInt8] = [0x82, 0xff] + [UInt8](repeating: 0xff, count: 8) + [1, 2, 3, 4]
    #expect(read(bytes + [UInt8](repeating: 0, count: 5000), pieces: 16, &heads) == bytes.count + 5000)
    #expect(heads.fault == nil)
  }
}

/// Close frames and control frames that no client may send, the close code for them, and what the library alone makes of them.
private let forbidden: [(what: String, frame: [UInt8], code: Int, cause: WebSocketClosure.Cause)] =
  [
    ("a close frame of one byte", RawConnection.frame(8, [3]), 1002, .malformed),
    ("a ping in pieces", fragment(9, "he"), 1002, .malformed), ("a pong in pieces", fragment(10, ""), 1002, .malformed),
    ("a close frame in pieces", fragment(8, "\u{3}\u{68}"), 1002, .malformed),
    ("a ping of 126 bytes", masked(9, 126), 1002, .malformed),
    ("a pong of 70,000 bytes", masked(10, 70_000), 1002, .malformed),
    ("a close frame of 126 bytes", masked(8, 126), 1002, .malformed),
    ("a reason that is not UTF-8", RawConnection.frame(8, [3, 0xe8, 0x61, 0xff]), 1007, .invalidText),
    ("a reason that ends in the middle", RawConnection.frame(8, [3, 0xe8, 0xe2, 0x82]), 1007, .invalidText),
    ("half of a surrogate pair", RawConnection.frame(8, [3, 0xe8, 0xed, 0xa0, 0x80]), 1007, .invalidText),
  ]
  + [0, 1, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65_535].map { (code: Int) in
    ("the code \(code)", RawConnection.frame(8, [UInt8(code >> 8), UInt8(code & 0xff)]), 1002, .malformed)
  }

/// A first piece of a control frame.
private func fragment(_ opcode: UInt8, _ text: String) -> [UInt8] {
  var frame = RawConnection.frame(opcode, Array(text.utf8))
  frame[0] &= 0x7f
  return frame
}

@Suite(.timeLimit(.minutes(2))) struct ForbiddenFrameTests {
  @Test(arguments: [true, false]) func noneOfThemIsACloseOrHeard(isWhole: Bool) async throws {
    let log = EventLog()
    let server = try startEcho(log: log)
    defer { server.stop() }
    let sent = forbidden.filter { isWhole || $0.frame.count < 200 }
    for (index, (what, frame, code, cause)) in sent.enumerated() {
      let raw = try RawConnection(port: server.port)
      await raw.upgrade()
      raw.send(text: "good")
      #expect(await raw.receiveText() == "good")
      if isWhole { raw.write(frame) } else { for byte in frame { raw.write([byte]) } }
      let answer = await raw.receive()
      let said = answer.map { $0.opcode == 8 ? $0.payload.prefix(2).reduce(0) { $0 << 8 | Int($1) } : 0 }
      #expect(said == code, "\(what)")
      raw.send(8, [3, 0xea])
      #expect(await raw.readToEnd().isEmpty, "\(what)")
      #expect(await eventually { log.closures.count == index + 1 }, "\(what)")
      let closure = log.closures.last
      #expect(closure?.cause == cause && closure?.code == UInt16(code) && closure?.clean == false, "\(what)")
    }
    #expect(Set(log.texts) == ["good"])
    #expect(await eventually { server.statistics.connections == 0 })
  }

  /// The control: whatever a frame may carry is a close as before, however it comes.
  @Test(arguments: [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 3000, 4999])
  func whatMayBeSaidIsHeard(code: Int) async throws {
    let log = EventLog()
    let server = try startEcho(log: log)
    defer { server.stop() }
    let raw = try RawConnection(port: server.port)
    await raw.upgrade()
    let reason = String(repeating: "ä", count: 61)
    for byte in RawConnection.frame(8, [UInt8(code >> 8), UInt8(code & 0xff)] + Array(reason.utf8)) {
      raw.write([byte])
    }
    #expect(await raw.receive()?.opcode == 8)
    let closure = await log.closure()
    #expect(closure?.cause == .peer && closure?.code == UInt16(code) && closure?.reason == reason)
  }
}

@Suite(.timeLimit(.minutes(2))) struct UnmaskedTests {
  /// The code of the close frame that comes, and whether the connection is over then.
  private func end(_ raw: RawConnection) async -> (code: Int, isOver: Bool) {
    let frame = await raw.receive()
    let code = frame.map { $0.opcode == 8 ? $0.payload.prefix(2).reduce(0) { $0 << 8 | Int($1) } : 0 } ?? 0
    raw.send(8, [3, 0xea])
    return (code, await raw.readToEnd().isEmpty)
  }

  @Test(arguments: [
    bare(1, "hello"), bare(1, ""), bare(2, "hello"), bare(9, "ping"), bare(10, "alive?"), bare(8, "\u{3}\u{68}"),
    bare(1, "he", fin: false), [0x81, 126, 1, 0] + [UInt8](repeating: 0x61, count: 256),
  ]) func anUnmaskedFrameEndsTheConnection(_ frame: [UInt8]) async throws {
    let log = EventLog()
    let server = try startEcho(log: log)
    defer { server.stop() }
    let raw = try RawConnection(port: server.port)
    #expect(await raw.upgrade().hasPrefix("HTTP/1.1 101 "))
    raw.send(text: "good")
    #expect(await raw.receiveText() == "good", "the control: what is masked is heard")
    raw.write(frame + RawConnection.frame(1, Array("more".utf8)))
    let (code, isOver) = await end(raw)
    #expect(code == 1002 && isOver)
    let closure = await log.closure()
    #expect(closure?.cause == .unmasked && closure?.code == 1002)
    #expect(log.texts == ["good"], "nothing of it was heard, nor what came behind")
    #expect(await eventually { server.statistics.connections == 0 })
    #expect(await eventually { server.statistics.closed[.unmasked] == 1 })
  }

  /// Byte by byte, between two good messages, and together with the handshake.
  @Test func itIsSeenHoweverItComes() async throws {
    let log = EventLog()
    let server = try startEcho(log: log)
    defer { server.stop() }
    let slow = try RawConnection(port: server.port)
    await slow.upgrade()
    for frame in [RawConnection.frame(1, Array("one".utf8)), bare(1, "two")] {
      for byte in frame {
        slow.write([byte])
        try await Task.sleep(for: .milliseconds(2))
      }
      if frame.count > 5 { #expect(await slow.receiveText() == "one") }
    }
    #expect(await end(slow).code == 1002)
    let quick = try RawConnection(port: server.port)
    let handshake =
      "GET /rtc HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
      + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    quick.write(Array(handshake.utf8) + RawConnection.frame(1, Array("three".utf8)) + bare(1, "four"))
    #expect(await quick.readHead().hasPrefix("HTTP/1.1 101 "))
    #expect(await end(quick).code == 1002)
    #expect(Set(log.texts).isSubset(of: ["one", "three"]), "\(log.texts)")
    // The control: the same, masked.
    let good = try RawConnection(port: server.port)
    good.write(Array(handshake.utf8) + RawConnection.frame(1, Array("five".utf8)))
    #expect(await good.readHead().hasPrefix("HTTP/1.1 101 "))
    #expect(await good.receiveText() == "five")
  }

  @Test func itIsSeenUnderTLS() async throws {
    let folder = try TemporaryFolder()
    try folder.makeCertificate()
    let files = TLSFiles(certificate: folder.path("certificate.pem"), privateKey: folder.path("key.pem"))
    let log = EventLog()
    let server = try startEcho(log: log) { $0.tls = files }
    defer { server.stop() }
    let handshake =
      "GET /rtc HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
      + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    // The first half of a text, all of it ASCII.
    // That client does not answer the close frame, and complains of the end.
    _ = try? await sayUnderTLS(handshake + "\u{1}\u{2}hi", to: server)
    let closure = await log.closure()
    #expect(closure?.cause == .unmasked && closure?.code == 1002)
    #expect(log.texts.isEmpty)
  }

  /// Pings are answered by the thread that serves all, pongs that nobody has asked for are read by it.
  @Test(arguments: [UInt8(9), 10]) func aConnectionHasSoManyControlFrames(_ opcode: UInt8) async throws {
    let log = EventLog()
    let server = try startEcho(log: log)
    defer { server.stop() }
    let limits = WebSocketLimits()
    #expect(limits.controlFramesAtOnce == 100 && limits.controlFramesPerSecond == 50)
    let raw = try RawConnection(port: server.port)
    await raw.upgrade()
    let frame = RawConnection.frame(opcode, [1])
    for _ in 0..<limits.controlFramesAtOnce { raw.write(frame) }
    raw.send(text: "all of these may be")
    var echo: [UInt8] = []
    while echo.isEmpty, let answer = await raw.receiveAny() { if answer.opcode == 1 { echo = answer.payload } }
    #expect(echo == Array("all of these may be".utf8))
    for _ in 0..<400 { raw.write(frame) }
    let closure = await log.closure()
    #expect(closure?.cause == .controlFrames && closure?.code == 1008)
    #expect(await eventually { server.statistics.connections == 0 })
  }
}
