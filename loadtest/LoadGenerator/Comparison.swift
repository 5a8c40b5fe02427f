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
    var server: Server
    /// Its figures, as the benchmark has them.
    var figures: Bench.Row
    /// What a packet costs in times of what it costs Roost in the same round.
    @Nullable var timesRoost: Bench.Spread?
    @Nullable var firstFrameP50Ms: Bench.Spread?

    fileprivate init(_ server: Server, _ reports: [Report], roost: [Report]) {
      let cost = { (report: Report) in report.server?.cpuMicrosPerForwardedPacket }
      (self.server, figures) = (server, Bench.Row(reports))
      timesRoost = Bench.Spread(
        zip(reports, roost).compactMap { its, ours in
          guard let its = cost(its), let ours = cost(ours), ours > 0 else { return nil }
          return its / ours
        })
      firstFrameP50Ms = Bench.Spread(reports.compactMap { $0.firstFrameMs?.p50 })
    }

    fileprivate var cells: [String] {
      let median = { (spread: Bench.Spread?, scale: Double) in spread.map { rounded($0.median / scale) } ?? "-" }
      return [
        figures.scenario, server.rawValue, figures.cpuMicrosPerForwardedPacket?.text ?? "-", timesRoost?.text ?? "-",
        median(figures.p50Ms, 1), median(figures.p99Ms, 1), median(firstFrameP50Ms, 1),
        figures.lossRatio.map { rounded($0.most * 100) } ?? "-", median(figures.rssBytes, 1_048_576), figures.verdict,
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
        servers[server].map { Row(server, $0, roost: servers[.roost] ?? []) }
      }
    }
  }

  /// Medians, and of what is compared the least and the most too; of losses the highest.
  var table: String {
    let head = [
      "scenario", "server", "µs/packet", "times Roost", "p50 ms", "p99 ms", "first frame ms", "loss %", "MiB",
      "verdict",
    ]
    return aligned([head] + rows.map(\.cells))
  }

  /// Whether Roost's runs did: others may fail what is expected of Roost.
  var passed: Bool { rows.allSatisfy { $0.server != .roost || $0.figures.passedRounds == $0.figures.rounds } }
}
