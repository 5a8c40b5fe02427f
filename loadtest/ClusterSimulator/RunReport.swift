// One run, and what came of it.

import Basics

/// What came of a run.
public struct RunReport: Sendable {
  /// What the run follows from.
  public let seed: UInt64
  /// What was broken first; nil where nothing was.
  public let violation: Violation?
  /// Two runs that went the same way have the same.
  public let hash: UInt64
  /// What happened how often.
  public let counts: Counts
  /// What was to go wrong.
  public let plan: FaultPlan
  /// The last things that happened, a line each.
  public let last: [String]

  /// All of it, for people.
  public var text: String {
    guard let violation else { return "seed \(seed): nothing was broken" }
    let what =
      "seed \(seed): \(violation.invariant.rawValue) at \(violation.at.nanoseconds / 1_000_000) ms: \(violation.text)"
    return ([what] + plan.faults.map { "  " + $0.text } + last.suffix(60)).joined(separator: "\n")
  }
}

/// Makes runs.
public enum Simulator {
  /// Makes one run. The same seed and the same options make the same one.
  public static func run(seed: UInt64, _ options: Options = Options()) -> RunReport {
    let world = World(seed: seed, options)
    world.run()
    let violation = world.observer.violation
    return RunReport(
      seed: seed, violation: violation, hash: world.trace.hash, counts: world.observer.counts, plan: world.plan,
      last: violation == nil ? [] : world.trace.lines)
  }
}
