// From an opened packet to a stored one: whose it is, and what of it is new.

import Basics
import Forwarding
import RTP

extension Forwarder {
  /// Stores a packet that belongs to a known encoding and lets it be forwarded.
  mutating func accept(
    _ view: PacketView, _ extensions: ParsedExtensions, _ bytes: UnsafeMutableBufferPointer<UInt8>,
    route: IncomingRoute, _ ends: inout Ends, _ egress: inout Egress, _ turn: inout Turn
  ) {
    let producer = encodings[route.encoding].producer
    prefetchConsumers(of: producer)
    guard let (codec, format) = producers[producer].payloads.codec(view.payloadType) else {
      return UnknownPayload.drop(view, route, &self, &ends, &turn)
    }
    let isRetransmission = format == .retransmission
    var sequence = view.sequenceNumber
    var payload = view.payload
    switch format {
    case .plain: break
    case .retransmission:
      guard let original = Retransmission.originalSequenceNumber(bytes.span, view) else {
        drops.count(.uselessRetransmission)
        return
      }
      sequence = original
      payload = (payload.lowerBound + Retransmission.overhead)..<payload.upperBound
    case .redundant:
      guard let own = producers[producer].payloads.ownSound(payload, in: bytes.span) else {
        drops.count(.malformed)
        return
      }
      payload = own
    }
    guard payload.count <= PacketCache.longestPayload else {
      drops.count(.tooLarge)
      return
    }
    let clockRate = encodings[route.encoding].encoding.clockRate
    // Of redundant sound no more than receivers are sent of it.
    encodings[route.encoding].encoding.rate.add(bytes.count - (view.payloadLength - payload.count), at: turn.now)
    let acceptance = encodings[route.encoding].encoding.accept(
      sequence: sequence, isRetransmission: isRetransmission, at: turn.now)
    guard case .new(let unwrapped, let needsKeyframe) = acceptance else {
      refuse(acceptance, isRetransmission: isRetransmission, view, encoding: route.encoding, at: turn.now)
      return
    }
    if !isRetransmission {
      encodings[route.encoding].encoding.statistics.received(
        unwrapped, timestamp: view.timestamp, clockRate: clockRate, at: turn.now)
    }
    if needsKeyframe && producers[producer].kind == .video && !producers[producer].isMuted {
      encodings[route.encoding].encoding.keyframes.request()
    }
    schedule(encoding: route.encoding)
    let body = UnsafeBufferPointer(rebasing: bytes[payload])
    // Padding alone is passed on as an empty packet: its number must not look like a loss to the receivers.
    let said = payload.isEmpty ? PayloadInfo() : PayloadInfo.parse(body.span, codec: codec, marker: view.marker)
    guard var info = said ?? DescribedPackets.unread(codec, extensions) else {
      drops.count(.malformed)
      return
    }
    // What stands beside the payload can be read where that is encrypted, and decides.
    if codec == .av1, let range = extensions.dependencyDescriptor {
      info.startsKeyframe = DependencyDescriptor.beginsSequence(bytes.span, range)
    }
    guard let number = encodings[route.encoding].encoding.kept(unwrapped) else {
      drops.count(.tooLate)
      return
    }
    var packet = StoredPacket(
      sequence: number, timestamp: view.timestamp, arrival: turn.now, length: UInt16(payload.count), codec: codec,
      marker: view.marker, info: info, audioLevel: extensions.audioLevel, orientation: extensions.videoOrientation)
    guard encodings[route.encoding].encoding.place(&packet) else { return Misplaced.drop(of: route.encoding, &self) }
    if format == .redundant {
      restore(
        before: unwrapped, timestamp: packet.timestamp, UnsafeBufferPointer(rebasing: bytes[view.payload]),
        of: route.encoding, &ends, &egress, &turn)
    }
    // Other codecs say as much in their payload, and number their pictures otherwise.
    if codec == .av1, let range = extensions.dependencyDescriptor, !payload.isEmpty {
      let descriptor = UnsafeBufferPointer(rebasing: bytes[range])
      return DescribedPackets.accept(
        packet, body, descriptor, size: bytes.count, route.encoding, of: producer, &self, &ends, &egress,
        &turn)
    }
    if !packet.info.units.isEmpty || packet.info.startsKeyframe, codec.isH264 {
      return H264Packets.accept(
        packet, body, size: bytes.count, route.encoding, of: producer, &self, &ends, &egress, &turn)
    }
    encodings[route.encoding].encoding.cache.insert(packet, payload: UnsafeRawBufferPointer(body))
    deliver(
      packet, size: bytes.count, encoding: route.encoding, producer: producer, &ends, &egress, &turn)
  }

  /// Counts a packet that is known already. One that was restored before it came is no loss of its publisher's line.
  @inline(never)
  private mutating func refuse(
    _ acceptance: Encoding.Acceptance, isRetransmission: Bool, _ view: PacketView, encoding: EncodingID,
    at now: Instant
  ) {
    guard case .restored(let number) = acceptance else {
      drops.count(isRetransmission ? .uselessRetransmission : .duplicate)
      return
    }
    drops.count(.restoredBefore)
    let clockRate = encodings[encoding].encoding.clockRate
    encodings[encoding].encoding.statistics.received(
      number, timestamp: view.timestamp, clockRate: clockRate, at: now)
  }

  /// A packet that was stored, of `size` bytes as it came. What a muted track sends stops here; what it says of its loudness too. Where
  /// a stream can begin with it and packets that came before, `beginning` is the number of the first of these. One that `isPutIn` stands
  /// before a newer one that is still to be delivered.
  @inline(__always)
  mutating func deliver(
    _ packet: StoredPacket, size: Int, encoding: EncodingID, producer: ProducerID, beginning: Int64? = nil,
    isPutIn: Bool = false, _ ends: inout Ends, _ egress: inout Egress, _ turn: inout Turn
  ) {
    if producers[producer].kind == .video {
      encodings[encoding].encoding.layerRates.add(size, packet, at: turn.now)
      if packet.info.startsKeyframe {
        encodings[encoding].encoding.keyframeArrived(packet)
        if producers[producer].encodings.count > 1 { encodings[encoding].encoding.learnSize(from: packet) }
      }
    }
    if producers[producer].isMuted || packet.sequence <= encodings[encoding].mutedUntil {
      drops.count(.muted)
      return
    }
    if let level = packet.audioLevel { heard(level.level, of: producer, at: turn.now) }
    if rooms[producers[producer].room].loudest.most != nil {
      guard
        LoudestVoices.admits(
          packet, encoding: encoding, of: producer, &self, &ends, &egress, &turn)
      else { return }
    }
    if producers[producer].encodings.count > 1 { scheduleLayers(producer, at: turn.now) }
    if let beginning, beginning > encodings[encoding].mutedUntil {
      begin(with: beginning, before: packet, encoding: encoding, &ends, &egress, &turn)
    }
    forward(
      packet, encoding: encoding, beginning: beginning, isPutIn: isPutIn, &ends, &egress, &turn)
  }
}

/// Packets of a known stream whose payload type its line does not have.
enum UnknownPayload {
  /// Drops one. Where nothing else has come of the stream, it is one that nobody will ever see.
  @inline(never)
  static func drop(
    _ view: PacketView, _ route: IncomingRoute, _ forwarder: inout Forwarder, _ ends: inout Ends,
    _ turn: inout Turn
  ) {
    forwarder.drops.count(.unknownPayloadType)
    let transport = forwarder.encodings[route.encoding].transport
    guard !route.isRetransmission, !forwarder.encodings[route.encoding].encoding.hasBegun,
      ends.transports.contains(transport),
      ends.transports[transport].routes.stray.note(view.ssrc, isMedia: true, at: turn.now)
    else { return }
    let report = StrayStreamReport(ssrc: view.ssrc, payloadType: view.payloadType, cause: .unknownPayloadType)
    turn.tell(.streamStrays(ends.transports[transport].key, report))
  }
}

/// Packets whose numbers or time fit to no other's.
enum Misplaced {
  /// Drops one. They may begin anew at a keyframe.
  @inline(never)
  static func drop(of encoding: EncodingID, _ forwarder: inout Forwarder) {
    forwarder.drops.count(.malformed)
    let producer = forwarder.encodings[encoding].producer
    guard forwarder.producers[producer].kind == .video && !forwarder.producers[producer].isMuted else { return }
    forwarder.wantKeyframe(encoding)
  }
}
