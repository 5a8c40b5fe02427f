// Which layers a receiver's line carries. docs/congestion.md has the policy.
//
//   rates of the layers, wishes ─▶ views ─┐
//   the estimator's target ───────────────┴▶ LayerAllocator ─▶ each consumer: a ceiling for its layer, or held

import Basics
import Congestion
import Forwarding
import RTP

extension Forwarder {
  /// Chooses the layers of all that a transport is sent, and tells the estimator what would be sent if everything fitted.
  mutating func allocate(
    for id: TransportID, _ transports: inout Transports, telling events: inout [WorkerEvent], at now: Instant
  ) {
    var (ids, views, audio) = ([ConsumerID](), [AllocationView](), BitRate.zero)
    for stream in transports[id].routes.outgoing where consumers.contains(stream.consumer) {
      guard consumers[stream.consumer].consumer.ssrc == stream.ssrc, !consumers[stream.consumer].wishesPause else {
        continue
      }
      if producers[consumers[stream.consumer].producer].kind == .audio {
        audio = audio + rate(of: producers[consumers[stream.consumer].producer].encodings[0], at: now)
      } else {
        ids.append(stream.consumer)
        views.append(view(of: stream.consumer, at: now))
      }
    }
    transports[id].downlink?.estimator.setWish(LayerAllocator.wish(views, audio: audio), at: now)
    let isUnlimited = transports[id].downlink?.isUnlimited ?? true
    let target = transports[id].downlink?.estimator.target ?? .unlimited
    let layers =
      isUnlimited
      ? views.map { Optional($0.most) }
      : transports[id].downlink?.allocator.allocate(views, target: target, audio: audio, at: now) ?? []
    transports[id].downlink?.noteAllocation(at: now)
    for (consumer, layer) in zip(ids, layers) { limit(consumer, to: layer, &transports, telling: &events) }
  }

  private mutating func view(of id: ConsumerID, at now: Instant) -> AllocationView {
    let producer = consumers[id].producer
    var rates: [BitRate] = []
    for encoding in producers[producer].encodings { rates.append(rate(of: encoding, at: now)) }
    let current = consumers[id].isHeld ? nil : consumers[id].consumer.currentLayer
    return AllocationView(
      priority: consumers[id].priority, rates: rates,
      most: Int(producers[producer].layer(wished: consumers[id].wishedLayer)),
      current: current.flatMap { $0 >= 0 && Int($0) < rates.count ? Int($0) : nil })
  }

  private mutating func rate(of encoding: EncodingID, at now: Instant) -> BitRate {
    BitRate(bitsPerSecond: Double(encodings[encoding].encoding.rate.bytesPerSecond(at: now)) * 8)
  }

  /// Limits the layer that a consumer is sent; nil sends nothing until there is room.
  private mutating func limit(
    _ id: ConsumerID, to layer: Int?, _ transports: inout Transports, telling events: inout [WorkerEvent]
  ) {
    let isHeld = layer == nil
    if consumers[id].isHeld != isHeld {
      consumers[id].isHeld = isHeld
      consumers[id].consumer.setPaused(isHeld || consumers[id].wishesPause)
      events.append(.consumerPaused(consumers[id].key, isHeld))
      if !isHeld && consumers[id].consumer.awaitsKeyframe { requestKeyframe(for: id) }
    }
    guard let layer else { return }
    let falls = Int8(clamping: layer) < (consumers[id].consumer.currentLayer ?? 0)
    consumers[id].ceiling = Int8(clamping: layer)
    aim(id, &transports)
    // What the line does not carry is not sent until the lower layer's keyframe comes: it would only delay that.
    if falls && consumers[id].consumer.target == Int8(clamping: layer) { consumers[id].consumer.interrupt() }
  }
}
