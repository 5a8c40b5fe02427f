// The scenarios by which servers are compared, in rounds: what one run costs depends on what else the machine does meanwhile, so
// the middle of several is what counts.

/// What `--bench` found.
struct Bench: Encodable, Sendable {
  static let scenarios = ["video16", "audio32", "broadcast", "audience", "many-rooms"]
  /// Rooms of sixteen that a worker should carry; the search for the most of them begins there.
  static let targetRooms = 8
  /// Rounds unless another number was asked for; odd, so that one run is the middle.
  static let usualRounds = 3

  /// A figure in all rounds.
  struct Spread: Encodable, Sendable, Equatable {
    var median = 0.0
    var least = 0.0
    var most = 0.0
    /// Rounds in which it was measured.
    var values = 0

    /// Nil without values.
    init?(_ values: [Double]) {
      let sorted = values.sorted()
      guard let least = sorted.first, let most = sorted.last else { return nil }
      let middle = sorted.count / 2
      median = sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
      (self.least, self.most, self.values) = (least, most, sorted.count)
    }

    /// The median, and where they differ the least and the most.
    var text: String {
      let (least, most) = (rounded(least), rounded(most))
      return least == most ? rounded(median) : "\(rounded(median)) (\(least) to \(most))"
    }
  }

  /// How many rounds reached what is aimed at.
  struct Target: Encodable, Sendable, Equatable {
    var name: String
    /// A round in which it could not be measured is none of them.
    var reachedRounds: Int
    /// Whether most did: of an odd number of rounds that is to say that the median keeps the bound.
    var reached: Bool
  }

  /// One scenario in all rounds.
  struct Row: Encodable, Sendable {
    var scenario: String
    var rounds: Int
    var passedRounds: Int
    @Nullable var packetsPerSecond: Spread?
    @Nullable var cpuMicrosPerForwardedPacket: Spread?
    @Nullable var limitMicros: Spread?
    @Nullable var ratioToLimit: Spread?
    /// Of pictures, or of sound where there are none.
    @Nullable var p50Ms: Spread?
    @Nullable var p99Ms: Spread?
    @Nullable var lossRatio: Spread?
    @Nullable var rssBytes: Spread?
    @Nullable var rssBytesPerParticipant: Spread?
    var targets: [Target]
    /// Rounds in which the load generator was itself the bottleneck.
    var bottleneckRounds: Int
    /// Those of them that failed.
    var bottleneckFailures: Int

    init(_ reports: [Report]) {
      let spread = { (value: (Report) -> Double?) in Spread(reports.compactMap(value)) }
      let delays = reports.map { $0.latencyMs.video ?? $0.latencyMs.audio }
      scenario = reports.first?.scenario ?? ""
      rounds = reports.count
      passedRounds = reports.count { $0.passed }
      packetsPerSecond = spread { $0.packetsPerSecond }
      cpuMicrosPerForwardedPacket = spread { $0.server?.cpuMicrosPerForwardedPacket }
      limitMicros = spread { $0.limit?.microsPerPacket }
      ratioToLimit = spread { $0.ratioToLimit }
      p50Ms = Spread(delays.compactMap { $0?.p50 })
      p99Ms = Spread(delays.compactMap { $0?.p99 })
      lossRatio = spread { $0.lossRatio }
      rssBytes = spread { $0.server.map { Double($0.rssBytes) } }
      rssBytesPerParticipant = spread { $0.server?.rssBytesPerParticipant }
      var names: [String] = []
      for target in reports.flatMap(\.targets) where !names.contains(target.name) { names.append(target.name) }
      targets = names.map { name in
        let reached = reports.count { $0.targets.contains { $0.name == name && $0.held } }
        return Target(name: name, reachedRounds: reached, reached: reached * 2 > reports.count)
      }
      bottleneckRounds = reports.count { $0.generator.wasBottleneck }
      bottleneckFailures = reports.count { !$0.passed && $0.generator.wasBottleneck }
    }

    /// Whether all rounds passed, and whose fault it was where they did not.
    var verdict: String {
      let failures = rounds - passedRounds
      if failures == 0 { return "passed" }
      let share = rounds == 1 ? "failed" : "failed in \(failures)"
      return bottleneckFailures == failures ? "\(share) (generator)" : share
    }

    fileprivate var cells: [String] {
      let median = { (spread: Spread?, scale: Double) in spread.map { rounded($0.median / scale) } ?? "-" }
      return [
        scenario, packetsPerSecond.map { "\(Int($0.median))" } ?? "-", cpuMicrosPerForwardedPacket?.text ?? "-",
        limitMicros?.text ?? "-", ratioToLimit?.text ?? "-", median(p50Ms, 1), median(p99Ms, 1),
        lossRatio.map { rounded($0.most * 100) } ?? "-", median(rssBytes, 1_048_576),
        median(rssBytesPerParticipant, 1_024),
        targets.isEmpty ? "-" : "\(targets.count { $0.reached }) of \(targets.count)", verdict,
      ]
    }
  }

  let rows: [Row]
  /// How many rooms of sixteen one worker carried; nil where that was not looked for.
  @Nullable var roomsPerWorker: RoomSearch?

  /// `reports` are of each scenario, in all rounds.
  init(_ reports: [[Report]], roomsPerWorker: RoomSearch? = nil) {
    rows = reports.map(Row.init)
    self.roomsPerWorker = roomsPerWorker
  }

  /// One row a scenario: medians, least and most of what is compared, and of losses the highest.
  var table: String {
    let head = [
      "scenario", "packets/s", "µs/packet", "limit", "ratio", "p50 ms", "p99 ms", "loss %", "MiB", "+KiB/person",
      "targets", "verdict",
    ]
    return aligned([head] + rows.map(\.cells))
  }

  /// What the search for the most rooms came to, and whether those were as many as there should be; nil without one.
  var roomsVerdict: String? {
    roomsPerWorker.map { search in
      let reached = search.most >= Self.targetRooms ? "reached" : "missed"
      return "rooms of sixteen on one worker: \(search.most), target \(Self.targetRooms): \(reached). \(search.verdict)"
    }
  }

  /// Whether every run's expectations held, and where rooms were looked for, one at least.
  var passed: Bool {
    rows.allSatisfy { $0.passedRounds == $0.rounds } && (roomsPerWorker.map { $0.most > 0 } ?? true)
  }

  /// The run whose cost is the middle one; of an even number the cheaper.
  static func middle(_ reports: [Report]) -> Report? {
    let cost = { (report: Report) in report.server?.cpuMicrosPerForwardedPacket ?? .infinity }
    let sorted = reports.sorted { cost($0) < cost($1) }
    return sorted.isEmpty ? nil : sorted[(sorted.count - 1) / 2]
  }
}
