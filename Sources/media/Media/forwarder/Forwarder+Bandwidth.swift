// Which layers a receiver's line carries. docs/congestion.md has the policy.
//
//   ladders of the tracks, wishes ─▶ views ─┐
//   the estimator's target ─────────────────┴▶ LayerAllocator ─▶ each consumer: the step that it is sent at most, or held

import Basics
import Congestion
import Forwarding
import RTP

extension Forwarder {
  /// After a line has made a subscription go down, or be held, it does not go up for so long.
  private static let calm = TimeDelta.seconds(2)
  /// How long it is remembered what a held video needed.
  private static let memory = TimeDelta.seconds(30)

  /// Chooses the layers of all that a transport is sent, and tells the estimator what would be sent if everything fitted. Returns the
  /// videos that wait for the keyframe of a lower encoding from now on.
  @discardableResult
  mutating func allocate(
    for id: TransportID, _ ends: inout Ends, _ turn: inout Turn
  ) -> [ConsumerID] {
    var (ids, views, audio) = ([ConsumerID](), [AllocationView](), BitRate.zero)
    let mayThin = ends.transports[id].downlink?.mayThin ?? false
    for stream in ends.transports[id].routes.outgoing where consumers.contains(stream.consumer) {
      guard consumers[stream.consumer].consumer.ssrc == stream.ssrc, !consumers[stream.consumer].wishesPause,
        let producer = consumers[stream.consumer].producer
      else { continue }
      producers[producer].ladder.measure(
        producers[producer].encodings, &encodings, asked: producers[producer].asked, at: turn.now)
      if producers[producer].kind == .audio {
        audio = audio + (producers[producer].ladder.rates.first ?? .zero)
      } else {
        ids.append(stream.consumer)
        views.append(view(of: stream.consumer, showing: producer, isThinned: mayThin, at: turn.now))
      }
    }
    audio = audio * Double(1 + ends.transports[id].earlierPackets)
    ends.transports[id].downlink?.estimator.setWish(LayerAllocator.wish(views, audio: audio), at: turn.now)
    let isUnlimited = ends.transports[id].downlink?.isUnlimited ?? true
    let least = views.reduce(audio) { sum, view in sum + (view.rates.first { $0 > .zero } ?? .zero) }
    let target = ends.transports[id].downlink?.target(least: least) ?? .unlimited
    let steps =
      isUnlimited
      ? views.map { Optional($0.most) }
      : ends.transports[id].downlink?.allocator.allocate(views, target: target, audio: audio, at: turn.now) ?? []
    ends.transports[id].downlink?.noteAllocation(at: turn.now)
    for (consumer, step) in zip(ids, steps) {
      limit(consumer, to: step, isLimited: !isUnlimited, &ends, &turn)
    }
    return ids.filter { id in
      guard consumers[id].loweredAt == turn.now, !consumers[id].isHeld, let sent = consumers[id].sent else {
        return false
      }
      return sent.layer > consumers[id].consumer.target
    }
  }

  /// A video as the allocator sees it: its layers are the steps of the track's ladder.
  private func view(
    of id: ConsumerID, showing producer: ProducerID, isThinned: Bool, at now: Instant
  ) -> AllocationView {
    let ladder = producers[producer].ladder
    // After the dark a stream begins anew, in whatever layer.
    let isSent = !consumers[id].isHeld && !consumers[id].isDark
    var rates = ladder.rates(isThinned: isThinned, sent: isSent ? consumers[id].sent : nil)
    // A shared screen that stands still measures nothing, and comes back as large as it was.
    if consumers[id].isHeld, now - consumers[id].loweredAt < Self.memory, !rates.isEmpty,
      rates.allSatisfy({ $0 == .zero })
    {
      rates[0] = consumers[id].heldRate
    }
    return AllocationView(
      priority: consumers[id].priority, rates: rates,
      most: ladder.whole(producers[producer].layerToBeHad(wished: consumers[id].wishedLayer)),
      current: isSent ? consumers[id].sent.flatMap(ladder.index) : nil, enough: ladder.enough)
  }

  /// Limits what a consumer is sent to a step of its track's ladder; nil sends nothing until there is room.
  private mutating func limit(
    _ id: ConsumerID, to index: Int?, isLimited: Bool, _ ends: inout Ends,
    _ turn: inout Turn
  ) {
    // A line of which good and bad is said in turn must not cost publishers a keyframe each time.
    let isCalm = turn.now - consumers[id].loweredAt >= Self.calm
    guard let index else { return hold(id, &turn) }
    guard let steps = consumers[id].producer.map({ producers[$0].ladder.steps }), steps.indices.contains(index) else {
      return
    }
    if consumers[id].isHeld && !isCalm { return }
    let new = steps[index]
    // A line without a limit, and a stream that is sent whole: nothing to choose.
    if !isLimited, !consumers[id].isHeld, consumers[id].ceiling == .top, !consumers[id].consumer.isThinned {
      return aim(id, &ends)
    }
    if new > consumers[id].ceiling && !isCalm { return }
    let sent = consumers[id].sent ?? LayerStep(layer: 0, limit: new.limit)
    // What is paused at the publisher is asked for as soon as there is room for it.
    let isMore = new.layer > consumers[id].ceiling.layer || consumers[id].isHeld
    consumers[id].ceiling = isLimited ? new : .top
    if isMore { askPublisher(consumers[id].producer, &turn) }
    aim(id, &ends)
    if consumers[id].consumer.limit != new.limit { consumers[id].consumer.limit = new.limit }
    if isLimited && new < sent && consumers[id].consumer.target == new.layer {
      consumers[id].loweredAt = turn.now
      // What the line does not carry is not sent until the lower layer's keyframe comes: it would only delay that.
      if new.layer < sent.layer { consumers[id].consumer.interrupt() }
    }
    if consumers[id].isHeld { release(id, &turn) }
    if consumers[id].consumer.awaitsLayers && ends.canBeSentTo(consumers[id].destination) {
      requestKeyframe(for: id)
    }
  }

  private mutating func hold(_ id: ConsumerID, _ turn: inout Turn) {
    guard !consumers[id].isHeld else { return }
    consumers[id].isHeld = true
    consumers[id].loweredAt = turn.now
    consumers[id].heldRate = consumers[id].producer.flatMap { producers[$0].ladder.lowestRate } ?? .zero
    consumers[id].consumer.setPaused(true)
    turn.tell(.consumerPaused(consumers[id].key, true))
  }

  mutating func release(_ id: ConsumerID, _ turn: inout Turn) {
    consumers[id].isHeld = false
    consumers[id].consumer.setPaused(consumers[id].isStopped)
    turn.tell(.consumerPaused(consumers[id].key, false))
    if consumers[id].consumer.awaitsKeyframe { requestKeyframe(for: id) }
  }
}
