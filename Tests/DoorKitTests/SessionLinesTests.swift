// Log lines about those who have a session: so many of each user and each network, and how many more there were.
import Basics
import Logging
import Members
import RoostProtocol
import Testing

@testable import DoorKit

@Suite struct SessionLinesTests {
  private final class Book: Sendable {
    private let written = Locked<[String]>([])
    private let now = Locked(Instant.zero)

    func make(_ level: LogLevel = .info) -> SessionLines {
      let log = Logger(level: level) { [written] line in
        written.withLock { $0.append(String(decoding: line, as: UTF8.self)) }
      }
      return SessionLines(log, clock: { [now] in now.withLock { $0 } })
    }
    func advance(_ time: TimeDelta) { now.withLock { $0 = $0 + time } }
    func count(_ text: String) -> Int { written.withLock { $0.count { $0.contains(text) } } }
  }

  private func subject(_ user: String, from host: UInt32, isVerified: Bool = true) -> LineSubject {
    var identity = Identity(user: user, device: nil, displayName: user, rights: .all, isVerified: isVerified)
    identity.network = PeerNetwork(SocketAddress(v4: host, port: 9))
    return LineSubject(identity)
  }

  @Test func soManyOfAUserAndTheRestIsCounted() {
    let book = Book()
    let lines = book.make()
    // From wherever they come.
    for host in 0..<UInt32(SessionLines.userBurst) {
      lines.write(.info, "one", of: subject("A", from: host % 7)) { ["user": "A"] }
    }
    #expect(book.count("info one user=A") == SessionLines.userBurst)
    for _ in 0..<7 { lines.write(.warning, "more", of: subject("A", from: 9)) { [:] } }
    #expect(book.count("more") == 0)
    lines.tell()
    #expect(book.count("warning session_lines_left_out count=7\n") == 1)
    lines.write(.info, "other", of: subject("B", from: 1)) { [:] }
    #expect(book.count("other") == 1, "others have their own")
    book.advance(.seconds(1))
    for _ in 0..<5 { lines.write(.info, "again", of: subject("A", from: 1)) { [:] } }
    #expect(book.count("again") == 2)
    book.advance(.seconds(59))
    lines.tell()
    #expect(book.count("session_lines_left_out count=3\n") == 1, "once a minute")
    book.advance(.seconds(120))
    lines.tell()
    #expect(book.count("session_lines_left_out") == 2, "nothing was left out since")
  }

  /// Names that nobody has proven are as many as one likes: the network counts. What is too much of a user's takes nothing from it.
  @Test func soManyOfANetwork() {
    let book = Book()
    let lines = book.make()
    for _ in 0..<2 * SessionLines.userBurst { lines.write(.info, "one", of: subject("A", from: 1)) { [:] } }
    let left = SessionLines.networkBurst - SessionLines.userBurst
    for number in 0..<left + 5 {
      lines.write(.info, "name", of: subject("n\(number)", from: 1, isVerified: false)) { [:] }
    }
    #expect(book.count("info one") == SessionLines.userBurst && book.count("info name") == left)
    lines.write(.info, "elsewhere", of: subject("A2", from: 2)) { [:] }
    #expect(book.count("elsewhere") == 1)
    book.advance(.seconds(1))
    for number in 0..<50 { lines.write(.info, "later", of: subject("m\(number)", from: 1, isVerified: false)) { [:] } }
    #expect(book.count("later") == 10)
    // Where only the network is known, as of a connection that a session was resumed on.
    lines.write(.info, "bare", of: LineSubject(network: PeerNetwork(SocketAddress(v4: 1, port: 1)))) { [:] }
    #expect(book.count("bare") == 0)
  }

  @Test func aLevelThatIsOffCountsNothing() {
    let book = Book()
    let lines = book.make(.error)
    for _ in 0..<3_000 { lines.write(.info, "one", of: subject("A", from: 1)) { [:] } }
    lines.tell()
    #expect(book.count("") == 0)
  }
}
