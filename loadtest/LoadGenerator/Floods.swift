// What floods cost those who are in rooms meanwhile: each kind of flood in pairs of runs, one without and one with it, one straight after
// the other, since the machine changes its speed.

import Basics

struct Floods: Encodable, Sendable {
  /// Pairs of each kind, unless others are asked for.
  static let usualPairs = 5
  /// Loss that a flood may add. A publisher may add none.
  static let mostLoss = 0.001
  /// How many times as long the slowest of a hundred packets may be on its way.
  static let mostDelay = 3.0
  /// What must have been sent in each run, of what was asked for.
  static let leastSent = 0.95
  /// The same of floods that are there for comparison: the fewer come, the harder it is for what is compared with them.
  static let leastCompared = 0.5
  /// What is above the bound of a publisher at 200 Mbit/s, where the server takes 40.
  static let aboveBound = 0.8
  /// What of it the server must have dropped as that.
  static let leastDropped = 0.9
  /// What a wrong MESSAGE-INTEGRITY may cost, by what a wrong FINGERPRINT costs.
  static let mostIntegrity = 1.5
  /// How long the slowest of a hundred packets may be on its way beside good checks, by how long beside as many forged ones.
  static let mostChecks = 1.5

  /// One kind of flood, medians of all pairs.
  struct Row: Encodable, Sendable, Equatable {
    var trouble: Trouble
    var pairs: Int
    /// What was lost of what should have come, with the flood less without it.
    @Nullable var moreLoss: Bench.Spread?
    @Nullable var p99Ms: Bench.Spread?
    @Nullable var p99WithoutMs: Bench.Spread?
    /// Datagrams that were sent a second.
    @Nullable var sentPerSecond: Bench.Spread?
    /// What the server dropped as above the publisher's bound, of what they sent.
    @Nullable var overBitrate: Bench.Spread?
    /// CPU time of the server that a datagram of the flood took, in microseconds.
    @Nullable var microsPerDatagram: Bench.Spread?
    var problems: [String]

    init(_ trouble: Trouble, _ pairs: [(without: Report, with: Report)]) {
      self.trouble = trouble
      self.pairs = pairs.count
      moreLoss = Bench.Spread(pairs.map { $0.with.lossRatio - $0.without.lossRatio })
      p99Ms = Bench.Spread(pairs.compactMap(\.with.slowest))
      p99WithoutMs = Bench.Spread(pairs.compactMap(\.without.slowest))
      sentPerSecond = Bench.Spread(
        pairs.map { Double($0.with.flooded.sent) / max(0.001, $0.with.steadySeconds) })
      overBitrate = Bench.Spread(
        pairs.compactMap { pair in
          pair.with.flooded.overBitrate.map { Double($0) / Double(max(1, pair.with.flooded.sent)) }
        })
      microsPerDatagram = Bench.Spread(
        pairs.compactMap { pair in
          guard pair.with.flooded.sent > 0, let with = pair.with.server, let without = pair.without.server else {
            return nil
          }
          return (with.cpuSeconds - without.cpuSeconds) * 1e6 / Double(pair.with.flooded.sent)
        })
      problems = pairs.flatMap { $0.with.problems + $0.without.problems + Self.shortcomings(trouble, $0.with) }
    }

    /// In what a run was no such flood, or the server did not hold it to its bound.
    private static func shortcomings(_ trouble: Trouble, _ run: Report) -> [String] {
      var found: [String] = []
      let flood = run.flooded
      let wanted = Double(trouble.perSecond) * run.steadySeconds
      if Double(flood.sent) < max(1, wanted * (trouble.isForComparison ? Floods.leastCompared : Floods.leastSent)) {
        found.append(
          "\(flood.sent) datagrams were sent instead of \(Int(wanted.rounded())), \(trouble.perSecond) a second")
      }
      guard trouble == .publisher else { return found }
      let above = Double(flood.sent) * Floods.aboveBound
      if let dropped = flood.overBitrate {
        if Double(dropped) < above * Floods.leastDropped {
          found.append("\(dropped) packets were dropped as above the bound, where \(Int(above)) were above it")
        }
      } else {
        found.append("what was dropped as above the bound is not known")
      }
      if flood.heard == 0 { found.append("nothing was forwarded of what is within the bound") }
      return found
    }

    /// What is wrong with it.
    var complaints: [String] {
      var found = problems
      if trouble.isForComparison { return found + (p99Ms == nil ? ["nothing was measured"] : []) }
      guard let loss = moreLoss?.median, let with = p99Ms?.median, let without = p99WithoutMs?.median else {
        return found + ["nothing was measured"]
      }
      let isInside = trouble == .publisher || trouble == .checks
      if loss > (isInside ? 0 : Floods.mostLoss) { found.append("\(loss * 100) % more are lost") }
      if trouble != .checks, with > without * Floods.mostDelay {
        found.append("p99 is \(rounded(with)) ms instead of \(rounded(without))")
      }
      return found
    }
  }

  private(set) var rows: [Row] = []
  /// What comes of messages that are begun and never ended; nil where that was not tried.
  var unfinished: Hoarding?
  /// What comes of forged tokens; nil where that was not tried.
  var tokens: TokenFloods?

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
    var floods = Floods(found)
    floods.unfinished = try Hoarding.measure()
    floods.tokens = try await TokenFloods.measure(settings.roost ?? FindFiles.roost() ?? "")
    return floods
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

  /// How long the slowest of a hundred packets takes beside one flood, by how long beside forged checks.
  func slownessToForged(_ trouble: Trouble) -> Double? {
    let p99 = { (trouble: Trouble) in self.rows.first { $0.trouble == trouble }?.p99Ms?.median }
    guard let slow = p99(trouble), let forged = p99(.forged), forged > 0 else { return nil }
    return slow / forged
  }

  /// What is wrong with how good checks compare with forged ones.
  private var complaintsOfChecks: [String] {
    guard let bounded = slownessToForged(.checks), let unbounded = slownessToForged(.unbounded),
      let lost = rows.first(where: { $0.trouble == .unbounded })?.moreLoss?.median
    else { return ["what good checks cost others was not measured"] }
    var found: [String] = []
    if bounded > Self.mostChecks {
      found.append("p99 beside good checks is \(rounded(bounded)) times that beside forged ones")
    }
    if unbounded <= Self.mostChecks, lost <= 0 {
      found.append(
        "the control: without a bound p99 is \(rounded(unbounded)) times that beside forged ones, and nothing is lost")
    }
    return found
  }

  /// Everything that missed its bar.
  var complaints: [String] {
    var found = rows.flatMap { row in row.complaints.map { "\(row.trouble.rawValue): \($0)" } } + complaintsOfChecks
    if let ratio = integrityToFingerprint {
      if ratio > Self.mostIntegrity {
        found.append("a wrong integrity costs \(rounded(ratio)) times a wrong fingerprint")
      }
    } else {
      found.append("what checks cost was not measured")
    }
    found += (unfinished?.complaints ?? []) + (tokens?.complaints ?? [])
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
        text(row.p99Ms), text(row.sentPerSecond), text(row.microsPerDatagram),
      ]
    }
    let ratio =
      (integrityToFingerprint.map { "\nintegrity to fingerprint: \(rounded($0))" } ?? "")
      + (slownessToForged(.checks).map { "\np99 of good checks to forged ones: \(rounded($0))" } ?? "")
      + (slownessToForged(.unbounded).map { ", and \(rounded($0)) without a bound" } ?? "")
    let verdict = complaints.isEmpty ? "" : "\n" + complaints.joined(separator: "\n")
    let head = ["flood", "more lost %", "p99 ms without", "p99 ms with", "sent a second", "µs a datagram"]
    return aligned([head] + lines) + ratio + (unfinished.map { "\n" + $0.text } ?? "")
      + (tokens.map { "\n" + $0.table } ?? "") + verdict
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
