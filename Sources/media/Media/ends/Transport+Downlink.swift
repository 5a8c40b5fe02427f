// How a transport follows its subscriber's line: what leaves is counted, and a budget is given where the line is short.

import Basics
import Congestion
import RTP

/// What each packet needs to know of a subscriber's line; the rest is in `Transport.downlink`.
struct LineSummary {
  /// The newest transport-wide number.
  var newestNumber: UInt16 = 0
  /// Whether a flush asks the downlink how much may leave: not while the line carries more than is sent.
  var isPaced = false
  /// Whether there is a downlink.
  var isMeasured = false
}

extension Transport {
  /// The line is measured from now on: the transport has something to send that may be too much for it. One that was measured for sound
  /// alone could not be probed, and is measured anew for video.
  mutating func measure(_ parameters: SendParameters, at now: Instant) {
    let canProbe = parameters.rtxSSRC != nil
    guard downlink == nil || (canProbe && downlink?.canProbe == false) else { return }
    let held = downlink?.held ?? 0
    downlink = Downlink(
      extensions: parameters.extensions, canProbe: canProbe, number: line.newestNumber &+ 1, at: now)
    downlink?.held = held
    line.isMeasured = true
    followDownlink()
  }

  // MARK: what is said of the line

  /// Transport-wide feedback (draft-holmer-rmcat-transport-wide-cc-extensions-01 §3.1).
  mutating func take(_ feedback: TransportFeedback, _ bytes: Span<UInt8>, at now: Instant) {
    downlink?.feedback(feedback, bytes, at: now)
    redundancy?.heard(feedback, bytes, newest: line.newestNumber, at: now)
  }

  /// The receiver's own estimate (draft-alvestrand-rmcat-remb-03).
  mutating func take(_ estimate: BandwidthEstimate, at now: Instant) {
    downlink?.remb(BitRate(bitsPerSecond: Double(estimate.bitrate)), at: now)
  }

  /// What a receiver report says of the streams that the peer is sent: the worst loss counts.
  mutating func take(_ blocks: ReportBlocks, _ bytes: Span<UInt8>, at now: Instant) {
    guard blocks.count > 0 else { return }
    var worst: UInt8 = 0
    for index in 0..<blocks.count {
      guard let block = blocks.block(index, bytes), routes.findOutgoing(block.ssrc) != nil else { continue }
      worst = max(worst, block.fractionLost)
    }
    worstReport = max(worstReport, worst)
    downlink?.report(fractionLost: worst, at: now)
  }

  /// Takes one of the things that the peer may ask for; counts the request when there is none left.
  mutating func mayAsk(_ turn: inout Turn) -> Bool {
    if feedbackAllowance.take(at: turn.now) == nil { return true }
    turn.drop(.tooManyRequests)
    return false
  }

  // MARK: redundant sound

  /// How many earlier packets go along with each packet of sound.
  var earlierPackets: Int { redundancy?.earlier ?? 0 }

  /// The share of sound that does not arrive, in spite of what goes along; nil where the peer does not say.
  var remainingLoss: Double? {
    guard let redundancy, redundancy.isHeard else { return nil }
    return redundancy.remainingLoss
  }

  /// What all together should not exceed when redundancy is added; nil where nothing is known that speaks against more. Loss alone does
  /// not speak against it.
  mutating func roomForSound(at now: Instant) -> BitRate? {
    downlink?.isUnlimited == false ? downlink?.estimator.settledByDelay(at: now) : nil
  }

  /// Sound is sent: from now on it is looked at what the line loses. Only numbers of the whole transport say that; in receiver reports
  /// is what was lost before the server, too. Returns how many earlier packets go along now.
  mutating func expectRedundancy(_ parameters: SendParameters) -> Int {
    guard parameters.kind == .audio, parameters.extensions.transportSequence != 0 else { return 0 }
    if redundancy == nil { redundancy = RedundancyControl(isTaken: false) }
    if parameters.payloads.contains(where: { $0.redPayloadType != nil }) { redundancy?.isTaken = true }
    return earlierPackets
  }

  // MARK: what leaves

  /// Counts a sealed packet of `length` bytes that leaves now. `isNumbered` says that it bears `newestNumber + 1`; that is used
  /// up only now, since a packet that was not sent must not look lost.
  @inline(__always)
  mutating func noteSent(_ length: Int, _ kind: PacketKind, isNumbered: Bool, at now: Instant) {
    if isNumbered { line.newestNumber &+= 1 }
    guard line.isMeasured, isNumbered || downlink?.hasFeedback == false else { return }
    _ = downlink?.estimator.sent(ByteCount(length + Downlink.packetOverhead), kind, at: now)
  }

  /// The newest round trip, or what is assumed.
  var roundTrip: TimeDelta { mutating get { downlink?.estimator.roundTrip ?? .milliseconds(100) } }

  /// How much video may leave now, while `waiting` bytes wait.
  mutating func sendBudget(at now: Instant, waiting: Int) -> SendBudget {
    guard line.isPaced, downlink != nil else { return .unlimited }
    let bytes = downlink?.estimator.budget(at: now, waiting: ByteCount(waiting)).bytes ?? 0
    return SendBudget(bytes: bytes, renewedAt: downlink?.estimator.nextRelease(after: now) ?? now)
  }

  /// Takes over what the estimator came to. Call it after each of its steps.
  mutating func followDownlink() {
    line.isPaced = downlink?.isPaced ?? false
  }

  /// When a probe that is under way wants more padding; nil while there is none.
  mutating func nextPadding(at now: Instant) -> Instant? {
    guard line.isMeasured, canSend else { return nil }
    if isDark { return downlink?.nextBeat }
    guard downlink?.estimator.isProbing == true else { return nil }
    return downlink?.estimator.nextRelease(after: now)
  }

  /// Bytes of padding that a probe wants now.
  mutating func padding(at now: Instant) -> Int {
    isDark ? downlink?.beat(at: now) ?? 0 : downlink?.estimator.padding(at: now).bytes ?? 0
  }

  /// Whether neither reports nor anything else has come for so long that the line carries nothing.
  mutating func seemsDark(at now: Instant) -> Bool {
    downlink?.isSilent == true && isSilent(for: LineOutage.silence, at: now)
  }
}
