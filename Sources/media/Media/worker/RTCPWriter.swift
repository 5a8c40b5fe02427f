// The server's own RTCP, written one compound after the other in space that is kept. RTCP ends here on every hop
// (RFC 3550 §7, RFC 7667 §3.7): the server speaks to publishers and to receivers for itself.

import Basics
import Congestion
import Forwarding
import RTP

/// A compound for one peer, before it is sealed.
struct RTCPWriter {
  /// The canonical name of the server's own reports (RFC 3550 §6.5.1). What it forwards bears its publishers' names.
  static let serverName = Array("roost".utf8)
  /// A compound as long as this leaves before more is written: it stays within one datagram.
  private static let full = 1_000

  private(set) var bytes: [UInt8] = []
  /// Scratch space for the numbers of missing packets.
  private var missing: [UInt16] = []

  init() {
    bytes.reserveCapacity(2_048)
    missing.reserveCapacity(256)
  }

  var isEmpty: Bool { bytes.isEmpty }
  var isFull: Bool { bytes.count > Self.full }

  /// Begins a new compound.
  mutating func begin() { bytes.removeAll(keepingCapacity: true) }

  /// Seals what is written and queues it for a peer.
  mutating func send(to transport: inout Transport, _ egress: inout Egress) {
    egress.sendRTCP(&bytes, &transport.security, to: transport.path)
  }

  // MARK: to publishers

  /// Asks for the packets of an encoding that are missing and due. Returns how many they are.
  mutating func appendNack(for encoding: inout Encoding, sender: UInt32, at now: Instant) -> Int {
    guard encoding.wantsNacks else { return 0 }
    missing.removeAll(keepingCapacity: true)
    encoding.nacks.due(at: now, into: &missing)
    guard !missing.isEmpty, let ssrc = encoding.ssrc else { return 0 }
    let numbers = missing
    RTCPBuilder.appendNACK(to: &bytes, sender: sender, media: ssrc, numbers: numbers.span)
    return numbers.count
  }

  mutating func appendPictureLoss(sender: UInt32, media: UInt32) {
    RTCPBuilder.appendPictureLoss(to: &bytes, sender: sender, media: media)
  }

  /// Transport-wide feedback, where there is any. Returns whether there was.
  mutating func appendFeedback(
    _ feedback: inout TransportFeedbackBuilder, sender: UInt32, media: UInt32, at now: Instant
  )
    -> Bool
  {
    feedback.poll(at: now, sender: sender, media: media, into: &bytes) > 0
  }

  /// What the server has received of a publisher's streams. Without blocks nothing is written.
  mutating func appendReceiverReport(_ blocks: [ReportBlock], sender: UInt32) {
    guard !blocks.isEmpty else { return }
    RTCPBuilder.appendReceiverReport(to: &bytes, ssrc: sender, blocks: blocks.span)
    appendName(of: sender)
  }

  /// Every compound names its sender (RFC 3550 §6.1).
  private mutating func appendName(of sender: UInt32) {
    RTCPBuilder.appendSourceDescription(to: &bytes, ssrc: sender, cname: Self.serverName.span)
  }

  /// Asks for what is missing of an encoding and due. Returns how many packets.
  mutating func sendNacks(
    for encoding: inout Encoding, to transport: inout Transport, _ egress: inout Egress, at now: Instant
  ) -> Int {
    begin()
    let asked = appendNack(for: &encoding, sender: transport.reporting.ssrc, at: now)
    if asked > 0 { send(to: &transport, &egress) }
    return asked
  }

  /// Asks for a keyframe of a stream.
  mutating func sendKeyframeRequest(for ssrc: UInt32, to transport: inout Transport, _ egress: inout Egress) {
    begin()
    appendPictureLoss(sender: transport.reporting.ssrc, media: ssrc)
    send(to: &transport, &egress)
  }

  /// Says what has arrived, where numbers of the whole transport were agreed on.
  mutating func sendFeedback(to transport: inout Transport, _ egress: inout Egress, at now: Instant) {
    begin()
    let (reporter, media) = (transport.reporting.ssrc, transport.routes.incoming.first?.ssrc ?? 0)
    if appendFeedback(&transport.reporting.feedback, sender: reporter, media: media, at: now) {
      send(to: &transport, &egress)
    }
  }

  // MARK: to receivers

  /// Says that these streams have ended, where that can be said.
  mutating func sendBye(
    _ ssrcs: [UInt32], to destination: Destination, _ ends: inout Ends, _ egress: inout Egress
  ) {
    switch destination {
    case .transport(let id):
      guard ends.transports[id].canSend, !ssrcs.isEmpty else { return }
      for start in stride(from: 0, to: ssrcs.count, by: RTCPBuilder.longestList) {
        let some = ssrcs[start..<min(start + RTCPBuilder.longestList, ssrcs.count)]
        writeBye(some, sender: ends.transports[id].reporting.ssrc)
        send(to: &ends.transports[id], &egress)
      }
    }
  }

  /// A whole compound that says that streams have ended (RFC 3550 §6.6).
  mutating func writeBye(_ ssrcs: ArraySlice<UInt32>, sender: UInt32) {
    begin()
    let none: [ReportBlock] = []
    RTCPBuilder.appendReceiverReport(to: &bytes, ssrc: sender, blocks: none.span)
    appendName(of: sender)
    RTCPBuilder.appendBye(to: &bytes, sources: ssrcs.span)
  }

  /// The publisher's clock pair, moved on to now, into the consumer's numbering and to the server's clock, so that its receiver can
  /// play the tracks of one participant in step, and goes on doing so when the consumer's track is exchanged for another participant's.
  /// Nothing before the publisher's first report, or before it is clear that it sends none. `origin` is NTP time at the origin of the server's clock.
  mutating func appendSenderReport(
    _ pair: (ntp: UInt64, rtp: UInt32), of consumer: inout Consumer, named canonicalName: [UInt8]
  ) {
    guard consumer.packetsSent > 0, let layer = consumer.currentLayer,
      let timestamp = consumer.outgoingTimestamp(of: pair.rtp, layer: layer)
    else { return }
    consumer.countReport()
    let none: [ReportBlock] = []
    let ssrc = consumer.ssrc
    RTCPBuilder.appendSenderReport(
      to: &bytes, ssrc: ssrc, ntp: NTPTime(value: pair.ntp), rtpTimestamp: timestamp,
      packetCount: consumer.packetsSent,
      octetCount: consumer.bytesSent, blocks: none.span)
    RTCPBuilder.appendSourceDescription(to: &bytes, ssrc: ssrc, cname: canonicalName.span)
  }
}

/// What sender reports go by.
struct SenderClock {
  /// The publisher's; nil where that is gone.
  let publisher: PublisherClock?
  /// NTP time at the origin of the server's clock.
  let origin: TimeDelta
  let now: Instant

  /// NTP time of now by the server's clock, and the encoding's time stamp of now: by the publisher's newest report. Of one that sends none,
  /// by the packets that came earliest: that says nothing of what the encoder took, and brings sound and pictures of one publisher in step
  /// as they were sent.
  func pair(of encoding: inout Encoding) -> (ntp: UInt64, rtp: UInt32)? {
    guard let report = encoding.senderReport else {
      let rtp = encoding.timestampWithoutReports(at: now)
      return rtp.map { (PublisherClock.serverTime(at: now, origin: origin), $0) }
    }
    guard let publisher else { return nil }
    let elapsed = UInt64(max(0, (now - report.arrival).nanoseconds))
    let ticks = UInt32(
      truncatingIfNeeded: elapsed / 1_000 &* UInt64(encoding.clockRate) / 1_000_000)
    return publisher.serverTime(of: report.ntp, arrival: report.arrival, elapsed: elapsed, origin: origin)
      .map { ($0, report.rtp &+ ticks) }
  }
}

extension Forwarder {
  /// The encoding that a consumer is sent now; nil where it is sent none.
  func source(of id: ConsumerID, _ tracks: borrowing Tracks) -> EncodingID? {
    guard let producer = consumers[id].producer, let layer = consumers[id].consumer.currentLayer, layer >= 0,
      Int(layer) < tracks.producers[producer].encodings.count
    else { return nil }
    return tracks.producers[producer].encodings[Int(layer)]
  }
}
