// Which layer of a simulcast track each subscription is sent: the one it wishes for, or the best that arrives.
//
//   sizes and rates of the layers, four times a second ─▶ their order (LayerOrder) ─▶ arriving, bestLayer ─▶ each consumer's target ─▶ keyframe request
//   a keyframe of the target ─▶ the consumer switches; until then it goes on with the layer it has

import Basics
import Congestion
import Forwarding
import RTP

extension Tracks {
  /// How often it is looked which layers of a simulcast track arrive, and whether a mirror with a single layer is brought it.
  static let layerInterval = TimeDelta.milliseconds(250)
  static let mirrorInterval = TimeDelta.seconds(1)

  mutating func scheduleLayers(_ id: ProducerID, _ turn: inout Turn) {
    guard !producers[id].layersScheduled else { return }
    producers[id].layersScheduled = true
    let interval = producers[id].encodings.count > 1 ? Self.layerInterval : Self.mirrorInterval
    turn.look(at: .layers(id), from: turn.now + interval)
  }

  /// Has the publisher told where what its receivers need changes what it is to send.
  mutating func note(_ needed: UInt8, of id: ProducerID, _ turn: inout Turn) {
    var rates: [BitRate] = []
    for encoding in producers[id].encodings {
      rates.append(
        BitRate(bitsPerSecond: Double(encodings[encoding].encoding.rate.steadyBytesPerSecond(at: turn.now)) * 8))
    }
    guard producers[id].asked?.update(needed: needed, rates: rates, at: turn.now) == true else { return }
    _ = measureLayers(id, at: turn.now)
    let active = producers[id].asked?.active ?? []
    let places = active.map { producers[id].declaredPlace(of: producers[id].encodings[$0]) }
    if producers[id].isMirror { return turn.want(layersOf: id) }
    turn.tell(.producerLayers(producers[id].key, active: active, encodings: places))
  }

  /// Notes which layers arrive and which of them is the best; false when nothing arrives at all.
  mutating func measureLayers(_ id: ProducerID, at now: Instant) -> Bool {
    var arriving: UInt8 = 0
    var rates: [Int64] = []
    for (index, encoding) in producers[id].encodings.enumerated() {
      // What is on its way of a layer that was paused a moment ago ends before anybody could begin with it.
      let isPaused = producers[id].asked?.isPaused(index) ?? false
      rates.append(
        producers[id].asked?.rateAtSource(of: index)
          ?? (isPaused ? 0 : encodings[encoding].encoding.rate.bytesPerSecond(at: now)))
    }
    var best = producers[id].bestLayer
    var bestRate = rates[best]
    for (index, rate) in rates.enumerated() {
      if rate > 0 { arriving |= 1 << UInt8(index) }
      // A fifth more, so that two layers of like rate do not take turns.
      if rate > bestRate + bestRate / 5 { (best, bestRate) = (index, rate) }
    }
    guard arriving != 0 else { return false }
    producers[id].arriving = arriving
    producers[id].bestLayer = best
    return true
  }
}

extension Forwarder {
  /// Looks which layers of a track arrive. Returns the consumers that need a keyframe of another one from now on.
  mutating func pollLayers(_ id: ProducerID, _ tracks: inout Tracks, _ turn: inout Turn) -> [ConsumerID] {
    if let order = Reordering.learn(of: id, &tracks, at: turn.now) {
      Reordering.apply(order, to: id, &tracks, &self, &turn)
    }
    // Of a mirror nothing comes before it is asked for.
    let isMirror = tracks.producers[id].isMirror
    guard tracks.measureLayers(id, at: turn.now) || isMirror else { return [] }
    let aimed = tracks.producers[id].consumers.filter { aim($0, tracks) }
    noteNeeds(of: id, &tracks, &turn)
    if !isMirror {
      turn.want(layersOf: id)
    } else if tracks.producers[id].consumers.isEmpty, tracks.producers[id].asked?.active.isEmpty == true {
      // The next consumer has it looked at again.
      return aimed
    }
    tracks.scheduleLayers(id, &turn)
    return aimed
  }

  /// A receiver can be sent more of a track than before. The source of the track is asked at once for layers that are needed now and do not
  /// come: its publisher for those that it has paused, and the other end of a pipe for those that do not cross.
  func askForLayers(of id: ProducerID?, _ tracks: inout Tracks, _ turn: inout Turn) {
    guard let id, tracks.producers[id].asked?.isWaiting == true else { return }
    noteNeeds(of: id, &tracks, &turn)
    if tracks.producers[id].isMirror { tracks.scheduleLayers(id, &turn) }
  }

  /// Looks which layers of a track are needed.
  private func noteNeeds(of id: ProducerID, _ tracks: inout Tracks, _ turn: inout Turn) {
    guard tracks.producers[id].asked != nil, !tracks.producers[id].isMuted else { return }
    var needed: UInt8 = 0
    for consumer in tracks.producers[id].consumers where !consumers[consumer].wishesPause {
      let most = tracks.producers[id].layerToBeHad(wished: consumers[consumer].wishedLayer)
      let next = min(most, consumers[consumer].ceiling.layer)
      // What it is sent, or is to begin with, goes on until the other comes.
      let layers = [next, consumers[consumer].sent?.layer ?? consumers[consumer].consumer.target]
      for layer in layers where !consumers[consumer].isHeld && layer >= 0 { needed |= 1 << UInt8(layer) }
    }
    for (layer, encoding) in tracks.producers[id].encodings.enumerated() where !tracks.encodings[encoding].pipes.isEmpty
    {
      needed |= 1 << UInt8(layer)
    }
    tracks.note(needed, of: id, &turn)
  }

  /// Sets which layer a consumer is to be sent. True where it needs a keyframe that it can begin with.
  mutating func aim(_ id: ConsumerID, _ tracks: borrowing Tracks) -> Bool {
    guard let producer = consumers[id].producer else { return false }
    let wished = tracks.producers[producer].layer(wished: consumers[id].wishedLayer)
    let target = min(wished, consumers[id].ceiling.layer)
    guard target != consumers[id].consumer.target else { return false }
    consumers[id].consumer.target = target
    return consumers[id].consumer.awaitsKeyframe
  }
}
