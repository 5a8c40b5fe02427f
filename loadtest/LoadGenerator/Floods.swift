// What floods cost those who are in rooms meanwhile: each kind of flood in pairs of runs, one without and one with it, one straight after
// the other, since the machine changes its speed.

import Basics

struct Floods: Encodable, Sendable {
  /// Pairs of each kind, unless others are asked for.
  static let usualPairs = 5
  /// Loss that a flood may add.
  static let mostLoss = 0.001
  /// How many times as long the slowest of a hundred packets may be on its way.
  static let mostDelay = 3.0
  /// Below so many milliseconds no delay matters.
  static let leastDelay = 1.0
  /// What a wrong MESSAGE-INTEGRITY may cost, by what a wrong FINGERPRINT costs.
  static let mostIntegrity = 1.5

  /// One kind of flood, medians of all pairs.
  struct Row: Encodable, Sendable, Equatable {
    var trouble: Trouble
    var pairs: Int
    /// What was lost of what should have come, with the flood less without it.
    @Nullable var moreLoss: Bench.Spread?
    @Nullable var p99Ms: Bench.Spread?
    @Nullable var p99WithoutMs: Bench.Spread?
    /// CPU time of the server that a datagram of the flood took, in microseconds.
    @Nullable var microsPerDatagram: Bench.Spread?
    var problems: [String]

    init(_ trouble: Trouble, _ pairs: [(without: Report, with: Report)]) {
      self.trouble = trouble
      self.pairs = pairs.count
      moreLoss = Bench.Spread(pairs.map { $0.with.lossRatio - $0.without.lossRatio })
      p99Ms = Bench.Spread(pairs.compactMap(\.with.slowest))
      p99WithoutMs = Bench.Spread(pairs.compactMap(\.without.slowest))
      microsPerDatagram = Bench.Spread(
        pairs.compactMap { pair in
          guard pair.with.flooded > 0, let with = pair.with.server, let without = pair.without.server else {
            return nil
          }
          return (with.cpuSeconds - without.cpuSeconds) * 1e6 / Double(pair.with.flooded)
        })
      problems = pairs.flatMap { $0.with.problems + $0.without.problems }
      if pairs.contains(where: { $0.with.flooded == 0 }) { problems.append("nothing flooded") }
    }

    /// What is wrong with it.
    var complaints: [String] {
      var found = problems
      guard let loss = moreLoss?.median, let with = p99Ms?.median, let without = p99WithoutMs?.median else {
        return found + ["nothing was measured"]
      }
      if loss > Floods.mostLoss { found.append("\(rounded(loss * 100)) % more are lost") }
      if with > max(without, Floods.leastDelay) * Floods.mostDelay {
        found.append("p99 is \(rounded(with)) ms instead of \(rounded(without))")
      }
      return found
    }
  }

  private(set) var rows: [Row] = []

  /// Makes the runs. `tell` hears of each.
  static func measure(
    _ scenario: Scenario, pairs: Int, _ settings: RunSettings, tell: (Trouble?, Report) -> Void
  ) async throws -> Floods {
    var found: [Trouble: [(without: Report, with: Report)]] = [:]
    var (plain, flooded) = (settings, settings)
    plain.measuresLimit = false
    flooded.measuresLimit = false
    for _ in 0..<pairs {
      for trouble in Trouble.allCases {
        flooded.trouble = trouble
        let without = try await Run.run(scenario, plain)
        tell(nil, without)
        let with = try await Run.run(scenario, flooded)
        tell(trouble, with)
        found[trouble, default: []].append((without, with))
      }
    }
    return Floods(found)
  }

  init(_ found: [Trouble: [(without: Report, with: Report)]]) {
    rows = Trouble.allCases.compactMap { trouble in found[trouble].map { Row(trouble, $0) } }
  }

  /// What a wrong MESSAGE-INTEGRITY costs beside a wrong FINGERPRINT.
  var integrityToFingerprint: Double? {
    let cost = { (trouble: Trouble) in self.rows.first { $0.trouble == trouble }?.microsPerDatagram?.median }
    guard let integrity = cost(.integrity), let fingerprint = cost(.fingerprint), fingerprint > 0 else { return nil }
    return integrity / fingerprint
  }

  /// Everything that missed its bar.
  var complaints: [String] {
    var found = rows.flatMap { row in row.complaints.map { "\(row.trouble.rawValue): \($0)" } }
    if let ratio = integrityToFingerprint {
      if ratio > Self.mostIntegrity {
        found.append("a wrong integrity costs \(rounded(ratio)) times a wrong fingerprint")
      }
    } else {
      found.append("what checks cost was not measured")
    }
    return found
  }

  /// Whether every bar is held.
  var passed: Bool { complaints.isEmpty }

  /// One row a kind, medians with the least and the most.
  var table: String {
    let text = { (spread: Bench.Spread?) in spread?.text ?? "-" }
    let lines = rows.map { row in
      [
        row.trouble.rawValue, text(row.moreLoss.flatMap { _ in Bench.Spread(row.lossPercents) }),
        text(row.p99WithoutMs),
        text(row.p99Ms), text(row.microsPerDatagram),
      ]
    }
    let ratio = integrityToFingerprint.map { "\nintegrity to fingerprint: \(rounded($0))" } ?? ""
    let verdict = complaints.isEmpty ? "" : "\n" + complaints.joined(separator: "\n")
    return aligned([["flood", "more lost %", "p99 ms without", "p99 ms with", "µs a datagram"]] + lines) + ratio
      + verdict
  }
}

extension Floods.Row {
  fileprivate var lossPercents: [Double] {
    moreLoss.map { [$0.least * 100, $0.median * 100, $0.most * 100] } ?? []
  }
}

extension Report {
  /// The slower of sound and pictures: how long 99 of 100 packets take at most.
  fileprivate var slowest: Double? { [latencyMs.audio?.p99, latencyMs.video?.p99].compactMap(\.self).max() }
}
