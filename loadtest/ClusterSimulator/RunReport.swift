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
  /// What makes the run again; nil where nothing but a test does.
  public let command: String?
  /// The last things that happened, a line each.
  public let last: [String]

  /// Whether it was broken by two that decided, or showed what is older.
  public var hasTwoDeciding: Bool { violation.map { [.oneDecides, .inOrder].contains($0.invariant) } ?? false }

  /// All of it, for people.
  public var text: String {
    guard let violation else { return "seed \(seed): nothing was broken" }
    let what =
      "seed \(seed): \(violation.invariant.rawValue) at \(violation.at.nanoseconds / 1_000_000) ms: \(violation.text)"
    let again = command.map { ["again by: \($0)"] } ?? []
    return ([what] + again + plan.faults.map { "  " + $0.text } + last.suffix(60)).joined(separator: "\n")
  }
}

extension Counts {
  /// Adds what happened in another run.
  public mutating func add(_ other: Counts) {
    for part in Self.parts.map(\.path) { self[keyPath: part] += other[keyPath: part] }
    for (kind, number) in other.faults { faults[kind, default: 0] += number }
  }

  /// How often each has to happen in 500 runs, so that they have shown something.
  public static var parts: [(name: String, path: WritableKeyPath<Counts, Int> & Sendable, least: Int)] {
    [
      ("fences", \.fences, 200), ("takeovers", \.takeovers, 200), ("thawed", \.thawed, 200),
      ("begun anew", \.begunAnew, 200), ("orphans", \.orphans, 100), ("stopped inside", \.stoppedInside, 50),
      ("thrown away", \.thrownAway, 25), ("unknown", \.unknown, 50), ("late", \.late, 50),
      ("registered", \.registered, 20), ("shown", \.shown, 50_000),
    ]
  }

  /// What happened too seldom in so many runs.
  public func missing(in runs: Int) -> [String] {
    Self.parts.filter { self[keyPath: $0.path] < $0.least * runs / 500 }.map { "\($0.name) \(self[keyPath: $0.path])" }
      + FaultKind.allCases.filter { faults[$0, default: 0] < 20 * runs / 500 }.map { "\($0)" }
  }

  /// A line for people.
  public var text: String { Self.parts.map { "\($0.name) \(self[keyPath: $0.path])" }.joined(separator: ", ") }
}

/// Makes runs.
public enum Simulator {
  /// Makes one run. The same seed and the same options make the same one.
  public static func run(seed: UInt64, _ options: Options = Options()) -> RunReport {
    run(seed: seed, options, plan: FaultPlan(seed: seed, options))
  }

  /// The same, with other faults than those of the seed.
  static func run(seed: UInt64, _ options: Options, plan: FaultPlan) -> RunReport {
    let world = World(seed: seed, options, plan: plan)
    world.run()
    let violation = world.observer.violation
    return RunReport(
      seed: seed, violation: violation, hash: world.trace.hash, counts: world.observer.counts, plan: world.plan,
      command: options.words.map { "make cluster ARGUMENTS=\"\($0)--seed \(seed)\"" },
      last: violation == nil ? [] : world.trace.lines)
  }
}
