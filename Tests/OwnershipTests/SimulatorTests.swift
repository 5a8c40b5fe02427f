// All that may happen to three nodes and their store; and that errors which are put in are found.

import Basics
import ClusterSimulator
import Testing

@Suite struct SimulatorTests {
  private static let seeds = 1...40 as ClosedRange<UInt64>
  private static let reports = seeds.map { Simulator.run(seed: $0, .short) }

  @Test func anythingMayHappenToThreeNodes() {
    for report in Self.reports { #expect(report.violation == nil, "\(report.text)") }
  }

  @Test func enoughHasHappened() {
    var counts = Counts()
    for report in Self.reports { counts.add(report.counts) }
    #expect(counts.missing(in: Self.reports.count) == [])
    #expect(
      counts.missing(in: Self.reports.count * 1_000).count == Counts.parts.count + FaultKind.allCases.count,
      "the control")
  }

  /// Where nodes are killed and nothing else fails, another has taken what they held within ten seconds.
  @Test func whatADeadNodeHeldIsTakenInTime() {
    var options = Options.short
    (options.kinds, options.isSwarm, options.words) = ([.killed], false, nil)
    let reports = (1...12 as ClosedRange<UInt64>).map { Simulator.run(seed: $0, options) }
    for report in reports { #expect(report.violation == nil, "\(report.text)") }
    #expect(reports.reduce(0) { $0 + $1.counts.orphans } >= 12, "\(reports.map(\.counts.orphans))")
  }

  @Test func eachKindOfFaultComes() {
    var kinds: [FaultKind: Int] = [:]
    for seed in 1...500 as ClosedRange<UInt64> {
      for kind in Set(FaultPlan(seed: seed, .short).faults.map(\.kind)) { kinds[kind, default: 0] += 1 }
    }
    for kind in FaultKind.allCases { #expect(kinds[kind, default: 0] >= 20, "\(kind)") }
  }

  @Test(arguments: Mutation.all)
  func eachErrorIsFound(_ mutation: Mutation) {
    #expect(mutation.firstSeed(upTo: 500) != nil)
  }

  /// The world itself breaks it: clocks are far apart, and there is no error.
  @Test func whatBreaksWithoutTheErrorIsNotFound() {
    var options = Options.short
    options.looksAt = [.oneDecides, .inOrder]
    (options.kinds, options.isSwarm, options.partsPerMillion) = ([.cutFromStore], false, 400_000)
    options.clocksAreExtreme = true
    let broken = (1...100 as ClosedRange<UInt64>).first { Simulator.run(seed: $0, options).violation != nil }
    #expect(broken != nil)
    #expect(Mutation("none", breaks: .oneDecides, options).firstSeed(upTo: 100) == nil)
  }

  @Test func aRunWithoutAnEndIsEnded() {
    var options = Options.short
    (options.looksAt, options.mostHappenings) = ([.oneDecides], 500)
    let report = Simulator.run(seed: 1, options)
    #expect(report.violation?.invariant == .endless && report.last.count == 300)
    #expect(Mutation("none", breaks: .endless, options).firstSeed(upTo: 1) == nil)
  }

  @Test func aShrunkPlanStillBreaksTheSame() throws {
    let mutation = try #require(Mutation.all.first { $0.description == "fencesAfter3s" })
    let seed = try #require(mutation.firstSeed(upTo: 500))
    let report = Simulator.run(seed: seed, mutation.options)
    let shrunk = Simulator.shrink(report, mutation.options)
    #expect(shrunk.violation?.invariant == .oneDecides && report.violation?.invariant == .oneDecides)
    #expect(shrunk.plan.faults.count == 1 && report.plan.faults.count > 1, "one cut is enough")
    #expect(shrunk.text.contains("cutFromStore n") && shrunk.text.contains("oneDecides"))
    #expect(shrunk.text.contains("make cluster ARGUMENTS=\"--mutation fencesAfter3s --seed \(seed)\""))
  }

  /// Two runs in one process, whose tables have other orders.
  @Test func theSameSeedGivesTheSameTrace() {
    for seed in 1...5 as ClosedRange<UInt64> {
      let report = Self.reports[Int(seed) - 1]
      #expect(Simulator.run(seed: seed, .short).hash == report.hash)
      var other = Options.short
      other.extraThrows = 1
      #expect(Simulator.run(seed: seed, other).hash != report.hash, "the control")
    }
  }

  /// `make cluster` does it with 300 seeds.
  @Test func clocksFarApartBreakIt() {
    #expect(Simulator.firstBreak(partsPerMillion: 10_000, upTo: 100) == nil, "two percent")
    #expect(Simulator.firstBreak(partsPerMillion: 231_000, upTo: 100)?.hasTwoDeciding == true, "sixty percent")
  }
}
