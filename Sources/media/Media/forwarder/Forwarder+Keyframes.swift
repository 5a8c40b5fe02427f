// Keyframes that subscriptions need. What a client's changes cost publishers is bounded: another track in a view, another layer, the end
// of a pause, a new subscription.
//
//   change ─▶ in the cache? ─▶ a wish ─▶ wanted already? ─▶ one of the connection's keyframes ─▶ publisher
//                 │ begins                  │ waits with others      │ none left: waits; each packet passed over tries again

import Basics
import Forwarding
import RTP

/// A keyframe of an encoding that is to be asked for, so that a subscription can begin. All others of the publisher's receivers are sent it
/// as well, so a connection may cost so many and no more (`Transport.keyframeBurst`).
struct KeyframeWish {
  let encoding: EncodingID
  let consumer: ConsumerID
  /// Whether it counts as dropped where nothing may be asked.
  var isCounted = false
}

extension Forwarder {
  /// Lets a consumer begin with the keyframe in the cache of its layer, or returns the wish for one, which its client has to answer for.
  mutating func ask(for id: ConsumerID, _ tracks: borrowing Tracks, _ turn: inout Turn) -> KeyframeWish? {
    // Also where the cache has one: it may turn out to be no beginning.
    consumers[id].owesKeyframe = true
    return missing(for: id, fromCache: true, tracks, &turn).map {
      KeyframeWish(encoding: $0, consumer: id, isCounted: true)
    }
  }

  /// The same where there is a wish.
  mutating func grant(any wish: KeyframeWish?, _ tracks: inout Tracks, _ ends: inout Ends, _ turn: inout Turn) {
    if let wish { grant(wish, &tracks, &ends, &turn) }
  }

  /// Has the publisher asked for what a consumer waits for. Where that is owed, and nobody else wants the same, it takes one of the
  /// keyframes that the consumer's destination may cost. Where none is left, the next one to come is good for it too.
  mutating func grant(_ wish: KeyframeWish, _ tracks: inout Tracks, _ ends: inout Ends, _ turn: inout Turn) {
    if consumers[wish.consumer].owesKeyframe, !tracks.encodings[wish.encoding].encoding.keyframes.isWanted,
      !ends.mayCostKeyframe(consumers[wish.consumer].destination, at: turn.now)
    {
      if wish.isCounted { turn.drop(.tooManyRequests) }
      return
    }
    consumers[wish.consumer].owesKeyframe = false
    tracks.wantKeyframe(wish.encoding, &turn)
  }

  /// Lets a consumer begin with the keyframe in the cache of its layer, or has the publisher asked for one. A receiver whose line is
  /// full is not sent the past: `fromCache` is false.
  mutating func requestKeyframe(
    for id: ConsumerID, fromCache: Bool = true, _ tracks: borrowing Tracks, _ turn: inout Turn
  ) {
    consumers[id].owesKeyframe = false
    if let encoding = missing(for: id, fromCache: fromCache, tracks, &turn) { turn.want(keyframeOf: encoding) }
  }

  /// The encoding of which a consumer needs a keyframe; nil where it needs none, or is about to begin with what is in the cache.
  private mutating func missing(
    for id: ConsumerID, fromCache: Bool, _ tracks: borrowing Tracks, _ turn: inout Turn
  ) -> EncodingID? {
    let layer = Int(consumers[id].consumer.target)
    guard let producer = consumers[id].producer, tracks.producers[producer].kind == .video,
      !tracks.producers[producer].isMuted, tracks.producers[producer].encodings.indices.contains(layer)
    else { return nil }
    let encoding = tracks.producers[producer].encodings[layer]
    guard fromCache && consumers[id].consumer.mayReplay, tracks.encodings[encoding].newestReplay != nil else {
      return encoding
    }
    if !consumers[id].replayScheduled { turn.look(at: .replay(id), from: .zero) }
    consumers[id].replayScheduled = true
    return nil
  }

  /// A destination with these streams can be sent to now: its consumers need keyframes.
  mutating func wake(_ streams: [OutgoingRoute], _ tracks: borrowing Tracks, _ turn: inout Turn) {
    for stream in streams where consumers.contains(stream.consumer) {
      if consumers[stream.consumer].consumer.awaitsKeyframe { requestKeyframe(for: stream.consumer, tracks, &turn) }
    }
  }

  /// A track goes on behind a mute, with a keyframe.
  mutating func unmute(_ producer: ProducerID, _ tracks: borrowing Tracks, _ turn: inout Turn) {
    for consumer in tracks.producers[producer].consumers {
      consumers[consumer].consumer.interrupt()
      if tracks.producers[producer].kind == .video { consumers[consumer].wait.restart() }
      requestKeyframe(for: consumer, tracks, &turn)
    }
    for encoding in tracks.producers[producer].encodings {
      for layer in tracks.encodings[encoding].pipes where layer.awaitsKeyframe { turn.want(keyframeOf: encoding) }
    }
  }

  // MARK: requests of receivers

  /// A receiver cannot decode what it is sent. It may say so as often as `ConsumerSlot.keyframeWishes` allows; beyond that its wish is put
  /// off, and holds until it is heard or a keyframe has come since it was last said. Where it waits for what its client wished to see, that
  /// costs what the wish does: else it would ask for nothing.
  mutating func keyframeWanted(by id: ConsumerID, _ tracks: borrowing Tracks, _ turn: inout Turn) -> KeyframeWish? {
    if consumers[id].wishWaits != nil {
      consumers[id].wishWaits = turn.now
      return nil
    }
    if let wait = consumers[id].keyframeWishes.take(at: turn.now) {
      turn.drop(.tooManyRequests)
      consumers[id].wishWaits = turn.now
      turn.look(at: .wish(id), from: turn.now + .milliseconds(Int(clamping: wait)))
      return nil
    }
    return hear(id, tracks, &turn)
  }

  /// A wish that was put off is heard, unless what the receiver is sent has had a keyframe since.
  mutating func wishAgain(_ id: ConsumerID, _ tracks: borrowing Tracks, _ turn: inout Turn) -> KeyframeWish? {
    guard consumers.contains(id), let since = consumers[id].wishWaits else { return nil }
    consumers[id].wishWaits = nil
    guard let producer = consumers[id].producer, !consumers[id].isStopped else { return nil }
    let layer = Int(consumers[id].consumer.currentLayer ?? consumers[id].consumer.target)
    if tracks.producers[producer].encodings.indices.contains(layer), !consumers[id].consumer.awaitsKeyframe,
      tracks.encodings[tracks.producers[producer].encodings[layer]].encoding.keyframeAt > since
    {
      return nil
    }
    return keyframeWanted(by: id, tracks, &turn)
  }

  private mutating func hear(_ id: ConsumerID, _ tracks: borrowing Tracks, _ turn: inout Turn) -> KeyframeWish? {
    var wish: KeyframeWish?
    if consumers[id].owesKeyframe {
      wish = ask(for: id, tracks, &turn)
    } else {
      requestKeyframe(for: id, tracks, &turn)
    }
    // What the receiver cannot decode is the layer that it is still sent.
    if let producer = consumers[id].producer, let current = consumers[id].consumer.currentLayer, current >= 0,
      current != consumers[id].consumer.target,
      Int(current) < tracks.producers[producer].encodings.count, !tracks.producers[producer].isMuted
    {
      turn.want(keyframeOf: tracks.producers[producer].encodings[Int(current)])
    }
    return wish
  }
}
