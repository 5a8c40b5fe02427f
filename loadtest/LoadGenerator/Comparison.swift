// Roost and Janus under the same load on the same machine, in turn: what one costs in times of the other says more than
// microseconds, which are another machine's tomorrow.

import Basics

/// What `--compare` found.
struct Comparison: Sendable {
  static let scenarios = ["video16", "audio32", "stage100"]
  static let usualDuration = TimeDelta.seconds(10)

  /// A server in one of its configurations.
  enum Server: String, Encodable, Sendable, CaseIterable {
    case roost = "Roost"
    /// With a thread for each connection.
    case janus = "Janus"
    /// With one thread for all media, as a worker of Roost is one.
    case janusInOneLoop = "Janus, one loop"

    /// What such a run is told.
    func settings(_ common: RunSettings) -> RunSettings {
      var settings = common
      if self == .roost { settings.janus = nil }
      settings.janusEventLoops = self == .janusInOneLoop ? 1 : nil
      return settings
    }
  }

  /// A server in a scenario, over all rounds.
  struct Row: Encodable, Sendable {
    var scenario: String
    var server: Server
    var rounds: Int
    /// In which every expectation of the scenario held.
    var passedRounds: Int
    @Nullable var cpuMicrosPerForwardedPacket: Bench.Spread?
    /// What a packet costs in times of what it costs Roost in the same round.
    @Nullable var timesRoost: Bench.Spread?
    /// Of pictures, or of sound where there are none.
    @Nullable var p50Ms: Bench.Spread?
    @Nullable var p99Ms: Bench.Spread?
    @Nullable var firstFrameP50Ms: Bench.Spread?
    @Nullable var lossRatio: Bench.Spread?
    @Nullable var rssBytes: Bench.Spread?

    fileprivate init(_ scenario: String, _ server: Server, _ reports: [Report], roost: [Report]) {
      let spread = { (value: (Report) -> Double?) in Bench.Spread(reports.compactMap(value)) }
      let cost = { (report: Report) in report.server?.cpuMicrosPerForwardedPacket }
      (self.scenario, self.server, rounds) = (scenario, server, reports.count)
      passedRounds = reports.count { $0.passed }
      cpuMicrosPerForwardedPacket = spread(cost)
      timesRoost = Bench.Spread(
        zip(reports, roost).compactMap { its, ours in
          guard let its = cost(its), let ours = cost(ours), ours > 0 else { return nil }
          return its / ours
        })
      p50Ms = spread { ($0.latencyMs.video ?? $0.latencyMs.audio)?.p50 }
      p99Ms = spread { ($0.latencyMs.video ?? $0.latencyMs.audio)?.p99 }
      firstFrameP50Ms = spread { $0.firstFrameMs?.p50 }
      lossRatio = spread { $0.lossRatio }
      rssBytes = spread { $0.server.map { Double($0.rssBytes) } }
    }

    fileprivate var cells: [String] {
      let median = { (spread: Bench.Spread?, scale: Double) in spread.map { rounded($0.median / scale) } ?? "-" }
      return [
        scenario, server.rawValue, cpuMicrosPerForwardedPacket?.text ?? "-", timesRoost?.text ?? "-", median(p50Ms, 1),
        median(p99Ms, 1), median(firstFrameP50Ms, 1), lossRatio.map { rounded($0.most * 100) } ?? "-",
        median(rssBytes, 1_048_576),
      ]
    }
  }

  private var reports: [String: [Server: [Report]]] = [:]

  /// A run of the next round.
  mutating func add(_ report: Report, of server: Server) {
    reports[report.scenario, default: [:]][server, default: []].append(report)
  }

  /// A row for each scenario and server that ran.
  var rows: [Row] {
    Self.scenarios.flatMap { scenario in
      let servers = reports[scenario] ?? [:]
      return Server.allCases.compactMap { server in
        servers[server].map { Row(scenario, server, $0, roost: servers[.roost] ?? []) }
      }
    }
  }

  /// Medians, and of what is compared the least and the most too; of losses the highest.
  var table: String {
    let head = [
      "scenario", "server", "µs/packet", "times Roost", "p50 ms", "p99 ms", "first frame ms", "loss %", "MiB",
    ]
    return aligned([head] + rows.map(\.cells))
  }

  /// Whether Roost's runs did: others may fail what is expected of Roost.
  var passed: Bool { rows.allSatisfy { $0.server != .roost || $0.passedRounds == $0.rounds } }
}
