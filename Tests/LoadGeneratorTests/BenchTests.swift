// What several rounds of the benchmark come to.

import Basics
import FoundationEssentials
import Testing

@testable import LoadGenerator

@Suite struct BenchTests {
  private static func report(_ cost: Double, ratio: Double = 1, loss: Double = 0, passed: Bool = true) -> Report {
    var report = Report()
    (report.scenario, report.packetsPerSecond, report.lossRatio, report.passed) = ("video16", 42_000, loss, passed)
    report.server = .init(
      cpuSeconds: 1, cpuMicrosPerForwardedPacket: cost, rssBytes: 38 << 20, rssBytesPerParticipant: 900 * 1_024)
    report.limit = .init(microsPerPacket: cost / ratio)
    report.ratioToLimit = ratio
    report.latencyMs = .init(audio: Percentiles([9]), video: Percentiles([cost]))
    report.targets = [
      .init(name: "CPU per packet", held: cost <= 2.4, figure: ""),
      .init(name: "ratio to limit", held: ratio <= 1.5, figure: ""),
    ]
    return report
  }

  @Test(arguments: [
    ([2.0], 2, "2"), ([3, 1, 2], 2, "2 (1 to 3)"), ([4, 1, 2, 3], 2.5, "2.5 (1 to 4)"),
    ([2.5, 2.5, 2.5], 2.5, "2.5"), ([2.301, 2.302, 2.303], 2.302, "2.3"),
  ])
  func aSpreadHasAMedianAndItsEnds(_ values: [Double], _ median: Double, _ text: String) throws {
    let spread = try #require(Bench.Spread(values))
    #expect(spread.median == median && spread.text == text)
  }

  @Test func nothingHasNoSpread() { #expect(Bench.Spread([]) == nil) }

  @Test func aTableHasMediansAndTheHighestLoss() throws {
    let bench = Bench([[Self.report(2.6, ratio: 1.4), Self.report(2.2, ratio: 1.7, loss: 0.01), Self.report(2.3)]])
    let row = try #require(bench.table.split(separator: "\n").last).split(separator: "  ")
    let cells = row.map { $0.split(separator: " ").joined(separator: " ") }
    #expect(
      cells == [
        "video16", "42000", "2.3 (2.2 to 2.6)", "1.86 (1.29 to 2.3)", "1.4 (1 to 1.7)", "2.3", "2.3", "1", "38",
        "900", "2 of 2", "passed",
      ])
    #expect(bench.passed)
  }

  @Test(arguments: [(8, "8, target 8: reached. 8 rooms held"), (7, "7, target 8: missed. 7 rooms held")])
  func theMostRoomsHaveATarget(_ most: Int, _ text: String) throws {
    var search = RoomSearch()
    _ = search.take(RoomSearch.Try(rooms: most, packetsPerSecond: 336_000, held: true))
    _ = search.take(RoomSearch.Try(rooms: most + 1, lossRatio: 0.02, p99Ms: 9))
    let bench = Bench([[Self.report(2)]], roomsPerWorker: search)
    #expect(try #require(bench.roomsVerdict).hasPrefix("rooms of sixteen on one worker: \(text)"))
    #expect(bench.passed)
    #expect(try json(bench).contains("\"most\" : \(most)"))
  }

  @Test func withoutASearchThereAreNoRooms() throws {
    #expect(Bench([[Self.report(2)]]).roomsVerdict == nil)
    #expect(try json(Bench([[Self.report(2)]])).contains("\"roomsPerWorker\" : null"))
    #expect(!Bench([[Self.report(2)]], roomsPerWorker: RoomSearch()).passed)
  }

  @Test func aTargetIsReachedWhereMostRoundsReachIt() {
    let row = Bench.Row([Self.report(2.6), Self.report(2.5, ratio: 1.6), Self.report(2.3)])
    #expect(row.targets.map(\.reachedRounds) == [1, 2])
    #expect(row.targets.map(\.reached) == [false, true])
    #expect(Bench.Row([Self.report(2.6), Self.report(2.3)]).targets.map(\.reached) == [false, true])
  }

  @Test func oneRoundThatFailsFails() {
    let bench = Bench([[Self.report(2), Self.report(2, passed: false), Self.report(2)], [Self.report(1)]])
    #expect(!bench.passed && bench.table.contains("failed in 1"))
    #expect(Bench([[Self.report(2, passed: false)]]).table.contains("failed"))
  }

  @Test func theGeneratorIsBlamedForItsOwnRoundsAlone() {
    var late = Self.report(2)
    late.generator.wasBottleneck = true
    #expect(Bench([[late, Self.report(2, passed: false)]]).table.hasSuffix("failed in 1"))
    #expect(Bench.Row([late, Self.report(2, passed: false)]).bottleneckFailures == 0)
    late.passed = false
    #expect(Bench([[late, Self.report(2)]]).table.hasSuffix("failed in 1 (generator)"))
    #expect(Bench.Row([late, Self.report(2)]).bottleneckRounds == 1)
  }

  /// A server that ended has no cost, whichever round it was.
  @Test(arguments: 0..<3) func whatWasNotMeasuredIsNotReached(_ place: Int) throws {
    var dead = Self.report(2, passed: false)
    (dead.server, dead.ratioToLimit, dead.targets) = (nil, nil, [])
    var reports = [Self.report(2), Self.report(2.2)]
    reports.insert(dead, at: place)
    let row = Bench.Row(reports)
    #expect(row.targets.map(\.reachedRounds) == [2, 2] && row.targets.map(\.reached) == [true, true])
    #expect(row.cpuMicrosPerForwardedPacket?.values == 2 && row.packetsPerSecond?.values == 3)
    #expect(Bench.middle(reports)?.server != nil)
    #expect(try json(Bench([[dead]])).contains("\"cpuMicrosPerForwardedPacket\" : null"))
  }

  @Test(arguments: [([2.6, 2.2, 2.3], 2.3), ([2.6, 2.2], 2.2), ([2.5], 2.5)])
  func theMiddleRunIsTheOneThatIsShown(_ costs: [Double], _ middle: Double) {
    #expect(Bench.middle(costs.map { Self.report($0) })?.server?.cpuMicrosPerForwardedPacket == middle)
    #expect(Bench.middle([]) == nil)
  }

  @Test func jsonHasEveryFigure() throws {
    let text = try json(Bench([[Self.report(2.3)]]))
    for name in [
      "cpuMicrosPerForwardedPacket", "limitMicros", "ratioToLimit", "p50Ms", "p99Ms", "lossRatio", "rssBytes",
      "rssBytesPerParticipant", "reachedRounds", "median", "least", "most",
    ] {
      #expect(text.contains("\"\(name)\""), "\(name)")
    }
  }
}
