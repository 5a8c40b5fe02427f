// How what devices cost grows with their number: one run for each, and three charts.

import Basics

struct DeviceGrowth: Encodable, Sendable {
  static let counts = [500, 2_000, 5_000, 10_000, 15_000]
  private static let callsPerSecond = 50.0

  /// One run.
  struct Step: Encodable, Sendable, Equatable {
    var devices = 0
    var connectSeconds = 0.0
    var rssBytesPerDevice = 0.0
    var idleCPU = 0.0
    @Nullable var cpuMicrosPerCall: Double?
    @Nullable var incomingP99Ms: Double?
    var passed = false
  }

  var steps: [Step] = []

  /// Runs each number of devices. `tell` hears of each run when it is over.
  static func measure(
    _ settings: RunSettings, counts: [Int] = counts, tell: (Step) -> Void
  ) async throws -> DeviceGrowth {
    var growth = DeviceGrowth()
    for count in counts {
      var scenario = Scenario()
      (scenario.name, scenario.people, scenario.duration) = ("devices", [], .seconds(10))
      scenario.devices = DeviceCrowd(count: count, rest: .seconds(10))
      (scenario.callsPerSecond, scenario.idlePing, scenario.stores) = (callsPerSecond, .seconds(30), true)
      let step = Step(try await Run.run(scenario, settings))
      tell(step)
      growth.steps.append(step)
    }
    return growth
  }

  /// Whether every run's expectations held.
  var passed: Bool { steps.allSatisfy(\.passed) }
}

extension DeviceGrowth.Step {
  init(_ report: Report) {
    devices = report.devices?.count ?? 0
    connectSeconds = report.devices?.connectSeconds ?? 0
    rssBytesPerDevice = report.devices?.rssBytesPerDevice ?? 0
    idleCPU = report.devices?.idleCPU ?? 0
    cpuMicrosPerCall = report.devices?.calls?.cpuMicros
    incomingP99Ms = report.devices?.calls?.incomingMs?.p99
    passed = report.passed
  }

  fileprivate var cells: [String] {
    [
      "\(devices)", rounded(connectSeconds), rounded(rssBytesPerDevice / 1_024), rounded(idleCPU * 100),
      cpuMicrosPerCall.map(rounded) ?? "-", incomingP99Ms.map(rounded) ?? "-", passed ? "" : "failed",
    ]
  }
}

extension DeviceGrowth {
  private static let columns = ["devices", "connect s", "KiB/device", "idle %", "µs/call", "p99 ms", ""]

  /// One row a run.
  var table: String { aligned([Self.columns] + steps.map(\.cells)) }

  /// The charts, for the page of growth.
  var charts: String {
    let chart = { (title: String, unit: String, value: (Step) -> Double?) in
      let points = self.steps.compactMap { step in value(step).map { (x: Double(step.devices), y: $0) } }
      return Chart.lines("\(title) by devices", unit: unit, [Line(points: points, isDotted: true)])
    }
    return chart("Server CPU, all idle", "% of a core") { $0.idleCPU * 100 }
      + chart("Server memory a device", "KiB") { $0.rssBytesPerDevice / 1_024 }
      + chart("Server CPU a call set-up", "µs") { $0.cpuMicrosPerCall }
      + chart("Start to incoming, p99", "ms") { $0.incomingP99Ms }
  }
}
