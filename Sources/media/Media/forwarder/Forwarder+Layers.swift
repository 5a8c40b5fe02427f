// Which layer of a simulcast track each subscription is sent: the one it wishes for, or the best that arrives.
//
//   sizes and rates of the layers, four times a second ─▶ their order (LayerOrder) ─▶ arriving, bestLayer ─▶ each consumer's target ─▶ keyframe request
//   a keyframe of the target ─▶ the consumer switches; until then it goes on with the layer it has

import Basics
import Congestion
import Forwarding
import RTP

extension Forwarder {
  /// How often it is looked which layers of a simulcast track arrive.
  static let layerInterval = TimeDelta.milliseconds(250)

  mutating func scheduleLayers(_ id: ProducerID, at now: Instant) {
    guard !producers[id].layersScheduled else { return }
    producers[id].layersScheduled = true
    deadlines.push(now + Self.layerInterval, .layers(id))
  }

  mutating func pollLayers(
    _ id: ProducerID, _ ends: inout Ends, _ turn: inout Turn
  ) {
    guard producers.contains(id) else { return }
    producers[id].layersScheduled = false
    Reordering.look(at: id, &self, &turn)
    guard measureLayers(id, at: turn.now) else { return }
    scheduleLayers(id, at: turn.now)
    for consumer in producers[id].consumers { aim(consumer, &ends) }
    noteNeeds(of: id, &turn)
  }

  /// A receiver can be sent more of a track than before. Its publisher is asked at once for layers that it has paused.
  mutating func askPublisher(_ id: ProducerID?, _ turn: inout Turn) {
    guard let id, producers[id].asked?.isWaiting == true else { return }
    noteNeeds(of: id, &turn)
  }

  /// Looks which layers of a track are needed, and has its publisher told where that changes what it is to send.
  private mutating func noteNeeds(of id: ProducerID, _ turn: inout Turn) {
    guard producers[id].asked != nil, !producers[id].isMuted else { return }
    var (needed, rates) = (UInt8(0), [BitRate]())
    for consumer in producers[id].consumers where !consumers[consumer].wishesPause {
      let most = producers[id].layerToBeHad(wished: consumers[consumer].wishedLayer)
      let layers = [min(most, consumers[consumer].ceiling.layer), consumers[consumer].sent?.layer ?? 0]
      for layer in layers where !consumers[consumer].isHeld && layer >= 0 { needed |= 1 << UInt8(layer) }
    }
    for encoding in producers[id].encodings {
      rates.append(
        BitRate(bitsPerSecond: Double(encodings[encoding].encoding.rate.steadyBytesPerSecond(at: turn.now)) * 8))
    }
    guard producers[id].asked?.update(needed: needed, rates: rates, at: turn.now) == true else { return }
    _ = measureLayers(id, at: turn.now)
    let active = producers[id].asked?.active ?? []
    let places = active.map { producers[id].declaredPlace(of: producers[id].encodings[$0]) }
    turn.tell(.producerLayers(producers[id].key, active: active, encodings: places))
  }

  /// Notes which layers arrive and which of them is the best; false when nothing arrives at all.
  private mutating func measureLayers(_ id: ProducerID, at now: Instant) -> Bool {
    var arriving: UInt8 = 0
    var best = producers[id].bestLayer
    var bestRate =
      producers[id].asked?.isPaused(best) == true
      ? 0 : encodings[producers[id].encodings[best]].encoding.rate.bytesPerSecond(at: now)
    for (index, encoding) in producers[id].encodings.enumerated() {
      // What is on its way of a layer that was paused a moment ago ends before anybody could begin with it.
      let isPaused = producers[id].asked?.isPaused(index) ?? false
      let rate = isPaused ? 0 : encodings[encoding].encoding.rate.bytesPerSecond(at: now)
      if rate > 0 { arriving |= 1 << UInt8(index) }
      // A fifth more, so that two layers of like rate do not take turns.
      if rate > bestRate + bestRate / 5 { (best, bestRate) = (index, rate) }
    }
    guard arriving != 0 else { return false }
    producers[id].arriving = arriving
    producers[id].bestLayer = best
    return true
  }

  /// Sets which layer a consumer is to be sent, and asks for the keyframe that it can begin with. `wishedAt`: its client wishes so, now.
  mutating func aim(_ id: ConsumerID, _ ends: inout Ends, wishedAt now: Instant? = nil) {
    guard let producer = consumers[id].producer else { return }
    let wished = producers[producer].layer(wished: consumers[id].wishedLayer)
    let target = min(wished, consumers[id].ceiling.layer)
    guard target != consumers[id].consumer.target else { return }
    consumers[id].consumer.target = target
    guard consumers[id].consumer.awaitsKeyframe && ends.canBeSentTo(consumers[id].destination) else { return }
    if let now {
      KeyframeCharge.ask(for: id, &self, &ends, at: now)
    } else {
      requestKeyframe(for: id)
    }
  }

  /// A destination can be sent to now: its consumers need keyframes.
  mutating func wake(_ destination: Destination, _ ends: inout Ends) {
    for stream in ends.streams(to: destination) where consumers.contains(stream.consumer) {
      if consumers[stream.consumer].consumer.awaitsKeyframe { requestKeyframe(for: stream.consumer) }
    }
  }

  /// Lets a consumer begin with the keyframe in the cache of its layer, or has the publisher asked for one. A receiver whose line is
  /// full is not sent the past: `fromCache` is false.
  mutating func requestKeyframe(for id: ConsumerID, fromCache: Bool = true) {
    consumers[id].owesKeyframe = false
    if let encoding = KeyframeCharge.missing(for: id, fromCache: fromCache, &self) { wantKeyframe(encoding) }
  }

  /// The packets that a newcomer is to be sent of an encoding; nil where a keyframe must be asked for.
  mutating func newestReplay(of id: EncodingID) -> ClosedRange<Int64>? {
    encodings[id].encoding.replay(after: encodings[id].mutedUntil)
  }

  /// A receiver cannot decode what it is sent. It may say so as often as `ConsumerSlot.keyframeWishes` allows; beyond that its wish is put
  /// off, and holds until it is heard or a keyframe has come since it was last said. Where it waits for what its client wished to see, that
  /// costs what the wish does: else it would ask for nothing.
  mutating func keyframeWanted(by id: ConsumerID, _ ends: inout Ends, at now: Instant) {
    if consumers[id].wishWaits != nil {
      consumers[id].wishWaits = now
      return
    }
    if let wait = consumers[id].keyframeWishes.take(at: now) {
      drops.count(.tooManyRequests)
      consumers[id].wishWaits = now
      deadlines.push(now + .milliseconds(Int(clamping: wait)), .wish(id))
      return
    }
    hear(id, &ends, at: now)
  }

  /// A wish that was put off is heard, unless what the receiver is sent has had a keyframe since.
  mutating func wishAgain(_ id: ConsumerID, _ ends: inout Ends, at now: Instant) {
    guard consumers.contains(id), let since = consumers[id].wishWaits else { return }
    consumers[id].wishWaits = nil
    guard let producer = consumers[id].producer, !consumers[id].isStopped else { return }
    let layer = Int(consumers[id].consumer.currentLayer ?? consumers[id].consumer.target)
    if producers[producer].encodings.indices.contains(layer), !consumers[id].consumer.awaitsKeyframe,
      encodings[producers[producer].encodings[layer]].encoding.keyframeAt > since
    {
      return
    }
    keyframeWanted(by: id, &ends, at: now)
  }

  private mutating func hear(_ id: ConsumerID, _ ends: inout Ends, at now: Instant) {
    if consumers[id].owesKeyframe {
      KeyframeCharge.ask(for: id, &self, &ends, at: now)
    } else {
      requestKeyframe(for: id)
    }
    // What the receiver cannot decode is the layer that it is still sent.
    if let producer = consumers[id].producer, let current = consumers[id].consumer.currentLayer, current >= 0,
      current != consumers[id].consumer.target,
      Int(current) < producers[producer].encodings.count, !producers[producer].isMuted
    {
      wantKeyframe(producers[producer].encodings[Int(current)])
    }
  }

  /// Has the encoding's publisher asked for a keyframe, as often as the throttle allows.
  mutating func wantKeyframe(_ encoding: EncodingID) {
    encodings[encoding].encoding.keyframes.request()
    schedule(encoding: encoding)
  }
}
