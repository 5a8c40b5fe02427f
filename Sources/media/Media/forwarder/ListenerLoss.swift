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

  /// What the worst listener of a publisher's sound lost in the last second, in 1/256. `uplink` was lost on the way here.
  static func worst(
    of encoding: EncodingID, uplink: UInt8, _ tracks: borrowing Tracks, _ forwarder: borrowing Forwarder,
    _ ends: inout Ends
  ) -> UInt8 {
    let producer = tracks.encodings[encoding].producer
    guard tracks.producers[producer].kind == .audio else { return 0 }
    var worst: UInt8 = 0
    if !tracks.producers[producer].isMuted {
      for id in tracks.producers[producer].consumers
      where forwarder.consumers.contains(id) && !forwarder.consumers[id].consumer.isPaused {
        let behind = ends.lossBehindRedundancy(to: forwarder.consumers[id].destination)
        worst = max(worst, forwarder.consumers[id].loss(behindRedundancy: behind, uplink: uplink))
      }
    }
    return worst
  }
}

extension ConsumerSlot {
  /// What its receiver loses, in 1/256, as far as that is known.
  fileprivate func loss(behindRedundancy share: Double?, uplink: UInt8) -> UInt8 {
    if let share { return UInt8(min(share * 256, 255)) }
    let reported = reportedLoss.median
    return reported > uplink ? reported - uplink : 0
  }
}
