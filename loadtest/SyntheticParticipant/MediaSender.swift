// The sending half of a connection: frames on schedule, keyframes when asked, retransmissions, sender reports.

import Basics
import RTP
import RoostProtocol

struct MediaSender {
  static let reportInterval = TimeDelta.seconds(1)

  var tracks: [SendTrack] = []
  private(set) var nacks: UInt64 = 0
  private(set) var keyframeRequests: UInt64 = 0
  private(set) var transportFeedback: UInt64 = 0
  /// How much later than planned frames were sent.
  var lateness = LatencyHistogram()
  /// Whether it has been told to send nothing new.
  var isHeld = false
  private var nextTransportSequence: UInt16 = 1
  private var nextReport = Instant.distantFuture
  private var scratch = Scratch()
  private var compound: [UInt8] = []
  private let cname: [UInt8]

  init(cname: String) { self.cname = Array(cname.utf8) }

  var nextDeadline: Instant {
    var deadline = nextReport
    if isHeld { return deadline }
    for track in tracks where track.agreed != nil { deadline = min(deadline, track.nextFrame) }
    return deadline
  }

  /// Keys are there: tracks that the answer took begin, each at a phase of its own.
  mutating func begin(at now: Instant, random: inout SplitMix64) {
    for index in tracks.indices where tracks[index].agreed != nil {
      tracks[index].begin(at: now, phase: TimeDelta(nanoseconds: Int64(random.next() % tracks[index].period)))
    }
    if nextReport == .distantFuture { nextReport = now + Self.reportInterval / 2 }
  }

  mutating func poll(at now: Instant, wall: NTPTime, transport: inout SecureTransport, outbox: inout Outbox) {
    for index in tracks.indices where tracks[index].agreed != nil && !isHeld {
      while let frame = tracks[index].takeFrame(at: now) {
        guard tracks[index].isSending else { continue }
        lateness.record(now - frame.scheduled)
        sendFrame(index, frame.number, frame.scheduled, at: now, &transport, &outbox)
      }
    }
    guard nextReport <= now else { return }
    nextReport = now + Self.reportInterval
    report(at: now, wall, &transport, &outbox)
  }

  // MARK: Frames

  private mutating func sendFrame(
    _ track: Int, _ number: UInt32, _ scheduled: Instant, at now: Instant, _ transport: inout SecureTransport,
    _ outbox: inout Outbox
  ) {
    let wanted = tracks[track].agreed?.rids
    for stream in tracks[track].streams.indices {
      if let wanted, let rid = tracks[track].streams[stream].statistics.rid, !wanted.contains(rid) { continue }
      let clip = tracks[track].clip(stream)
      let clipFrame = clip.map { tracks[track].streams[stream].takeClipFrame($0) }
      let isKeyframe =
        tracks[track].kind == .video && (clipFrame.map { $0 == 0 } ?? tracks[track].streams[stream].wantsKeyframe)
      tracks[track].streams[stream].beginFrame(isKeyframe: isKeyframe)
      let size = clipFrame.map { clip?.frame($0).count ?? 0 }
      let (packets, length) =
        size.map { (ClipPiece.count(ofFrame: $0), 0) } ?? shape(track, stream, isKeyframe: isKeyframe)
      let timestamp = tracks[track].timestamp(stream, at: scheduled)
      for packet in 0..<packets {
        let piece = clipFrame.map { ClipPiece(frame: $0, packet: packet, packets: packets, bytes: size ?? 0) }
        let payloadLength = piece.map {
          PayloadWriter.length($0, kind: tracks[track].kind, isLast: packet == packets - 1)
        }
        let stamp = PayloadStamp(
          identity: tracks[track].identity, sentAt: now, frame: number, packet: UInt16(packet),
          packets: UInt16(packets), payloadLength: UInt16(payloadLength ?? length),
          layer: tracks[track].streams[stream].layer,
          isKeyframe: isKeyframe)
        let isMarked = tracks[track].kind == .video && packet == packets - 1
        let record = tracks[track].streams[stream].next(
          timestamp: timestamp, stamp: stamp, marker: isMarked, transportSequence: takeTransportSequence(),
          absSendTime: AbsoluteSendTime.value(at: now), piece: piece)
        send(record, track, stream, &transport, &outbox)
      }
    }
  }

  /// Packets of a frame and bytes of each, kept to what stamp and datagram allow.
  private func shape(_ track: Int, _ stream: Int, isKeyframe: Bool) -> (packets: Int, length: Int) {
    let least = PayloadStamp.videoOffset + PayloadStamp.length
    switch tracks[track].source {
    case .audio(let plan): return (1, min(max(plan.packetBytes, least), 1_200))
    case .video:
      let layer = tracks[track].layer(stream) ?? VideoLayer()
      let packets = isKeyframe ? layer.packetsPerKeyframe : layer.packetsPerFrame
      return (min(max(packets, 1), 400), min(max(layer.packetBytes, least), 1_200))
    }
  }

  private mutating func takeTransportSequence() -> UInt16 {
    defer { nextTransportSequence &+= 1 }
    return nextTransportSequence
  }

  /// Makes the packet of a record under its own number.
  private mutating func send(
    _ record: PacketRecord, _ track: Int, _ stream: Int, _ transport: inout SecureTransport, _ outbox: inout Outbox
  ) {
    guard let line = tracks[track].agreed else { return }
    let header = RTPHeader(
      marker: record.marker, payloadType: line.payloadType, sequenceNumber: record.sequence,
      timestamp: record.timestamp, ssrc: tracks[track].streams[stream].ssrc,
      extensions: tracks[track].extensions(stream, record))
    var buffer = scratch.take()
    defer { scratch.putBack(buffer) }
    var packet = buffer.mutableSpan
    guard let length = try? header.write(into: &packet, ids: line.extensions) else { return }
    let payload = PayloadWriter.write(
      record, kind: tracks[track].kind, layer: tracks[track].layer(stream), clip: tracks[track].clip(stream),
      into: &packet, at: length)
    _ = transport.sendRTP(&packet, length: length + payload, outbox: &outbox)
  }

  /// Makes the packet of a record again: in the RTX stream, or where none was agreed on as the very same packet.
  private mutating func resend(
    _ record: PacketRecord, _ track: Int, _ stream: Int, at now: Instant, _ transport: inout SecureTransport,
    _ outbox: inout Outbox
  ) {
    tracks[track].streams[stream].statistics.retransmissions += 1
    guard let line = tracks[track].agreed, let payloadType = line.rtxPayloadType else {
      return send(record, track, stream, &transport, &outbox)
    }
    var repeated = record
    repeated.transportSequence = takeTransportSequence()
    repeated.absSendTime = AbsoluteSendTime.value(at: now)
    let header = RTPHeader(
      marker: record.marker, payloadType: payloadType,
      sequenceNumber: tracks[track].streams[stream].takeRTXSequence(), timestamp: record.timestamp,
      ssrc: tracks[track].streams[stream].rtxSSRC, extensions: tracks[track].extensions(stream, repeated))
    var ids = line.extensions
    // The stream id of a retransmission goes under the name of repaired-rtp-stream-id (RFC 8852 §3.2).
    ids.rid = ids.repairedRid
    var buffer = scratch.take()
    defer { scratch.putBack(buffer) }
    var packet = buffer.mutableSpan
    guard var length = try? header.write(into: &packet, ids: ids),
      let number = try? Retransmission.writeOriginalSequenceNumber(record.sequence, into: &packet, at: length)
    else { return }
    length += number
    length += PayloadWriter.write(
      record, kind: tracks[track].kind, layer: tracks[track].layer(stream), clip: tracks[track].clip(stream),
      into: &packet, at: length)
    _ = transport.sendRTP(&packet, length: length, outbox: &outbox)
  }

  // MARK: Feedback

  /// Takes one packet of a compound.
  mutating func handle(
    _ packet: RTCPPacket, _ bytes: Span<UInt8>, at now: Instant, transport: inout SecureTransport,
    outbox: inout Outbox
  ) {
    switch packet {
    case .nack(let nack):
      nacks += 1
      guard let (track, stream) = find(nack.media) else { return }
      var numbers: [UInt16] = []
      nack.forEachSequenceNumber(bytes) { numbers.append($0) }
      for number in numbers { answer(number, track, stream, at: now, &transport, &outbox) }
    case .pictureLoss(_, let media):
      keyframeRequests += 1
      if let (track, stream) = find(media) { tracks[track].streams[stream].wantsKeyframe = true }
    case .fullIntraRequest(let request):
      keyframeRequests += 1
      for index in 0..<request.count {
        if let (ssrc, number) = request.request(index, bytes) { takeFullIntraRequest(ssrc, number) }
      }
    case .transportFeedback: transportFeedback += 1
    default: break
    }
  }

  private mutating func answer(
    _ number: UInt16, _ track: Int, _ stream: Int, at now: Instant, _ transport: inout SecureTransport,
    _ outbox: inout Outbox
  ) {
    if let record = tracks[track].streams[stream].record(number) {
      resend(record, track, stream, at: now, &transport, &outbox)
    } else {
      tracks[track].streams[stream].statistics.unanswered += 1
    }
  }

  private mutating func takeFullIntraRequest(_ ssrc: UInt32, _ number: UInt8) {
    guard let (track, stream) = find(ssrc), tracks[track].streams[stream].lastFullIntraRequest != number else { return }
    tracks[track].streams[stream].lastFullIntraRequest = number
    tracks[track].streams[stream].wantsKeyframe = true
  }

  private func find(_ ssrc: UInt32) -> (track: Int, stream: Int)? {
    for track in tracks.indices {
      for stream in tracks[track].streams.indices where tracks[track].streams[stream].ssrc == ssrc {
        return (track, stream)
      }
    }
    return nil
  }

  // MARK: Reports

  private mutating func report(
    at now: Instant, _ wall: NTPTime, _ transport: inout SecureTransport, _ outbox: inout Outbox
  ) {
    let cname = self.cname
    for track in tracks.indices where tracks[track].agreed != nil {
      for stream in tracks[track].streams.indices where tracks[track].streams[stream].statistics.packets > 0 {
        let sent = tracks[track].streams[stream]
        compound.removeAll(keepingCapacity: true)
        RTCPBuilder.appendSenderReport(
          to: &compound, ssrc: sent.ssrc, ntp: wall, rtpTimestamp: tracks[track].timestamp(stream, at: now),
          packetCount: UInt32(truncatingIfNeeded: sent.statistics.packets),
          octetCount: UInt32(truncatingIfNeeded: sent.statistics.bytes), blocks: [ReportBlock]().span)
        RTCPBuilder.appendSourceDescription(to: &compound, ssrc: sent.ssrc, cname: cname.span)
        sendCompound(&transport, &outbox)
      }
    }
  }

  private mutating func sendCompound(_ transport: inout SecureTransport, _ outbox: inout Outbox) {
    guard compound.count <= Scratch.capacity - 64 else { return }
    var buffer = scratch.take()
    defer { scratch.putBack(buffer) }
    var packet = buffer.mutableSpan
    packet.store(compound.span, at: 0)
    _ = transport.sendRTCP(&packet, length: compound.count, outbox: &outbox)
  }
}
