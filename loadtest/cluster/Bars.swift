// The bar of leases: thousands of runs in which everything fails and nothing breaks, and errors that are found.

import Basics
import ClusterSimulator

/// Rules of leases, in virtual time.
struct LeaseBar {
  private var counts = Counts()
  private var isHeld = true
  private let command: Command

  init(_ command: Command) { self.command = command }

  /// Whether the bar is held, and each error found.
  mutating func run() -> Bool {
    let broken = runSeeds()
    let missing = counts.missing(in: Int(command.seeds))
    let (found, worst) = findErrors()
    let near = Simulator.firstBreak(partsPerMillion: 10_000, upTo: 300)
    let edge = Simulator.firstBreak(partsPerMillion: 184_000, upTo: 300)
    let far = Simulator.firstBreak(partsPerMillion: 231_000, upTo: 300)
    let isFarBroken = far?.hasTwoDeciding ?? false
    isHeld =
      broken == 0 && missing.isEmpty && found == Mutation.all.count && near == nil && edge == nil
      && isFarBroken
    print(
      "  clocks 2 % apart: \(near.map { "broken by \($0.seed)" } ?? "held") · 45 %: "
        + (edge.map { "broken by \($0.seed)" } ?? "held") + " · 60 %: "
        + (far.map { "broken by \($0.seed)" } ?? "HELD")
    )
    print("  \(counts.text)")
    if !missing.isEmpty { print("  too seldom: \(missing.joined(separator: ", "))") }
    print(
      "leases: \(command.seeds) seeds, \(broken) broken · control: \(found) of \(Mutation.all.count) errors found, "
        + "at worst after \(worst) seeds · \(isHeld ? "held" : "FAILED")")
    return isHeld
  }

  /// - Returns: how many seeds broke something. The first is shown with as few faults as possible.
  private mutating func runSeeds() -> Int {
    var broken = 0
    for seed in 1...command.seeds {
      let report = Simulator.run(seed: seed, command.options)
      counts.add(report.counts)
      guard report.violation != nil else { continue }
      if broken == 0 { print(Simulator.shrink(report, command.options).text) }
      if broken > 0, let violation = report.violation { print("seed \(seed): \(violation.invariant), too") }
      broken += 1
    }
    return broken
  }

  private func findErrors() -> (found: Int, worst: UInt64) {
    var (found, worst) = (0, UInt64(0))
    for mutation in Mutation.all {
      guard let seed = mutation.firstSeed(upTo: 500) else {
        print("  \(mutation) is not found")
        continue
      }
      found += 1
      print("  \(mutation): found after \(seed) seeds")
      worst = max(worst, seed)
    }
    return (found, worst)
  }
}

/// One run, and all about it.
func showRun(of seed: UInt64, _ options: Options) -> Bool {
  let report = Simulator.run(seed: seed, options)
  print(report.violation == nil ? report.text : Simulator.shrink(report, options).text)
  print("faults:", report.plan.faults.map(\.text).joined(separator: "; "))
  print("\(report.counts.text); trace \(String(report.hash, radix: 16))")
  return report.violation == nil
}
