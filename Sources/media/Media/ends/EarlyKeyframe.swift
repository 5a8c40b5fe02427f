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

  /// Whether to ask for the keyframe that a subscription will begin with. Not of a stream of which the cache would be too much to send by
  /// then (`ReplayLimits`): the publisher would be asked twice. `rate` is what comes of it, in bytes a second.
  static func isWorthAsking(ofStreamWith rate: Int64) -> Bool {
    BitRate(bitsPerSecond: Double(rate) * 8).size(in: connectingTime).bytes <= ReplayLimits.mostBytes
  }
}

extension Forwarder {
  /// The encoding that a consumer waits to begin with; nil where it waits for none.
  func awaited(by id: ConsumerID, _ tracks: borrowing Tracks) -> EncodingID? {
    guard let producer = consumers[id].producer, consumers[id].consumer.awaitsKeyframe, !consumers[id].isStopped,
      tracks.producers[producer].encodings.indices.contains(Int(consumers[id].consumer.target))
    else { return nil }
    return tracks.producers[producer].encodings[Int(consumers[id].consumer.target)]
  }
}
