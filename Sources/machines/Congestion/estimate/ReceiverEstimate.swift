// For clients without transport-wide feedback: the receiver's own estimate (REMB, draft-alvestrand-rmcat-remb-03) and the loss in
// receiver reports (RFC 3550 §6.4.1), as the first loss-based controllers used it.

import Basics

/// The target by receiver reports, under a cap by REMB.
struct ReceiverEstimate {
  /// Less loss than this lets the rate grow.
  static let little = 0.02
  /// More loss than this makes it fall by half of the loss.
  static let much = 0.10
  /// Growth for each second of reports with little loss.
  static let growth = 0.08
  /// REMB is forgotten after this long: libwebrtc repeats it each second.
  static let lifetime = TimeDelta.seconds(10)
  /// From one fall to the next, plus a round trip.
  static let decreaseInterval = TimeDelta.milliseconds(300)

  private(set) var byLoss: BitRate
  private var limit: BitRate?
  private var limitAt = Instant.zero
  private var lastReport: Instant?
  private var lastDecrease: Instant?
  /// The greatest `most` of the last reports: a picture that stands still for a moment wishes for little.
  private var lately = BitRate.zero
  private let minimum: BitRate

  /// Begins at `start`; loss never takes it below `minimum`.
  init(start: BitRate, minimum: BitRate) {
    byLoss = start
    self.minimum = minimum
  }

  /// The newest REMB; `unlimited` when there is none.
  func remb(at now: Instant) -> BitRate {
    guard let limit, now - limitAt < Self.lifetime else { return .unlimited }
    return limit
  }

  /// A REMB came.
  mutating func remb(_ rate: BitRate, at now: Instant) {
    limit = rate
    limitAt = now
  }

  /// A receiver report came: `fractionLost` in 1/256, as on the wire. Growth ends at `most`: little loss says nothing of a line that
  /// little is sent over.
  mutating func report(fractionLost: UInt8, roundTrip: TimeDelta, most: BitRate, at now: Instant) {
    let loss = Double(fractionLost) / 256
    let elapsed = min(max(0, (now - (lastReport ?? now)).seconds), 2)
    lastReport = now
    lately = max(most, lately * 0.95)
    if loss < Self.little {
      let grown = byLoss * (1 + Self.growth * elapsed) + BitRate.kilobits(1)
      byLoss = min(max(byLoss, min(grown, most)), max(minimum, remb(at: now)))
    } else if loss > Self.much {
      if let lastDecrease, now - lastDecrease < Self.decreaseInterval + roundTrip { return }
      lastDecrease = now
      // No more was sent than is wished, half of `most`: what lies above says nothing of the line.
      byLoss = max(minimum, min(byLoss, lately * 0.5) * (1 - loss / 2))
    }
  }
}
