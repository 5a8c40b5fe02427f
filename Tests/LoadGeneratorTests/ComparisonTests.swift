// What several rounds of Roost and Janus come to.

import Testing

@testable import LoadGenerator

@Suite struct ComparisonTests {
  private static func report(_ scenario: String, _ cost: Double?, loss: Double = 0, passed: Bool = true) -> Report {
    var report = Report()
    (report.scenario, report.lossRatio, report.passed) = (scenario, loss, passed)
    report.server = .init(cpuSeconds: 1, cpuMicrosPerForwardedPacket: cost, rssBytes: 38 << 20)
    report.latencyMs = .init(audio: Percentiles([9]), video: Percentiles([2]))
    report.firstFrameMs = Percentiles([40])
    return report
  }

  private static func cells(_ line: Substring) -> [String] {
    line.split(separator: "  ").map { $0.split(separator: " ").joined(separator: " ") }.filter { !$0.isEmpty }
  }

  /// Each round on its own: what the machine was like in one says nothing of another.
  @Test func whatOneCostsIsInTimesOfTheSameRoundsRoost() throws {
    var comparison = Comparison()
    for (ours, its) in [(2.0, 10.0), (4.0, 16.0), (3.0, 18.0)] {
      comparison.add(Self.report("video16", its, loss: its == 16 ? 0.01 : 0, passed: its != 16), of: .janus)
      comparison.add(Self.report("video16", ours), of: .roost)
    }
    let lines = comparison.table.split(separator: "\n")
    #expect(lines.count == 3)
    #expect(Self.cells(lines[1]) == ["video16", "Roost", "3 (2 to 4)", "1", "2", "2", "40", "0", "38", "passed"])
    #expect(
      Self.cells(lines[2]) == [
        "video16", "Janus", "16 (10 to 18)", "5 (4 to 6)", "2", "2", "40", "1", "38", "failed in 1",
      ])
  }

  @Test func rowsComeInTheOrderOfScenariosAndServers() {
    var comparison = Comparison()
    for name in ["stage100", "audio32", "video16"] {
      for server in Comparison.Server.allCases.reversed() { comparison.add(Self.report(name, 1), of: server) }
    }
    #expect(comparison.rows.map(\.figures.scenario) == ["video16", "audio32", "stage100"].flatMap { [$0, $0, $0] })
    #expect(comparison.rows.prefix(3).map(\.server) == [.roost, .janus, .janusInOneLoop])
  }

  @Test func onlyRoostsFailuresFail() {
    var comparison = Comparison()
    comparison.add(Self.report("video16", 2), of: .roost)
    comparison.add(Self.report("video16", 10, passed: false), of: .janus)
    #expect(comparison.passed)
    comparison.add(Self.report("video16", 2, passed: false), of: .roost)
    #expect(!comparison.passed)
  }

  @Test func whatWasNotMeasuredHasNoRatio() {
    var comparison = Comparison()
    comparison.add(Self.report("video16", nil), of: .roost)
    comparison.add(Self.report("video16", 10), of: .janus)
    #expect(comparison.rows.map { $0.timesRoost == nil } == [true, true])
  }

  @Test func eachServerIsToldWhatItNeeds() {
    var common = RunSettings()
    common.janus = "folder"
    let all = Comparison.Server.allCases.map { $0.settings(common) }
    #expect(all.map(\.janus) == [nil, "folder", "folder"])
    #expect(all.map(\.janusEventLoops) == [nil, nil, 1])
  }
}
