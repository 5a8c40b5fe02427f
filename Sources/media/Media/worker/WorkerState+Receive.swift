// From a datagram to an opened packet: whose it is, and what is inside.

import Basics
import Forwarding
import ICE
import RTP
import STUN

extension WorkerState {
  /// Takes in one datagram. The bytes are changed in place; nothing of them is kept but copies.
  public mutating func receive(_ datagram: UnsafeMutableRawBufferPointer, from path: Path, at now: Instant) {
    begin(at: now)
    egress.coalescing.arrived(at: now)
    counted.packetsIn &+= 1
    counted.bytesIn &+= UInt64(datagram.count)
    let bytes = datagram.assumingMemoryBound(to: UInt8.self)
    switch PacketClass.classify(UnsafeBufferPointer(bytes).span) {
    case .stun: receiveSTUN(UnsafeBufferPointer(bytes), from: path, at: now)
    case .dtls: receiveDTLS(UnsafeBufferPointer(bytes), from: path, at: now)
    case .rtp: receiveRTP(bytes, from: path, at: now)
    case .rtcp: receiveRTCP(bytes, from: path, at: now)
    case .turnChannel, .unknown: turn.drop(.unknownProtocol)
    }
    followWishes()
  }

  private mutating func receiveSTUN(_ bytes: UnsafeBufferPointer<UInt8>, from path: Path, at now: Instant) {
    // What comes from elsewhere never gets a path, and so all else of it ends as well.
    guard settings.admits(path.remote) else { return turn.drop(.unknownSource) }
    guard let message = try? MessageView.parse(bytes.span), let key = UfragKey(recipientOf: message, bytes.span),
      let id = directory.transport(fragment: key), ends.transports.contains(id)
    else {
      turn.drop(.badSTUN)
      return
    }
    let owner = directory.paths[path]
    if let owner, owner != id, ends.transports.contains(owner), ends.transports[owner].holds(path, at: now) {
      turn.drop(.badSTUN)
      return
    }
    let couldSend = ends.transports[id].canSend
    let network = PeerNetwork(path.remote)
    let check = Transport.Check(
      message: message, bytes: bytes, source: path, isKnown: owner == id,
      answersAll: failedChecks.answers(network, at: now))
    let outcome = ends.transports[id].handleSTUN(
      check, at: now, reply: &failedChecks.reply, control: &egress.control)
    if let drop = outcome.drop {
      turn.drop(drop)
      if outcome.toldWhy { failedChecks.answered(network, at: now) }
      return
    }
    directory.claim(path, for: id, &ends, &turn)
    ends.transports[id].mayAnswer(on: path)
    ends.transports[id].expectConnection(anew: false, at: now)
    if outcome.recovered { directory.recovered(id, on: path, &ends, &turn) }
    // The handshake may have been done on a path that is nominated only now.
    if !couldSend && ends.transports[id].canSend { forwarder.wake(ends.transports[id].routes.outgoing, tracks, &turn) }
    // A check may be the first sign of a line that was dark.
    if ends.transports[id].isDark { followLine(of: id, at: now) }
    settle(id, at: now)
  }

  /// Notes where authenticated media, no replay, came from.
  @inline(__always)
  mutating func heard(_ id: TransportID, from path: Path, at now: Instant) {
    if ends.transports[id].heard(from: path, at: now) { returned(id, on: path, at: now) }
  }

  private mutating func returned(_ id: TransportID, on path: Path, at now: Instant) {
    directory.claim(path, for: id, &ends, &turn)
    directory.recovered(id, on: path, &ends, &turn)
    forwarder.wake(ends.transports[id].routes.outgoing, tracks, &turn)
    settle(id, at: now)
  }

  private mutating func receiveDTLS(_ bytes: UnsafeBufferPointer<UInt8>, from path: Path, at now: Instant) {
    guard let id = directory.paths[path], ends.transports.contains(id) else {
      turn.drop(.unknownSource)
      return
    }
    if let drop = ends.transports[id].security.handle(bytes.span, certificate: certificate, at: now) {
      turn.drop(drop)
      if drop == .tooManyRecords { return }
    } else {
      ends.transports[id].heardHandshake(bytes.count, from: path)
    }
    settle(id, at: now)
  }

  private mutating func receiveRTP(_ bytes: UnsafeMutableBufferPointer<UInt8>, from path: Path, at now: Instant) {
    guard let id = directory.paths[path], ends.transports.contains(id) else {
      turn.drop(.unknownSource)
      return
    }
    let counts = prefetchRoute(of: bytes, on: id)
    guard ends.transports[id].bounds.admits(bytes.count, of: counts, at: now) else {
      return dropExcess(bytes, of: counts, on: id)
    }
    var packet = bytes.mutableSpan
    let length: Int
    switch ends.transports[id].security.unprotectRTP(&packet) {
    case .drop(let reason):
      turn.drop(reason)
      return
    case .plaintext(let count): length = count
    }
    ends.transports[id].bounds.take(bytes.count, of: counts, at: now)
    heard(id, from: path, at: now)
    let plaintext = UnsafeMutableBufferPointer(rebasing: bytes[..<length])
    guard let parsed = try? PacketView.parse(plaintext.span), let view = try? parsed.strippingPadding(plaintext.span)
    else {
      turn.drop(.malformed)
      return
    }
    let extensions = ParsedExtensions(plaintext.span, view, ids: ends.transports[id].extensions)
    if let number = extensions.transportSequence, ends.transports[id].record(number, at: now) { schedule(id, at: now) }
    let arrival = Arrival(view: view, extensions: extensions, bytes: plaintext)
    let route = tracks.route(arrival, &ends.transports[id].routes, &turn)
    followWishes()
    guard let route, tracks.encodings.contains(route.encoding) else {
      return ends.transports[id].dropStray(arrival, tracks, &turn)
    }
    accept(arrival, of: route, on: id)
  }

  /// Takes a packet of a known stream: what it says of earlier ones is delivered first, then the packet.
  @inline(__always)
  private mutating func accept(_ arrival: Arrival, of route: IncomingRoute, on id: TransportID) {
    forwarder.prefetchConsumers(of: tracks.encodings[route.encoding].producer, tracks)
    switch tracks.take(arrival, route, &turn) {
    case .dropped(let reason): if let reason { turn.drop(reason) }
    case .unknownPayload:
      let hasBegun = tracks.encodings[route.encoding].encoding.hasBegun
      return ends.transports[id].dropUnknownPayload(of: arrival, isMedia: !route.isRetransmission && !hasBegun, &turn)
    case .new(var taken):
      if !taken.redundancy.isEmpty { restore(before: taken, at: arrival.view.timestamp, on: id) }
      guard tracks.store(&taken, arrival, &turn) else { return }
      // Before it is delivered: it would have to be kept until then.
      if tracks.encodings[route.encoding].isCopied, ends.tap(taken, arrival, tracks, &turn) {
        ends.copy(taken, &tracks.encodings, &turn)
      }
      for number in taken.putIn {
        guard let set = tracks.putIn(number, before: taken.delivery) else { continue }
        forwarder.deliver(set, &tracks, &ends, &egress, &turn)
      }
      forwarder.deliver(taken.delivery, &tracks, &ends, &egress, &turn)
    }
  }

  /// Forwards what is missing before a packet and stands in its payload. Each is sent to all listeners as a packet of its own. `timestamp`
  /// is the packet's, as it came.
  @inline(never)
  private mutating func restore(before taken: TakenPacket, at timestamp: UInt32, on id: TransportID) {
    guard let sound = tracks.earlierSound(in: taken) else { return }
    for block in sound.blocks {
      let restored = tracks.restore(block, of: sound, taken.delivery.encoding, &ends.transports[id].bounds, &turn)
      guard let restored else { continue }
      forwarder.deliver(restored, &tracks, &ends, &egress, &turn)
      let encoding = restored.encoding
      if tracks.encodings[encoding].isCopied,
        ends.tap(restored: restored, sound.found.earlier(block), in: sound, at: timestamp, tracks, &turn)
      {
        ends.copy(restored.packet.sequence, of: encoding, &tracks.encodings, &turn)
      }
    }
  }

  /// Prefetches what an RTP packet leads to while it is opened. It may be anybody's packet: no answer depends on it. Returns what it
  /// counts as, by what it says.
  @inline(__always)
  private mutating func prefetchRoute(of bytes: UnsafeMutableBufferPointer<UInt8>, on id: TransportID) -> IntakeClass {
    guard bytes.count >= PacketView.fixedHeaderLength else { return .unrouted }
    let ssrc = UnsafeBufferPointer(bytes).span.uint32(at: 8)
    ends.transports[id].security.prefetchOpening(ssrc: ssrc)
    guard let route = ends.transports[id].routes.findIncoming(ssrc) else { return .unrouted }
    tracks.encodings.prefetch(route.encoding, bytes: MemoryLayout<EncodingSlot>.size)
    return route.counts
  }

  /// Drops a packet unread that is above a publisher's bound. It is not asked for again: that would make what is too much still more.
  @inline(never)
  private mutating func dropExcess(
    _ bytes: UnsafeMutableBufferPointer<UInt8>, of kind: IntakeClass, on id: TransportID
  ) {
    ends.transports[id].noteExcess(kind, &turn)
    guard bytes.count >= PacketView.fixedHeaderLength else { return }
    let header = UnsafeBufferPointer(bytes).span
    guard let route = ends.transports[id].routes.findIncoming(header.uint32(at: 8)), !route.isRetransmission,
      tracks.encodings.contains(route.encoding)
    else { return }
    tracks.encodings[route.encoding].encoding.dropped(sequence: header.uint16(at: 2))
  }
}

extension Transport {
  /// Counts a datagram that is above the publisher's bound, and tells now and then whose it was.
  mutating func noteExcess(_ kind: IntakeClass, _ turn: inout Turn) {
    turn.drop(.overBitrate)
    guard let limit = bounds.takeNews(of: kind, at: turn.now) else { return }
    turn.tell(.transportExceeds(key, kind, bitsPerSecond: limit))
  }

  /// Drops a packet that belongs to no track, and tells now and then of it.
  @inline(never)
  fileprivate mutating func dropStray(_ arrival: Arrival, _ tracks: borrowing Tracks, _ turn: inout Turn) {
    turn.drop(.unknownStream)
    let report = Demultiplexer.stray(arrival, &routes, tracks, at: turn.now)
    if let report { turn.tell(.streamStrays(key, report)) }
  }

  /// Drops a packet whose payload type its line does not have. Where it is media and nothing else has come of the stream, it is one that
  /// nobody will ever see.
  @inline(never)
  fileprivate mutating func dropUnknownPayload(of arrival: Arrival, isMedia: Bool, _ turn: inout Turn) {
    turn.drop(.unknownPayloadType)
    let view = arrival.view
    guard isMedia, routes.stray.note(view.ssrc, isMedia: true, at: turn.now) else { return }
    let report = StrayStreamReport(ssrc: view.ssrc, payloadType: view.payloadType, cause: .unknownPayloadType)
    turn.tell(.streamStrays(key, report))
  }
}
