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
      turn.drop(.unknownSource)
      return
    }
    // Receivers ask for all that their room did not get: to read that would take the time that its share leaves to others. But
    // reports may be all that a peer has to show that it is there, so now and then one is opened for that alone.
    let isRefused = tracks.shares.isCounting && !tracks.admits(.video, of: ends.transports[id].room, &turn)
    if isRefused && !ends.transports[id].isQuiet(at: now) { return }
    guard ends.transports[id].bounds.admits(bytes.count, of: .control, at: now) else {
      return ends.transports[id].noteExcess(.control, &turn)
    }
    var packet = bytes.mutableSpan
    switch ends.transports[id].security.unprotectRTCP(&packet) {
    case .drop(let reason): turn.drop(reason)
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
        turn.drop(.malformed)
        if error != .malformed { return }
      }
    }
  }

  private mutating func handle(_ packet: RTCPPacket, _ bytes: Span<UInt8>, on id: TransportID, at now: Instant) {
    switch packet {
    case .senderReport(let report):
      guard let encoding = ends.transports[id].routes.findMedia(report.ssrc, tracks) else { return }
      ends.transports[id].reporting.clock.take(ntp: report.ntp.value, at: now)
      tracks.encodings[encoding].encoding.handle(senderReport: report.ntp.value, rtp: report.rtpTimestamp, at: now)
      ends.copyReport(of: encoding, tracks.encodings)
    case .nack(let nack): handle(nack, bytes, on: id, at: now)
    case .pictureLoss(_, let media): if ends.transports[id].mayAsk(&turn) { keyframeWanted(media, on: id, at: now) }
    case .fullIntraRequest(let request):
      for index in 0..<request.count {
        guard let (ssrc, _) = request.request(index, bytes), ends.transports[id].mayAsk(&turn) else { return }
        keyframeWanted(ssrc, on: id, at: now)
      }
    case .bye(let bye):
      for index in 0..<bye.count {
        // A publisher's sender has ended, and its track is there until it is unpublished: another sender may take its place.
        guard let ssrc = bye.ssrc(index, bytes),
          let encoding = ends.transports[id].routes.findMedia(ssrc, tracks)
        else { continue }
        tracks.encodings[encoding].encoding.ended()
      }
    case .receiverReport(let report):
      ends.transports[id].take(report.blocks, bytes, at: now)
      ListenerLoss.take(report.blocks, bytes, of: ends.transports[id].routes, &forwarder)
    case .transportFeedback(let feedback): ends.transports[id].take(feedback, bytes, at: now)
    case .bandwidthEstimate(let estimate): ends.transports[id].take(estimate, at: now)
    case .sourceDescription, .application, .extendedReport, .unknown: break
    }
  }

  private mutating func keyframeWanted(_ ssrc: UInt32, on id: TransportID, at now: Instant) {
    counted.keyframeRequestsReceived &+= 1
    guard let consumer = ends.transports[id].routes.findOutgoing(ssrc), forwarder.consumers.contains(consumer) else {
      return
    }
    forwarder.grant(any: forwarder.keyframeWanted(by: consumer, tracks, &turn), &tracks, &ends, &turn)
    // The next one of the same compound may want the same, and need not answer for it.
    followWishes()
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
      turn.drop(.congested)
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
          guard ends.transports[id].mayAsk(&turn) else { return }
          counted.nacksReceived &+= 1
          forwarder.retransmit(
            Forwarder.Repeat(sequence: sequence, consumer: consumer, roundTrip: roundTrip, copies: copies), &tracks,
            &ends,
            &egress, &turn)
        }
        sequence &+= 1
        mask >>= 1
      }
    }
  }

  // MARK: out, to who sends tracks

  /// Asks the source of an encoding, a publisher or the other end of a pipe, for what is missing of it, and for a keyframe where one is
  /// wanted.
  mutating func askSource(of id: EncodingID, at now: Instant) {
    switch tracks.encodings[id].source {
    case .transport(let transport):
      if tracks.encodings[id].encoding.keyframes.poll(at: now), let ssrc = tracks.encodings[id].encoding.ssrc {
        rtcp.sendKeyframeRequest(for: ssrc, to: &ends.transports[transport], &egress)
        counted.keyframeRequestsSent &+= 1
      }
      let asked = rtcp.sendNacks(
        for: &tracks.encodings[id].encoding, to: &ends.transports[transport], &egress, at: now)
      counted.nacksSent &+= UInt64(asked)
    case .pipe(let pipe, _):
      let track = tracks.encodings[id].producer
      let layer = (tracks.producers[track].key, tracks.producers[track].declaredPlace(of: id))
      let asked = ends.ask(for: &tracks.encodings[id].encoding, of: layer, through: pipe, at: now)
      counted.keyframeRequestsSent &+= asked.keyframes
      counted.nacksSent &+= asked.packets
    }
  }

  // MARK: reports

  /// Reports about what this peer publishes, and about what it is sent.
  mutating func sendReports(_ id: TransportID, at now: Instant) {
    let isFull = ends.transports[id].reporting.begin(at: now)
    if ends.transports[id].routes.stray.isTold {
      let encoding = ends.transports[id].strayEncoding
      let flows = encoding.map { tracks.encodings.contains($0) && tracks.encodings[$0].encoding.hasBegun } ?? false
      if ends.transports[id].routes.stray.settles(flows: flows, at: now) {
        turn.tell(.streamsFound(ends.transports[id].key))
      }
    }
    rtcp.begin()
    rtcp.appendReceiverReport(reportBlocks(id, at: now), sender: ends.transports[id].reporting.ssrc)
    let canSend = ends.transports[id].canSend
    for route in ends.transports[id].routes.outgoing where forwarder.consumers.contains(route.consumer) {
      if !forwarder.consumers[route.consumer].wait.isOver, let track = forwarder.consumers[route.consumer].producer,
        let facts = MediaWait.Facts.of(route.consumer, sentTo: canSend, forwarder, tracks)
      {
        forwarder.consumers[route.consumer].lookForMedia(
          facts, of: tracks.producers[track].key, patience: settings.connectTimeout, &turn)
      }
      if forwarder.consumers[route.consumer].consumer.ssrc == route.ssrc,
        isFull || forwarder.consumers[route.consumer].consumer.wantsReport
      {
        if let source = forwarder.source(of: route.consumer, tracks) {
          let clock = SenderClock(
            publisher: ends.clock(of: tracks.encodings[source].source), origin: settings.timeOrigin, now: now)
          if let pair = clock.pair(of: &tracks.encodings[source].encoding) {
            rtcp.appendSenderReport(
              pair, of: &forwarder.consumers[route.consumer].consumer,
              named: tracks.producers[tracks.encodings[source].producer].canonicalName)
          }
        }
      }
      if rtcp.isFull {
        rtcp.send(to: &ends.transports[id], &egress)
        rtcp.begin()
      }
    }
    if !rtcp.isEmpty { rtcp.send(to: &ends.transports[id], &egress) }
  }

  private mutating func reportBlocks(_ id: TransportID, at now: Instant) -> [ReportBlock] {
    var blocks: [ReportBlock] = []
    for route in ends.transports[id].routes.incoming
    where !route.isRetransmission && tracks.encodings.contains(route.encoding) {
      if var block = tracks.encodings[route.encoding].encoding.statistics.report(about: route.ssrc, at: now) {
        let worst = ListenerLoss.worst(
          of: route.encoding, uplink: block.fractionLost, tracks, forwarder, &ends)
        tracks.encodings[route.encoding].listenerLoss.note(worst)
        // How many packets were lost in all stays what it is: bandwidth estimators go by that.
        block.fractionLost = max(
          block.fractionLost, min(tracks.encodings[route.encoding].listenerLoss.median, ListenerLoss.most))
        blocks.append(block)
      }
    }
    return blocks
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
      if ends.transports[id].canSend { forwarder.wake(ends.transports[id].routes.outgoing, tracks, &turn) }
    case .failed(let failure): turn.tell(.transportFailed(ends.transports[id].key, failure))
    case nil: break
    }
    egress.collectDatagrams(of: &ends.transports[id])
    schedule(id, at: now)
  }
}
