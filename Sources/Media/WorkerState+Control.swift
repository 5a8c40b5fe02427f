// RTCP both ways and the datagrams of the handshake. RTCP ends here on every hop (RFC 3550 §7, RFC 7667 §3.7): what a
// receiver says about the server's streams is answered by the server, and the server speaks to publishers for itself.

import Basics
import Forwarding
import RTP
import SRTP

extension WorkerState {
  /// Time between reports to one peer about what it publishes, and about streams that are new to it.
  static let reportInterval = TimeDelta.seconds(1)
  /// Which of these reports is about streams that it knows as well. Five seconds are what RFC 3550 §6.2 wants between reports;
  /// clocks do not drift apart by anything that shows in them, and an audience is told of little else.
  static let fullReport: UInt8 = 5
  /// Reports leave at whole multiples of this, well below the interval; a transport's first is earlier by up to as much.
  static let reportBeat = TimeDelta.milliseconds(50)
  /// The canonical name of the server's own reports (RFC 3550 §6.5.1). What it forwards bears its publishers' names.
  static let serverName = Array("roost".utf8)

  // MARK: in

  mutating func receiveRTCP(_ bytes: UnsafeMutableBufferPointer<UInt8>, from path: Path, at now: Instant) {
    guard let id = directory.paths[path], transports.contains(id) else {
      counters.drops.count(.unknownSource)
      return
    }
    // Receivers ask for all that their room did not get: to read that would take the time that its share leaves to others.
    if shares.isCounting && !admits(.video, of: transports[id].room, at: now) { return }
    var packet = bytes.mutableSpan
    switch transports[id].security.unprotectRTCP(&packet) {
    case .drop(let reason): counters.drops.count(reason)
    case .plaintext(let length):
      heard(id, from: path, at: now)
      handleCompound(UnsafeBufferPointer(rebasing: bytes[..<length]), on: id, at: now)
    }
  }

  private mutating func handleCompound(_ bytes: UnsafeBufferPointer<UInt8>, on id: TransportID, at now: Instant) {
    var reader = RTCPReader()
    while true {
      do throws(RTPError) {
        guard let packet = try reader.next(bytes.span) else { return }
        handle(packet, bytes.span, on: id, at: now)
      } catch {
        counters.drops.count(.malformed)
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
    case .receiverReport, .sourceDescription, .application, .transportFeedback, .bandwidthEstimate,
      .extendedReport, .unknown:
      break
    }
  }

  private mutating func handle(_ report: SenderReport, on id: TransportID, at now: Instant) {
    guard let route = transports[id].routes.findIncoming(report.ssrc), !route.isRetransmission,
      encodings.contains(route.encoding)
    else { return }
    encodings[route.encoding].encoding.handle(senderReport: report.ntp.value, rtp: report.rtpTimestamp, at: now)
  }

  /// A publisher's sender has ended, and its track is there until it is unpublished: another sender may take its place.
  private mutating func streamEnded(_ ssrc: UInt32, on id: TransportID) {
    guard let route = transports[id].routes.findIncoming(ssrc), !route.isRetransmission,
      encodings.contains(route.encoding)
    else { return }
    encodings[route.encoding].encoding.ended()
  }

  /// Takes one of the things that a peer may ask for; counts the request when there is none left.
  private mutating func mayAsk(_ id: TransportID, at now: Instant) -> Bool {
    if transports[id].wishes.take(at: now) == nil { return true }
    counters.drops.count(.tooManyRequests)
    return false
  }

  private mutating func keyframeWanted(_ ssrc: UInt32, on id: TransportID, at now: Instant) {
    counters.keyframeRequestsReceived &+= 1
    guard let consumer = transports[id].routes.findOutgoing(ssrc), consumers.contains(consumer) else { return }
    requestKeyframe(for: consumer)
    // What the receiver cannot decode is the layer that it is still sent.
    let producer = consumers[consumer].producer
    if let current = consumers[consumer].consumer.currentLayer, current >= 0,
      current != consumers[consumer].consumer.target, Int(current) < producers[producer].encodings.count,
      !producers[producer].isMuted
    {
      wantKeyframe(producers[producer].encodings[Int(current)])
    }
  }

  /// Sends again what a receiver has missed, from the cache of the track. Once he has asked for too much the rest of the list is
  /// not looked at.
  private mutating func handle(_ nack: NACK, _ bytes: Span<UInt8>, on id: TransportID, at now: Instant) {
    guard let consumer = transports[id].routes.findOutgoing(nack.media), consumers.contains(consumer) else { return }
    for index in 0..<nack.count {
      guard let (first, bitmask) = nack.item(index, bytes) else { return }
      var mask = UInt32(bitmask) << 1 | 1
      var sequence = first
      while mask != 0 {
        if mask & 1 != 0 {
          guard mayAsk(id, at: now) else { return }
          retransmit(sequence, to: consumer, at: now)
        }
        sequence &+= 1
        mask >>= 1
      }
    }
  }

  private mutating func retransmit(_ sequence: UInt16, to id: ConsumerID, at now: Instant) {
    counters.nacksReceived &+= 1
    let producer = consumers[id].producer
    guard let original = consumers[id].consumer.original(of: sequence),
      Int(original.layer) < producers[producer].encodings.count,
      let packet = encodings[producers[producer].encodings[Int(original.layer)]].encoding.cache.find(original.sequence)
    else {
      counters.drops.count(.notInCache)
      return
    }
    // Without an RTX stream the packet would have to go out again under its old number, and with a new send time in its
    // header that would use a GCM nonce twice for different data (RFC 7714 §8.1).
    guard let retransmission = consumers[id].consumer.nextRetransmission(packet.codec) else {
      counters.drops.count(.noRetransmissionStream)
      return
    }
    guard consumers[id].consumer.spendCredit() else {
      counters.drops.count(.retransmissionLimit)
      return
    }
    let rewrite = consumers[id].consumer.rewriteAgain(packet, segment: original.segment)
    enqueue(
      SendEntry(
        encoding: producers[producer].encodings[Int(original.layer)], consumer: id, sequence: original.sequence,
        due: now, retransmission: retransmission, rewrite: rewrite,
        length: packet.length + UInt16(Retransmission.overhead)),
      to: consumers[id].transport)
    if shares.isCounting { countSent(1, of: producers[producer].room) }
  }

  // MARK: out, to publishers

  mutating func sendNacks(_ id: EncodingID, at now: Instant) {
    guard encodings[id].encoding.wantsNacks else { return }
    missing.removeAll(keepingCapacity: true)
    encodings[id].encoding.nacks.due(at: now, into: &missing)
    guard !missing.isEmpty, let ssrc = encodings[id].encoding.ssrc else { return }
    counters.nacksSent &+= UInt64(missing.count)
    let transport = encodings[id].transport
    let numbers = missing
    rtcp.removeAll(keepingCapacity: true)
    RTCPBuilder.appendNACK(to: &rtcp, sender: transports[transport].reporter, media: ssrc, numbers: numbers.span)
    sendRTCP(to: transport)
  }

  mutating func sendKeyframeRequest(_ id: EncodingID, at now: Instant) {
    guard let ssrc = encodings[id].encoding.ssrc else { return }
    counters.keyframeRequestsSent &+= 1
    let transport = encodings[id].transport
    rtcp.removeAll(keepingCapacity: true)
    RTCPBuilder.appendPictureLoss(to: &rtcp, sender: transports[transport].reporter, media: ssrc)
    sendRTCP(to: transport)
  }

  mutating func sendFeedback(_ id: TransportID, at now: Instant) {
    rtcp.removeAll(keepingCapacity: true)
    let reporter = transports[id].reporter
    let media = transports[id].routes.incoming.first?.ssrc ?? 0
    if transports[id].feedback.poll(at: now, sender: reporter, media: media, into: &rtcp) > 0 { sendRTCP(to: id) }
  }

  // MARK: reports

  /// When a transport reports next. Those of many people leave together, so that a worker need not wake for each.
  private static func reportTime(after now: Instant) -> Instant {
    let next = now + reportInterval
    return Instant(nanoseconds: next.nanoseconds - next.nanoseconds % reportBeat.nanoseconds)
  }

  /// Reports about what this peer publishes, and about what it is sent.
  mutating func sendReports(_ id: TransportID, at now: Instant) {
    transports[id].nextReport = Self.reportTime(after: now)
    transports[id].reports = (transports[id].reports + 1) % Self.fullReport
    let isFull = transports[id].reports == 0
    rtcp.removeAll(keepingCapacity: true)
    appendReceiverReports(id, at: now)
    for route in transports[id].routes.outgoing where consumers.contains(route.consumer) {
      if consumers[route.consumer].consumer.ssrc == route.ssrc,
        isFull || consumers[route.consumer].consumer.wantsReport
      {
        appendSenderReport(route.consumer, at: now)
      }
      // A compound stays within one datagram.
      if rtcp.count > 1_000 {
        sendRTCP(to: id)
        rtcp.removeAll(keepingCapacity: true)
      }
    }
    if !rtcp.isEmpty { sendRTCP(to: id) }
  }

  private mutating func appendReceiverReports(_ id: TransportID, at now: Instant) {
    var blocks: [ReportBlock] = []
    for route in transports[id].routes.incoming where !route.isRetransmission && encodings.contains(route.encoding) {
      if let block = encodings[route.encoding].encoding.statistics.report(about: route.ssrc, at: now) {
        blocks.append(block)
      }
    }
    guard !blocks.isEmpty else { return }
    RTCPBuilder.appendReceiverReport(to: &rtcp, ssrc: transports[id].reporter, blocks: blocks.span)
    appendReporterName(id)
  }

  /// Every compound names its sender (RFC 3550 §6.1).
  private mutating func appendReporterName(_ id: TransportID) {
    RTCPBuilder.appendSourceDescription(to: &rtcp, ssrc: transports[id].reporter, cname: Self.serverName.span)
  }

  /// Tells a receiver that these streams have ended (RFC 3550 §6.6).
  mutating func sendBye(_ ssrcs: [UInt32], to id: TransportID) {
    guard transports[id].canSend, !ssrcs.isEmpty else { return }
    let none: [ReportBlock] = []
    for start in stride(from: 0, to: ssrcs.count, by: RTCPBuilder.longestList) {
      rtcp.removeAll(keepingCapacity: true)
      RTCPBuilder.appendReceiverReport(to: &rtcp, ssrc: transports[id].reporter, blocks: none.span)
      appendReporterName(id)
      let part = Array(ssrcs[start..<min(start + RTCPBuilder.longestList, ssrcs.count)])
      RTCPBuilder.appendBye(to: &rtcp, sources: part.span)
      sendRTCP(to: id)
    }
  }

  /// The publisher's clock pair, moved on to now and into the consumer's numbering, so that its receiver can play the
  /// tracks of one participant in step.
  private mutating func appendSenderReport(_ id: ConsumerID, at now: Instant) {
    let producer = consumers[id].producer
    guard consumers[id].consumer.packetsSent > 0, let layer = consumers[id].consumer.currentLayer, layer >= 0,
      Int(layer) < producers[producer].encodings.count
    else { return }
    let encoding = producers[producer].encodings[Int(layer)]
    guard let report = encodings[encoding].encoding.senderReport else { return }
    let elapsed = UInt64(max(0, (now - report.arrival).nanoseconds))
    let ticks = UInt32(
      truncatingIfNeeded: elapsed / 1_000 &* UInt64(encodings[encoding].encoding.clockRate) / 1_000_000)
    guard let timestamp = consumers[id].consumer.outgoingTimestamp(of: report.rtp &+ ticks, layer: layer) else {
      return
    }
    consumers[id].consumer.countReport()
    let (seconds, rest) = elapsed.quotientAndRemainder(dividingBy: 1_000_000_000)
    let ntp = report.ntp &+ (seconds << 32 | (rest << 32) / 1_000_000_000)
    let none: [ReportBlock] = []
    let canonicalName = producers[producer].canonicalName
    RTCPBuilder.appendSenderReport(
      to: &rtcp, ssrc: consumers[id].consumer.ssrc, ntp: NTPTime(value: ntp), rtpTimestamp: timestamp,
      packetCount: consumers[id].consumer.packetsSent, octetCount: consumers[id].consumer.bytesSent, blocks: none.span)
    RTCPBuilder.appendSourceDescription(
      to: &rtcp, ssrc: consumers[id].consumer.ssrc, cname: canonicalName.span)
  }

  /// Seals the compound in `rtcp`, in its place, and queues it.
  private mutating func sendRTCP(to id: TransportID) {
    guard let path = transports[id].path, transports[id].security.isReady else { return }
    var sealed: [UInt8] = []
    swap(&rtcp, &sealed)
    defer { swap(&rtcp, &sealed) }
    let length = sealed.count
    sealed.append(contentsOf: repeatElement(0, count: 32))
    var span = sealed.mutableSpan
    do throws(SRTPError) {
      guard let total = try transports[id].security.protectRTCP(&span, length: length) else { return }
      control.append(sealed.prefix(total), to: path)
    } catch {
      counters.drops.count(DropReason(sealing: error))
    }
  }

  // MARK: handshake

  /// After anything that may have moved a transport on: sends what the handshake wrote, notes what it came to,
  /// and schedules the next look.
  mutating func settle(_ id: TransportID, at now: Instant) {
    if transports[id].path != nil { transports[id].security.startIfClient(certificate: certificate, at: now) }
    switch transports[id].security.settle() {
    case .connected:
      transports[id].nextReport = Self.reportTime(after: now)
      transports[id].beginSending(at: now)
      events.append(.transportConnected(transports[id].key))
      if transports[id].canSend { wake(id, at: now) }
    case .failed(let failure): events.append(.transportFailed(transports[id].key, failure))
    case nil: break
    }
    collectDatagrams(of: id)
    schedule(id, at: now)
  }

  mutating func collectDatagrams(of id: TransportID) {
    while let datagram = transports[id].security.nextDatagram() {
      if let path = transports[id].controlPath { control.append(datagram, to: path) }
    }
  }

  /// The transport can be sent to now: what it subscribes to needs keyframes.
  mutating func wake(_ id: TransportID, at now: Instant) {
    for route in transports[id].routes.outgoing where consumers.contains(route.consumer) {
      if consumers[route.consumer].consumer.awaitsKeyframe { requestKeyframe(for: route.consumer) }
    }
  }

  /// Puts STUN, DTLS and RTCP that wait in front of what is sent next.
  mutating func flushControl<Sink: DatagramSink & ~Copyable>(into sink: inout Sink, report: inout SendReport) {
    if control.isEmpty { return }
    var leaving = ControlQueue()
    swap(&control, &leaving)
    for datagram in leaving.datagrams {
      let isSent = segments.append(
        leaving.bytes.span.extracting(datagram.range), to: datagram.path, sink: &sink, report: &report)
      if !isSent { counters.drops.count(.tooLarge) }
    }
    counters.drops[.sendQueueFull] &+= leaving.lost
    leaving.removeAll()
    swap(&control, &leaving)
  }
}
