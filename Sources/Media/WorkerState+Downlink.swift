// What receivers say of their lines, and what follows: budgets, probes, layers.

import Basics
import Congestion
import Forwarding
import RTP

extension WorkerState {
  // MARK: in

  /// Transport-wide feedback (draft-holmer-rmcat-transport-wide-cc-extensions-01 §3.1).
  mutating func handle(_ feedback: TransportFeedback, _ bytes: Span<UInt8>, on id: TransportID, at now: Instant) {
    guard transports[id].line.isMeasured else { return }
    transports[id].downlink?.feedback(feedback, bytes, at: now)
    followLine(of: id, at: now)
  }

  /// The receiver's own estimate (draft-alvestrand-rmcat-remb-03).
  mutating func handle(_ estimate: BandwidthEstimate, on id: TransportID, at now: Instant) {
    guard transports[id].line.isMeasured else { return }
    transports[id].downlink?.remb(BitRate(bitsPerSecond: Double(estimate.bitrate)), at: now)
    followLine(of: id, at: now)
  }

  /// What a receiver report says of the streams that it is sent: the worst loss counts.
  mutating func handle(_ blocks: ReportBlocks, _ bytes: Span<UInt8>, on id: TransportID, at now: Instant) {
    guard transports[id].line.isMeasured, blocks.count > 0 else { return }
    var worst: UInt8 = 0
    for index in 0..<blocks.count {
      guard let block = blocks.block(index, bytes), transports[id].routes.findOutgoing(block.ssrc) != nil else {
        continue
      }
      worst = max(worst, block.fractionLost)
    }
    transports[id].downlink?.report(fractionLost: worst, at: now)
    followLine(of: id, at: now)
  }

  // MARK: what follows

  /// Does what is due for a transport's line.
  mutating func pollLine(of id: TransportID, at now: Instant) {
    guard transports[id].line.isMeasured, transports[id].canSend else { return }
    transports[id].downlink?.estimator.poll(at: now)
    followLine(of: id, at: now)
  }

  /// After each step of the estimator: what the flush has to ask, whether a probe begins, and which layers fit now.
  private mutating func followLine(of id: TransportID, at now: Instant) {
    transports[id].followDownlink()
    if transports[id].nextPadding(at: now) != nil { egress.probe(id, at: now) }
    if transports[id].downlink?.wantsAllocation(at: now) == true {
      forwarder.allocate(for: id, &transports, telling: &events, at: now)
    }
  }
}
