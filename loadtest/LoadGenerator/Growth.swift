// How cost and memory grow: one run for each number of rooms, and one for each number of people in a room.

import Basics

struct Growth: Encodable, Sendable {
  static let rooms = [1, 2, 4, 8]
  static let people = [2, 4, 8, 16, 24, 32]

  /// One run.
  struct Step: Encodable, Sendable, Equatable {
    var rooms = 0
    var participants = 0
    var packetsPerSecond = 0.0
    var cpuMicrosPerForwardedPacket = 0.0
    @Nullable var ratioToLimit: Double?
    var rssBytes: UInt64 = 0
    /// What memory grew by since before the first join, by participants.
    var rssBytesPerParticipant = 0.0
    var p99Ms = 0.0
    var lossRatio = 0.0
    var generatorWasBottleneck = false
    var passed = false
  }

  var scenario: String
  var byRooms: [Step] = []
  var byPeople: [Step] = []
  /// The same of devices that wait.
  var devices = DeviceGrowth()

  /// Runs `scenario` at every size. `tell` hears of each run when it is over.
  static func measure(
    _ scenario: Scenario, _ settings: RunSettings, tell: (Step) -> Void
  ) async throws -> Growth {
    var growth = Growth(scenario: scenario.name)
    for rooms in Self.rooms {
      growth.byRooms.append(try await step(scenario.grown(rooms: rooms, people: nil), settings))
      if let last = growth.byRooms.last { tell(last) }
    }
    for people in Self.people {
      growth.byPeople.append(try await step(scenario.grown(rooms: 1, people: people), settings))
      if let last = growth.byPeople.last { tell(last) }
    }
    return growth
  }

  private static func step(_ scenario: Scenario, _ settings: RunSettings) async throws -> Step {
    Step(try await Run.run(scenario, settings))
  }

  /// Whether every run's expectations held.
  var passed: Bool { (byRooms + byPeople).allSatisfy(\.passed) && devices.passed }
}

extension Growth.Step {
  init(_ report: Report) {
    rooms = report.rooms
    participants = report.participants
    packetsPerSecond = report.packetsPerSecond
    cpuMicrosPerForwardedPacket = report.server?.cpuMicrosPerForwardedPacket ?? 0
    ratioToLimit = report.ratioToLimit
    rssBytes = report.server?.rssBytes ?? 0
    rssBytesPerParticipant = report.server?.rssBytesPerParticipant ?? 0
    p99Ms = report.worstP99Ms
    lossRatio = report.lossRatio
    generatorWasBottleneck = report.generator.wasBottleneck
    passed = report.passed
  }
}

extension Scenario {
  /// The same with so many rooms, and so many of its first group's people in each.
  fileprivate func grown(rooms: Int, people: Int?) -> Scenario {
    var scenario = self
    scenario.rooms = rooms
    scenario.expect.streams = nil
    if let people, !scenario.people.isEmpty { scenario.people[0].count = people }
    scenario.seats = max(seats ?? 0, scenario.people.reduce(0) { $0 + $1.count })
    return scenario
  }
}

extension Report {
  /// The worse p99 of sound and pictures.
  var worstP99Ms: Double { max(latencyMs.audio?.p99 ?? 0, latencyMs.video?.p99 ?? 0) }
}

// MARK: Text and page

extension Growth {
  private static let columns = [
    "rooms", "people", "packets/s", "µs/packet", "ratio", "MiB", "+KiB/person", "p99 ms", "loss %", "",
  ]

  /// The table of both rows of runs.
  var table: String {
    let rows = byRooms + byPeople
    return aligned([Self.columns] + rows.map(\.cells)) + (devices.steps.isEmpty ? "" : "\n\n" + devices.table)
  }

  /// The charts as a page of its own.
  var html: String {
    Page.html(
      title: "Growth · Roost load test",
      body: """
        <header><h1>Growth</h1><p>\(escaped(summary))</p></header>
        <section class="charts">\(charts)</section>
        <section><h2>Runs</h2>\(htmlTable)</section>
        """)
  }

  private var summary: String {
    "What a forwarded packet costs, and what the server holds in memory, as rooms and people become more (scenario \(scenario)); "
      + "and what devices cost that wait for calls"
  }

  private var charts: String {
    let rows: [(name: String, steps: [Step], x: (Step) -> Int)] = [
      ("rooms", byRooms, \.rooms), ("people in one room", byPeople, \.participants),
    ]
    return rows.map { name, steps, x in
      let chart = { (title: String, unit: String, value: (Step) -> Double?) in
        let points = steps.compactMap { step in value(step).map { (x: Double(x(step)), y: $0) } }
        return Chart.lines("\(title) by \(name)", unit: unit, [Line(points: points, isDotted: true)])
      }
      return chart("Server CPU a packet", "µs") { $0.cpuMicrosPerForwardedPacket }
        + chart("Ratio to limit", "") { $0.ratioToLimit }
        + chart("Server memory", "MiB") { Double($0.rssBytes) / 1_048_576 }
        + chart("Delay, p99", "ms") { $0.p99Ms }
    }.joined() + devices.charts
  }

  private var htmlTable: String {
    let row = { (tag: String, cells: [String]) in
      "<tr>" + cells.map { "<\(tag)>\(escaped($0))</\(tag)>" }.joined() + "</tr>"
    }
    return "<table>" + row("th", Self.columns) + (byRooms + byPeople).map { row("td", $0.cells) }.joined() + "</table>"
  }
}

extension Growth.Step {
  fileprivate var cells: [String] {
    [
      "\(rooms)", "\(participants)", "\(Int(packetsPerSecond))", rounded(cpuMicrosPerForwardedPacket),
      ratioToLimit.map(rounded) ?? "-", rounded(Double(rssBytes) / 1_048_576),
      rounded(rssBytesPerParticipant / 1_024), rounded(p99Ms), rounded(lossRatio * 100),
      generatorWasBottleneck ? "generator at its limit" : passed ? "" : "failed",
    ]
  }
}
