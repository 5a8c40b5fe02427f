// What others pay for an application that hangs, lies, fails and answers far too much: nothing that can be seen.

import Basics
import Configuration
import Foundation
import RoostClient
import RoostProtocol
import TestSupport
import Testing
import TinyHTTP

extension EndToEnd {
  @Suite struct HookCostTests {
    /// A minute of five pairs is what the bound is about (`make hooks-cost`); a second of one pair shows that nobody waits.
    private static func number(_ name: String, otherwise: Int) -> Int {
      ProcessInfo.processInfo.environment[name].flatMap { Int($0) } ?? otherwise
    }

    private static let (pairs, seconds) = (
      number("ROOST_HOOK_PAIRS", otherwise: 1), number("ROOST_HOOK_SECONDS", otherwise: 1)
    )
    private static let timeout = TimeDelta.milliseconds(500)

    /// How long some have waited, in milliseconds.
    private struct Waits {
      var others: [Double]
      var asked: [Double]
    }

    private static func high(_ waits: [Double]) -> Double {
      let sorted = waits.sorted()
      return sorted.isEmpty ? 0 : sorted[min(sorted.count - 1, sorted.count * 99 / 100)]
    }

    private static func time(_ body: () async throws -> Void) async rethrows -> Double {
      let begin = ContinuousClock.now
      try await body()
      return (ContinuousClock.now - begin) / .milliseconds(1)
    }

    /// Fifty joins a second, whatever becomes of them, and four who ask for something else all the time.
    private static func load(_ server: TestServer) async throws -> Waits {
      var joiners: [Client] = []
      for number in 0..<75 { joiners.append(try await Client(server.url, "joiner \(number)")) }
      var others: [Client] = []
      for number in 0..<4 { others.append(try await Client(server.url, "other \(number)")) }
      let end = ContinuousClock.now + .seconds(seconds)
      return try await withThrowingTaskGroup(of: (isOther: Bool, waits: [Double]).self) { group in
        for other in others {
          group.addTask {
            var waits: [Double] = []
            while ContinuousClock.now < end {
              waits.append(try await time { _ = try await other.session.request(.room(.list(RoomListParams()))) })
              try await Task.sleep(for: .milliseconds(5))
            }
            return (true, waits)
          }
        }
        var tick = 0
        while ContinuousClock.now < end {
          let (joiner, name) = (joiners[tick % joiners.count], "room \(tick % joiners.count)")
          group.addTask {
            let wait = await time { _ = try? await joiner.session.join(room: name) }
            _ = try? await joiner.session.request(.room(.leave(RoomParams(room: name))))
            return (false, [wait])
          }
          tick += 1
          try await Task.sleep(for: .milliseconds(20))
        }
        var waits = Waits(others: [], asked: [])
        for try await (isOther, some) in group {
          if isOther { waits.others += some } else { waits.asked += some }
        }
        return waits
      }
    }

    /// A good answer now and then keeps it from being left alone.
    private static func bad(_ number: Int) -> TinyAnswer? {
      switch number % 5 {
      case 0: nil
      case 1: TinyAnswer("500 Internal Server Error")
      case 2: TinyAnswer("200 OK", String(repeating: "x", count: 1 << 20))
      case 3: TinyAnswer("200 OK", #"{"allow": "perhaps"}"#)
      default: TinyAnswer("204 No Content")
      }
    }

    private static func run(_ application: Application?) async throws -> Waits {
      var waits = Waits(others: [], asked: [])
      try await TestServer.with({
        $0.hooks.application = application?.endpoint
        ($0.hooks.kinds, $0.hooks.timeout) = ([.join], timeout)
        // All are behind one address here, which has a share of a quarter.
        ($0.hooks.attempts, $0.hooks.atOnce) = (1, 64)
      }) { waits = try await load($0) }
      return waits
    }

    @Test func othersPayNothing() async throws {
      let count = Locked(0)
      let application = try Application { _, _ in
        Self.bad(
          count.withLock {
            $0 += 1
            return $0
          })
      }
      defer { application.stop() }
      var ratios: [Double] = []
      for _ in 0..<Self.pairs {
        let (without, with) = (try await Self.run(nil), try await Self.run(application))
        let (before, behind) = (Self.high(without.others), Self.high(with.others))
        ratios.append(behind / before)
        print(
          "p99 of others: \(before) ms without, \(behind) ms with; of who is asked: \(Self.high(with.asked)) ms;",
          "\(with.others.count) and \(with.asked.count) requests")
        #expect(behind < Double(Self.timeout.milliseconds) / 2, "nobody else waits for what hangs")
        // The control: who is asked about does wait for it.
        #expect(
          Self.high(with.asked) >= Double(Self.timeout.milliseconds) * 0.9
            && Self.high(without.asked) < Self.high(with.asked))
      }
      let median = ratios.sorted()[ratios.count / 2]
      print("ratios \(ratios), median \(median)")
      if Self.pairs >= 5 { #expect(median <= 1.5) }
    }
  }
}
