// The receiving half of a connection: sorts packets to subscriptions, takes retransmissions apart, sends NACK, PLI, receiver
// reports and transport-wide feedback.

import Basics
import Congestion
import RTP
import RoostProtocol

struct MediaReceiver {
  static let reportInterval = TimeDelta.seconds(1)
  /// How often arrivals are reported, as browsers do it at the rates of a load test.
  static let feedbackInterval = TimeDelta.milliseconds(50)
  /// How often missing packets are looked at. Lower repairs sooner, higher forgives reordering without a NACK.
  static let repairInterval = TimeDelta.milliseconds(10)

  private(set) var streams: [ReceiveStream] = []
  private(set) var unknownSSRC: UInt64 = 0
  private(set) var audioLatency = LatencyHistogram()
  private(set) var videoLatency = LatencyHistogram()
  /// SSRC → (index in `streams`, whether it is the RTX stream).
  private var routes: [UInt32: (stream: Int, isRTX: Bool)] = [:]
  private var feedback = TransportFeedbackBuilder()
  private let kind: BandwidthFeedback
  /// What it says of its line itself, where it does.
  private(set) var ownEstimate = OwnEstimate()
  let ssrc: UInt32
  private let cname: [UInt8]
  private var nextReport = Instant.distantFuture
  private var nextFeedback = Instant.distantFuture
  private var nextRepair = Instant.distantFuture
  /// Whether every subscription was found to flow since they changed last.
  private var haveAllBegun = false
  /// For how many a packet of this read stands: where only some are opened, for those that are not.
  var standsFor = 1
  /// Until then more may wait in the socket than was read, and nothing is asked for. What is missing may be there, and a
  /// crowd that cannot keep up would be sent more and more if it asked for what its own sockets have lost.
  var behindUntil = Instant.zero
  private var scratch = Scratch()
  private var compound: [UInt8] = []
  private var numbers: [UInt16] = []

  private let inspector: (@Sendable (_ isAudio: Bool) -> any FrameInspector)?

  init(
    ssrc: UInt32, cname: String, feedback: BandwidthFeedback = .twcc,
    inspector: (@Sendable (_ isAudio: Bool) -> any FrameInspector)? = nil
  ) {
    self.ssrc = ssrc
    kind = feedback
    self.inspector = inspector
    self.cname = Array(cname.utf8)
  }

  /// What it says that its line carries, in bits per second; nil where it says nothing.
  var saidEstimate: Double? { kind == .remb ? ownEstimate.bitrate : nil }

  var nextDeadline: Instant { min(nextReport, nextRepair, nextFeedback, ownEstimate.nextDeadline) }

  /// Everybody has a phase of their own: a crowd whose clocks went together would have a server wake once for all that they report.
  mutating func begin(at now: Instant) {
    guard nextReport == .distantFuture else { return }
    nextReport = now + Self.phase(ssrc, of: Self.reportInterval)
    if kind == .twcc { nextFeedback = now + Self.phase(ssrc, of: Self.feedbackInterval) }
  }

  /// A part of an interval, at least a thousandth, that is the same for a number and even over all of them.
  static func phase(_ number: UInt32, of interval: TimeDelta) -> TimeDelta {
    TimeDelta(nanoseconds: interval.nanoseconds / 1_000 * Int64(number % 1_000 + 1))
  }

  /// The lines of the latest offer: all that carry a track.
  mutating func setLines(_ lines: [ReceiveLine]) {
    for index in streams.indices { streams[index].end() }
    haveAllBegun = false
    for line in lines {
      let known = streams.firstIndex { $0.line.subscriptionId == line.subscriptionId && $0.line.ssrc == line.ssrc }
      if let known {
        streams[known].update(line)
      } else {
        streams.append(ReceiveStream(line, inspector: inspector?(line.kind == .audio)))
      }
      let index = known ?? streams.count - 1
      routes[line.ssrc] = (index, false)
      if let rtx = line.rtxSSRC { routes[rtx] = (index, true) }
    }
  }

  mutating func forgetGaps() {
    for index in streams.indices { streams[index].forgetGap() }
  }

  mutating func forgetDelays() {
    audioLatency = LatencyHistogram()
    videoLatency = LatencyHistogram()
  }

  /// A track was muted.
  mutating func expectJump(trackId: String) {
    for index in streams.indices where streams[index].line.trackId == trackId { streams[index].expectJump() }
  }

  // MARK: Packets

  /// Takes the plain RTP packet in the first `length` bytes.
  mutating func receive(_ packet: inout MutableSpan<UInt8>, length: Int, at now: Instant) {
    guard let parsed = try? PacketView.parse(packet.span.extracting(first: length)),
      let view = try? parsed.strippingPadding(packet.span), let route = routes[view.ssrc]
    else {
      unknownSSRC += 1
      return
    }
    noteArrival(view, packet.span, route.stream, at: now)
    if route.isRTX {
      receiveRetransmission(&packet, view, route.stream, at: now)
    } else {
      take(view, packet.span, route.stream, isRetransmission: false, at: now)
    }
    if streams[route.stream].needsPolling, nextRepair == .distantFuture { nextRepair = now + Self.repairInterval }
  }

  /// Whether headers tell enough: every subscription flows. Streams are spot-checked from the first time on that it is so, and
  /// nothing that is missing of them is asked for: what a retransmission holds no header tells.
  mutating func isFlowing() -> Bool {
    if haveAllBegun { return true }
    let isPart = streams.contains { $0.counts.isActive && !$0.canBeSpotChecked }
    guard !isPart, streams.contains(where: \.counts.isActive) else { return false }
    for index in streams.indices where streams[index].counts.isActive { streams[index].spotCheck() }
    haveAllBegun = true
    return true
  }

  /// Takes the header of a sealed packet that would be of `length` bytes when opened. What is in an RTX stream cannot be told
  /// from its header.
  mutating func glance(_ header: Span<UInt8>, length: Int, at now: Instant) {
    guard let view = try? PacketView.parse(header).withPacketLength(length), let route = routes[view.ssrc] else {
      unknownSSRC += 1
      return
    }
    noteArrival(view, header, route.stream, at: now)
    if route.isRTX { return }
    streams[route.stream].glance(view, at: now)
    if streams[route.stream].needsPolling, nextRepair == .distantFuture { nextRepair = now + Self.repairInterval }
  }

  private mutating func noteArrival(_ view: PacketView, _ bytes: Span<UInt8>, _ stream: Int, at now: Instant) {
    let extensions = ParsedExtensions(bytes, view, ids: streams[stream].line.extensions)
    switch kind {
    case .twcc: if let number = extensions.transportSequence { feedback.record(number, at: now) }
    case .remb:
      if let sent = extensions.absSendTime {
        ownEstimate.add(sent: sent, bytes: view.payloadOffset + view.payloadLength, at: now)
      }
    case .none: break
    }
  }

  private mutating func receiveRetransmission(
    _ packet: inout MutableSpan<UInt8>, _ view: PacketView, _ stream: Int, at now: Instant
  ) {
    let line = streams[stream].line
    guard let payloadType = line.repairs[view.payloadType],
      let original = try? Retransmission.unwrap(&packet, view, payloadType: payloadType, ssrc: line.ssrc)
    else { return }
    take(original, packet.span, stream, isRetransmission: true, at: now)
  }

  private mutating func take(
    _ view: PacketView, _ bytes: Span<UInt8>, _ stream: Int, isRetransmission: Bool, at now: Instant
  ) {
    guard let stamp = streams[stream].take(view, bytes, isRetransmission: isRetransmission, at: now) else { return }
    if streams[stream].line.kind == .audio {
      audioLatency.record(now - stamp.sentAt, times: standsFor)
    } else {
      videoLatency.record(now - stamp.sentAt, times: standsFor)
    }
  }

  /// Takes one packet of a compound.
  mutating func handle(_ packet: RTCPPacket, at now: Instant) {
    guard case .senderReport(let report) = packet, let route = routes[report.ssrc], !route.isRTX else { return }
    streams[route.stream].take(report, at: now)
  }

  // MARK: Time

  mutating func poll(at now: Instant, transport: inout SecureTransport, outbox: inout Outbox) {
    if nextRepair <= now { repair(at: now, &transport, &outbox) }
    compound.removeAll(keepingCapacity: true)
    if nextFeedback <= now {
      nextFeedback = nextFeedback + Self.feedbackInterval
      if nextFeedback <= now { nextFeedback = now + Self.feedbackInterval }
      let media = streams.first?.line.ssrc ?? 0
      _ = feedback.report(sender: ssrc, media: media, into: &compound)
      sendCompound(&transport, &outbox)
      compound.removeAll(keepingCapacity: true)
    }
    if ownEstimate.nextDeadline <= now {
      let sources = streams.filter(\.counts.isActive).map(\.line.ssrc)
      ownEstimate.poll(at: now, sender: ssrc, sources: sources, into: &compound)
      sendCompound(&transport, &outbox)
    }
    guard nextReport <= now else { return }
    nextReport = now + Self.reportInterval
    report(at: now, &transport, &outbox)
  }

  private mutating func repair(at now: Instant, _ transport: inout SecureTransport, _ outbox: inout Outbox) {
    guard now >= behindUntil else {
      nextRepair = now + Self.repairInterval
      return
    }
    var goesOn = false
    for index in streams.indices where streams[index].needsPolling {
      compound.removeAll(keepingCapacity: true)
      streams[index].poll(at: now, sender: ssrc, numbers: &numbers, compound: &compound)
      sendCompound(&transport, &outbox)
      goesOn = goesOn || streams[index].needsPolling
    }
    nextRepair = goesOn ? now + Self.repairInterval : .distantFuture
  }

  private mutating func report(at now: Instant, _ transport: inout SecureTransport, _ outbox: inout Outbox) {
    let cname = self.cname
    var blocks: [ReportBlock] = []
    for index in streams.indices where streams[index].counts.isActive {
      if let block = streams[index].reportBlock(at: now) { blocks.append(block) }
    }
    // A report holds up to 31 blocks (RFC 3550 §6.4.2).
    for start in stride(from: 0, to: max(1, blocks.count), by: 31) {
      compound.removeAll(keepingCapacity: true)
      let some = Array(blocks.dropFirst(start).prefix(31))
      RTCPBuilder.appendReceiverReport(to: &compound, ssrc: ssrc, blocks: some.span)
      RTCPBuilder.appendSourceDescription(to: &compound, ssrc: ssrc, cname: cname.span)
      sendCompound(&transport, &outbox)
    }
  }

  private mutating func sendCompound(_ transport: inout SecureTransport, _ outbox: inout Outbox) {
    guard !compound.isEmpty, compound.count <= Scratch.capacity - 64 else { return }
    var buffer = scratch.take()
    defer { scratch.putBack(buffer) }
    var packet = buffer.mutableSpan
    packet.store(compound.span, at: 0)
    _ = transport.sendRTCP(&packet, length: compound.count, outbox: &outbox)
  }
}
