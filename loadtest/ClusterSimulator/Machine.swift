// A process on a machine: what it runs, what has come, and what it is doing now.

import Basics
import Ownership

/// What a process finds when it looks.
enum Input {
  case ownership(OwnershipInput)
  /// Somebody wants something decided about this.
  case decide(LeaseName)
}

/// What was committed, and nobody has been shown.
struct Commit {
  let permit: Permit
  /// The clock when the turn began, for the flaw that looks but once.
  let turnBegan: Instant
}

/// One node.
struct Machine {
  let index: Int
  var clock: SimClock
  var ownership: Ownership
  var isDead = false
  /// How many faults keep it dead.
  var kills = 0
  /// How many faults stop it.
  var stops = 0
  /// Whether its clock has stood with it, since it last went on.
  var wasPaused = false
  /// How often it has been started. What is meant for an earlier process is dropped.
  var birth = 0
  var inbox: [Input] = []
  /// Between the two halves of a commit, where a process may be stopped.
  var committed: Commit?
  /// When the turn began that is going on.
  var turnBegan: Instant?
  var isTurnDue = false
  var deadline: Instant?
  /// The fault that stops it behind its next commit.
  var stopsBehindCommit: Int?
  var wants = 0
  /// Whether it was frozen since it entered, and would thaw with a beat.
  var hasBeenFrozen = false

  var isRunning: Bool { !isDead && stops == 0 }

  init(index: Int, clock: SimClock, flaws: OwnershipFlaws) {
    (self.index, self.clock) = (index, clock)
    ownership = Self.process(index, birth: birth, flaws: flaws)
  }

  private static func process(_ index: Int, birth: Int, flaws: OwnershipFlaws) -> Ownership {
    let process = ProcessNumber(UInt64(index) << 32 | UInt64(birth))
    return Ownership(name: "n\(index)", boot: "b\(index)", process: process, flaws: flaws, bounds: bounds)
  }

  /// So small that they are met: five names are asked for.
  static let bounds: QuestionBounds = {
    var bounds = QuestionBounds()
    (bounds.names, bounds.leases) = (3, 6)
    return bounds
  }()

  mutating func die() {
    isDead = true
    stops = 0
    inbox = []
    (committed, turnBegan, deadline, stopsBehindCommit) = (nil, nil, nil, nil)
    (isTurnDue, wasPaused, hasBeenFrozen) = (false, false, false)
    birth += 1
  }

  mutating func start(at now: Instant, flaws: OwnershipFlaws) {
    isDead = false
    clock.goOn(at: now)
    ownership = Self.process(index, birth: birth, flaws: flaws)
  }
}
