// In-band FEC asked of publishers by what their listeners lose: an Opus encoder goes by the loss in the receiver reports for its stream
// (RFC 7587 §3.1.1 `useinbandfec`, which every answer of the server asks for).
//
//   each listener's line: transport-wide feedback, else its receiver reports less the publisher's own loss ─▶ the worst
//   the worst, second by second ─▶ median, cap ─▶ the fraction in the report, where it is more than the publisher's line loses

import Basics
import Congestion
import Forwarding
import RTP

/// The middle one of the last five values, in 1/256.
struct LossMedian {
  private var values = InlineArray<5, UInt8>(repeating: 0)
  private var next = 0

  /// A loss of one second says little: with two of five it counts for nothing.
  var median: UInt8 {
    for index in values.indices {
      var (less, same) = (0, 0)
      for other in values.indices {
        if values[other] < values[index] { less += 1 } else if values[other] == values[index] { same += 1 }
      }
      if less <= 2 && less + same > 2 { return values[index] }
    }
    return 0
  }

  mutating func note(_ value: UInt8) {
    values[next] = value
    next = (next + 1) % values.count
  }
}

/// What is told to publishers of their listeners' loss.
enum ListenerLoss {
  /// A fifth: for more an encoder gives up more than its listeners gain.
  static let most: UInt8 = 51

  /// Notes what a client's receiver report says of the sound that it is sent, where it says nothing of transport-wide numbers.
  static func take(
    _ blocks: ReportBlocks, _ bytes: Span<UInt8>, of routes: Routes, _ forwarder: inout Forwarder
  ) {
    for index in 0..<blocks.count {
      guard let block = blocks.block(index, bytes), let id = routes.findOutgoing(block.ssrc),
        let slot = forwarder.consumers.pointer(to: id), slot.pointee.consumer.parameters.kind == .audio
      else { continue }
      slot.pointee.reportedLoss.note(block.fractionLost)
    }
  }

  /// The report about a publisher's sound says at least what its worst listener loses. How many packets were lost in all stays what it
  /// is: bandwidth estimators go by that.
  static func raise(
    _ block: inout ReportBlock, of encoding: EncodingID, _ forwarder: inout Forwarder, _ ends: inout Ends
  ) {
    let producer = forwarder.encodings[encoding].producer
    guard forwarder.producers[producer].kind == .audio else { return }
    var worst: UInt8 = 0
    if !forwarder.producers[producer].isMuted {
      for consumer in forwarder.producers[producer].consumers {
        worst = max(worst, loss(of: consumer, uplink: block.fractionLost, &forwarder, &ends))
      }
    }
    forwarder.encodings[encoding].listenerLoss.note(worst)
    block.fractionLost = max(block.fractionLost, min(forwarder.encodings[encoding].listenerLoss.median, most))
  }

  private static func loss(
    of id: ConsumerID, uplink: UInt8, _ forwarder: inout Forwarder, _ ends: inout Ends
  ) -> UInt8 {
    guard let slot = forwarder.consumers.pointer(to: id), !slot.pointee.consumer.isPaused else { return 0 }
    if let share = ends.lossBehindRedundancy(to: slot.pointee.destination) { return UInt8(min(share * 256, 255)) }
    let reported = slot.pointee.reportedLoss.median
    return reported > uplink ? reported - uplink : 0
  }
}
