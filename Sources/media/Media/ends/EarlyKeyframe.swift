// A keyframe that is asked for while a subscriber's transport comes up, to be in the cache when it can be sent to.
//
//   answer ─▶ subscription ─▶ asked ─▶ keyframe in the cache ─┐
//      └────▶ checks, handshake ─────────────────────────────┴▶ replay

import Basics
import Congestion
import Forwarding

/// What is asked of a publisher before its subscriber can be sent to.
enum EarlyKeyframe {
  /// How long a transport takes at most, as a rule, from the answer until it can be sent to: three round trips of 100 ms.
  private static let connectingTime = TimeDelta.milliseconds(300)

  /// Asks for the keyframe that a subscription will begin with. Not of a stream of which the cache would be too much to send by then
  /// (`ReplayLimits`): the publisher would be asked twice.
  static func ask(
    for id: ConsumerID, _ ends: inout Ends, _ forwarder: inout Forwarder, at now: Instant
  ) {
    guard let slot = forwarder.consumers.pointer(to: id), let producer = slot.pointee.producer,
      slot.pointee.consumer.awaitsKeyframe, !slot.pointee.isStopped
    else { return }
    let encodings = forwarder.producers[producer].encodings
    let layer = Int(slot.pointee.consumer.target)
    guard encodings.indices.contains(layer) else { return }
    let bytes = forwarder.encodings[encodings[layer]].encoding.rate.steadyBytesPerSecond(at: now)
    let size = BitRate(bitsPerSecond: Double(bytes) * 8).size(in: connectingTime)
    if size.bytes <= ReplayLimits.mostBytes {
      KeyframeCharge.ask(for: id, &forwarder, &ends, at: now)
    }
  }
}
