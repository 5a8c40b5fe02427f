// Which layers a receiver's line carries. docs/congestion.md has the policy.
//
//   ladders of the tracks, wishes ─▶ views ─┐
//   the estimator's target ─────────────────┴▶ LayerAllocator ─▶ each consumer: the step that it is sent at most, or held

import Basics
import Congestion
import Forwarding
import RTP

/// What the streams to one end wish for.
struct LineWishes {
  /// Videos, and how the allocator sees each.
  var ids: [ConsumerID] = []
  var views: [AllocationView] = []
  /// What sound takes, without earlier packets that go along.
  var audio = BitRate.zero

  /// What all of it takes as it is sent now.
  var sent: BitRate { views.reduce(audio) { $0 + $1.currentRate } }
}

/// What is allotted to the videos of one end, in the order of the wishes: the step that each is sent at most; nil for none.
struct LineAllotment {
  var steps: [Int?]
  /// Whether the line has shown a limit, or the worker has.
  var isLimited: Bool
  /// What would be sent if everything fitted.
  var demand: BitRate
}

extension Transport {
  /// Chooses the layers of all that the peer is sent, and tells the estimator what would be sent if everything fitted. `ceiling` is what
  /// the worker can send each receiver; nil where it can send all.
  mutating func allot(_ wishes: LineWishes, below ceiling: BitRate?, at now: Instant) -> LineAllotment {
    let audio = wishes.audio * Double(1 + earlierPackets)
    let demand = LayerAllocator.wish(wishes.views, audio: audio)
    downlink?.estimator.setWish(demand, at: now)
    let isLineUnlimited = downlink?.isUnlimited ?? true
    let isUnlimited = isLineUnlimited && ceiling == nil
    let least = wishes.views.reduce(audio) { sum, view in sum + (view.rates.first { $0 > .zero } ?? .zero) }
    // Of a line that has shown no limit the estimate says little: it has been sent no more than that.
    let line = isLineUnlimited ? nil : downlink?.target(least: least)
    let target = min(line ?? .unlimited, ceiling ?? .unlimited)
    let steps =
      isUnlimited
      ? wishes.views.map { Optional($0.most) }
      : downlink?.allocator.allocate(wishes.views, target: target, audio: audio, at: now) ?? []
    downlink?.noteAllocation(at: now)
    return LineAllotment(steps: steps, isLimited: !isUnlimited, demand: demand)
  }
}

extension Forwarder {
  /// After a line has made a subscription go down, or be held, it does not go up for so long.
  private static let calm = TimeDelta.seconds(2)
  /// How long it is remembered what a held video needed.
  private static let memory = TimeDelta.seconds(30)

  /// What the streams to one end wish for: each video as the allocator sees it, and what sound takes.
  mutating func wishes(
    of streams: [OutgoingRoute], isThinned: Bool, _ tracks: inout Tracks, at now: Instant
  ) -> LineWishes {
    var wishes = LineWishes()
    for stream in streams where consumers.contains(stream.consumer) {
      guard consumers[stream.consumer].consumer.ssrc == stream.ssrc, !consumers[stream.consumer].wishesPause,
        let producer = consumers[stream.consumer].producer
      else { continue }
      tracks.measure(producer, at: now)
      if tracks.producers[producer].kind == .audio {
        wishes.audio = wishes.audio + (tracks.producers[producer].ladder.rates.first ?? .zero)
      } else {
        wishes.ids.append(stream.consumer)
        wishes.views.append(view(of: stream.consumer, showing: producer, isThinned: isThinned, tracks, at: now))
      }
    }
    return wishes
  }

  /// Has videos sent in the steps that were allotted to them. Their end can be sent to. Returns those that wait for the keyframe of a lower
  /// encoding from now on.
  mutating func take(
    _ allotted: LineAllotment, for wishes: LineWishes, _ tracks: inout Tracks, _ turn: inout Turn
  ) -> [ConsumerID] {
    for (consumer, step) in zip(wishes.ids, allotted.steps) {
      limit(consumer, to: step, isLimited: allotted.isLimited, &tracks, &turn)
    }
    return wishes.ids.filter { id in
      guard consumers[id].loweredAt == turn.now, !consumers[id].isHeld, let sent = consumers[id].sent else {
        return false
      }
      return sent.layer > consumers[id].consumer.target
    }
  }

  /// A video as the allocator sees it: its layers are the steps of the track's ladder.
  private func view(
    of id: ConsumerID, showing producer: ProducerID, isThinned: Bool, _ tracks: borrowing Tracks, at now: Instant
  ) -> AllocationView {
    let ladder = tracks.producers[producer].ladder
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
      most: ladder.whole(tracks.producers[producer].layerToBeHad(wished: consumers[id].wishedLayer)),
      current: isSent ? consumers[id].sent.flatMap(ladder.index) : nil, enough: ladder.enough)
  }

  /// Limits what a consumer is sent to a step of its track's ladder; nil sends nothing until there is room.
  private mutating func limit(
    _ id: ConsumerID, to index: Int?, isLimited: Bool, _ tracks: inout Tracks, _ turn: inout Turn
  ) {
    // A line of which good and bad is said in turn must not cost publishers a keyframe each time.
    let isCalm = turn.now - consumers[id].loweredAt >= Self.calm
    guard let index else { return hold(id, tracks, &turn) }
    guard let producer = consumers[id].producer, tracks.producers[producer].ladder.steps.indices.contains(index) else {
      return
    }
    if consumers[id].isHeld && !isCalm { return }
    let new = tracks.producers[producer].ladder.steps[index]
    // A line without a limit, and a stream that is sent whole: nothing to choose.
    if !isLimited, !consumers[id].isHeld, consumers[id].ceiling == .top, !consumers[id].consumer.isThinned {
      if aim(id, tracks) { requestKeyframe(for: id, tracks, &turn) }
      return
    }
    if new > consumers[id].ceiling && !isCalm { return }
    let sent = consumers[id].sent ?? LayerStep(layer: 0, limit: new.limit)
    // What is paused at the publisher is asked for as soon as there is room for it.
    let isMore = new.layer > consumers[id].ceiling.layer || consumers[id].isHeld
    consumers[id].ceiling = isLimited ? new : .top
    if isMore { askForLayers(of: consumers[id].producer, &tracks, &turn) }
    if aim(id, tracks) { requestKeyframe(for: id, tracks, &turn) }
    if consumers[id].consumer.limit != new.limit { consumers[id].consumer.limit = new.limit }
    if isLimited && new < sent && consumers[id].consumer.target == new.layer {
      consumers[id].loweredAt = turn.now
      // What the line does not carry is not sent until the lower layer's keyframe comes: it would only delay that.
      if new.layer < sent.layer { consumers[id].consumer.interrupt() }
    }
    if consumers[id].isHeld { release(id, tracks, &turn) }
    if consumers[id].consumer.awaitsLayers { requestKeyframe(for: id, tracks, &turn) }
  }

  private mutating func hold(_ id: ConsumerID, _ tracks: borrowing Tracks, _ turn: inout Turn) {
    guard !consumers[id].isHeld else { return }
    consumers[id].isHeld = true
    consumers[id].loweredAt = turn.now
    consumers[id].heldRate = .zero
    if let producer = consumers[id].producer {
      consumers[id].heldRate = tracks.producers[producer].ladder.lowestRate ?? .zero
    }
    consumers[id].consumer.setPaused(true)
    turn.tell(.consumerPaused(consumers[id].key, true))
  }

  mutating func release(_ id: ConsumerID, _ tracks: borrowing Tracks, _ turn: inout Turn) {
    consumers[id].isHeld = false
    consumers[id].consumer.setPaused(consumers[id].isStopped)
    turn.tell(.consumerPaused(consumers[id].key, false))
    if consumers[id].consumer.awaitsKeyframe { requestKeyframe(for: id, tracks, &turn) }
  }
}
