// Which layers a receiver's line carries. docs/congestion.md has the policy.
//
//   rates of the layers, wishes ─▶ views ─┐
//   the estimator's target ───────────────┴▶ LayerAllocator ─▶ each consumer: a ceiling for its layer, or held

import Basics
import Congestion
import Forwarding
import RTP

extension Forwarder {
  /// After a line has made a subscription go down, or be held, it does not go up for so long.
  private static let calm = TimeDelta.seconds(2)
  /// How long it is remembered what a held video needed.
  private static let memory = TimeDelta.seconds(30)

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
    let least = views.reduce(audio) { sum, view in sum + (view.rates.first { $0 > .zero } ?? .zero) }
    let target = transports[id].downlink?.target(least: least) ?? .unlimited
    let layers =
      isUnlimited
      ? views.map { Optional($0.most) }
      : transports[id].downlink?.allocator.allocate(views, target: target, audio: audio, at: now) ?? []
    transports[id].downlink?.noteAllocation(at: now)
    for (consumer, layer) in zip(ids, layers) {
      limit(consumer, to: layer, isLimited: !isUnlimited, &transports, telling: &events, at: now)
    }
  }

  private mutating func view(of id: ConsumerID, at now: Instant) -> AllocationView {
    let producer = consumers[id].producer
    var rates: [BitRate] = []
    for encoding in producers[producer].encodings { rates.append(rate(of: encoding, at: now)) }
    // A shared screen that stands still measures nothing, and comes back as large as it was.
    if consumers[id].isHeld, now - consumers[id].loweredAt < Self.memory, !rates.isEmpty,
      rates.allSatisfy({ $0 == .zero })
    {
      rates[0] = consumers[id].heldRate
    }
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
    _ id: ConsumerID, to layer: Int?, isLimited: Bool, _ transports: inout Transports,
    telling events: inout [WorkerEvent], at now: Instant
  ) {
    // A line of which good and bad is said in turn must not cost publishers a keyframe each time.
    let isCalm = now - consumers[id].loweredAt >= Self.calm
    guard let layer else { return hold(id, telling: &events, at: now) }
    if consumers[id].isHeld && !isCalm { return }
    let new = Int8(clamping: layer)
    if new > consumers[id].ceiling && !isCalm { return }
    let falls = isLimited && new < (consumers[id].consumer.currentLayer ?? 0)
    consumers[id].ceiling = new
    aim(id, &transports)
    // What the line does not carry is not sent until the lower layer's keyframe comes: it would only delay that.
    if falls && consumers[id].consumer.target == new {
      consumers[id].loweredAt = now
      consumers[id].consumer.interrupt()
    }
    if consumers[id].isHeld { release(id, telling: &events) }
  }

  private mutating func hold(_ id: ConsumerID, telling events: inout [WorkerEvent], at now: Instant) {
    guard !consumers[id].isHeld else { return }
    consumers[id].isHeld = true
    consumers[id].loweredAt = now
    consumers[id].heldRate = lowestRate(of: consumers[id].producer, at: now)
    consumers[id].consumer.setPaused(true)
    events.append(.consumerPaused(consumers[id].key, true))
  }

  private mutating func release(_ id: ConsumerID, telling events: inout [WorkerEvent]) {
    consumers[id].isHeld = false
    consumers[id].consumer.setPaused(consumers[id].wishesPause)
    events.append(.consumerPaused(consumers[id].key, false))
    if consumers[id].consumer.awaitsKeyframe { requestKeyframe(for: id) }
  }

  private mutating func lowestRate(of producer: ProducerID, at now: Instant) -> BitRate {
    for encoding in producers[producer].encodings {
      let measured = rate(of: encoding, at: now)
      if measured > .zero { return measured }
    }
    return .zero
  }
}
