// Answers to connectivity checks that are not authentic: so many to each network, so many in all, and no more.

import Basics
import ICE
import STUN
import Testing

@testable import Media

struct FailedCheckTests {
  /// A room of one, and a check with the right names and a wrong password.
  private func room() throws -> (call: Call, anna: VirtualPeer, guess: [UInt8]) {
    let call = try Call()
    let anna = try call.join("anna")
    call.run(.seconds(1))
    let wrong = ICECredentials(ufrag: anna.remote.ufrag, password: String(repeating: "x", count: 24))
    return (call, anna, try #require(PlainCheck.make(from: anna.local, to: wrong)))
  }

  private func stranger(_ network: Int) -> Path {
    Path(remote: SocketAddress(v4: 0x0b00_0000 + UInt32(network), port: 4_000), socket: 0)
  }

  /// Sends the check `count` times and returns how many answers left.
  private func answers(_ call: Call, _ check: [UInt8], count: Int, from path: Path) -> Int {
    var answers = 0
    call.onDatagram = { to, _ in if to == path { answers += 1 } }
    for _ in 0..<count { call.inject(check, from: path) }
    call.turn()
    return answers
  }

  @Test func aNetworkIsToldTwentyTimesAndNotOnceMore() throws {
    let (call, _, guess) = try room()
    let most = FailedChecks.networkBurst
    #expect(answers(call, guess, count: most, from: stranger(1)) == most)
    #expect(answers(call, guess, count: 1, from: stranger(1)) == 0)
    #expect(answers(call, guess, count: most + 1, from: stranger(2)) == most)
    // The same network, another port.
    let port = Path(remote: SocketAddress(v4: 0x0b00_0001, port: 4_001), socket: 0)
    #expect(answers(call, guess, count: 1, from: port) == 0)
    call.run(.milliseconds(200))
    #expect(answers(call, guess, count: 2, from: stranger(1)) == 1, "five a second")
  }

  /// A server for its own machine: whoever comes from elsewhere is nobody, though they have the password.
  @Test func checksFromElsewhereAreDroppedWhereThatIsWanted() throws {
    let own = SocketAddress(v4: 0x0b00_0007, port: 0)
    for sources in [[own], []] {
      var settings = WorkerState.Settings()
      settings.sources = sources
      let call = try Call(settings: settings)
      let bert = try call.join("bert")
      let good = try #require(PlainCheck.make(from: bert.local, to: bert.remote))
      let here = Path(remote: SocketAddress(v4: own.v4, port: 4_000), socket: 0)
      #expect(answers(call, good, count: 3, from: here) == 3)
      let before = call.worker.counters.drops[.unknownSource]
      let isOpen = sources.isEmpty
      #expect(answers(call, good, count: 3, from: stranger(1)) == (isOpen ? 3 : 0), "the control is open to all")
      #expect(call.worker.counters.drops[.unknownSource] - before == (isOpen ? 0 : 3))
    }
  }

  @Test func allTogetherAreToldTwoHundredTimes() throws {
    let (call, _, guess) = try room()
    var told = 0
    for network in 0..<FailedChecks.burst { told += answers(call, guess, count: 1, from: stranger(network)) }
    #expect(told == FailedChecks.burst)
    #expect(answers(call, guess, count: 1, from: stranger(1_000)) == 0)
    call.run(.milliseconds(10))
    #expect(answers(call, guess, count: 2, from: stranger(1_001)) == 1, "a hundred a second")
    #expect(call.worker.counters.drops[.badSTUN] == UInt64(FailedChecks.burst + 3))
  }

  /// Who has the password is answered however many others had not, from the same address too.
  @Test func authenticChecksAreAlwaysAnswered() throws {
    let (call, anna, guess) = try room()
    _ = answers(call, guess, count: 1_000, from: anna.path)
    let good = try #require(PlainCheck.make(from: anna.local, to: anna.remote))
    #expect(answers(call, good, count: 100, from: anna.path) == 100)
    call.run(.seconds(2))
    #expect(call.brokenRules() == [] && call.isConnected(anna))
  }
}
