// What of a plan is needed to break something: faults are taken away, and made shorter, as long as the same breaks.

import Basics

extension Simulator {
  /// Runs that looking for a smaller plan may take.
  private static let mostRuns = 300

  /// The same break with as few faults as possible. - Parameter report: of a run with these options that has broken something.
  public static func shrink(_ report: RunReport, _ options: Options) -> RunReport {
    guard let invariant = report.violation?.invariant else { return report }
    var (best, runs) = (report, 0)
    func breaks(_ faults: [Fault]) -> Bool {
      runs += 1
      guard runs <= mostRuns else { return false }
      let next = run(seed: report.seed, options, plan: FaultPlan(faults, end: report.plan.end))
      guard next.violation?.invariant == invariant else { return false }
      best = next
      return true
    }
    var place = 0
    while place < best.plan.faults.count {
      var fewer = best.plan.faults
      fewer.remove(at: place)
      if !breaks(fewer) { place += 1 }
    }
    for place in best.plan.faults.indices {
      while let shorter = best.plan.faults[place].halved {
        var faults = best.plan.faults
        faults[place] = shorter
        guard breaks(faults) else { break }
      }
    }
    return best
  }
}

extension Fault {
  /// Half as long; nil where it is short, or lasts for good.
  fileprivate var halved: Fault? {
    guard let length, length > .milliseconds(50) else { return nil }
    return Fault(
      kind: kind, machine: machine, isOut: isOut, resets: resets, isBehindCommit: isBehindCommit, way: way, age: age,
      begin: begin, length: length / 2)
  }
}
