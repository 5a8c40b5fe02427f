// What a run is like, beside its seed.

import Basics
import ClusterStore
import Ownership

/// What a machine around a node may do wrong.
package struct WorldFlaws: OptionSet, Sendable {
  package let rawValue: UInt8
  package init(rawValue: UInt8) { self.rawValue = rawValue }

  /// The clock is read once a turn: not again before effects leave.
  package static let clockOnceATurn = WorldFlaws(rawValue: 1)
  /// The clock stands while the process is stopped.
  package static let clockOfMonotonic = WorldFlaws(rawValue: 2)
}

/// How a run is made.
public struct Options: Sendable {
  /// The words by which `make cluster` makes the same; nil where none do.
  public var words: String? = ""
  /// Kinds of faults that may come.
  public var kinds = FaultKind.allCases
  /// Whether a seed chooses among them.
  public var isSwarm = true
  /// For how long things go wrong.
  public var span: ClosedRange<TimeDelta> = .seconds(40) ... .seconds(120)
  /// When the first fault comes, at the earliest.
  public var firstFault = TimeDelta.seconds(2)
  /// How many faults there are, at least.
  public var leastFaults = 2
  /// How many faults there are, at most.
  public var mostFaults = 12
  /// Whether processes are stopped when the store fails, and have been put out shortly before.
  public var stopsAroundFailovers = false
  /// How long a node is cut off from the store, where it is not as long as may be.
  public var cutLength: ClosedRange<TimeDelta>?
  /// How late a statement is, at most, where statements may be.
  public var mostLate = TimeDelta.seconds(10)
  /// For how long nothing goes wrong afterwards.
  public var calm = TimeDelta.seconds(40)
  /// How far clocks are from true time, at most.
  public var partsPerMillion = 10_000
  /// Whether each clock is as far from it as may be.
  public var clocksAreExtreme = false
  /// How seldom a lease is given back.
  public var givesBackOnceIn = 12
  /// What a run ends at.
  public var looksAt = Set(Invariant.allCases)
  /// How much may happen in a run that has an end.
  public var mostHappenings = 200_000
  /// Throws of the dice for nothing, which make it another run.
  public var extraThrows = 0
  package var flaws: OwnershipFlaws = []
  package var store: StoreFlaws = []
  package var world: WorldFlaws = []

  /// The same runs, with nothing put in.
  var withoutFlaws: Options {
    var right = self
    (right.flaws, right.store, right.world) = ([], [], [])
    return right
  }

  /// As it is for nights.
  public init() {}

  /// As it is where time is short: faults come within a minute at most.
  public static var short: Options {
    var options = Options()
    options.words = "--short "
    options.span = .seconds(20) ... .seconds(60)
    options.calm = .seconds(35)
    return options
  }
}
