// The bars of waiting devices, by figures that hold them and by figures that do not.

import Testing

@testable import LoadGenerator

@Suite struct DeviceBarTests {
  /// Reports whose figures all hold, and whose controls all miss.
  private static func reports(_ change: (inout [DeviceBars.Run: Report]) -> Void = { _ in }) -> [DeviceBars.Run: Report]
  {
    var reports: [DeviceBars.Run: Report] = [:]
    for run in DeviceBars.Run.allCases {
      var devices = Report.Devices(count: 15_000, connected: 15_000)
      (devices.rssBytesPerDevice, devices.idleCPU) = run == .withTLS ? (30_000, 0.02) : (8_000, 0.02)
      if run == .pingedOften { devices.idleCPU = 0.08 }
      var calls = Report.Calls(wantedPerSecond: 20, perSecond: 20, started: 9, ended: 9)
      calls.cpuMicros = run == .manyDevices ? 250 : 240
      calls.incomingMs = Percentiles([run == .tooManyCalls ? 90 : 5])
      devices.calls = calls
      if run == .manyDevices || run == .withTLS || run == .longAway {
        devices.restart = .init(startSeconds: 1, backSeconds: run == .longAway ? 16 : 9, back: 15_000)
      }
      var report = Report()
      report.devices = devices
      reports[run] = report
    }
    change(&reports)
    return reports
  }

  @Test func goodFiguresHoldAndControlsMiss() {
    let bars = DeviceBars(Self.reports())
    #expect(bars.passed, "\(bars.table)")
    #expect(bars.rows.map(\.id) == ["D1", "D2", "D3", "D4", "D5", "D6", "D7"])
    #expect(bars.rows.allSatisfy { $0.control?.held == false }, "each bar has a control that misses it")
    #expect(bars.table.contains("misses it") && !bars.table.contains("MISSED"))
  }

  private typealias Change = @Sendable (inout Report.Devices) -> Void

  /// What makes one figure too large, and only that.
  private static let tooLarge: [(String, DeviceBars.Run, Change)] = [
    ("D1", .manyDevices, { $0.rssBytesPerDevice = 10_300 }), ("D2", .withTLS, { $0.rssBytesPerDevice = 41_000 }),
    ("D3", .manyDevices, { $0.idleCPU = 0.031 }), ("D4", .fewDevices, { $0.calls?.cpuMicros = 301 }),
    ("D5", .manyDevices, { $0.calls?.cpuMicros = 289 }),
    ("D6", .manyCalls, { $0.calls?.incomingMs = Percentiles([21]) }),
    ("D7", .manyDevices, { $0.restart?.backSeconds = 16 }), ("D7", .manyDevices, { $0.restart = nil }),
  ]

  /// The bars where one figure of one run is another.
  private static func bars(_ run: DeviceBars.Run, _ change: (inout Report.Devices) -> Void) -> DeviceBars {
    DeviceBars(
      reports { reports in
        var devices = reports[run]?.devices ?? Report.Devices()
        change(&devices)
        reports[run]?.devices = devices
      })
  }

  @Test(arguments: tooLarge.indices)
  func aFigureThatIsTooLargeMisses(_ index: Int) throws {
    let (id, run, change) = Self.tooLarge[index]
    let bars = Self.bars(run, change)
    #expect(bars.rows.filter { !$0.held }.map(\.id) == [id] && !bars.passed)
  }

  /// A control that holds shows that the measurement sees nothing.
  @Test(arguments: controls.indices)
  func eachControlIsLookedAt(_ index: Int) throws {
    let (ids, run, change) = Self.controls[index]
    let bars = Self.bars(run, change)
    #expect(bars.rows.allSatisfy(\.held) && bars.rows.filter { $0.control?.held == true }.map(\.id) == ids)
    #expect(!bars.passed)
  }

  /// What makes a control hold, and only that.
  private static let controls: [([String], DeviceBars.Run, Change)] = [
    (["D2"], .withTLS, { $0.rssBytesPerDevice = 20_000 }),
    (["D3", "D4", "D5"], .pingedOften, { $0.idleCPU = 0.0005 }), (["D4", "D5"], .pingedOften, { $0.calls = nil }),
    (["D7"], .longAway, { $0.restart?.backSeconds = 14 }), (["D7"], .longAway, { $0.restart = nil }),
  ]

  @Test func aControlThatHoldsFails() {
    let bars = DeviceBars(Self.reports { $0[.pingedOften]?.devices?.idleCPU = 0.01 })
    #expect(bars.rows.allSatisfy(\.held) && !bars.passed && bars.table.contains("HELD, which it must not"))
    let unmeasured = DeviceBars(Self.reports { $0[.pingedOften] = nil })
    #expect(!unmeasured.passed)
  }

  @Test func whatWentWrongInARunFails() {
    let bars = DeviceBars(Self.reports { $0[.manyCalls]?.fail("devices stay connected", "3 lost") })
    #expect(!bars.passed && bars.table.contains("many calls: devices stay connected: 3 lost"))
    let overloaded = DeviceBars(Self.reports { $0[.tooManyCalls]?.fail("calls come at the asked pace", "few") })
    #expect(overloaded.passed, "the control may be too much")
  }

  @Test func growthIsATableAndCharts() {
    var growth = DeviceGrowth()
    growth.steps = [500, 15_000].map { .init(devices: $0, rssBytesPerDevice: 8_192, idleCPU: 0.01, passed: true) }
    #expect(growth.passed && growth.table.contains("15000") && growth.charts.contains("memory a device by devices"))
    growth.steps[1].passed = false
    #expect(!growth.passed && growth.table.contains("failed"))
  }
}
