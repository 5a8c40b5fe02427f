// Bars for devices that wait, by the thousand: each with a run of its own or a figure of another, and a control that must miss it,
// so that nobody takes a bar for held because nothing was measured.

import Basics

struct DeviceBars: Encodable, Sendable {
  /// How many devices are many, and how many are few.
  static let (many, few) = (15_000, 500)

  /// A run, whose figures stand in several rows.
  enum Run: CaseIterable, Sendable {
    /// Few and many with calls at a pace that a core carries easily.
    case fewDevices, manyDevices
    /// Many with TLS.
    case withTLS
    /// Pinged every five seconds; there are a few calls.
    case pingedOften
    /// Five hundred set-ups a second.
    case manyCalls
    /// More than a core can do.
    case tooManyCalls
    /// There is no server for longer than all may take to be back.
    case longAway
  }

  /// One bar.
  struct Row: Encodable, Sendable, Equatable {
    var id: String
    var bar: String
    var figure: String
    var held: Bool
    @Nullable var control: Control?
  }

  /// What must miss the bar.
  struct Control: Encodable, Sendable, Equatable {
    var what: String
    var figure: String
    var held: Bool
  }

  private(set) var rows: [Row] = []
  /// Figures that have no bar.
  private(set) var besides: [String] = []
  /// Whether all devices of each run were there, and all calls ended.
  private(set) var problems: [String] = []

  /// Makes the runs, one after the other. `tell` hears of each; `size` makes them smaller, for a test.
  static func measure(
    _ settings: RunSettings, size: Double = 1, tell: (String, Report) -> Void
  ) async throws -> DeviceBars {
    var reports: [Run: Report] = [:]
    for run in Run.allCases {
      let report = try await LoadGenerator.Run.run(run.scenario(size: size), settings)
      tell(run.name, report)
      reports[run] = report
    }
    return DeviceBars(reports)
  }

  /// The bars, by the figures of these runs.
  init(_ reports: [Run: Report]) {
    let devices = { (run: Run) in reports[run]?.devices }
    rows =
      [
        memory("D1", devices(.manyDevices), atMost: 10, control: ("the same with TLS", devices(.withTLS))),
        // Reckoned: what a device is made of twice must not pass as one.
        memory(
          "D2", devices(.withTLS), atMost: 40, control: ("two such connections, reckoned", devices(.withTLS)), times: 2),
        idle(devices(.manyDevices), control: devices(.pingedOften)),
      ] + callRows(devices) + [
        restart(devices(.manyDevices), control: devices(.longAway))
      ]
    besides = besides(devices)
    for (run, report) in reports where run != .tooManyCalls {
      problems += report.expectations.filter { !$0.held }.map { "\(run.name): \($0.name): \($0.figure)" }
    }
    problems.sort()
  }

  /// Whether every bar is held, every control missed it, and no device or call was lost.
  var passed: Bool { problems.isEmpty && rows.allSatisfy { $0.held && $0.control?.held != true } }

  // MARK: Rows

  private typealias Found = Report.Devices

  private func row(
    _ id: String, _ bar: String, _ value: Double?, atMost bound: Double, control: (what: String, value: Double?),
    _ text: (Double) -> String
  ) -> Row {
    func figure(_ value: Double?) -> String { value.map(text) ?? "not measured" }
    // What was not measured has missed nothing.
    let missed = Control(what: control.what, figure: figure(control.value), held: (control.value ?? 0) <= bound)
    return Row(id: id, bar: bar, figure: figure(value), held: (value ?? .infinity) <= bound, control: missed)
  }

  private func memory(
    _ id: String, _ found: Found?, atMost kibibytes: Double, control: (what: String, found: Found?), times: Double = 1
  ) -> Row {
    let value = { (found: Found?) in found.map { $0.rssBytesPerDevice / 1_024 } }
    let kind = id == "D1" ? "plain" : "with TLS"
    return row(
      id, "memory of each of \(found?.count ?? Self.many) devices, \(kind): at most \(rounded(kibibytes)) KiB",
      value(found), atMost: kibibytes, control: (control.what, value(control.found).map { $0 * times })
    ) { "\(rounded($0)) KiB" }
  }

  private func idle(_ found: Found?, control: Found?) -> Row {
    row(
      "D3", "all idle, pinged every 30 s: at most 3 % of a core", found?.idleCPU, atMost: 0.03,
      control: ("pinged every 5 s", control?.idleCPU)
    ) { "\(rounded($0 * 100)) %" }
  }

  private func callRows(_ devices: (Run) -> Found?) -> [Row] {
    let few = devices(.fewDevices)?.calls?.cpuMicros
    let many = devices(.manyDevices)?.calls?.cpuMicros
    let ratio = { (cost: Double?) in few.flatMap { few in cost.map { $0 / max(few, 1) } } }
    // A cost that grows with the number of devices is what both bars are there to see.
    let withPings = devices(.pingedOften).flatMap(\.cpuMicrosWithWaiting)
    let pings = "beside \(Self.many) pinged every 5 s, the pings not taken off"
    return [
      row(
        "D4", "server CPU of a call set-up beside \(Self.few) devices: at most 300 µs", few, atMost: 300,
        control: (pings, withPings)
      ) {
        "\(rounded($0)) µs"
      },
      row(
        "D5", "the same beside \(Self.many): at most 1.2 times that", ratio(many), atMost: 1.2,
        control: (pings, ratio(withPings))
      ) { "\(rounded($0)) times" },
      row(
        "D6", "call.start until call.incoming at 500 set-ups a second, p99: at most 20 ms",
        devices(.manyCalls)?.calls?.incomingMs?.p99, atMost: 20,
        control: ("at 8,000 a second", devices(.tooManyCalls)?.calls?.incomingMs?.p99)
      ) { "\(rounded($0)) ms" },
    ]
  }

  private func restart(_ found: Found?, control: Found?) -> Row {
    row(
      "D7", "all back after a restart: within 15 s", found?.restart?.backSeconds, atMost: 15,
      control: ("\(Self.few), with no server for 15 s", control?.restart?.backSeconds)
    ) { "\(rounded($0)) s" }
  }

  private func besides(_ devices: (Run) -> Found?) -> [String] {
    [
      devices(.withTLS)?.restart?.backSeconds.map { "with TLS all are back after a restart in \(rounded($0)) s" },
      devices(.withTLS).map { "with TLS all idle: \(rounded($0.idleCPU * 100)) % of a core" },
      devices(.pingedOften).map { "pinged every 5 s: \(rounded($0.idleCPU * 100)) % of a core" },
      devices(.manyCalls)?.calls.map {
        "at \(rounded($0.perSecond)) set-ups a second: \($0.cpuMicros.map(rounded) ?? "-") µs each, p50 \($0.incomingMs.map { rounded($0.p50) } ?? "-") ms"
      },
    ].compactMap { $0 }
  }
}

extension DeviceBars.Run {
  var name: String {
    switch self {
    case .fewDevices: "few devices"
    case .manyDevices: "many devices"
    case .withTLS: "many with TLS"
    case .pingedOften: "pinged often"
    case .manyCalls: "many calls"
    case .tooManyCalls: "too many calls"
    case .longAway: "long away"
    }
  }

  /// What is run; `size` makes it smaller.
  func scenario(size: Double) -> Scenario {
    var scenario = Scenario()
    (scenario.name, scenario.about, scenario.people, scenario.stores) = (name, name, [], true)
    let seconds = { (count: Double) in TimeDelta.seconds(max(1, count * size)) }
    let count = self == .fewDevices || self == .longAway ? DeviceBars.few : DeviceBars.many
    var crowd = DeviceCrowd(count: max(20, Int(Double(count) * size)))
    crowd.isTLS = self == .withTLS
    crowd.restarts = self == .manyDevices || self == .withTLS || self == .longAway
    // Not made smaller: the bound is not either.
    if self == .longAway { crowd.away = .seconds(15) }
    crowd.rest = seconds(self == .manyDevices || self == .withTLS ? 30 : 5)
    if self == .pingedOften { crowd.rest = seconds(20) }
    scenario.devices = crowd
    scenario.idlePing = .seconds(self == .pingedOften ? 5 : 30)
    scenario.duration = seconds(self == .tooManyCalls ? 5 : 15)
    switch self {
    case .fewDevices, .manyDevices: scenario.callsPerSecond = 200
    case .manyCalls: scenario.callsPerSecond = 500
    case .tooManyCalls: scenario.callsPerSecond = 8_000
    case .pingedOften: (scenario.callsPerSecond, scenario.duration) = (20, seconds(10))
    case .withTLS, .longAway: scenario.duration = .seconds(1)
    }
    return scenario
  }
}

extension DeviceBars {
  private static let columns = ["", "bar", "figure", "", "control", "figure", ""]

  /// One row a bar, and what else was seen.
  var table: String {
    let cells = rows.map { row in
      [
        row.id, row.bar, row.figure, row.held ? "held" : "MISSED", row.control?.what ?? "-", row.control?.figure ?? "",
        row.control.map { $0.held ? "HELD, which it must not" : "misses it" } ?? "",
      ]
    }
    return aligned([Self.columns] + cells) + "\n"
      + (besides + problems.map { "problem: \($0)" }).map { "  \($0)\n" }.joined()
  }
}

extension Report.Devices {
  /// What the server took for each call, and what it took for those who only waited not taken off.
  fileprivate var cpuMicrosWithWaiting: Double? {
    calls.flatMap { calls in calls.cpuMicros.map { $0 + idleCPU * 1e6 / max(calls.perSecond, 1) } }
  }
}
