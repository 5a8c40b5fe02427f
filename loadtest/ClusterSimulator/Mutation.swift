// Errors that are put in on purpose. A simulator that does not find them has shown nothing.

import Basics
import ClusterStore
import Ownership

/// An error, and the faults that bring it out.
public struct Mutation: Sendable, CustomStringConvertible {
  /// Its name.
  public let description: String
  /// What has to break.
  public let breaks: Invariant
  /// Runs that are steered towards it.
  public let options: Options

  private init(_ name: String, breaks: Invariant, by kinds: [FaultKind], _ change: (inout Options) -> Void) {
    var options = Options.short
    options.words = "--mutation \(name) "
    options.span = .seconds(15) ... .seconds(40)
    (options.kinds, options.isSwarm, options.looksAt) = (kinds, false, [breaks])
    if breaks != .comesToRest { options.calm = .seconds(5) }
    // Nobody holds anything before.
    (options.firstFault, options.leastFaults) = (.seconds(7), 6)
    change(&options)
    (description, self.breaks, self.options) = (name, breaks, options)
  }

  /// All of them.
  public static let all = [
    Mutation("untilFromAnswer", breaks: .oneDecides, by: [.slow, .stopped]) {
      ($0.flaws, $0.span) = (.untilFromAnswer, .seconds(14) ... .seconds(20))
    },
    Mutation("untilFromAnswerFreezesLate", breaks: .freezesInTime, by: [.slow, .oneWay]) {
      $0.flaws = .untilFromAnswer
    },
    Mutation("clockOnceATurn", breaks: .inOrder, by: [.stopped]) { $0.world = .clockOnceATurn },
    Mutation("fencesAfter3s", breaks: .oneDecides, by: [.cutFromStore]) { $0.flaws = .fencesAfter3s },
    Mutation("fencesAfter9s", breaks: .isTakenInTime, by: [.killed]) { $0.flaws = .fencesAfter9s },
    Mutation("acquiresFromLiving", breaks: .oneDecides, by: []) { $0.store = .acquiresFromLiving },
    Mutation("thawsAfterFence", breaks: .oneDecides, by: [.stopped, .statementLate]) { $0.store = .thawsAfterFence },
    Mutation("clockOfMonotonic", breaks: .oneDecides, by: [.stopped]) { $0.world = .clockOfMonotonic },
    Mutation("noQuietTime", breaks: .oneDecides, by: [.failover, .storeBack]) { $0.flaws = .noQuietTime },
    Mutation("keepsLeasesOverMarks", breaks: .oneDecides, by: [.failover, .stopped]) {
      ($0.flaws, $0.stopsAroundFailovers) = (.keepsLeasesOverMarks, true)
    },
    Mutation("beatLowerIsNoMark", breaks: .oneDecides, by: [.storeBack]) { $0.flaws = .beatLowerIsNoMark },
    Mutation("asksWithoutBound", breaks: .isBounded, by: [.stopped]) { $0.flaws = .asksWithoutBound },
    Mutation("decidesAfterGiveBack", breaks: .oneDecides, by: [.statementLate, .cutFromStore, .cutFromStore]) {
      $0.flaws = .decidesAfterGiveBack
      // The connection ends, the node is not put out, and what it gave back is late.
      ($0.cutLength, $0.mostLate) = (.seconds(3) ... .seconds(5), .seconds(20))
      ($0.leastFaults, $0.givesBackOnceIn) = (8, 4)
    },
    Mutation("forgetsLostAnswers", breaks: .comesToRest, by: [.oneWay, .statementLate, .cutFromStore]) {
      $0.flaws = .forgetsLostAnswers
      $0.givesBackOnceIn = 2
    },
  ]

  /// An error whose runs are made so.
  package init(_ name: String, breaks: Invariant, _ options: Options) {
    (description, self.breaks, self.options) = (name, breaks, options)
  }

  /// The first seed of `1...most` in which the error breaks what it has to, and nothing breaks without the error; nil where the first that
  /// breaks it does so anyway, where a run has no end, and where nothing breaks.
  public func firstSeed(upTo most: UInt64) -> UInt64? {
    for seed in 1...most {
      guard let violation = Simulator.run(seed: seed, options).violation else { continue }
      if violation.invariant == .endless { return nil }
      guard violation.invariant == breaks else { continue }
      return Simulator.run(seed: seed, options.withoutFlaws).violation == nil ? seed : nil
    }
    return nil
  }
}

extension Simulator {
  /// Nodes whose clocks are so far from true time, each fast or slow, and that are cut off one or two at a time.
  /// - Returns: of `1...most`, the first run in which two decide; nil where none do.
  public static func firstBreak(partsPerMillion: Int, upTo most: UInt64) -> RunReport? {
    var options = Options.short
    options.words = nil
    options.span = .seconds(30) ... .seconds(45)
    options.calm = .zero
    (options.kinds, options.isSwarm, options.looksAt) = ([.cutFromStore], false, [.oneDecides, .inOrder])
    (options.firstFault, options.leastFaults, options.mostFaults) = (.seconds(8), 2, 4)
    (options.partsPerMillion, options.clocksAreExtreme) = (partsPerMillion, true)
    return (1...most).lazy.map { run(seed: $0, options) }.first { $0.violation != nil }
  }
}
