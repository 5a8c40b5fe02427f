// The gate in front of tokens: how many are looked at, of whom, what waits, and what is written down of it. In virtual time.
import Basics
import Logging
import Members
import RoostProtocol
import Testing
import Threads

@testable import DoorKit

/// Knows one token, and counts what it looks at.
private final class OneToken: IdentityVerifier {
  let looks = Locked(0)

  func verify(_ hello: HelloParams, from peer: SocketAddress?) throws(UnprovenIdentity) -> Identity {
    looks.withLock { $0 += 1 }
    guard let token = hello.token else { throw .missing }
    guard token != "old" else { throw UnprovenIdentity(.expired) }
    guard token == "good" else { throw UnprovenIdentity(.signature) }
    return Identity(user: hello.user, device: nil, displayName: hello.user, rights: .all, isVerified: true)
  }

  func renew(_ token: String, from peer: SocketAddress?) throws(UnprovenIdentity) -> Identity? {
    try verify(HelloParams(user: "anna", token: token), from: peer)
  }
}

/// A clock, and what is to be called when.
private final class Time: Sendable {
  let now = Locked(Instant.zero + .seconds(100))
  private let errands = Locked<[(Instant, @Sendable () -> Void)]>([])
  /// How many were done.
  let done = Locked(0)

  func add(_ time: Instant, _ errand: @escaping @Sendable () -> Void) -> Bool {
    errands.withLock { $0.append((time, errand)) }
    return true
  }

  /// Lets time pass, and does what is due meanwhile.
  func pass(_ time: TimeDelta) {
    let end = now.withLock { $0 } + time
    while let index = errands.withLock({ all in all.indices.filter { all[$0].0 <= end }.min { all[$0].0 < all[$1].0 } })
    {
      let (due, errand) = errands.withLock { $0.remove(at: index) }
      now.withLock { $0 = max($0, due) }
      done.withLock { $0 += 1 }
      errand()
    }
    now.withLock { $0 = end }
  }
}

@Suite struct TokenGateTests {
  private let verifier = OneToken()
  private let time = Time()
  private let lines = Locked<[String]>([])
  private let answers = Locked<[String: ErrorObject?]>([:])
  private let stranger = SocketAddress(v4: 0xcb00_7101, port: 5000)
  private let neighbour = SocketAddress(v4: 0xcb00_7102, port: 5000)

  private func gate(_ limits: TurnLimits = TokenGate.limits) -> TokenGate {
    let log = Logger(level: .debug) { [lines] line in
      lines.withLock { $0.append(String(decoding: line, as: UTF8.self)) }
    }
    let gate = TokenGate(verifier, log: log, clock: { [time] in time.now.withLock { $0 } }, limits: limits)
    gate.attach { [time] in time.add($0, $1) }
    return gate
  }

  @discardableResult
  private func show(
    _ gate: TokenGate, _ token: String?, _ name: String, from peer: SocketAddress?, failures: Int = 0
  ) -> TurnTicket? {
    gate.verify(HelloParams(user: "anna", token: token), from: peer, rank: TurnRank(failures: failures)) {
      [answers] result in
      answers.withLock { all in
        #expect(all[name] == nil, "\(name) is answered once")
        switch result {
        case .success(let identity):
          #expect(identity.network == PeerNetwork(peer))
          all[name] = .some(nil)
        case .failure(let error): all[name] = error.error
        }
      }
    }
  }

  private func code(_ name: String) -> ErrorCode? { answers.withLock { ($0[name] ?? nil)?.code } }
  private func isBelieved(_ name: String) -> Bool { answers.withLock { $0[name] == .some(nil) } }

  /// Takes all looks of an address, and one waits, with ports of its own each.
  private func useUp(_ gate: TokenGate) {
    for number in 0..<TokenGate.burst {
      // Not all in one go.
      if number % TokenGate.allBurst == 0 { time.pass(.milliseconds(4)) }
      show(gate, "bad", "\(number)", from: SocketAddress(v4: 0xcb00_7101, port: UInt16(5000 + number)))
      #expect(code("\(number)") == .authFailed, "\(number)")
    }
    // What came back meanwhile.
    time.pass(.milliseconds(4))
    for number in 0... where show(gate, "bad", "rest \(number)", from: stranger) != nil { return }
  }

  @Test func fiveHundredAreLookedAtAndThenFiftyASecond() {
    let gate = gate()
    useUp(gate)
    let before = verifier.looks.withLock { $0 }
    for number in 0..<200 { show(gate, "bad", "more \(number)", from: stranger) }
    #expect(verifier.looks.withLock { $0 } == before, "none is looked at before its turn")
    show(gate, "good", "neighbour", from: neighbour)
    #expect(isBelieved("neighbour"), "another address has nothing to do with it")
    time.pass(.seconds(1))
    let looks = verifier.looks.withLock { $0 } - before - 1
    #expect((49...51).contains(looks), "\(looks)")
  }

  /// What waits has one timer, however many come and go meanwhile.
  @Test func whoHangsUpLeavesNoTimersBehind() {
    let gate = gate()
    let others = (2...5).map { SocketAddress(v4: 0xcb00_7100 + UInt32($0), port: 5000) }
    useUp(gate)
    for other in others {
      for number in 0...TokenGate.burst + 20 {
        if number % TokenGate.allBurst == 0 { time.pass(.milliseconds(4)) }
        gate.withdraw(gate.verify(HelloParams(user: "a", token: "bad"), from: other, rank: TurnRank()) { _ in })
      }
    }
    let before = time.done.withLock { $0 }
    for round in 0..<100 {
      show(gate, "bad", "round \(round)", from: stranger)
      for other in others {
        gate.withdraw(gate.verify(HelloParams(user: "a", token: "bad"), from: other, rank: TurnRank()) { _ in })
      }
      time.pass(.milliseconds(10))
    }
    let timers = time.done.withLock { $0 } - before
    #expect(timers < 500, "\(timers) in a second")
  }

  /// A timer that took nothing for a while, as a full mailbox does, is asked again.
  @Test func whatWaitsIsNotForgottenWhereATimerTookNothing() {
    let isFull = Locked(true)
    let gate = TokenGate(verifier, clock: { [time] in time.now.withLock { $0 } }, limits: TokenGate.limits)
    gate.attach { [time] moment, errand in isFull.withLock { $0 } ? false : time.add(moment, errand) }
    useUp(gate)
    show(gate, "good", "waits", from: stranger)
    time.pass(.seconds(1))
    gate.lookAgain()
    time.pass(.seconds(1))
    #expect(!isBelieved("waits"), "the control: nobody calls")
    isFull.withLock { $0 = false }
    gate.lookAgain()
    time.pass(.milliseconds(100))
    #expect(answers.withLock { $0["waits"] } != nil, "its turn has come, or its time is over")
  }

  /// One that waited is as good as before: it is looked at in its turn, before all that have failed, or it is told to come again.
  @Test func aGoodTokenIsNeverCalledBad() throws {
    let gate = gate()
    useUp(gate)
    for number in 0..<900 { show(gate, "bad", "more \(number)", from: stranger, failures: 1) }
    for number in 0..<20 { show(gate, "good", "good \(number)", from: stranger) }
    #expect(!isBelieved("good 0"), "it waits")
    time.pass(.milliseconds(500))
    for number in 0..<20 { #expect(isBelieved("good \(number)"), "\(number)") }
    time.pass(.seconds(2))
    let late = try #require(answers.withLock { $0["more 899"] } ?? nil)
    #expect(late.code == .rateLimited && late.data.retryAfterMs ?? 0 >= 200)
    #expect((0..<900).allSatisfy { [.authFailed, .rateLimited].contains(code("more \($0)")) }, "all are answered")
    let told = lines.withLock { $0 }.filter { $0.contains("tokens_slowed") && $0.contains("203.0.113.1") }
    #expect(told.count == 1, "one line for all: \(told)")
    #expect(gate.statistics.slowed > 700 && gate.statistics.failed > 500)
  }

  @Test func soManyWaitOfOneAddressAndNotOneMore() {
    let gate = gate()
    useUp(gate)
    for number in 1..<TokenGate.mostOfNetwork { show(gate, "bad", "waits \(number)", from: stranger, failures: 1) }
    #expect(code("waits \(TokenGate.mostOfNetwork - 1)") == nil)
    show(gate, "good", "beyond", from: stranger, failures: 1)
    #expect(code("beyond") == .rateLimited)
    show(gate, "good", "neighbour", from: neighbour)
    #expect(isBelieved("neighbour"))
  }

  @Test func soManyWaitOfAllAndNotOneMore() {
    var limits = TokenGate.limits
    limits.burst = 1
    let gate = gate(limits)
    func peer(_ number: Int) -> SocketAddress { SocketAddress(v4: UInt32(1 + number), port: 1) }
    var waiting = 0
    for number in 0... {
      guard waiting < TokenGate.mostWaiting else { break }
      if show(gate, "bad", "\(number)", from: peer(number / 2)) != nil { waiting += 1 }
    }
    show(gate, "good", "beyond", from: peer(0))
    #expect(code("beyond") == .rateLimited)
  }

  /// The thread is free for others between them, however many ask at once.
  @Test func soManyAreLookedAtInOneGo() {
    let gate = gate()
    for number in 0..<100 { show(gate, "good", "\(number)", from: SocketAddress(v4: UInt32(number), port: 1)) }
    #expect(verifier.looks.withLock { $0 } == TokenGate.allBurst)
    time.pass(.milliseconds(30))
    #expect((0..<100).allSatisfy { isBelieved("\($0)") })
  }

  @Test func whoIsGoneIsNotLookedAt() {
    let gate = gate()
    useUp(gate)
    let before = verifier.looks.withLock { $0 }
    let ticket = show(gate, "good", "gone", from: stranger)
    gate.withdraw(ticket)
    time.pass(.seconds(3))
    #expect(verifier.looks.withLock { $0 } == before + 1 && code("gone") == nil && !isBelieved("gone"))
  }

  /// What shows no token costs nothing, and on a server without keys nothing does.
  @Test func onlyTokensTakeTurns() {
    let gate = gate()
    for number in 0..<2_000 { show(gate, nil, "\(number)", from: stranger) }
    #expect((0..<2_000).allSatisfy { code("\($0)") == .authFailed })
    let open = TokenGate(OpenAccess(), clock: { [time] in time.now.withLock { $0 } })
    for number in 0..<2_000 { show(open, "any", "open \(number)", from: stranger) }
    #expect((0..<2_000).allSatisfy { isBelieved("open \($0)") })
  }

  @Test func aFurtherTokenTakesATurnToo() {
    let gate = gate()
    useUp(gate)
    let before = verifier.looks.withLock { $0 }
    let result = Locked<Bool?>(nil)
    gate.renew("good", from: stranger, rank: TurnRank()) { found in
      result.withLock { $0 = (try? found.get())?.network == PeerNetwork(SocketAddress(v4: 0xcb00_7101, port: 1)) }
    }
    #expect(verifier.looks.withLock { $0 } == before && result.withLock { $0 } == nil)
    time.pass(.milliseconds(45))
    #expect(result.withLock { $0 } == true)
  }
}
