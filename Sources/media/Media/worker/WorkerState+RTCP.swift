// RTCP both ways and the datagrams of the handshake. RTCP ends here on every hop (RFC 3550 §7, RFC 7667 §3.7): what a
// receiver says about the server's streams is answered by the server, and the server speaks to publishers for itself.

import Basics
import Forwarding
import RTP
import SRTP

extension WorkerState {
  /// Where video has waited for a line for so long, nothing is repeated into it.
  private static let longestBacklog = TimeDelta.milliseconds(200)

  // MARK: in

  mutating func receiveRTCP(_ bytes: UnsafeMutableBufferPointer<UInt8>, from path: Path, at now: Instant) {
    guard let id = directory.paths[path], ends.transports.contains(id) else {
      counted.drops.count(.unknownSource)
      return
    }
    // Receivers ask for all that their room did not get: to read that would take the time that its share leaves to others. But
    // reports may be all that a peer has to show that it is there, so now and then one is opened for that alone.
    let isRefused = forwarder.shares.isCounting && !forwarder.admits(.video, of: ends.transports[id].room, at: now)
    if isRefused && !ends.transports[id].isQuiet(at: now) { return }
    guard ends.transports[id].bounds.admits(bytes.count, of: .control, at: now) else {
      return IntakeExcess.note(.control, on: id, &self, at: now)
    }
    var packet = bytes.mutableSpan
    switch ends.transports[id].security.unprotectRTCP(&packet) {
    case .drop(let reason): counted.drops.count(reason)
    case .plaintext(let length):
      ends.transports[id].bounds.take(bytes.count, of: .control, at: now)
      heard(id, from: path, at: now)
      if isRefused { return }
      handleCompound(UnsafeBufferPointer(rebasing: bytes[..<length]), on: id, at: now)
      followLine(of: id, at: now)
    }
  }

  private mutating func handleCompound(_ bytes: UnsafeBufferPointer<UInt8>, on id: TransportID, at now: Instant) {
    var reader = RTCPReader()
    while true {
      do throws(RTPError) {
        guard let packet = try reader.next(bytes.span) else { return }
        handle(packet, bytes.span, on: id, at: now)
      } catch {
        counted.drops.count(.malformed)
        if error != .malformed { return }
      }
    }
  }

  private mutating func handle(_ packet: RTCPPacket, _ bytes: Span<UInt8>, on id: TransportID, at now: Instant) {
    switch packet {
    case .senderReport(let report): handle(report, on: id, at: now)
    case .nack(let nack): handle(nack, bytes, on: id, at: now)
    case .pictureLoss(_, let media): if mayAsk(id, at: now) { keyframeWanted(media, on: id, at: now) }
    case .fullIntraRequest(let request):
      for index in 0..<request.count {
        guard let (ssrc, _) = request.request(index, bytes), mayAsk(id, at: now) else { return }
        keyframeWanted(ssrc, on: id, at: now)
      }
    case .bye(let bye):
      for index in 0..<bye.count {
        if let ssrc = bye.ssrc(index, bytes) { streamEnded(ssrc, on: id) }
      }
    case .receiverReport(let report):
      ends.transports[id].take(report.blocks, bytes, at: now)
      ListenerLoss.take(report.blocks, bytes, of: ends.transports[id].routes, &forwarder)
    case .transportFeedback(let feedback): ends.transports[id].take(feedback, bytes, at: now)
    case .bandwidthEstimate(let estimate): ends.transports[id].take(estimate, at: now)
    case .sourceDescription, .application, .extendedReport, .unknown: break
    }
  }

  private mutating func handle(_ report: SenderReport, on id: TransportID, at now: Instant) {
    guard let route = ends.transports[id].routes.findIncoming(report.ssrc), !route.isRetransmission,
      forwarder.encodings.contains(route.encoding)
    else { return }
    ends.transports[id].reporting.clock.take(ntp: report.ntp.value, at: now)
    forwarder.encodings[route.encoding].encoding.handle(
      senderReport: report.ntp.value, rtp: report.rtpTimestamp, at: now)
  }

  /// A publisher's sender has ended, and its track is there until it is unpublished: another sender may take its place.
  private mutating func streamEnded(_ ssrc: UInt32, on id: TransportID) {
    guard let route = ends.transports[id].routes.findIncoming(ssrc), !route.isRetransmission,
      forwarder.encodings.contains(route.encoding)
    else { return }
    forwarder.encodings[route.encoding].encoding.ended()
  }

  /// Takes one of the things that a peer may ask for; counts the request when there is none left.
  private mutating func mayAsk(_ id: TransportID, at now: Instant) -> Bool {
    if ends.transports[id].feedbackAllowance.take(at: now) == nil { return true }
    counted.drops.count(.tooManyRequests)
    return false
  }

  private mutating func keyframeWanted(_ ssrc: UInt32, on id: TransportID, at now: Instant) {
    counted.keyframeRequestsReceived &+= 1
    guard let consumer = ends.transports[id].routes.findOutgoing(ssrc), forwarder.consumers.contains(consumer) else {
      return
    }
    forwarder.keyframeWanted(by: consumer, &ends, at: now)
  }

  /// Sends again what a receiver has missed, from the cache of the track. Once it has asked for too much the rest of the list
  /// is not looked at.
  private mutating func handle(_ nack: NACK, _ bytes: Span<UInt8>, on id: TransportID, at now: Instant) {
    guard let consumer = ends.transports[id].routes.findOutgoing(nack.media), forwarder.consumers.contains(consumer)
    else {
      return
    }
    // What waits for a line takes its time in the queue too, and into a line that is full nothing is repeated.
    let waited = egress.waited(ends.transports[id].chain, at: now)
    if ends.transports[id].line.isPaced && waited > Self.longestBacklog {
      counted.drops.count(.congested)
      return
    }
    let roundTrip = ends.transports[id].roundTrip + waited
    let copies = ends.transports[id].downlink?.copiesOfRepeats ?? 1
    for index in 0..<nack.count {
      guard let (first, bitmask) = nack.item(index, bytes) else { return }
      var mask = UInt32(bitmask) << 1 | 1
      var sequence = first
      while mask != 0 {
        if mask & 1 != 0 {
          guard mayAsk(id, at: now) else { return }
          counted.nacksReceived &+= 1
          forwarder.retransmit(
            sequence, to: consumer, roundTrip: roundTrip, copies: copies, &ends, &egress, at: now)
        }
        sequence &+= 1
        mask >>= 1
      }
    }
  }

  // MARK: out, to publishers

  mutating func sendNacks(_ id: EncodingID, at now: Instant) {
    let transport = forwarder.encodings[id].transport
    rtcp.begin()
    let asked = rtcp.appendNack(
      for: &forwarder.encodings[id].encoding, sender: ends.transports[transport].reporting.ssrc, at: now)
    guard asked > 0 else { return }
    counted.nacksSent &+= UInt64(asked)
    rtcp.send(to: &ends.transports[transport], &egress)
  }

  mutating func sendKeyframeRequest(_ id: EncodingID) {
    guard let ssrc = forwarder.encodings[id].encoding.ssrc else { return }
    counted.keyframeRequestsSent &+= 1
    let transport = forwarder.encodings[id].transport
    rtcp.begin()
    rtcp.appendPictureLoss(sender: ends.transports[transport].reporting.ssrc, media: ssrc)
    rtcp.send(to: &ends.transports[transport], &egress)
  }

  mutating func sendFeedback(_ id: TransportID, at now: Instant) {
    rtcp.begin()
    let (reporter, media) = (ends.transports[id].reporting.ssrc, ends.transports[id].routes.incoming.first?.ssrc ?? 0)
    if rtcp.appendFeedback(&ends.transports[id].reporting.feedback, sender: reporter, media: media, at: now) {
      rtcp.send(to: &ends.transports[id], &egress)
    }
  }

  // MARK: reports

  /// Reports about what this peer publishes, and about what it is sent.
  mutating func sendReports(_ id: TransportID, at now: Instant) {
    let isFull = ends.transports[id].reporting.begin(at: now)
    if ends.transports[id].routes.stray.isTold { lookForStray(of: id, at: now) }
    rtcp.begin()
    rtcp.appendReceiverReport(reportBlocks(id, at: now), sender: ends.transports[id].reporting.ssrc)
    let canSend = ends.transports[id].canSend
    for route in ends.transports[id].routes.outgoing where forwarder.consumers.contains(route.consumer) {
      if !forwarder.consumers[route.consumer].wait.isOver, let track = forwarder.consumers[route.consumer].producer,
        let facts = MediaWait.Facts.of(route.consumer, sentTo: canSend, forwarder)
      {
        forwarder.consumers[route.consumer].lookForMedia(
          facts, of: forwarder.producers[track].key, patience: settings.connectTimeout, &turn)
      }
      if forwarder.consumers[route.consumer].consumer.ssrc == route.ssrc,
        isFull || forwarder.consumers[route.consumer].consumer.wantsReport
      {
        rtcp.appendSenderReport(route.consumer, &forwarder, &ends, origin: settings.timeOrigin, at: now)
      }
      if rtcp.isFull {
        rtcp.send(to: &ends.transports[id], &egress)
        rtcp.begin()
      }
    }
    if !rtcp.isEmpty { rtcp.send(to: &ends.transports[id], &egress) }
  }

  private mutating func lookForStray(of id: TransportID, at now: Instant) {
    let encoding = ends.transports[id].routes.stray.ssrc.flatMap {
      ends.transports[id].routes.findIncoming($0)?.encoding
    }
    let flows = encoding.map { forwarder.encodings.contains($0) && forwarder.encodings[$0].encoding.hasBegun } ?? false
    if ends.transports[id].routes.stray.settles(flows: flows, at: now) {
      turn.tell(.streamsFound(ends.transports[id].key))
    }
  }

  private mutating func reportBlocks(_ id: TransportID, at now: Instant) -> [ReportBlock] {
    var blocks: [ReportBlock] = []
    for route in ends.transports[id].routes.incoming
    where !route.isRetransmission && forwarder.encodings.contains(route.encoding) {
      if var block = forwarder.encodings[route.encoding].encoding.statistics.report(about: route.ssrc, at: now) {
        ListenerLoss.raise(&block, of: route.encoding, &forwarder, &ends)
        blocks.append(block)
      }
    }
    return blocks
  }

  /// Tells a receiver that these streams have ended (RFC 3550 §6.6).
  mutating func sendBye(_ ssrcs: [UInt32], to destination: Destination) {
    switch destination {
    case .transport(let id):
      guard ends.transports[id].canSend, !ssrcs.isEmpty else { return }
      for start in stride(from: 0, to: ssrcs.count, by: RTCPBuilder.longestList) {
        let part = ssrcs[start..<min(start + RTCPBuilder.longestList, ssrcs.count)]
        rtcp.writeBye(part, sender: ends.transports[id].reporting.ssrc)
        rtcp.send(to: &ends.transports[id], &egress)
      }
    }
  }

  // MARK: handshake

  /// After anything that may have moved a transport on: sends what the handshake wrote, notes what it came to,
  /// and schedules the next look.
  mutating func settle(_ id: TransportID, at now: Instant) {
    if ends.transports[id].controlPath != nil {
      ends.transports[id].security.startIfClient(certificate: certificate, at: now)
    }
    switch ends.transports[id].security.settle(at: now) {
    case .connected:
      ends.transports[id].reporting.schedule(after: now)
      ends.transports[id].beginSending(at: now)
      turn.tell(.transportConnected(ends.transports[id].key))
      if ends.transports[id].canSend { forwarder.wake(.transport(id), &ends) }
    case .failed(let failure): turn.tell(.transportFailed(ends.transports[id].key, failure))
    case nil: break
    }
    collectDatagrams(of: id)
    schedule(id, at: now)
  }

  mutating func collectDatagrams(of id: TransportID) {
    guard var datagram = ends.transports[id].security.nextDatagram() else { return }
    let path = ends.transports[id].takeFlight()
    while true {
      if let path { egress.control.append(datagram, to: path) }
      guard let next = ends.transports[id].security.nextDatagram() else { return }
      datagram = next
    }
  }
}
