// What a client's changes cost publishers: another track in a view, another layer, the end of a pause, a new subscription.
//
//   change ─▶ in the cache? ─▶ wanted already? ─▶ one of the connection's keyframes ─▶ publisher
//                 │ begins         │ waits with others      │ none left: waits; each packet passed over tries again

import Basics
import Forwarding

/// Keyframes that are asked for since a client wants to see something else. All others of their publisher's receivers are sent them as
/// well, so a connection may cost so many and no more (`Transport.keyframeBurst`).
enum KeyframeCharge {
  /// Lets a consumer begin with the keyframe in the cache of its layer, or has the publisher asked for one. Counts where neither can be.
  static func ask(
    for id: ConsumerID, _ forwarder: inout Forwarder, _ ends: inout Ends, at now: Instant
  ) {
    // Also where the cache has one: it may turn out to be no beginning.
    forwarder.consumers[id].owesKeyframe = true
    guard let encoding = missing(for: id, fromCache: true, &forwarder) else { return }
    if !want(encoding, for: id, &forwarder, &ends, at: now) { forwarder.drops.count(.tooManyRequests) }
  }

  /// Has the publisher asked for what a consumer waits for. Where that is owed, and nobody else wants the same, it takes one of the
  /// keyframes that the consumer's destination may cost. False where none is left: the next one to come is good for it too.
  @discardableResult
  static func want(
    _ encoding: EncodingID, for id: ConsumerID, _ forwarder: inout Forwarder, _ ends: inout Ends,
    at now: Instant
  ) -> Bool {
    if forwarder.consumers[id].owesKeyframe, !forwarder.encodings[encoding].encoding.keyframes.isWanted,
      !ends.mayCostKeyframe(forwarder.consumers[id].destination, at: now)
    {
      return false
    }
    forwarder.consumers[id].owesKeyframe = false
    forwarder.wantKeyframe(encoding)
    return true
  }

  /// The encoding of which a consumer needs a keyframe; nil where it needs none, or is about to begin with what is in the cache.
  static func missing(for id: ConsumerID, fromCache: Bool, _ forwarder: inout Forwarder) -> EncodingID? {
    let layer = Int(forwarder.consumers[id].consumer.target)
    guard let producer = forwarder.consumers[id].producer, forwarder.producers[producer].kind == .video,
      !forwarder.producers[producer].isMuted, forwarder.producers[producer].encodings.indices.contains(layer)
    else { return nil }
    let encoding = forwarder.producers[producer].encodings[layer]
    guard fromCache && forwarder.consumers[id].consumer.mayReplay, forwarder.newestReplay(of: encoding) != nil else {
      return encoding
    }
    if !forwarder.consumers[id].replayScheduled { forwarder.deadlines.push(.zero, .replay(id)) }
    forwarder.consumers[id].replayScheduled = true
    return nil
  }
}
