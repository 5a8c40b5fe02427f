// What is asked of the nodes: each wants one of five leases after the other, and has something decided where it may.

import Basics
import Ownership

extension World {
  /// Nothing is given back towards the end, so that all may come to rest.
  private static let rest = TimeDelta.seconds(15)

  func claimPause() -> TimeDelta { workload.time(.milliseconds(100), .milliseconds(400)) }

  func claim(_ index: Int) {
    add(.want(machine: index), after: claimPause())
    let givesBack = workload.once(in: options.givesBackOnceIn) && now + Self.rest < end
    guard !machines[index].isDead else { return }
    let name = Self.names[machines[index].wants % Self.names.count]
    machines[index].wants += 1
    hear(.ownership(.want(name)), at: index)
    hear(.decide(name), at: index)
    if givesBack { hear(.ownership(.giveBack(name)), at: index) }
  }
}
