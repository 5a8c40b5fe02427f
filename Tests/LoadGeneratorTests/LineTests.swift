// People behind lines: what came over each stands in the report, and bounds on it can be missed.

import Basics
import SyntheticParticipant
import Testing

@testable import LoadGenerator

@Suite(.serialized, .timeLimit(.minutes(5))) struct LineTests {
  private static func run(_ change: (inout Scenario) -> Void) async throws -> Report {
    var scenario = Scenario()
    (scenario.name, scenario.ramp, scenario.duration) = ("lines", .milliseconds(200), .seconds(5))
    var sender = PeopleGroup(name: "sender", count: 2)
    sender.audio = 32_000
    sender.video = VideoShape(bitrate: 900_000, framesPerSecond: 20, layers: 3)
    var behind = PeopleGroup(name: "behind", count: 1)
    behind.line = LineShape()
    scenario.people = [sender, behind]
    change(&scenario)
    var settings = RunSettings()
    let roost: String = try #require(Programs.path("roost"))
    settings.roost = roost
    settings.measuresLimit = false
    settings.threads = 1
    return try await Run.run(scenario, settings)
  }

  @Test func aThinLineIsUsedAndTheOthersDoNotSuffer() async throws {
    let report = try await Self.run {
      $0.people[1].line?.down = 600_000
      $0.people[1].line?.delay = .milliseconds(20)
      $0.expect.lineShare = 0.2
      $0.expect.lineFreezes = 50
      // Of two people with three layers each.
      $0.expect.loss = 0.01
    }
    #expect(report.passed, "\(report.table)")
    let line = try #require(report.lines.first)
    #expect(line.rateKbps == 600 && line.kbps > 120 && line.kbps < 612 && line.videos == 2 && line.audioKbps > 50)
    #expect(
      report.streamsExpected == 4 && report.table.contains("600 kbit/s, 20 ms")
        && report.html.contains("<h2>Lines</h2>"))
  }

  /// Sound and one picture in its lowest layer are all that fits: the server says so, and the report has it.
  @Test func whatTheServerSaysOfALineIsInTheReport() async throws {
    let report = try await Self.run {
      $0.people[1].line?.down = 250_000
      $0.expect.loss = 0.01
    }
    let line = try #require(report.lines.first)
    let says = try #require(line.serverSays, "\(report.table)")
    #expect(says.hasPrefix("poor") || says.hasPrefix("fair"))
    #expect(report.table.contains(says) && report.lineSection.contains(says) && (line.serverEstimateKbps ?? 1) > 0)
  }

  /// A line with room carries all; the same bound on what a line must carry is missed where it is far too wide.
  @Test func aWideLineIsNotFilledAndThatIsNoticed() async throws {
    let report = try await Self.run {
      $0.people[1].line?.down = 50_000_000
      $0.people[1].definition = .low
      $0.people[1].feedback = .remb
      $0.expect.lineShare = 0.2
      $0.expect.loss = 0.01
    }
    #expect(report.expectations.filter { !$0.held }.map(\.name) == ["lines are used"], "\(report.table)")
    let line = try #require(report.lines.first)
    #expect(line.videosShown == 2 && line.layers == [2, 0, 0], "both in the layer that was asked for")
    #expect((line.estimateKbps ?? 0) > 100 && line.feedback == "remb" && line.freezes == 0)
  }

  @Test(arguments: [(kbps: 610.0, holds: true), (615, false)])
  func aLineThatCarriesMoreThanItsRateIsNoticed(kbps: Double, holds: Bool) {
    var line = LineShape()
    line.down = 600_000
    let group = PeopleGroup(name: "behind", count: 1, line: line)
    var scenario = Scenario()
    scenario.people = [group]
    var report = Report()
    var row = Report.LineRow("x", line, group)
    row.videoKbps = kbps
    report.lines = [row]
    var evaluation = Evaluation(scenario: scenario)
    evaluation.report = report
    evaluation.judge(isStrict: false)
    #expect(evaluation.report.expectations.first { $0.name == "no line carries more than its rate" }?.held == holds)
  }

  @Test func boundsOnLinesAreJudgedByTheWorst() {
    let group = PeopleGroup(name: "behind", count: 2, line: LineShape())
    var scenario = Scenario()
    scenario.people = [group]
    scenario.expect.lineFreezes = 3
    var report = Report()
    report.lines = [0, 4].map { (freezes: UInt64) in
      var row = Report.LineRow("x", LineShape(), group)
      (row.freezes, row.audioKbps) = (freezes, 10)
      return row
    }
    var evaluation = Evaluation(scenario: scenario)
    evaluation.report = report
    evaluation.judge(isStrict: false)
    let verdicts = Dictionary(evaluation.report.expectations.map { ($0.name, $0.held) }) { first, _ in first }
    #expect(verdicts["freezes behind a line"] == false && verdicts["media comes over each line"] == true)
    #expect(verdicts["no line carries more than its rate"] == true)
  }
}
