// Turns at work that strangers ask for, in virtual time: how many there are, who is next, who is sent away and when.
import Basics
import Testing

@Suite struct FairTurnsTests {
  private static let usual = TurnLimits(
    perSecond: 50, burst: 500, allPerSecond: 4_000, allBurst: 1_000, patience: .seconds(2), mostOfNetwork: 1_000,
    most: 4_000)
  private let here = PeerNetwork(SocketAddress(v4: 0x7f00_0001, port: 1))
  private let there = PeerNetwork(SocketAddress(v4: 0x7f00_0002, port: 1))
  private let start = Instant.zero + .seconds(9)

  private func turns(_ change: (inout TurnLimits) -> Void = { _ in }) -> FairTurns<Int> {
    var limits = Self.usual
    change(&limits)
    return FairTurns(limits: limits, now: start)
  }

  /// Takes a network's turns at once, so that what comes next waits.
  private func used(_ change: (inout TurnLimits) -> Void = { _ in }) -> FairTurns<Int> {
    var turns = turns(change)
    for item in 0..<turns.limits.burst { #expect(turns.ask(-item, of: here, rank: TurnRank(), at: start) == .now) }
    return turns
  }

  /// All that comes of it until `end`, each with its time in milliseconds since the start.
  private func run(
    _ turns: inout FairTurns<Int>, until end: TimeDelta
  ) -> [(item: Int, outcome: FairTurns<Int>.Outcome, after: Int64)] {
    var found: [(item: Int, outcome: FairTurns<Int>.Outcome, after: Int64)] = []
    var now = start
    while true {
      while let (item, outcome) = turns.next(at: now) { found.append((item, outcome, (now - start).milliseconds)) }
      let next = turns.nextTurn(after: now)
      #expect(next > now, "nothing is left for now")
      guard next <= start + end else { return found }
      now = next
    }
  }

  @Test func fiveHundredAtOnceAndThenFiftyASecond() {
    var turns = used()
    for item in 1...60 { #expect(turns.ask(item, of: here, rank: TurnRank(), at: start).isWaiting) }
    #expect(turns.ask(99, of: there, rank: TurnRank(), at: start) == .now, "another network has its own")
    let found = run(&turns, until: .seconds(1))
    #expect(found.map(\.item) == Array(1...50), "those first that came first")
    #expect(found.map(\.after) == (1...50).map { $0 * 20 } && found.allSatisfy { $0.outcome == .turn })
    #expect(turns.count == 10 && turns.count(of: here) == 10)
  }

  @Test func whoHasNotFailedIsFirstAndThenWhoHadTheFewestTurns() {
    var turns = used()
    let ranks = [(2, 0), (1, 2), (1, 0), (0, 2), (0, 1), (0, 0)]
    for (item, rank) in ranks.enumerated() {
      _ = turns.ask(item, of: here, rank: TurnRank(failures: rank.0, turns: rank.1), at: start)
    }
    #expect(run(&turns, until: .seconds(1)).map(\.item) == [5, 4, 3, 2, 1, 0])
    #expect(TurnRank(failures: 3, turns: 3) == TurnRank(failures: 99, turns: .max))
  }

  /// Nine hundred who have failed wait all the time, and twenty come that have not.
  @Test func twentyOfNineHundredAreServedAtOnce() {
    var turns = used()
    for item in 0..<900 { _ = turns.ask(item, of: here, rank: TurnRank(failures: 1), at: start) }
    for item in 900..<920 { #expect(turns.ask(item, of: here, rank: TurnRank(), at: start).isWaiting) }
    #expect(run(&turns, until: .milliseconds(400)).map(\.item) == Array(900..<920))
  }

  @Test func whoHasWaitedForTwoSecondsIsSentAway() {
    var turns = used { $0.perSecond = 1 }
    for item in 0..<3 { #expect(turns.ask(item, of: here, rank: TurnRank(failures: item), at: start).isWaiting) }
    let found = run(&turns, until: .seconds(10))
    #expect(found.map(\.item) == [0, 1, 2] && found.map(\.after) == [1_000, 2_000, 2_000])
    #expect(found.map(\.outcome) == [.turn, .turn, .tooLate(wait: 1_000)] && turns.count == 0)
    // Just before its time is over nothing is said.
    #expect(turns.ask(7, of: here, rank: TurnRank(), at: start + .seconds(2)).isWaiting)
    #expect(turns.next(at: start + .milliseconds(2_999)) == nil)
  }

  @Test func soManyWaitAndNotOneMore() {
    var turns = used {
      $0.mostOfNetwork = 3
      $0.most = 4
      $0.burst = 1
    }
    for item in 0..<3 { #expect(turns.ask(item, of: here, rank: TurnRank(failures: 1), at: start).isWaiting) }
    guard case .notNow(let wait) = turns.ask(3, of: here, rank: TurnRank(failures: 1), at: start) else {
      Issue.record("a fourth waits")
      return
    }
    #expect((200...10_000).contains(wait))
    // One who has not failed takes the place of the last who has.
    #expect(turns.ask(4, of: here, rank: TurnRank(), at: start).isWaiting)
    let displaced = turns.next(at: start)
    #expect(displaced?.item == 2 && displaced?.outcome != .turn)
    #expect(turns.ask(5, of: there, rank: TurnRank(), at: start) == .now)
    #expect(turns.ask(6, of: there, rank: TurnRank(), at: start).isWaiting, "the fourth of all")
    #expect(!turns.ask(7, of: there, rank: TurnRank(), at: start).isWaiting, "the fifth of all")
    #expect(turns.count == 4)
    // A network of which nothing waits yet is heard all the same: the last of the longest line makes space.
    let third = PeerNetwork(SocketAddress(v4: 0x7f00_0003, port: 1))
    #expect(turns.ask(8, of: third, rank: TurnRank(), at: start) == .now)
    #expect(turns.ask(9, of: third, rank: TurnRank(), at: start).isWaiting && turns.count == 4)
    #expect(turns.count(of: here) == 2 && turns.count(of: third) == 1)
    #expect(!turns.ask(10, of: third, rank: TurnRank(), at: start).isWaiting, "one is enough for that")
  }

  /// Some have good tokens and come again and again: whoever comes anew is served before them, however often they were sent away.
  @Test func whoIsServedAgainAndAgainKeepsNobodyOut() {
    var turns = used()
    var (now, waiting, had) = (start, Set<Int>(), [Int: Int]())
    func ask(_ one: Int) {
      guard !waiting.contains(one) else { return }
      if turns.ask(one, of: here, rank: TurnRank(turns: had[one] ?? 0), at: now).isWaiting { waiting.insert(one) }
    }
    for one in 0..<300 { had[one] = 1 }
    for step in 0..<500 {
      now = start + .milliseconds(10 * (step + 1))
      for one in 0..<300 { ask(one) }
      // Twenty newcomers, who were sent away or not.
      if step >= 50 { for one in 1_000..<1_020 where had[one] == nil { ask(one) } }
      while let (one, outcome) = turns.next(at: now) {
        waiting.remove(one)
        if outcome == .turn { had[one, default: 0] += 1 }
      }
    }
    #expect((1_000..<1_020).allSatisfy { had[$0] == 1 })
  }

  /// A thread does so much in one go, whoever asks.
  @Test func allNetworksTogetherTakeTurns() {
    var turns = turns {
      $0.allBurst = 16
      $0.allPerSecond = 1_000
    }
    for item in 0..<16 { #expect(turns.ask(item, of: here, rank: TurnRank(), at: start) == .now) }
    for item in 16..<216 { #expect(turns.ask(item, of: here, rank: TurnRank(), at: start).isWaiting) }
    for item in 1_000..<1_010 { #expect(turns.ask(item, of: there, rank: TurnRank(), at: start).isWaiting) }
    let found = run(&turns, until: .milliseconds(40))
    #expect(found.count == 40 && found.filter { $0.item >= 1_000 }.count == 10, "each network has its share")
  }

  @Test func whoIsGoneIsServedNoMore() {
    var turns = used()
    var tickets: [TurnTicket] = []
    for item in 0..<4 {
      if case .waits(let ticket) = turns.ask(item, of: here, rank: TurnRank(), at: start) { tickets.append(ticket) }
    }
    for place in [0, 2, 0] { turns.withdraw(tickets[place]) }
    #expect(turns.count == 2)
    #expect(run(&turns, until: .seconds(3)).map(\.item) == [1, 3])
    #expect(turns.nextTurn(after: start + .seconds(9)) == .distantFuture)
  }

  /// Whatever is asked for, each has one answer in time, and no network more turns than it has.
  @Test func anythingInAnyOrder() {
    var random = SplitMix64(seed: 45)
    var turns = turns {
      ($0.burst, $0.perSecond, $0.mostOfNetwork, $0.most) = (20, 50, 40, 100)
      ($0.allBurst, $0.allPerSecond) = (8, 400)
    }
    let networks = (1...4).map { PeerNetwork(SocketAddress(v4: UInt32($0), port: 1)) }
    var (asked, of) = ([Int: Instant](), [Int: Int]())
    var (tickets, served) = ([(TurnTicket, Int)](), [Int](repeating: 0, count: 4))
    var now = start
    for item in 0..<20_000 {
      now = now + .microseconds(Int(random.next() % 5_000))
      let place = Int(random.next() % 7) % 4
      let rank = TurnRank(failures: Int(random.next() % 4), turns: Int(random.next() % 4))
      switch turns.ask(item, of: networks[place], rank: rank, at: now) {
      case .now: served[place] += 1
      case .waits(let ticket):
        (asked[item], of[item]) = (now, place)
        tickets.append((ticket, item))
      case .notNow(let wait): #expect((200...10_000).contains(wait))
      }
      if random.next() % 50 == 0, let gone = tickets.randomElement(using: &random), asked[gone.1] != nil {
        turns.withdraw(gone.0)
        asked[gone.1] = nil
      }
      while let (item, outcome) = turns.next(at: now) {
        guard let since = asked.removeValue(forKey: item) else {
          Issue.record("\(item) did not wait")
          return
        }
        #expect(now - since <= .milliseconds(2_006))
        if outcome == .turn { served[of[item] ?? 0] += 1 }
      }
      guard turns.count <= 100, turns.count == asked.count, turns.nextTurn(after: now) > now else {
        Issue.record("\(turns.count) wait, and \(asked.count) have asked")
        return
      }
    }
    let seconds = (now - start).seconds
    #expect(served.allSatisfy { Double($0) <= 20 + 50 * seconds + 1 && Double($0) > 30 * seconds }, "\(served)")
  }
}

extension FairTurns.Verdict {
  fileprivate var isWaiting: Bool { if case .waits = self { true } else { false } }
}
