// Checks with the right password beyond measure, and forged ones: what the worker answers, and that nobody's consent ends by it.

import Basics
import ICE
import RTP
import Testing

@testable import Media

struct CheckFloodTests {
  private let call: Call
  private let anna: VirtualPeer

  init() throws {
    call = try Call()
    anna = try call.join("anna")
    call.run(.seconds(6))
    #expect(call.isConnected(anna))
  }

  private func good() throws -> [UInt8] { try #require(PlainCheck.make(from: anna.local, to: anna.remote)) }

  private func forged() throws -> [UInt8] {
    let wrong = ICECredentials(ufrag: anna.remote.ufrag, password: String(repeating: "x", count: 24))
    return try #require(PlainCheck.make(from: anna.local, to: wrong))
  }

  /// How many of them are answered at one moment.
  private func answers(_ checks: [[UInt8]], from path: (Int) -> Path) -> Int {
    var answers = 0
    call.onDatagram = { _, bytes in if PacketClass.classify(bytes.span) == .stun { answers += 1 } }
    defer { call.onDatagram = nil }
    for (number, check) in checks.enumerated() { call.inject(check, from: path(number)) }
    call.turn()
    return answers
  }

  @Test func aHundredAreAnsweredAtOnceAndNotOneMore() throws {
    let checks = try (0..<101).map { _ in try good() }
    #expect(answers(checks, from: { _ in anna.path }) == 100)
    #expect(call.worker.counters.drops[.tooManyChecks] == 1 && call.worker.counters.drops[.badSTUN] == 0)
    let elsewhere = Path(remote: SocketAddress(v4: 0x0b00_0001, port: 4_000), socket: 0)
    #expect(answers([try good()], from: { _ in elsewhere }) == 1, "the first of a new path")
    #expect(call.brokenRules() == [])
  }

  /// A hundred thousand in a second, of as many ports as there are, where sixteen are remembered.
  @Test(arguments: [1, 40]) func aHundredThousandASecondAreAFewHundredAnswers(ports: Int) throws {
    let checks = try (0..<500).map { _ in try good() }
    var count = 0
    for _ in 0..<200 {
      count += answers(checks) {
        Path(remote: SocketAddress(v4: 0x0b00_0001, port: UInt16(4_000 + $0 % ports)), socket: 0)
      }
      call.run(.milliseconds(5))
    }
    // A hundred and twenty on known paths, as many on new ones, and as many copies of each.
    #expect((100...480).contains(count), "\(count)")
    #expect(call.worker.counters.drops[.tooManyChecks] > 99_000)
    #expect(call.brokenRules() == [])
  }

  /// The control of what is above: without a bound all are answered.
  @Test func withoutABoundAllAreAnswered() throws {
    var settings = WorkerState.Settings()
    settings.checksPerSecond = nil
    let call = try Call(settings: settings)
    let anna = try call.join("anna")
    call.run(.seconds(1))
    var answers = 0
    call.onDatagram = { _, bytes in if PacketClass.classify(bytes.span) == .stun { answers += 1 } }
    let check = try #require(PlainCheck.make(from: anna.local, to: anna.remote))
    for _ in 0..<1_000 { call.inject(check, from: anna.path) }
    call.turn()
    #expect(answers == 1_000)
  }

  enum Flood: CaseIterable { case forged, copied, own }

  /// A hundred thousand from the address of somebody whose checks are all that she sends, for longer than either side waits for the other:
  /// forged by who does not know the password, or copies of one that was seen. The control: who floods with checks of her own is heard
  /// by the server, and hears too little of it.
  @Test(arguments: Flood.allCases) func aHundredThousandEndNobodysConsent(_ flood: Flood) throws {
    let bert = try call.join("bert")
    let video = call.publish(bert, .video)
    let consumer = call.subscribe(anna, to: video)
    let copy = try good()
    let guesses = try (0..<64).map { _ in try forged() }
    let own = try (0..<4_000).map { _ in try good() }
    let turns = 4_000
    for turn in 0..<turns {
      for number in turn * 25..<(turn + 1) * 25 {
        switch flood {
        case .forged: call.inject(guesses[number % guesses.count], from: anna.path)
        case .copied: call.inject(copy, from: anna.path)
        case .own: call.inject(own[number % own.count], from: anna.path)
        }
      }
      call.run(.milliseconds(10))
    }
    #expect((anna.failure == "ICE") == (flood == .own))
    #expect(call.count { if case .transportLost(anna.key) = $0 { true } else { false } } == 0)
    #expect((call.stream(consumer)?.frames.count ?? 0) > 1_000)
    #expect(call.worker.counters.drops[flood == .forged ? .badSTUN : .tooManyChecks] > 98_000)
  }
}
