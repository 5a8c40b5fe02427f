// One subscription as it comes in: window, checks, requests for what is missing, and the figures of a receiver report.

import Basics
import RTP
import RoostProtocol

/// A line of an offer that carries a track.
struct ReceiveLine: Sendable {
  var mid: String
  var subscriptionId: String
  var trackId: String
  var participantId: String
  var user: String?
  /// What stamps must say; nil when the room's state does not know the track yet.
  var identity: UInt64?
  var kind: TrackKind
  var ssrc: UInt32
  var rtxSSRC: UInt32?
  var codecs: [UInt8: CodecProfile]
  /// RTX payload type → payload type.
  var repairs: [UInt8: UInt8]
  var extensions: HeaderExtensionIDs
}

struct ReceiveStream {
  /// How long a packet is asked for before it is given up.
  static let patience = TimeDelta.milliseconds(1_500)
  /// Between two requests of one packet.
  static let again = TimeDelta.milliseconds(80)
  /// Between two requests of a keyframe.
  static let keyframeAgain = TimeDelta.milliseconds(400)

  private(set) var line: ReceiveLine
  private(set) var counts: ReceiveStatistics
  private(set) var checker: FrameChecker
  private var window = ReceiveWindow()
  private var nextKeyframeRequest = Instant.zero
  private var report = ReportState()
  private let inspector: (any FrameInspector)?
  private var assembler = FrameAssembler()
  private var lastInspected: UInt32?
  /// There from when on not every packet is opened.
  private var spots: SpotChecker?

  init(_ line: ReceiveLine, inspector: (any FrameInspector)? = nil) {
    self.inspector = inspector
    self.line = line
    counts = ReceiveStatistics(
      subscriptionId: line.subscriptionId, trackId: line.trackId, participantId: line.participantId, user: line.user,
      kind: line.kind, ssrc: line.ssrc)
    checker = FrameChecker(kind: line.kind)
    checker.identity = line.identity
  }

  /// The same subscription in a later offer.
  mutating func update(_ line: ReceiveLine) {
    self.line = line
    counts.isActive = true
    if let user = line.user { counts.user = user }
    if let identity = line.identity { checker.identity = identity }
  }

  /// The subscription is not in the latest offer.
  mutating func end() { counts.isActive = false }

  mutating func forgetGap() { counts.longestGap = .zero }

  /// The track was muted: a jump of its frame numbers is to be expected.
  mutating func expectJump() { checker.mayJump = true }

  /// The highest sequence number so far.
  var newest: UInt16 { UInt16(truncatingIfNeeded: window.newest) }

  /// What there is to report, with what is missing now.
  var statistics: ReceiveStatistics {
    var result = counts
    result.missing = window.missing
    if let inspector { result.inspection = inspector.findings }
    return result
  }

  /// Whether not every packet is opened.
  var isSpotChecked: Bool { spots != nil }

  /// Whether the stream flows, nothing of it is being asked for, and each of its packets has a stamp.
  var canBeSpotChecked: Bool {
    if isSpotChecked { return true }
    return counts.firstFrameAt != nil && counts.lastOrdinal > 0 && counts.unstamped == 0 && window.missing == 0
      && !checker.needsKeyframe && !checker.hasGap && inspector == nil
  }

  /// From now on not every packet will be opened, and frames are not looked at any more.
  mutating func spotCheck() {
    if spots == nil { spots = SpotChecker(after: counts.lastOrdinal, layer: counts.layer) }
  }

  /// Adds this stream's part to a sum over all of them; nothing where not one stamp has come, as of other clients.
  func addTotals(to result: inout DriverTotals) {
    guard counts.lastOrdinal > 0 else { return }
    result.streamsSeen += 1
    result.mediaReceived += counts.packets
    result.repaired += counts.repaired
    result.expected += counts.expected
    result.lost += counts.lost
  }

  // MARK: Packets

  /// Takes a packet in, plain and without its RTX wrapping. Returns its stamp when it is a first transmission.
  mutating func take(
    _ view: PacketView, _ bytes: Span<UInt8>, isRetransmission: Bool, at now: Instant
  ) -> PayloadStamp? {
    take(view, fact(view, bytes), isRetransmission: isRetransmission, at: now)
  }

  /// Takes a packet of which only the header is known. Of a stream that ended before it flowed, none counts any more.
  mutating func glance(_ view: PacketView, at now: Instant) {
    guard isSpotChecked else { return }
    counts.glanced += 1
    let fact = PacketFact(
      timestamp: view.timestamp, marker: view.marker, startsFrame: false, startsKeyframe: false, isSealed: true)
    _ = take(view, fact, isRetransmission: false, at: now)
  }

  private mutating func take(
    _ view: PacketView, _ fact: PacketFact, isRetransmission: Bool, at now: Instant
  ) -> PayloadStamp? {
    if !isRetransmission, window.passes(view.sequenceNumber) {
      if !fact.isEmpty { countPacket(view, fact, isRetransmission: false, at: now) }
      check(fact, at: now)
      return fact.stamp
    }
    let verdict = window.take(view.sequenceNumber, fact, isRetransmission: isRetransmission, at: now)
    guard count(verdict) else { return nil }
    if !fact.isEmpty { countPacket(view, fact, isRetransmission: isRetransmission, at: now) }
    deliver(at: now)
    return verdict == .new && !isRetransmission ? fact.stamp : nil
  }

  /// False when the packet adds nothing.
  private mutating func count(_ verdict: ReceiveWindow.Verdict) -> Bool {
    switch verdict {
    case .new: break
    case .reordered: counts.reordered += 1
    case .repaired: counts.repaired += 1
    case .duplicate:
      counts.duplicates += 1
      return false
    case .spurious, .late:
      counts.spurious += 1
      return false
    }
    return true
  }

  private mutating func countPacket(
    _ view: PacketView, _ fact: PacketFact, isRetransmission: Bool, at now: Instant
  ) {
    counts.packets += 1
    counts.bytes += UInt64(view.payloadLength)
    if counts.firstPacketAt == nil {
      counts.firstPacketAt = now
      counts.startedWithoutKeyframe = line.kind == .video && !fact.startsKeyframe
    }
    if let last = counts.lastPacketAt { counts.longestGap = max(counts.longestGap, now - last) }
    counts.lastPacketAt = now
    if let stamp = fact.stamp, Int(stamp.payloadLength) != view.payloadLength { counts.damaged += 1 }
    if !isRetransmission { report.take(view.timestamp, clock: line.kind == .audio ? 48_000 : 90_000, at: now) }
  }

  private func fact(_ view: PacketView, _ bytes: Span<UInt8>) -> PacketFact {
    let payload = bytes.extracting(view.payload)
    let codec = line.codecs[view.payloadType]
    let info = codec.flatMap { PayloadInfo.parse(payload, codec: $0, marker: view.marker) }
    let offset = line.kind == .audio ? PayloadStamp.audioOffset : PayloadStamp.videoOffset
    let stamp = PayloadStamp(payload, at: offset)
    let trailer = stamp == nil ? PayloadStamp(payload, at: payload.count - PayloadStamp.length) : nil
    return PacketFact(
      timestamp: view.timestamp, marker: view.marker, startsFrame: info?.startsFrame ?? false,
      startsKeyframe: info?.startsKeyframe ?? false, stamp: stamp ?? trailer,
      isEmpty: view.payloadLength == 0, hasTrailer: trailer != nil,
      payload: inspector == nil ? nil : payload.withUnsafeBufferPointer { Array($0) })
  }

  private mutating func deliver(at now: Instant) {
    let given = window.abandon(at: now, patience: Self.patience)
    if given > 0 {
      counts.lost += UInt64(given)
      if spots != nil { spots?.skip(given, &counts) } else { checker.skip(&counts) }
    }
    while let fact = window.deliver() { check(fact, at: now) }
  }

  /// Takes the next packet in order.
  private mutating func check(_ fact: PacketFact, at now: Instant) {
    if spots != nil {
      spots?.take(fact, identity: checker.identity, mayJump: &checker.mayJump, &counts)
      return
    }
    let isWhole = checker.take(fact, at: now, &counts)
    if isWhole, counts.firstFrameAt == nil { counts.firstFrameAt = now }
    if inspector != nil { inspect(fact, isWhole: isWhole) }
  }

  /// Hands a whole frame on, unless a decoder would still be waiting for a keyframe.
  private mutating func inspect(_ fact: PacketFact, isWhole: Bool) {
    let frame = assembler.take(fact, isVideo: line.kind == .video, isWhole: isWhole)
    guard let frame else { return }
    let number = counts.lastFrame
    let isContinuous = lastInspected.map { $0 &+ 1 } == number
    lastInspected = number
    if !checker.needsKeyframe { inspector?.take(frame, identity: checker.identity, isContinuous: isContinuous) }
  }

  // MARK: Time

  /// Gives up what has been missing for too long; asks for what is missing and for keyframes, as RTCP appended to
  /// `compound`.
  mutating func poll(at now: Instant, sender: UInt32, numbers: inout [UInt16], compound: inout [UInt8]) {
    deliver(at: now)
    guard counts.isActive, spots == nil else { return }
    numbers.removeAll(keepingCapacity: true)
    window.requests(at: now, again: Self.again, into: &numbers)
    if !numbers.isEmpty {
      counts.nacksSent += 1
      RTCPBuilder.appendNACK(to: &compound, sender: sender, media: line.ssrc, numbers: numbers.span)
    }
    if isStuck, nextKeyframeRequest <= now {
      nextKeyframeRequest = now + Self.keyframeAgain
      counts.keyframeRequestsSent += 1
      RTCPBuilder.appendPictureLoss(to: &compound, sender: sender, media: line.ssrc)
    }
  }

  /// Whether `poll` may have something to do.
  var needsPolling: Bool { window.missing > 0 || isStuck }

  /// Whether pictures come that a decoder could not use.
  private var isStuck: Bool { counts.firstPacketAt != nil && checker.needsKeyframe }

  // MARK: Reports

  mutating func take(_ senderReport: SenderReport, at now: Instant) {
    counts.senderReports += 1
    report.lastReport = senderReport.ntp.middle
    report.lastReportAt = now
  }

  /// The report block; nil before the first packet.
  mutating func reportBlock(at now: Instant) -> ReportBlock? {
    guard window.next != nil else { return nil }
    let expected = UInt64(window.newest - window.first + 1)
    let received = counts.packets
    return report.block(ssrc: line.ssrc, newest: window.newest, expected: expected, received: received, at: now)
  }
}

/// What a report block is made from (RFC 3550 §6.4.1, appendix A.3 and A.8).
private struct ReportState {
  var lastReport: UInt32 = 0
  var lastReportAt = Instant.zero
  private var jitter = 0.0
  private var lastTransit: Double?
  private var expectedBefore: UInt64 = 0
  private var receivedBefore: UInt64 = 0

  mutating func take(_ timestamp: UInt32, clock: Double, at now: Instant) {
    let arrival = (now - .zero).seconds * clock
    let transit = arrival - Double(timestamp)
    if let lastTransit {
      let change = abs(transit - lastTransit)
      // A wrapped time stamp is no jitter.
      if change < clock * 10 { jitter += (change - jitter) / 16 }
    }
    lastTransit = transit
  }

  mutating func block(ssrc: UInt32, newest: Int64, expected: UInt64, received: UInt64, at now: Instant) -> ReportBlock {
    let expectedNow = expected &- expectedBefore
    let receivedNow = received &- receivedBefore
    (expectedBefore, receivedBefore) = (expected, received)
    let lost = expectedNow > receivedNow ? (expectedNow - receivedNow) * 256 / expectedNow : 0
    return ReportBlock(
      ssrc: ssrc, fractionLost: UInt8(min(lost, 255)),
      cumulativeLost: Int32(clamping: Int64(clamping: expected) - Int64(clamping: received)),
      highestSequence: UInt32(truncatingIfNeeded: newest), jitter: UInt32(min(jitter, 1e9)), lastReport: lastReport,
      delay: lastReport == 0 ? 0 : ShortNTP.value(now - lastReportAt))
  }
}
