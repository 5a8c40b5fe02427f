// The short form of `make networks`: rows that run in seconds in a build that is not optimised, each with its control run.

import Basics
import Congestion
import NetworkEmulator
import NetworkScenarios
import Testing

@Suite struct NetworkTests {
  @Test(arguments: ["E7d", "E7e", "E9", "E15"])
  func rowHoldsAndItsControlDoesNot(_ id: String) throws {
    let row = try #require(allRows.first { $0.id == id })
    var runner = RowRunner()
    let result = runner.run(row)
    #expect(result.figure.held, "\(row.bar): \(result.figure.text)")
    #expect(!result.control.held, "\(row.bar), control: \(result.control.text)")
  }

  @Test func allPartsOfE1Hold() {
    var runner = RowRunner()
    for row in allRows where row.id.hasPrefix("E1") && row.id.count == 3 && row.id.last?.isLetter == true {
      let figure = runner.figure(row, .ofServer)
      #expect(figure.held, "\(row.id) \(row.bar): \(figure.text)")
    }
  }

  /// 2 Mbit/s are sent on a line of 10 Mbit/s, which falls to 1 Mbit/s after twenty seconds: a fall is noticed although the estimator
  /// was relaxed before.
  @Test(arguments: [1, 2, 3] as [UInt64]) func aFallIsNoticedWhileRelaxed(_ seed: UInt64) {
    var flow = FlowOptions()
    flow.source = .fixed(Schedule(.megabits(2)))
    let line = LineProfile(capacity: Schedule(steps: [(0, 10e6), (20, 1e6)]))
    var simulation = Simulation(lines: [line, LineProfile(capacity: Schedule(100e6))], flows: [flow], seed: seed)
    let trace = simulation.run(seconds: 22).flows[0]
    #expect(trace.relaxedShare(10, 20) > 0.8)
    #expect(trace.timeToTarget(20, 22) { $0 <= 1e6 } <= 0.8)
    #expect(trace.relaxedShare(20.5, 22) == 0)
  }

  @Test func idsAreUniqueAndEachRowHasAControl() {
    #expect(Set(allRows.map(\.id)).count == allRows.count)
    for row in allRows { #expect(!row.control.isEmpty, "\(row.id)") }
  }

  @Test func theSameSeedGivesTheSameRun() throws {
    let row = try #require(allRows.first { $0.id == "E9" })
    let runs = [1, 1, 2].map { (seed: UInt64) in row.scenario.run(.ofServer, seed)[0].flows[0].target }
    #expect(runs[0] == runs[1])
    #expect(runs[0] != runs[2])
  }
}

@Suite struct LineTests {
  private func arrivals(_ line: inout Line, _ times: [Int], size: Int = 1_250) -> [Double?] {
    times.map { time in
      guard case .arrives(let at, _) = line.send(size, at: milliseconds(time)) else { return nil }
      return ((at - .zero).seconds * 1e6).rounded() / 1e3
    }
  }

  @Test func packetsQueueBehindEachOther() {
    var line = Line(LineProfile(capacity: Schedule(1e6)), seed: 1)
    #expect(arrivals(&line, [0, 0, 0, 100]) == [60, 70, 80, 160])
    #expect(line.queueing(at: milliseconds(100)) == .milliseconds(10))
  }

  @Test func aFallOfTheCapacityDelaysWhatWaits() {
    var line = Line(LineProfile(capacity: Schedule(steps: [(0, 1e6), (0.015, 0.5e6)])), seed: 1)
    #expect(arrivals(&line, [0, 0, 0]) == [60, 75, 95])
  }

  @Test func theQueueIsFullAtItsLimit() {
    var profile = LineProfile(capacity: Schedule(1e6))
    profile.queue = Schedule(40)
    var line = Line(profile, seed: 1)
    #expect(arrivals(&line, [0, 0, 0, 0, 0, 10]) == [60, 70, 80, 90, nil, 100])
    #expect(line.missing == 1)
  }

  @Test func lossAndRepetitionComeAsOftenAsAsked() {
    var profile = LineProfile(capacity: Schedule(1e9))
    profile.loss = Schedule(0.1)
    profile.duplication = Schedule(0.2)
    var line = Line(profile, seed: 7)
    var twice = 0
    for index in 0..<10_000 {
      if case .arrives(_, .some) = line.send(100, at: milliseconds(index)) { twice += 1 }
    }
    #expect((line.missing - 1_000).magnitude < 120)
    #expect((twice - 1_800).magnitude < 180)
  }

  @Test func burstsLoseNeighbours() {
    var profile = LineProfile(capacity: Schedule(1e9))
    profile.burstStart = Schedule(0.01)
    var line = Line(profile, seed: 7)
    var lost: [Int] = []
    for index in 0..<10_000 where line.send(100, at: milliseconds(index)) == .lost { lost.append(index) }
    let neighbours = zip(lost, lost.dropFirst()).filter { $1 == $0 + 1 }.count
    #expect(lost.count > 250 && lost.count < 800)
    #expect(neighbours * 2 > lost.count)
  }

  @Test func orderIsKeptUnlessReorderingIsAskedFor() {
    for (share, ordered) in [(0.0, true), (0.1, false)] {
      var profile = LineProfile(capacity: Schedule(1e9))
      profile.jitter = Schedule(20)
      profile.reordering = Schedule(share)
      var line = Line(profile, seed: 3)
      let times = arrivals(&line, Array(0..<1_000)).compactMap { $0 }
      #expect((times == times.sorted()) == ordered)
    }
  }

  @Test func theCompetitorFillsTheLineAndBacksOff() {
    var simulation = Simulation(
      lines: [LineProfile(capacity: Schedule(2e6)), LineProfile(capacity: Schedule(100e6))], flows: [],
      competitor: CompetitorOptions())
    let outcome = simulation.run(seconds: 40)
    #expect(Double(outcome.competitorBytes) * 8 / 20 > 1.8e6)
    #expect(outcome.lines[0].quantile(0.95, 20, 40) > 200)
    #expect(outcome.lines[0].quantile(0.05, 20, 40) < outcome.lines[0].quantile(0.95, 20, 40) - 30)
  }
}
