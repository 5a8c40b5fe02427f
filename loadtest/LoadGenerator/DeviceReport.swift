// What devices that wait cost the server, and what calls between them do.

import Devices

extension Report {
  /// Devices of a run.
  struct Devices: Encodable, Sendable, Equatable {
    var count = 0
    var isTLS = false
    /// Had a session when nothing else went on any more.
    var connected = 0
    /// From the first connection until the last session.
    var connectSeconds = 0.0
    /// What the server's resident memory grew by since before the first of them, divided by devices.
    var rssBytesPerDevice = 0.0
    /// The server's share of a core while all of them only waited.
    var idleCPU = 0.0
    /// How long that was measured.
    var idleSeconds = 0.0
    /// Pings of the server in that time, a second.
    var pingsPerSecond = 0.0
    /// The share of a CPU that the devices' own thread took in the idle window.
    var ownIdleCPU = 0.0
    /// Connections that were lost, the restart not counted.
    var lost = 0
    @Nullable var calls: Calls?
    @Nullable var restart: Restart?
  }

  /// Calls between devices that start, ring and are rejected.
  struct Calls: Encodable, Sendable, Equatable {
    var wantedPerSecond = 0.0
    /// Those that were started in the window, a second.
    var perSecond = 0.0
    /// Whether clearly fewer were started than asked for: then an easier load was measured.
    var isSlow = false
    var started = 0
    var ended = 0
    var failed = 0
    /// CPU time of the server for each, that of the waiting devices taken off; nil where people were there too.
    @Nullable var cpuMicros: Double?
    /// From just before `call.start` was written until `call.incoming` was read.
    @Nullable var incomingMs: Percentiles?
    /// How much later than planned they were started.
    @Nullable var latenessMs: Percentiles?
    /// The share of a CPU that the devices' own thread took meanwhile.
    var ownCPU = 0.0
  }

  /// The server ended and was started again.
  struct Restart: Encodable, Sendable, Equatable {
    /// From the end of the old process until the new one listened.
    var startSeconds = 0.0
    /// From the end of the old process until every device had its session again; nil when they did not all come.
    @Nullable var backSeconds: Double?
    var back = 0
  }
}

extension Report.Devices {
  /// Rows of the table.
  var rows: [(String, String)] {
    var rows = [
      (
        "devices",
        "\(connected) of \(count)\(isTLS ? " with TLS" : ""), connected in \(rounded(connectSeconds)) s, \(lost) lost"
      ),
      (
        "a device", "\(rounded(rssBytesPerDevice / 1_024)) KiB of the server's memory"
      ),
      (
        "all of them idle",
        "\(rounded(idleCPU * 100)) % of a core over \(rounded(idleSeconds)) s, \(rounded(pingsPerSecond)) pings a second"
      ),
    ]
    if let calls { rows += calls.rows }
    if let restart {
      let back = restart.backSeconds.map { "all back in \(rounded($0)) s" } ?? "only \(restart.back) came back"
      rows.append(("restart", "\(back), the server listened after \(rounded(restart.startSeconds)) s"))
    }
    return rows
  }
}

extension Report.Devices {
  /// Figures for the top of the page.
  var tiles: [(String, String, String)] {
    var tiles = [
      ("devices connected", "\(connected)", isTLS ? "of \(count), with TLS" : "of \(count)"),
      ("memory of a device", "\(rounded(rssBytesPerDevice / 1_024)) KiB", "of the server"),
      ("server CPU, all idle", "\(rounded(idleCPU * 100)) %", "of a core, \(rounded(pingsPerSecond)) pings a second"),
    ]
    if let calls {
      let delay = calls.incomingMs.map { "start to incoming p99 \(rounded($0.p99)) ms" } ?? ""
      tiles.append(("server CPU a call set-up", calls.cpuMicros.map { "\(rounded($0)) µs" } ?? "not known", delay))
    }
    if let restart {
      let back = restart.backSeconds.map { "\(rounded($0)) s" } ?? "never"
      tiles.append(("all back after a restart", back, "\(restart.back) of \(count)"))
    }
    return tiles
  }
}

extension Report.Calls {
  fileprivate var rows: [(String, String)] {
    let cost = cpuMicros.map { ", \(rounded($0)) µs of the server's CPU each" } ?? ""
    let times = { (name: String, delays: Percentiles?) in
      delays.map {
        [(name, "p50 \(rounded($0.p50))  p95 \(rounded($0.p95))  p99 \(rounded($0.p99))  max \(rounded($0.max)) ms")]
      }
        ?? []
    }
    return [("calls set up", "\(ended) of \(started), \(rounded(perSecond)) a second\(cost)")]
      + times("start to incoming", incomingMs) + times("calls started late", latenessMs)
  }
}

extension Report {
  /// What was measured of devices against each bound that is set.
  func deviceVerdicts(on bounds: Bounds) -> [Expectation] {
    guard let devices else { return [] }
    var verdicts: [Expectation] = []
    if let bound = bounds.deviceRSS {
      verdicts.append(
        .init(name: "memory of a device", devices.rssBytesPerDevice, atMost: Double(bound)) {
          "\(rounded($0 / 1_024)) KiB"
        })
    }
    if let bound = bounds.idleCPU {
      verdicts.append(.init(name: "CPU of idle devices", devices.idleCPU, atMost: bound) { "\(rounded($0 * 100)) %" })
    }
    if let bound = bounds.setUpMicros {
      verdicts.append(
        .init(name: "CPU of a call set-up", devices.calls?.cpuMicros, atMost: bound) { "\(rounded($0)) µs" })
    }
    if let bound = bounds.incomingP99 {
      verdicts.append(
        .init(name: "start to incoming, p99", devices.calls?.incomingMs?.p99, atMost: bound.seconds * 1_000) {
          "\(rounded($0)) ms"
        })
    }
    if let bound = bounds.restart {
      verdicts.append(
        .init(name: "back after a restart", devices.restart?.backSeconds, atMost: bound.seconds) { "\(rounded($0)) s" })
    }
    return verdicts
  }
}
