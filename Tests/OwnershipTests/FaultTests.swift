// Faults of the simulator: what does nothing does not count, and what is over troubles nobody.

import Basics
import Testing

@testable import ClusterSimulator

@Suite struct FaultTests {
  private static func fault(
    _ kind: FaultKind, at begin: Int, for length: Int?, isBehindCommit: Bool = false
  ) -> Fault {
    Fault(
      kind: kind, machine: 0, isOut: false, resets: false, isBehindCommit: isBehindCommit, way: 0, age: .zero,
      begin: .zero + .seconds(begin), length: length.map { .seconds($0) })
  }

  /// A world in which these have come, and all is over.
  private static func world(_ faults: [Fault]) -> World {
    let plan = FaultPlan(faults, end: .zero + .seconds(30))
    let world = World(seed: 1, .short, plan: plan)
    world.run()
    #expect(world.observer.violation == nil)
    return world
  }

  @Test func aStopThatNeverComesIsNone() {
    // Nobody holds anything in the first six seconds, so nothing is committed before the process is killed.
    let stop = Self.fault(.stopped, at: 1, for: 5, isBehindCommit: true)
    let killed = Self.world([stop, Self.fault(.killed, at: 2, for: 1)])
    #expect(killed.observer.counts.faults == [.killed: 1] && killed.observer.counts.stoppedInside == 0)
    #expect(killed.faults.troubles == [0, 0, 0])
    let control = Self.world([stop])
    #expect(control.observer.counts.faults == [.stopped: 1] && control.observer.counts.stoppedInside == 1)
    #expect(control.faults.troubles == [0, 0, 0])
  }

  /// Another stop ends while one waits for its commit.
  @Test func aStopOutlivesTheEndOfAnother() {
    let world = Self.world([
      Self.fault(.stopped, at: 1, for: 3), Self.fault(.stopped, at: 2, for: 5, isBehindCommit: true),
    ])
    #expect(world.observer.counts.stoppedInside == 1 && world.faults.troubles == [0, 0, 0])
  }

  @Test func aDeadProcessIsNotStopped() {
    let world = Self.world([
      Self.fault(.killed, at: 8, for: 4), Self.fault(.stopped, at: 9, for: 10), Self.fault(.paused, at: 9, for: 10),
    ])
    #expect(world.observer.counts.faults == [.killed: 1])
    #expect(world.machines[0].stops == 0 && world.faults.troubles == [0, 0, 0])
  }

  /// The stop would last for good, and is over with the process.
  @Test func whoIsKilledIsStoppedNoMore() {
    let world = Self.world([Self.fault(.stopped, at: 8, for: nil), Self.fault(.killed, at: 12, for: 2)])
    #expect(world.faults.troubles == [0, 0, 0] && world.machines[0].isRunning)
    let control = Self.world([Self.fault(.stopped, at: 8, for: nil)])
    #expect(control.faults.troubles == [1, 0, 0] && !control.machines[0].isRunning)
  }

  @Test(arguments: [(Int?.none, true), (2, false)])
  func whoIsKilledForGoodStaysDead(_ length: Int?, isDead: Bool) {
    let world = Self.world([Self.fault(.killed, at: 8, for: 4), Self.fault(.killed, at: 9, for: length)])
    #expect(world.machines[0].isDead == isDead)
  }
}
