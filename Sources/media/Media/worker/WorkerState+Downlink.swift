// What follows from what is known of a receiver's line: budgets, probes, layers. `Transport+Downlink.swift` takes in what is said of it.

import Basics
import Congestion
import Forwarding

extension WorkerState {
  /// After each step of a line's estimator: what the flush has to ask, whether a probe begins, and which layers fit now.
  mutating func followLine(of id: TransportID, at now: Instant) {
    guard ends.transports[id].canSend else { return }
    if ends.transports[id].redundancy?.isDue(at: now) == true {
      forwarder.protectSound(of: id, &ends, at: now)
      schedule(id, at: now)
    }
    guard ends.transports[id].line.isMeasured else { return }
    ends.transports[id].followDownlink()
    LineOutage.follow(id, &ends, &forwarder, &egress, &turn)
    if ends.transports[id].nextPadding(at: now) != nil { egress.probe(id, at: now) }
    if ends.transports[id].downlink?.wantsAllocation(at: now) == true {
      let lowered = forwarder.allocate(for: id, &ends, &turn)
      if !lowered.isEmpty, let transport = ends.transports.pointer(to: id) {
        egress.withdrawLowered(lowered, of: transport, &forwarder)
      }
    }
  }
}
