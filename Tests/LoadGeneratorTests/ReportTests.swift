// Percentiles, verdicts, and the three shapes of a report.

import Basics
import FoundationEssentials
import Testing

@testable import LoadGenerator

@Suite struct ReportTests {
  @Test(arguments: [
    ([5.0], [5.0, 5, 5, 5]), ([3, 1, 2], [2, 3, 3, 3]),
    (Array(stride(from: 1.0, through: 100, by: 1)), [50, 95, 99, 100]),
    (Array(stride(from: 1.0, through: 200, by: 1)), [100, 190, 198, 200]),
  ])
  func percentilesAreNearestRanks(_ values: [Double], _ wanted: [Double]) throws {
    let found = try #require(Percentiles(values))
    #expect([found.p50, found.p95, found.p99, found.max] == wanted)
  }

  @Test func nothingHasNoPercentiles() {
    #expect(Percentiles([]) == nil)
  }

  @Test(arguments: [(0.0, "0"), (1, "1"), (0.126, "0.13"), (1.5, "1.5"), (2.004, "2"), (12.04, "12.04")])
  func numbersAreShort(_ value: Double, _ text: String) { #expect(rounded(value) == text) }

  @Test(arguments: [(0.0, 1.0), (1, 1), (3, 5), (7, 10), (0.03, 0.05), (42_000, 50_000)])
  func chartsEndOnRoundNumbers(_ value: Double, _ wanted: Double) {
    #expect(abs(Chart.ceiling(value) - wanted) < 1e-9)
  }

  /// A report of a good run, with something of everything.
  static var sample: Report {
    var report = Report()
    report.scenario = "sample"
    report.about = "two <people> & more"
    report.loaded = "Roost <new>"
    (report.participants, report.rooms, report.streamsExpected, report.streamsSeen) = (2, 1, 4, 4)
    (report.packetsExpected, report.packetsReceived, report.steadySeconds) = (1_000, 1_000, 10)
    report.latencyMs = .init(audio: Percentiles([0.2]), video: Percentiles([0.4]))
    report.server = .init(
      cpuSeconds: 1, cpuMicrosPerForwardedPacket: 2.5, rssBytes: 20 << 20, rssBytesPerParticipant: 1)
    report.limit = .init(cryptoMicros: 0.1, sendMicros: 1, microsPerPacket: 1.1, backend: "openssl", packetBytes: 1_200)
    report.ratioToLimit = 2.27
    report.timeline = (1...5).map { second in
      var moment = Report.Moment()
      (moment.second, moment.packetsPerSecond, moment.serverCPU) = (Double(second), 100, 0.2)
      return moment
    }
    report.latencyHistogram = [.init(microseconds: 200, count: 10), .init(microseconds: 4_000, count: 1)]
    report.firstFrameHistogram = [.init(microseconds: 40_000, count: 3), .init(microseconds: 95_000, count: 1)]
    report.people = [.init(user: "anna<b>", room: "r", joinMs: 3, firstFrameMs: 80)]
    return report
  }

  @Test func jsonHasTheAgreedNames() throws {
    let object = try JSONDecoder().decode([String: Anything?].self, from: Data(try json(Self.sample).utf8))
    let wanted = [
      "scenario", "seconds", "participants", "rooms", "streamsExpected", "streamsSeen", "packetsExpected",
      "packetsReceived", "lossRatio", "duplicates", "wrongStream", "decodedFrames", "freezes", "latencyMs", "server",
      "limit", "ratioToLimit", "steadySeconds", "expectations", "passed", "chatLost", "joinMs", "firstFrameMs",
      "muteToSilenceMs", "upgradeGapMs", "loaded",
    ]
    for name in wanted { #expect(object[name] != nil, "\(name)") }
    let text = try json(Self.sample)
    for name in [
      "cpuSeconds", "cpuMicrosPerForwardedPacket", "rssBytes", "rssBytesPerParticipant", "cryptoMicros",
      "sendMicros", "microsPerPacket", "p50", "p95", "p99", "max",
    ] {
      #expect(text.contains("\"\(name)\""), "\(name)")
    }
  }

  /// Any value of a JSON object.
  private struct Anything: Decodable { init(from decoder: any Decoder) throws {} }

  @Test func thePageIsWholeAndHarmless() {
    let page = Self.sample.html
    #expect(page.contains("two &lt;people&gt; &amp; more") && page.contains("anna&lt;b&gt;"))
    #expect(!page.contains("anna<b>") && page.contains("Roost &lt;new&gt;, measured for 10 s"))
    for outside in ["http://", "https://", "src=", "href=", "@import", "url("] {
      #expect(!page.contains(outside), "\(outside)")
    }
    #expect(page.components(of: "<figure>") == page.components(of: "</figure>"))
    #expect(page.components(of: "<svg") == page.components(of: "</svg>"))
    // Twenty bars up to 100 ms: those of 40 ms are in the ninth.
    #expect(page.contains("<title>45: 3</title>") && page.contains("<title>100: 1</title>"))
  }

  @Test func everyBoundIsJudged() {
    var bounds = Bounds()
    (bounds.audioP99, bounds.videoP99, bounds.muteP99) = (.milliseconds(1), .microseconds(300), .seconds(1))
    (bounds.cpuMicros, bounds.ratioToLimit, bounds.rss) = (2.4, 1.5, 40 << 20)
    let verdicts = Self.sample.verdicts(on: bounds)
    #expect(
      verdicts == [
        .init(name: "sound, p99", held: true, figure: "0.2 ms, at most 1 ms"),
        .init(name: "pictures, p99", held: false, figure: "0.4 ms, at most 0.3 ms"),
        .init(name: "mute to silence, p99", held: false, figure: "not measured, at most 1000 ms"),
        .init(name: "CPU per packet", held: false, figure: "2.5 µs, at most 2.4 µs"),
        .init(name: "ratio to limit", held: false, figure: "2.27, at most 1.5"),
        .init(name: "memory", held: true, figure: "20 MiB, at most 40 MiB"),
      ])
    var remote = Self.sample
    remote.server = nil
    #expect(remote.verdicts(on: bounds).count == 3, "of another's server, cost and memory are not known")
  }

  @Test func targetsAreSaidInEveryShape() throws {
    var report = Self.sample
    report.targets = [.init(name: "CPU per packet", held: false, figure: "2.5 µs, at most 2.4 µs")]
    #expect(report.table.contains("missed   target CPU per packet: 2.5 µs"))
    #expect(report.html.contains("target missed") && report.html.contains("2.5 µs, at most 2.4 µs"))
    #expect(try json(report).contains("\"targets\""))
    #expect(Bench([[report]]).table.contains("0 of 1"))
  }

  private static func step(_ rooms: Int, _ people: Int) -> Growth.Step {
    var step = Growth.Step()
    (step.rooms, step.participants, step.cpuMicrosPerForwardedPacket) = (rooms, people, 2.5)
    (step.rssBytes, step.passed) = (20 << 20, true)
    return step
  }

  @Test func growthIsATableAndAPage() {
    let growth = Growth(
      scenario: "<growth>", byRooms: Growth.rooms.map { Self.step($0, $0 * 8) },
      byPeople: Growth.people.map { Self.step(1, $0) })
    let lines = growth.table.split(separator: "\n")
    #expect(lines.count == 1 + 4 + 6 && lines.dropFirst().allSatisfy { $0.contains("2.5") })
    let page = growth.html
    #expect(page.contains("&lt;growth&gt;") && !page.contains("http") && page.hasSuffix("</html>\n"))
    #expect(page.components(of: "class=\"dot\"") == (4 + 6) * 3, "no ratio was measured, so three charts of four")
  }

  @Test func windowsAreATableAndAPage() {
    func report(_ cost: Double, passed: Bool = true) -> Report {
      var report = Report()
      report.server = .init(cpuMicrosPerForwardedPacket: cost)
      report.latencyMs = .init(audio: Percentiles([2]), video: Percentiles([1]))
      report.passed = passed
      return report
    }
    let steps = Windows.video.map { Windows.Step(video: $0, [report(3), report(2, passed: $0 > 0), report(4)]) }
    let windows = Windows(scenario: "<room>", steps: steps)
    let lines = windows.table.split(separator: "\n")
    #expect(lines.count == 1 + Windows.video.count && lines.dropFirst().allSatisfy { $0.contains("3 (2 to 4)") })
    #expect(lines[1].hasSuffix("failed in 1") && !lines[2].contains("failed") && !windows.passed)
    #expect(steps[2].audioMs == 1 && steps[2].pictureP99Ms?.median == 1 && steps[2].soundP50Ms?.median == 2)
    let page = windows.html
    #expect(page.contains("&lt;room&gt;") && !page.contains("http") && page.hasSuffix("</html>\n"))
    #expect(page.components(of: "class=\"dot\"") == Windows.video.count * 5)
  }

  @Test func aBottleneckIsSaid() {
    var report = Self.sample
    #expect(!report.html.contains("bottleneck") && !report.table.contains("bottleneck"))
    report.generator.wasBottleneck = true
    report.generator.reasons = ["a media thread used 99 % of a CPU"]
    #expect(report.html.contains("bottleneck") && report.table.contains("a media thread used 99 % of a CPU"))
  }
}

extension String {
  /// How often `part` is in it.
  func components(of part: String) -> Int { ranges(of: part).count }
}
