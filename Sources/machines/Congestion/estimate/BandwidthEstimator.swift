// How much a subscriber's line carries, told from what was sent and what its client says of it.
//
//   sent(…) ─▶ SendHistory ─┐
//   feedback(…) ─▶ FeedbackMatcher ─┬─▶ AcknowledgedRate ───────────────┐
//                                   ├─▶ DelayEstimator ─▶ RateControl ──┤
//                                   ├─▶ LossEstimator ──────────────────┼─▶ target ─▶ Pacer: budget(…), padding(…)
//                                   └─▶ ProbeController ⇄ ProbeEstimator┘
//   remb(…), report(…) ─▶ ReceiverEstimate ─────────────────────────────┘
//
// Time comes in as an argument. Nothing is allocated once the rings have grown to what the line needs.

import Basics
import RTP

/// Estimates one subscribe transport's bandwidth and says how much may leave now.
///
/// The order of calls: `sent` for each packet when it leaves, `feedback` for each transport-wide feedback, `poll` at
/// `nextDeadline`. In each turn of the loop `budget` says how much of what waits may leave, then `padding` how much more to send.
public struct BandwidthEstimator: Sendable {
  /// What is known before the first packet.
  public struct Configuration: Sendable {
    /// The target before anything is known.
    public var start = BitRate.kilobits(300)
    /// The target never falls below this.
    public var minimum = BitRate.kilobits(30)
    /// The target never rises above this.
    public var maximum = BitRate.megabits(100)
    /// What the subscriber would like to be sent at most; probes go up to twice this.
    public var wish = BitRate.megabits(2.5)
    /// The client answers with transport-wide feedback. Without it REMB and receiver reports decide.
    public var hasTransportFeedback = true
    /// RTX was agreed on, so that padding can be sent.
    public var canProbe = true
    /// The transport-wide number of the first packet.
    public var firstNumber: UInt16 = 1
    /// All of them, except in control runs.
    public var mechanisms = Mechanisms.all

    /// The defaults.
    public init() {}
  }

  /// What feedback of so long ago says of queues is not true any more.
  static let oldNews = TimeDelta.seconds(2)
  /// Without events the estimator wants to be polled this often.
  static let pollInterval = TimeDelta.milliseconds(500)
  /// A target so many times above what arrives is probed, though the source is not limited yet. Must stay below `RateControl.ceiling`.
  static let littleFactor = 1.35
  /// While relaxed, feedback moves the estimate this often.
  static let relaxedInterval = TimeDelta.milliseconds(200)
  /// A target so many times above both what is sent and the wish needs no pacing. Must stay below what probes go up to, twice the wish.
  static let relaxedFactor = 1.5

  /// The rate that all media, repeats and padding together should not exceed.
  public private(set) var target: BitRate
  /// The rate that layers should be chosen by. It is the target, but while a queue drains it is what the target returns to then: a layer
  /// that the line carries is not given up for half a second. While a probe is on its way that may take back what the last one raised, it
  /// is what it was before.
  public private(set) var settled: BitRate
  /// The newest round trip, with what the receiver waited before it reported.
  public private(set) var roundTrip = TimeDelta.milliseconds(100)

  private let configuration: Configuration
  private var history: SendHistory
  private var matcher: FeedbackMatcher
  private var acknowledged = AcknowledgedRate()
  private var delay: DelayEstimator
  private var rate: RateControl
  private var loss: LossEstimator
  private var probes: ProbeController
  private var limit = ApplicationLimit()
  private var watch = FeedbackWatch()
  private var receiver: ReceiverEstimate
  private var pacer: Pacer
  private var nextPoll = Instant.zero
  private var reported = (expected: 0, lost: 0)
  /// When feedback came last.
  private var heardAt = Instant.zero

  /// An estimator that knows nothing of the line. The first `poll` begins to probe.
  public init(_ configuration: Configuration = Configuration()) {
    let mechanisms = configuration.mechanisms
    let start = configuration.start
    let minimum = configuration.minimum
    self.configuration = configuration
    target = start
    settled = start
    history = SendHistory(first: configuration.firstNumber)
    matcher = FeedbackMatcher(guarded: mechanisms.contains(.feedbackGuard))
    delay = DelayEstimator(adapts: mechanisms.contains(.adaptiveThreshold))
    rate = RateControl(start: start, minimum: minimum, mechanisms: mechanisms)
    loss = LossEstimator(minimum: minimum, separatesInherent: mechanisms.contains(.inherentLoss))
    probes = ProbeController(wish: configuration.wish)
    receiver = ReceiverEstimate(start: start, minimum: minimum)
    pacer = Pacer(target: start)
  }

  /// What arrives at the receiver; nil until enough has arrived.
  public var acknowledgedRate: BitRate? { acknowledged.steady }
  /// How much longer than the shortest time seen lately the newest packets were under way.
  public var queueing: TimeDelta { delay.queueing }
  /// The target is far enough above what is sent and wished that nothing is paced: `budget` is unlimited. Never while the line is
  /// used too much, somebody else fills its queue, a probe is under way or much waits.
  public var isRelaxed: Bool { pacer.relaxed }
  /// The number that the next `sent` will return: stamp it, seal the packet, and call `sent` when that has succeeded.
  public var nextNumber: UInt16 { UInt16(truncatingIfNeeded: history.next) }
  /// Less is sent than may be.
  public var isApplicationLimited: Bool { limit.limited }
  /// Something has shown a limit of the line: a queue that grew, loss, a probe that arrived more slowly than it left, the client's own
  /// estimate, or reports that stayed away. Until then the target is only what is known to fit, and more may.
  public private(set) var hasSeenLimit = false
  /// Reports have stayed away for so long that the line may carry nothing. Whether anything else comes from the receiver, the caller
  /// knows.
  public var isSilent: Bool { watch.isSilent }
  /// The share of packets that the line is believed to lose at any rate.
  public var inherentLoss: Double { loss.inherent }
  /// The share of packets that was lost in the last four seconds.
  public var recentLoss: Double { loss.averageLoss }
  /// Nothing speaks for a queue on the line, or of packets that wait for it.
  public var isQuiet: Bool { delay.use != .over && !delay.isSuspicious && !rate.competition.isOn && !pacer.hasBacklog }
  /// Feedback packets that were passed over because they came minutes late.
  public var ignoredFeedback: Int { matcher.ignored }

  /// As `settled`, without what loss says: for what is sent because of loss. A line that loses because it is used too much has a queue,
  /// too.
  public func settledByDelay(at now: Instant) -> BitRate {
    let byDelay = min(max(rate.settled, rate.target), min(receiver.remb(at: now), configuration.maximum))
    return max(configuration.minimum, min(byDelay, watch.cap ?? byDelay))
  }

  /// When `poll` has something to do.
  public var nextDeadline: Instant { min(nextPoll, watch.nextDeadline, pacer.probeDeadline) }

  /// When more may leave, while something waits; not before `now`.
  public func nextRelease(after now: Instant) -> Instant { max(now, pacer.nextRelease(after: now)) }

  /// Counts a packet that leaves now, of `size` bytes on the wire. A packet that could not be sealed is not counted: its number goes to
  /// the next one.
  /// - Returns: the transport-wide number that is stamped into it, `nextNumber`.
  public mutating func sent(_ size: ByteCount, _ kind: PacketKind, at now: Instant) -> UInt16 {
    let packet = SentPacket(
      sentAt: now, size: UInt16(truncatingIfNeeded: min(size.bytes, 0xffff)), cluster: pacer.cluster, kind: kind,
      fate: .underWay)
    let number = history.append(packet)
    if kind != .padding { limit.sent(size) }
    pacer.sent(size, at: now)
    if configuration.hasTransportFeedback, matcher.newestSent != nil { watch.sent(at: now, roundTrip: roundTrip) }
    return UInt16(truncatingIfNeeded: number)
  }

  /// How much of the `waiting` video and repeats may leave now. Audio always may; it is counted all the same. A packet may
  /// overdraw the budget, so send while it is above zero.
  public mutating func budget(at now: Instant, waiting: ByteCount) -> ByteCount {
    pacer.relaxed ? .unlimited : pacedBudget(at: now, waiting: waiting)
  }

  @inline(never)
  private mutating func pacedBudget(at now: Instant, waiting: ByteCount) -> ByteCount {
    if probes.hasNext { beginProbe(at: now) }
    return pacer.budget(at: now, waiting: waiting)
  }

  /// How much padding (repeats of old packets, where there are any) should leave now. Ask after everything that waits has left. A
  /// caller that has none just sends none: the probe ends after some requests in vain.
  public mutating func padding(at now: Instant) -> ByteCount {
    if pacer.relaxed { return .zero }
    if probes.hasNext { beginProbe(at: now) }
    return pacer.padding(at: now)
  }

  /// Whether a probe is under way and wants padding at `nextRelease`.
  public var isProbing: Bool { pacer.isProbing || probes.hasNext }

  /// What the subscriber would like to be sent at most changed: more views, larger ones, fewer.
  public mutating func setWish(_ wish: BitRate, at now: Instant) {
    probes.setWish(wish, target: target, at: now)
    updatePacer(at: now)
  }

  /// Takes transport-wide feedback; `bytes` are those that `feedback` was read from.
  public mutating func feedback(_ feedback: TransportFeedback, _ bytes: Span<UInt8>, at now: Instant) {
    let relaxed = pacer.relaxed
    if watch.isUnanswered { forgiveLoss() }
    guard matcher.match(feedback, bytes, &history, details: !relaxed, at: now) else { return }
    heardAt = now
    if let measured = matcher.roundTrip { roundTrip = min(measured, .seconds(30)) }
    addLoss()
    if relaxed {
      takeSum()
      if rests(at: now) { return }
      update(nil, at: now)
    } else {
      update(takeArrivals(at: now), at: now)
    }
  }

  /// A line that was silent carries packets again, though no report has come yet. What was sent meanwhile is forgotten, and half of what
  /// the line carried before is allowed until reports come.
  public mutating func returned(at now: Instant) {
    forgiveLoss()
    watch.returned(target: withoutCap(at: now))
    step(at: now)
  }

  /// What is missing of what was sent up to now was lost because there was no line, and not because too much was sent.
  private mutating func forgiveLoss() { history.decided = history.next }

  /// The receiver's own estimate (REMB).
  public mutating func remb(_ rate: BitRate, at now: Instant) {
    receiver.remb(rate, at: now)
    step(at: now)
  }

  /// A receiver report's worst loss, in 1/256. With transport-wide feedback it counts for nothing: it holds what was lost before
  /// the server, too.
  public mutating func report(fractionLost: UInt8, at now: Instant) {
    receiver.report(fractionLost: fractionLost, roundTrip: roundTrip, most: probes.most, at: now)
    step(at: now)
  }

  /// Does what is due at `nextDeadline`.
  public mutating func poll(at now: Instant) {
    guard now >= nextDeadline else { return }
    pacer.endOverdueProbe(at: now)
    limit.update(target: target, at: now)
    if limit.limited, !configuration.mechanisms.contains(.memory) { rate.fade() }
    if configuration.mechanisms.contains(.feedbackWatch) {
      _ = watch.poll(target: withoutCap(at: now), at: now)
    }
    step(at: now)
  }

  private var probing: Bool {
    configuration.canProbe && configuration.hasTransportFeedback && configuration.mechanisms.contains(.probing)
  }

  /// While relaxed only the queue's length is looked at.
  private mutating func takeSum() {
    guard matcher.sum.packets > 0 else { return }
    if delay.watch(matcher.sum) { acknowledged.restart() }
    acknowledged.add(matcher.sum)
  }

  /// While relaxed and quiet, feedback moves the estimate only so often. True when there is nothing more to do now.
  private mutating func rests(at now: Instant) -> Bool {
    guard now < nextPoll - (Self.pollInterval - Self.relaxedInterval), watch.cap == nil, !delay.isSuspicious,
      roundTrip < FeedbackWatch.longestRoundTrip
    else { return false }
    if matcher.roundTrip != nil { watch.answered() }
    return true
  }

  /// Moves the estimate after a feedback.
  private mutating func update(_ result: ProbeResult?, at now: Instant) {
    acknowledged.update()
    let old = rate.target
    limit.update(target: target, at: now)
    rate.update(
      RateInput(
        use: delay.use, measured: acknowledged.measured, recent: delay.use == .over ? acknowledged.recent : nil,
        roundTrip: roundTrip,
        queueing: delay.queueing, lost: matcher.lost > 0, applicationLimited: limit.limited), at: now)
    delay.keepsBase = rate.competition.isOn
    if rate.target < old { probes.fell(from: old, to: rate.target, at: now) }
    if let result { take(result, at: now) }
    loss.update(delayBased: rate.target, acknowledged: acknowledged.steady, at: now)
    if matcher.roundTrip != nil {
      watch.answered(roundTrip: roundTrip, target: withoutCap(at: now), healthy: delay.use != .over, at: now)
    }
    step(at: now)
  }

  /// Hands the arrivals on; returns the last probe result among them.
  private mutating func takeArrivals(at now: Instant) -> ProbeResult? {
    var result: ProbeResult?
    guard matcher.listed > 0 else { return nil }
    if delay.begin(matcher.packet(0)) { acknowledged.restart() }
    var place = 0
    while place < matcher.listed {
      let packet = matcher.packet(place)
      delay.add(packet)
      acknowledged.add(packet.size, at: packet.arrivedAt)
      if packet.cluster != 0, let showed = probes.add(packet, isCautious: isCautious(at: now)) { result = showed }
      place += 1
    }
    delay.end(matcher.packet(matcher.listed - 1))
    return result
  }

  /// The line has shown a limit, and less is sent than may be, or was before a probe raised the target: then a probe that finds the line
  /// full counts, or takes back what was raised, and its first packets must not be taken for what the line carries.
  private func isCautious(at now: Instant) -> Bool {
    guard hasSeenLimit else { return false }
    guard !limit.limited, let steady = acknowledged.steady else { return true }
    return steady * Self.littleFactor < probes.raisedFrom(at: now) ?? target
  }

  /// A probe raises the target at once. On a line that others share, a full probe shows more than the fair share: it counts only at
  /// the start, while little is sent, and right after one that found the line free. Where the line has shown a limit, a full one takes back
  /// what was raised a moment ago, by its own first packets or by the probe before: a short probe may leave through a bucket.
  private mutating func take(_ result: ProbeResult, at now: Instant) {
    let unknown = rate.lastDecrease == nil || limit.limited || probes.foundFree(at: now)
    let counts = !result.full || unknown
    let (target, settled) = (rate.target, hasSeenLimit ? rate.settled : nil)
    // Media that leaves faster than the probe may arrive more slowly than it left: the line carried what was tried all the same.
    if result.full, result.rate < result.wished * 0.9 { hasSeenLimit = true }
    let accepted = counts && !rate.competition.isOn && result.rate > rate.target && delay.use != .over
    if accepted { rate.set(min(result.rate, configuration.maximum), at: now) }
    if result.full, let from = probes.raisedFrom(at: now), result.rate < target {
      rate.set(min(target, max(from, result.rate)), at: now)
    }
    if delay.use != .over, !rate.competition.isOn { loss.probed(min(result.rate, configuration.maximum)) }
    probes.result(result, target: rate.target, from: settled, accepted: accepted, at: now)
  }

  /// Packets on which feedback reported since the last call, and those of them that it called lost.
  public mutating func takeReported() -> (expected: Int, lost: Int) {
    defer { reported = (0, 0) }
    return (reported.expected, max(reported.lost, 0))
  }

  private mutating func addLoss() {
    reported.expected &+= matcher.sum.packets &+ matcher.lost &- matcher.late
    reported.lost &+= matcher.lost &- matcher.late
    guard let newest = matcher.newestSent else { return }
    loss.add(
      received: matcher.sum.packets, lost: matcher.lost - matcher.late, size: matcher.lostSize + matcher.sum.size,
      sent: newest)
  }

  /// The least of all that limit, the watch excepted.
  @inline(__always)
  private func withoutCap(at now: Instant) -> BitRate { least(rate.target, at: now) }

  /// `byDelay`, or what limits more than that.
  @inline(__always)
  private func least(_ byDelay: BitRate, at now: Instant) -> BitRate {
    let limit = min(receiver.remb(at: now), configuration.maximum)
    guard configuration.hasTransportFeedback else { return min(receiver.byLoss, limit) }
    let byLoss = configuration.mechanisms.contains(.lossFromFeedback) ? loss.target : receiver.byLoss
    return min(byDelay, byLoss, limit)
  }

  /// Combines, and lets probes and pacer follow.
  private mutating func step(at now: Instant) {
    nextPoll = now + Self.pollInterval
    let allowed = withoutCap(at: now)
    target = max(configuration.minimum, min(allowed, watch.cap ?? allowed))
    let drains = rate.settled > rate.target
    settled = max(target, min(drains ? least(rate.settled, at: now) : allowed, watch.layerCap ?? .unlimited))
    if let from = probes.unconfirmed(at: now) { settled = min(settled, from) }
    if target < rate.target || rate.lastDecrease != nil || delay.use == .over { hasSeenLimit = true }
    // Layers do not follow the target: with what is sent, the ceiling above it may lie below the next layer for ever. And some loss is
    // there at any rate. Only a probe can tell that the line carries more.
    var little = limit.limited
    // Not `map`: it allocates in a build that is not optimised.
    if let steady = acknowledged.steady, steady * Self.littleFactor < target { little = true }
    let free = little ? min(rate.target, loss.target) : rate.target
    if probing {
      probes.poll(
        ProbeInput(
          target: target, use: now - heardAt > Self.oldNews ? .normal : delay.use, applicationLimited: little,
          outgrown: rate.lastDecrease != nil && rate.capacity.estimate == nil,
          held: watch.cap != nil || rate.competition.isOn || target < free * 0.99), at: now)
    }
    updatePacer(at: now)
  }

  private mutating func updatePacer(at now: Instant) {
    let used = max(limit.rate(at: now), probes.wish)
    let probed = pacer.isProbing || (probing && probes.isBusy)
    let relaxed = isQuiet && !probed && target >= used * Self.relaxedFactor
    if relaxed, !pacer.relaxed { delay.relax() }
    pacer.set(target: target, capacityKnown: rate.capacity.estimate != nil, relaxed: relaxed)
  }

  private mutating func beginProbe(at now: Instant) {
    // Where more is sent, long ones fill the line: E13 then fails a step with two of eight seeds.
    guard !pacer.isProbing, let probe = probes.next(isLong: hasSeenLimit && limit.limited) else { return }
    pacer.begin(probe, at: now)
  }
}
