// What waiting for company costs and buys: the same scenario with one coalescing window after the other, in rounds, since the
// machine changes its speed between runs.

import Basics

struct Windows: Encodable, Sendable {
  /// Video's windows in milliseconds; audio's is twice as long, as by default.
  static let video = [0, 0.25, 0.5, 0.75, 1, 1.5, 2]
  /// Seconds of a run's window, unless others were asked for.
  static let usualDuration = TimeDelta.seconds(5)

  /// One window in all rounds.
  struct Step: Encodable, Sendable, Equatable {
    var videoMs: Double
    var audioMs: Double
    @Nullable var cpuMicrosPerForwardedPacket: Bench.Spread?
    @Nullable var pictureP50Ms: Bench.Spread?
    @Nullable var pictureP99Ms: Bench.Spread?
    @Nullable var soundP50Ms: Bench.Spread?
    @Nullable var soundP99Ms: Bench.Spread?
    var rounds: Int
    var passedRounds: Int

    /// `reports` are of all rounds with this window.
    init(video: Double, _ reports: [Report]) {
      (videoMs, audioMs) = (video, video * 2)
      let spread = { (value: (Report) -> Double?) in Bench.Spread(reports.compactMap(value)) }
      cpuMicrosPerForwardedPacket = spread { $0.server?.cpuMicrosPerForwardedPacket }
      pictureP50Ms = spread { $0.latencyMs.video?.p50 }
      pictureP99Ms = spread { $0.latencyMs.video?.p99 }
      soundP50Ms = spread { $0.latencyMs.audio?.p50 }
      soundP99Ms = spread { $0.latencyMs.audio?.p99 }
      rounds = reports.count
      passedRounds = reports.count { $0.passed }
    }
  }

  var scenario: String
  var steps: [Step]

  /// Runs `scenario` with each window, and all of them again for each round. `tell` hears of each run.
  static func measure(
    _ scenario: Scenario, rounds: Int, _ settings: RunSettings, tell: (_ video: Double, Report) -> Void
  ) async throws -> Windows {
    var reports = [[Report]](repeating: [], count: video.count)
    for _ in 0..<rounds {
      for (index, window) in video.enumerated() {
        var one = settings
        one.coalesce = Options.Coalesce("\(window),\(window * 2)")
        let report = try await Run.run(scenario, one)
        tell(window, report)
        reports[index].append(report)
      }
    }
    return Windows(scenario: scenario.name, steps: zip(video, reports).map { Step(video: $0, $1) })
  }

  /// Whether every run's expectations held.
  var passed: Bool { steps.allSatisfy { $0.passedRounds == $0.rounds } }
}

// MARK: Text and page

extension Windows {
  private static let columns = [
    "video ms", "audio ms", "µs/packet", "pictures p50 ms", "p99 ms", "sound p50 ms", "p99 ms", "",
  ]

  /// One row a window: medians, of the cost the least and the most too.
  var table: String { aligned([Self.columns] + steps.map(\.cells)) }

  /// The curves as a page of its own.
  var html: String {
    let about =
      "What a forwarded packet costs, and how much later it is, by how long video may wait; audio may twice as long"
    return Page.html(
      title: "Coalescing windows · Roost load test",
      body: """
        <header><h1>Coalescing windows</h1><p>\(escaped("\(about) (scenario \(scenario))"))</p></header>
        <section class="charts">\(charts)</section>
        """)
  }

  private var charts: String {
    let line = { (name: String, style: String, value: (Step) -> Bench.Spread?) in
      let points = self.steps.compactMap { step in value(step).map { (x: step.videoMs, y: $0.median) } }
      return Line(name: name, style: style, points: points, isDotted: true)
    }
    return Chart.lines("Server CPU a packet", unit: "µs", [line("", "c1") { $0.cpuMicrosPerForwardedPacket }])
      + Chart.lines(
        "Delay of pictures", unit: "ms",
        [line("p50", "c1") { $0.pictureP50Ms }, line("p99", "c2") { $0.pictureP99Ms }])
      + Chart.lines(
        "Delay of sound", unit: "ms", [line("p50", "c1") { $0.soundP50Ms }, line("p99", "c2") { $0.soundP99Ms }])
  }
}

extension Windows.Step {
  fileprivate var cells: [String] {
    let median = { (spread: Bench.Spread?) in spread.map { rounded($0.median) } ?? "-" }
    return [
      rounded(videoMs), rounded(audioMs), cpuMicrosPerForwardedPacket?.text ?? "-", median(pictureP50Ms),
      median(pictureP99Ms), median(soundP50Ms), median(soundP99Ms),
      passedRounds == rounds ? "" : "failed in \(rounds - passedRounds)",
    ]
  }
}
