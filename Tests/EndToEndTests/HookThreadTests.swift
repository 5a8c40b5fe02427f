// The thread that asks an application, with libcurl and a server on loopback: nobody keeps others waiting, and what nobody waits for any more
// is not asked.

import Basics
import Configuration
import Foundation
import Logging
import Members
import RoostProtocol
import TestSupport
import Testing
import TinyHTTP

@testable import Server

/// Who asks, and what is answered.
private final class Asking: Sendable {
  private let server: TinyServer
  private let answers = Locked<[Ticket: QuestionAnswer]>([:])
  private let requests = Locked(0)
  private let lines = Locked<[String]>([])
  let thread: HookThread

  /// `answer`: what the application says about a user; nil: it hangs.
  init(
    attempts: Int = 2, timeout: TimeDelta = .seconds(600), _ answer: @escaping @Sendable (String) -> TinyAnswer?
  ) throws {
    server = try TinyServer.answering { [requests] request in
      requests.withLock { $0 += 1 }
      let json = try? JSONSerialization.jsonObject(with: Data(request.body)) as? [String: Any]
      return answer(json?["user"] as? String ?? "")
    }
    var hooks = ServerConfiguration.Hooks()
    (hooks.attempts, hooks.timeout) = (attempts, timeout)
    thread = HookThread(
      hooks, .init(url: "http://127.0.0.1:\(server.port)/", secret: "a secret of sixteen"),
      log: Logger(sink: { [lines] line in lines.withLock { $0.append(String(decoding: line, as: UTF8.self)) } })
    ) { [answers] ticket, answer in answers.withLock { $0[ticket] = answer } }
  }

  func ask(_ ticket: UInt64, of user: String, isVerified: Bool = true, from host: String? = nil) {
    var identity = Identity(user: user, device: "d", displayName: user, rights: .all, isVerified: isVerified)
    identity.network = host.map { PeerNetwork(SocketAddress(host: $0, port: 1)) }
    #expect(thread.ask(Ticket(ticket), Question(HelloParams(user: user), of: identity)))
  }

  func lines(_ word: String) -> Int { lines.withLock { $0.count { $0.contains(word) } } }
  var asked: Int { requests.withLock { $0 } }
  subscript(_ ticket: UInt64) -> QuestionAnswer? { answers.withLock { $0[Ticket(ticket)] } }

  func stop() {
    thread.stop()
    server.stop()
  }
}

@Suite struct HookThreadTests {
  /// Somebody for whom the application hangs, with names that prove nothing or one that does.
  @Test(arguments: [true, false]) func nobodyElseWaits(isVerified: Bool) async throws {
    let here = try Asking { $0.hasPrefix("A") ? nil : TinyAnswer("204 No Content") }
    defer { here.stop() }
    for number in 1...16 {
      here.ask(UInt64(number), of: isVerified ? "A" : "A\(number)", isVerified: isVerified, from: "192.0.2.1")
    }
    #expect(await eventually { here.asked == 4 }, "a quarter of all")
    here.ask(17, of: "B", isVerified: isVerified, from: isVerified ? "192.0.2.1" : "192.0.2.2")
    #expect(await eventually { here[17] == .yes } && here.asked == 5, "before the twelve that came sooner")
    #expect((1...16).allSatisfy { here[$0] == nil })
    // Who goes is asked about no more, but for what is on its way.
    for number in 1...16 { here.thread.takeBack(Ticket(UInt64(number))) }
    #expect(await eventually { here.thread.figures.takenBack == 12 && here.thread.figures.waiting == 4 })
  }

  @Test func whoAsksTooMuchIsNotAskedAbout() async throws {
    let here = try Asking { _ in nil }
    defer { here.stop() }
    for number in 1...4 { here.ask(UInt64(number), of: "A") }
    #expect(await eventually { here.asked == 4 })
    for number in 5...69 { here.ask(UInt64(number), of: "A") }
    #expect(await eventually { here[69] == .unasked } && here[68] == nil, "4 on their way, 64 behind them")
    #expect(await eventually { here.thread.figures.overflowed == 1 })
  }

  /// A first attempt that fails or hangs is followed by another, a bad answer by none, and too long a one neither.
  @Test func attempts() async throws {
    let count = Locked<[String: Int]>([:])
    let here = try Asking(timeout: .seconds(2)) { user in
      let number = count.withLock { (all: inout [String: Int]) -> Int in
        all[user, default: 0] += 1
        return all[user] ?? 0
      }
      switch user {
      case "fails": return number == 1 ? TinyAnswer("500 Oops") : TinyAnswer("204 No Content")
      case "hangs": return number == 1 ? nil : TinyAnswer("204 No Content")
      case "long": return TinyAnswer("200 OK", String(repeating: " ", count: 1 << 20))
      default: return TinyAnswer("413 Too Long")
      }
    }
    defer { here.stop() }
    for (ticket, user) in ["fails", "hangs", "long", "big"].enumerated() { here.ask(UInt64(ticket), of: user) }
    #expect(await eventually { (0..<4).allSatisfy { here[UInt64($0)] != nil } })
    #expect((0..<4).map { here[UInt64($0)] } == [.yes, .yes, .nothing, .nothing])
    #expect(count.withLock { $0 } == ["fails": 2, "hangs": 2, "long": 1, "big": 1])
    #expect(!here.thread.figures.isDown)
  }

  /// What is asked of one that is left alone is answered at once, with when to come again; and one that comes and goes is said to do so once.
  @Test func oneThatComesAndGoes() async throws {
    let isWell = Locked(false)
    let here = try Asking(attempts: 1) { _ in TinyAnswer(isWell.withLock { $0 } ? "204 No Content" : "500 Oops") }
    defer { here.stop() }
    let begin = ContinuousClock.now
    var ticket: UInt64 = 0
    func ask(_ user: String) -> UInt64 {
      ticket += 1
      here.ask(ticket, of: user)
      return ticket
    }
    for _ in 0..<2 {
      isWell.withLock { $0 = false }
      for user in ["A", "B", "C", "D", "E"] { _ = ask(user) }
      #expect(await eventually { here.thread.figures.isDown })
      let (before, skipped) = (here.asked, ask("F"))
      #expect(await eventually { here[skipped] != nil } && here.asked == before)
      guard case .down(let left)? = here[skipped] else { throw Unexpected() }
      #expect(left > .zero && left < .seconds(3))
      isWell.withLock { $0 = true }
      while here.thread.figures.isDown {
        _ = ask("F")
        try await Task.sleep(for: .milliseconds(100))
      }
    }
    // Once in ten seconds, and no more often than that.
    let most = 1 + Int((ContinuousClock.now - begin) / .seconds(10))
    #expect((1...most).contains(here.lines("hooks_down")) && (1...most).contains(here.lines("hooks_back")))
  }

  private struct Unexpected: Error {}

  /// Whoever stops does not wait for one that hangs.
  @Test func itStopsWhileOneHangs() async throws {
    let here = try Asking { _ in nil }
    here.ask(1, of: "A")
    #expect(await eventually { here.asked == 1 } && here[1] == nil)
    let begin = ContinuousClock.now
    here.stop()
    #expect(ContinuousClock.now - begin < .seconds(10) && here[1] == .nothing, "of sixty that it may hang")
  }
}
