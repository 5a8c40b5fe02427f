// What follows from what is known of a receiver's line: budgets, probes, layers. `Transport+Downlink.swift` takes in what is said of it.

import Basics
import Congestion
import Forwarding

extension WorkerState {
  /// After each step of a line's estimator: what the flush has to ask, whether a probe begins, and which layers fit now.
  mutating func followLine(of id: TransportID, at now: Instant) {
    guard ends.transports[id].canSend else { return }
    if ends.transports[id].redundancy?.isDue(at: now) == true { protectSound(of: id, at: now) }
    guard ends.transports[id].line.isMeasured else { return }
    ends.transports[id].followDownlink()
    followOutage(of: id, at: now)
    if ends.transports[id].nextPadding(at: now) != nil { egress.probe(id, at: now) }
    if ends.transports[id].downlink?.wantsAllocation(at: now) == true {
      let lowered = allocate(for: id, at: now)
      if !lowered.isEmpty {
        let withdrawn = egress.withdrawLowered(lowered, of: &ends.transports[id])
        forwarder.withdraw(withdrawn, asks: false, tracks, &turn)
      }
    }
  }

  /// Has the layers chosen of all that a transport is sent. Returns the videos that wait for the keyframe of a lower encoding from now on.
  private mutating func allocate(for id: TransportID, at now: Instant) -> [ConsumerID] {
    let mayThin = ends.transports[id].downlink?.mayThin ?? false
    let ceiling = tracks.ceiling.rate
    let wishes = forwarder.wishes(
      of: ends.transports[id].routes.outgoing, isThinned: mayThin || ceiling != nil, &tracks, at: now)
    let allotted = ends.transports[id].allot(wishes, below: ceiling, at: now)
    tracks.ceiling.note(sent: wishes.sent, demand: allotted.demand)
    return forwarder.take(allotted, for: wishes, &tracks, &turn)
  }

  /// How many earlier packets each packet of sound carries to a receiver, as its line loses and has room.
  private mutating func protectSound(of id: TransportID, at now: Instant) {
    let (streams, before) = (ends.transports[id].routes.outgoing, ends.transports[id].earlierPackets)
    let room = forwarder.room(for: streams, target: ends.transports[id].roomForSound(at: now), &tracks, at: now)
    ends.transports[id].redundancy?.decide(room, at: now)
    let earlier = ends.transports[id].earlierPackets
    if earlier != before {
      let sounds = forwarder.protectSound(of: streams, by: earlier)
      // From now on it may be too much for the line.
      if earlier > 0 { for sound in sounds { ends.transports[id].measure(sound, at: now) } }
    }
    schedule(id, at: now)
  }

  /// Video ends where a line goes dark, and begins where it is light again. Then layers are chosen for what the line is believed to carry
  /// now.
  private mutating func followOutage(of id: TransportID, at now: Instant) {
    guard let change = ends.transports[id].followOutage(at: now) else { return }
    let streams = ends.transports[id].routes.outgoing
    switch change {
    case .begins:
      forwarder.darken(streams)
      forwarder.withdraw(egress.withdrawVideo(of: &ends.transports[id]), tracks, &turn)
    case .ends:
      _ = allocate(for: id, at: now)
      forwarder.lighten(streams, tracks, &turn)
    }
  }
}
