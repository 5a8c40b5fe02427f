// How long a message to the server may be.
import Basics
import TestSupport
import Testing

@testable import WebSockets

@Suite struct MessageLimitTests {
  @Test func theLargestMessageFitsAndOneByteMoreIsRefusedAlone() async throws {
    let log = EventLog()
    let server = try startEcho(log: log)
    defer { server.stop() }
    let raw = try RawConnection(port: server.port)
    await raw.upgrade()
    let largest = String(repeating: "x", count: 512 * 1024)
    raw.send(text: largest)
    #expect(await raw.receiveText() == largest)
    raw.send(text: largest + "y")
    raw.send(1, Array(largest.utf8), fin: false)
    raw.send(0, Array(largest.utf8), fin: true)
    raw.send(text: "after")
    #expect(await raw.receiveText() == "after")
    let oversized = log.all.filter { if case .oversized(_, 524_288) = $0 { true } else { false } }
    #expect(oversized.count == 2)
  }

  @Test func strangersSendLessUntilTheyAreAdmitted() async throws {
    let log = EventLog()
    let server = try startEcho(
      limits: .patient {
        $0.maximumMessageBytes = 3_000
        $0.strangersMessageBytes = 1_000
      }, log: log)
    defer { server.stop() }
    let (raw, other) = (try RawConnection(port: server.port), try RawConnection(port: server.port))
    for one in [raw, other] { await one.upgrade() }
    func text(_ bytes: Int) -> String { String(repeating: "x", count: bytes) }
    func limits() -> [Int] { log.all.compactMap { if case .oversized(_, let limit) = $0 { limit } else { nil } } }
    raw.send(text: text(1_000))
    #expect(await raw.receiveText() == text(1_000))
    raw.send(text: text(1_001))
    #expect(await eventually { limits() == [1_000] })
    let id = try #require(await log.first { if case .text(let id, _) = $0 { id } else { nil } })
    server.sender.admit(id)
    // The text that follows is taken up after `admit`.
    _ = server.sender.send(Array("in".utf8), to: id)
    #expect(await raw.receiveText() == "in")
    raw.send(text: text(3_000))
    #expect(await raw.receiveText() == text(3_000))
    raw.send(text: text(3_001))
    other.send(text: text(1_001))
    #expect(await eventually { limits().sorted() == [1_000, 1_000, 3_000] })
  }

  /// Those of an address together, and until each is admitted. What is more is not read, and the door is told.
  @Test func strangersOfAnAddressSendSoManyBytes() async throws {
    #expect(WebServerConfiguration(addresses: []).strangersBytesAtOnce == 8 << 20)
    #expect(WebServerConfiguration(addresses: []).strangersBytesPerSecond == 1 << 20)
    let log = EventLog()
    let server = try startEcho(log: log) { ($0.strangersBytesAtOnce, $0.strangersBytesPerSecond) = (3_000, 1) }
    defer { server.stop() }
    let (raw, other, far) = (
      try RawConnection(port: server.port), try RawConnection(port: server.port),
      try RawConnection(port: server.port, from: 2)
    )
    for one in [raw, other, far] { await one.upgrade() }
    let text = String(repeating: "x", count: 1_000)
    for one in [raw, other, raw] {
      one.send(text: text)
      #expect(await one.receiveText() == text)
    }
    other.send(text: text)
    let (id, wait) = try #require(
      await log.first { if case .unread(let id, let wait) = $0 { (id, wait) } else { nil as (WebSocketID, Int64)? } })
    #expect((900_000...1_000_000).contains(wait), "\(wait)")
    far.send(text: text)
    #expect(await far.receiveText() == text, "another address has its own")
    server.sender.admit(id)
    // The text that follows is taken up after `admit`.
    _ = server.sender.send(Array("in".utf8), to: id)
    #expect(await other.receiveText() == "in")
    other.send(text: text)
    #expect(await other.receiveText() == text)
    #expect(log.texts.count == 5)
  }
}
