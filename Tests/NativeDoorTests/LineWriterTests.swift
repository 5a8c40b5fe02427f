// Log lines into a pipe: nobody waits for whoever reads it, and what was lost is counted.
import Basics
import Foundation
import RoostProtocol
import TestSupport
import Testing
import Threads
import WebSockets

@testable import Members
@testable import Logging
@testable import DoorKit
@testable import NativeDoor

/// A pipe that is read when the test says so.
private final class Tube: Sendable {
  let (reader, writer): (Int32, Int32)

  init() throws {
    var ends: [Int32] = [0, 0]
    try #require(pipe(&ends) == 0)
    (reader, writer) = (ends[0], ends[1])
  }
  deinit {
    close(reader)
    close(writer)
  }

  /// Reads until nothing has come for so long.
  func read(patience milliseconds: Int32 = 500) -> [String] {
    var bytes: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 65_536)
    var watched = pollfd(fd: reader, events: Int16(POLLIN), revents: 0)
    while poll(&watched, 1, milliseconds) > 0 {
      let count = Foundation.read(reader, &piece, piece.count)
      if count <= 0 { break }
      bytes += piece[..<count]
    }
    return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
  }
}

@Suite struct LineWriterTests {
  private let text = String(repeating: "x", count: 400)

  @Test func whatNobodyReadsIsCountedAndNobodyWaits() throws {
    let tube = try Tube()
    let writer = LineWriter(tube.writer)
    let log = Logger(level: .info, format: .text, writer: writer)
    let start = ContinuousClock.now
    for n in 0..<10_000 { log.info("line", ["n": LogValue(n), "text": LogValue(text)]) }
    #expect(ContinuousClock.now - start < .seconds(20), "nobody waits")
    #expect(log.linesLost > 0)
    // The last of the space is for what matters.
    let lost = log.linesLost
    for n in 0..<100 { log.error("failed", ["n": LogValue(n)]) }
    #expect(log.linesLost == lost)
    let flushed = ContinuousClock.now
    #expect(!writer.flush(within: .milliseconds(100)))
    #expect(ContinuousClock.now - flushed < .seconds(10), "an end does not wait for a reader either")

    let lines = tube.read()
    #expect(lines.count { $0.contains(" info line ") } == 10_000 - Int(lost))
    #expect(lines.count { $0.contains(" error failed ") } == 100)
    #expect(
      lines.filter { $0.contains("log_lines_lost") }.allSatisfy { $0.hasSuffix("warning log_lines_lost count=\(lost)") }
    )
    #expect(lines.last?.contains("log_lines_lost") == true)
    #expect(writer.flush(within: .seconds(5)) && log.linesLost == lost)
    log.info("again")
    #expect(tube.read().count { $0.hasSuffix("info again") } == 1)
  }

  /// The control.
  @Test func whatIsReadIsWholeAndInOrder() async throws {
    let tube = try Tube()
    let log = Logger(level: .info, format: .json, writer: LineWriter(tube.writer))
    let reading = Task.detached { tube.read(patience: 3_000) }
    for n in 0..<5_000 {
      log.info("line", ["n": LogValue(n), "text": LogValue(text)])
      if n % 500 == 0 { try await Task.sleep(for: .milliseconds(20)) }
    }
    log.flush(within: .seconds(10))
    let lines = await reading.value
    #expect(log.linesLost == 0 && lines.count == 5_000)
    #expect(lines.enumerated().allSatisfy { $1.contains("\"n\":\($0),") })
  }

  @Test func aLineIsWithTheKernelWhenItWasWritten() throws {
    let folder = try TemporaryFolder()
    let path = folder.url.path + "/log"
    let descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND, 0o600)
    try #require(descriptor >= 0)
    defer { close(descriptor) }
    let tube = try Tube()
    for descriptor in [descriptor, tube.writer] {
      let log = Logger(level: .info, format: .text, writer: LineWriter(descriptor))
      log.error("the last words", ["text": LogValue(text)])
    }
    #expect(try String(contentsOfFile: path, encoding: .utf8).hasSuffix("\(text)\n"))
    #expect(tube.read(patience: 0).first?.hasSuffix(text) == true)
  }

  /// Each request leaves a line, which nobody reads, and each is answered.
  @Test func aServerGoesOnWhoseLogNobodyReads() async throws {
    let tube = try Tube()
    let log = Logger(level: .debug, format: .text, writer: LineWriter(tube.writer))
    let box = Locked<FrontDoor?>(nil)
    var limits = DoorLimits(requestsPerSecond: 1_000_000, burst: 1_000_000, unanswered: 100_000)
    (limits.strangersPerSecond, limits.strangersBurst) = (1_000_000, 1_000_000)
    let door = FrontDoor(limits: limits, log: log) { command in
      guard case .request(let connection, let id, _) = command else { return }
      box.withLock { $0 }?.carryOut(.reply(connection, id, .success(.empty)))
    }
    box.withLock { $0 = door }
    defer { box.withLock { $0 = nil } }
    let server = try WebServer.start(
      WebServerConfiguration(addresses: [SocketAddress(v4: 0x7f00_0001, port: 0)]), makeHandler: door.handler)
    defer { server.stop() }
    let answers = Locked(0)
    let client = try WebSocketClient.connect(
      to: WebSocketURL("ws://127.0.0.1:\(server.port)/rtc"), limits: WebSocketLimits(maximumQueuedBytes: 1 << 24),
      handler: { event in if case .text = event { answers.withLock { $0 += 1 } } })
    // Ten thousand lines are many times what the pipe and the buffer hold.
    for round in 0..<25 {
      for n in 0..<1_000 {
        client.send(Array(#"{"jsonrpc":"2.0","id":\#(round * 1_000 + n),"method":"ping"}"#.utf8))
      }
      #expect(await eventually { answers.withLock { $0 } == (round + 1) * 1_000 }, "round \(round)")
    }
    #expect(log.linesLost > 0)
  }
}
