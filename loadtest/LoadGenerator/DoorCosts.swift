// What a packet costs by which door: the same room by another door and by the native one, in turn. Ratios of one round say more than
// microseconds, which are another machine's tomorrow.

import Basics

/// What `--doors` found.
struct DoorCosts: Sendable {
  /// What a packet may cost by another door, in times of what it costs by the native one.
  static let bar = 1.1
  static let usualDuration = TimeDelta.seconds(15)

  /// A scenario of another door, and the one of the native door with as many packets.
  struct Pair: Sendable, Hashable {
    var name: String
    var native: String
  }

  static let pairs = [
    Pair(name: "whep16", native: "native16"), Pair(name: "flashphoner300", native: "native300"),
  ]

  /// A pair over all rounds.
  struct Row: Encodable, Sendable {
    /// By the other door, and by the native one.
    var door: Bench.Row
    var native: Bench.Row
    /// What a packet costs in times of what it costs by the native door in the same round; nil where it was not measured.
    @Nullable var timesNative: Bench.Spread?
    /// Whether the median keeps the bar.
    var isWithinBar: Bool

    fileprivate init(_ door: [Report], _ native: [Report]) {
      let cost = { (report: Report) in report.server?.cpuMicrosPerForwardedPacket }
      (self.door, self.native) = (Bench.Row(door), Bench.Row(native))
      let ratios = zip(door, native).compactMap { other, own in
        cost(other).flatMap { other in cost(own).flatMap { $0 > 0 ? other / $0 : nil } }
      }
      let spread = Bench.Spread(ratios)
      timesNative = spread
      isWithinBar = spread.map { $0.median <= DoorCosts.bar } ?? false
    }

    fileprivate var lines: [[String]] {
      let text = { (row: Bench.Row, ratio: String) in
        [
          row.scenario, row.packetsPerSecond.map { "\(Int($0.median))" } ?? "-",
          row.cpuMicrosPerForwardedPacket?.text ?? "-", ratio, row.lossRatio.map { rounded($0.most * 100) } ?? "-",
          row.rssBytesPerParticipant.map { rounded($0.median / 1_024) } ?? "-", row.verdict,
        ]
      }
      return [text(native, "1"), text(door, timesNative?.text ?? "-")]
    }
  }

  private var reports: [String: [Report]] = [:]

  /// A run of the next round.
  mutating func add(_ report: Report) { reports[report.scenario, default: []].append(report) }

  /// A row for each pair that ran.
  var rows: [Row] {
    Self.pairs.compactMap { pair in
      reports[pair.name].flatMap { door in reports[pair.native].map { Row(door, $0) } }
    }
  }

  /// Medians, and of what is compared the least and the most too; of losses the highest.
  var table: String {
    let head = ["scenario", "packets/s", "µs/packet", "times native", "loss %", "+KiB/person", "verdict"]
    return aligned([head] + rows.flatMap(\.lines))
  }

  /// Whether every pair ran, all runs did what is expected of them, and no door costs more than the bar.
  var passed: Bool {
    let rows = rows
    return rows.count == Self.pairs.count
      && rows.allSatisfy { row in
        row.isWithinBar && [row.door, row.native].allSatisfy { $0.passedRounds == $0.rounds }
      }
  }
}
