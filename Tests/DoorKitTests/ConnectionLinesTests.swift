// Log lines about those who have no session: so many for each network and in all, and how many more there were.
import Basics
import Logging
import Testing

@testable import DoorKit

@Suite struct ConnectionLinesTests {
  private final class Book: Sendable {
    let lines = Locked<[String]>([])
    let now = Locked(Instant(nanoseconds: 0))

    func make(_ level: LogLevel = .info) -> ConnectionLines {
      let log = Logger(level: level) { [lines] line in
        lines.withLock { $0.append(String(decoding: line, as: UTF8.self)) }
      }
      return ConnectionLines(log, door: "native", clock: { [now] in now.withLock { $0 } })
    }
    func advance(_ time: TimeDelta) { now.withLock { $0 = $0 + time } }
    func count(_ text: String) -> Int { lines.withLock { $0.count { $0.contains(text) } } }
  }

  private func address(_ host: UInt32) -> SocketAddress { SocketAddress(v4: host, port: 9) }

  @Test func soManyOfANetworkAndTheRestIsCounted() {
    let book = Book()
    let lines = book.make()
    for _ in 0..<ConnectionLines.networkBurst { lines.write(.info, "one", of: address(1)) { [:] } }
    #expect(book.count("info one") == ConnectionLines.networkBurst && book.count("left_out") == 0)
    for _ in 0..<7 { lines.write(.info, "one", of: address(1)) { [:] } }
    #expect(book.count("info one") == ConnectionLines.networkBurst)
    #expect(book.count("warning connection_lines_left_out door=native count=1\n") == 1, "it is told at once …")
    lines.write(.warning, "other", of: address(2)) { [:] }
    #expect(book.count("warning other") == 1, "another network has its own")
    book.advance(.seconds(59))
    lines.tell()
    #expect(book.count("left_out") == 1)
    book.advance(.seconds(1))
    lines.tell()
    #expect(book.count("connection_lines_left_out door=native count=6\n") == 1, "… and then once a minute")
    lines.write(.info, "again", of: address(1)) { [:] }
    #expect(book.count("info again") == 1)
    book.advance(.seconds(120))
    lines.tell()
    #expect(book.count("left_out") == 2, "nothing was left out since")
  }

  @Test func soManyOfAllNetworks() {
    let book = Book()
    let lines = book.make()
    for host in 1...UInt32(ConnectionLines.burst + 5) { lines.write(.info, "one", of: address(host)) { [:] } }
    #expect(book.count("info one") == ConnectionLines.burst)
    book.advance(.seconds(1))
    lines.write(.info, "one", of: address(9_999_999)) { [:] }
    #expect(book.count("info one") == ConnectionLines.burst + 1)
  }

  @Test func aLevelThatIsOffCountsNothing() {
    let book = Book()
    let lines = book.make(.error)
    for _ in 0..<3_000 { lines.write(.info, "one", of: address(1)) { [:] } }
    lines.tell()
    #expect(book.lines.withLock { $0 }.isEmpty)
  }
}
