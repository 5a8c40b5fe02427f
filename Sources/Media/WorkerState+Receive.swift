// From a datagram to a stored packet: whose it is, what is inside, and what of it is new.

import Basics
import Forwarding
import ICE
import RTP
import STUN

extension WorkerState {
  /// Takes in one datagram. The bytes are changed in place; nothing of them is kept but copies.
  public mutating func receive(_ datagram: UnsafeMutableRawBufferPointer, from path: Path, at now: Instant) {
    counters.packetsIn &+= 1
    counters.bytesIn &+= UInt64(datagram.count)
    let bytes = datagram.assumingMemoryBound(to: UInt8.self)
    switch PacketClass.classify(UnsafeBufferPointer(bytes).span) {
    case .stun: receiveSTUN(UnsafeBufferPointer(bytes), from: path, at: now)
    case .dtls: receiveDTLS(UnsafeBufferPointer(bytes), from: path, at: now)
    case .rtp: receiveRTP(bytes, from: path, at: now)
    case .rtcp: receiveRTCP(bytes, from: path, at: now)
    case .turnChannel, .unknown: counters.drops.count(.unknownProtocol)
    }
  }

  private mutating func receiveSTUN(_ bytes: UnsafeBufferPointer<UInt8>, from path: Path, at now: Instant) {
    guard let message = try? MessageView.parse(bytes.span), let key = UfragKey(recipientOf: message, bytes.span),
      let id = directory.transport(fragment: key), transports.contains(id)
    else {
      counters.drops.count(.badSTUN)
      return
    }
    if let owner = directory.paths[path], owner != id, transports.contains(owner),
      transports[owner].holds(path, at: now)
    {
      counters.drops.count(.badSTUN)
      return
    }
    let couldSend = transports[id].canSend
    let outcome = transports[id].handleSTUN(message, bytes.span, from: path, at: now, control: &control)
    if outcome.validated {
      claim(path, for: id)
      transports[id].expectConnection(anew: false, at: now)
    }
    if outcome.refused { counters.drops.count(.badSTUN) }
    if outcome.recovered { recovered(id, on: path) }
    // The handshake may have been done on a path that is nominated only now.
    if !couldSend && transports[id].canSend { wake(id, at: now) }
    settle(id, at: now)
  }

  /// Media from this path is the transport's from now on.
  private mutating func claim(_ path: Path, for id: TransportID) {
    if let owner = directory.paths[path], owner != id, transports.contains(owner) { take(path, from: owner) }
    if let evicted = transports[id].remember(path), directory.paths[evicted] == id { directory.paths[evicted] = nil }
    directory.paths[path] = id
  }

  /// A path is another's from now on. Where media went there the transport is lost, until its peer checks again.
  private mutating func take(_ path: Path, from owner: TransportID) {
    let wasUsed = transports[owner].path == path
    transports[owner].forget(path)
    guard wasUsed else { return }
    transports[owner].expireConsent()
    releasePaths(of: owner)
    events.append(.transportLost(transports[owner].key))
  }

  /// The transport's paths lead nowhere until they are checked again.
  mutating func releasePaths(of id: TransportID) {
    if let lost = transports[id].takeLostPath() { release(lost, of: id) }
    for path in transports[id].paths { release(path, of: id) }
  }

  /// Consent has run out. What the peer sends from where it was last is still taken, as it may be all that it has to say.
  mutating func loseConsent(of id: TransportID) {
    for path in transports[id].paths where path != transports[id].lostPath { release(path, of: id) }
    transports[id].disown()
    events.append(.transportLost(transports[id].key))
  }

  /// Consent is back, by a check or by media.
  private mutating func recovered(_ id: TransportID, on path: Path) {
    if let lost = transports[id].takeLostPath(), lost != path { release(lost, of: id) }
    events.append(.transportRecovered(transports[id].key))
  }

  private mutating func release(_ path: Path, of id: TransportID) {
    if directory.paths[path] == id { directory.paths[path] = nil }
    transports[id].forget(path)
  }

  /// Notes where authenticated media, no replay, came from.
  @inline(__always)
  mutating func heard(_ id: TransportID, from path: Path, at now: Instant) {
    if transports[id].heard(from: path, at: now) { returned(id, on: path, at: now) }
  }

  private mutating func returned(_ id: TransportID, on path: Path, at now: Instant) {
    claim(path, for: id)
    recovered(id, on: path)
    wake(id, at: now)
    settle(id, at: now)
  }

  private mutating func receiveDTLS(_ bytes: UnsafeBufferPointer<UInt8>, from path: Path, at now: Instant) {
    guard let id = directory.paths[path], transports.contains(id) else {
      counters.drops.count(.unknownSource)
      return
    }
    transports[id].heardHandshake(from: path)
    if !transports[id].security.handle(bytes.span, certificate: certificate, at: now) {
      counters.drops.count(.unexpectedDTLS)
    }
    settle(id, at: now)
  }

  private mutating func receiveRTP(_ bytes: UnsafeMutableBufferPointer<UInt8>, from path: Path, at now: Instant) {
    guard let id = directory.paths[path], transports.contains(id) else {
      counters.drops.count(.unknownSource)
      return
    }
    prefetch(behind: bytes, on: id)
    var packet = bytes.mutableSpan
    let length: Int
    switch transports[id].security.unprotectRTP(&packet) {
    case .drop(let reason):
      counters.drops.count(reason)
      return
    case .plaintext(let count): length = count
    }
    heard(id, from: path, at: now)
    let plaintext = UnsafeMutableBufferPointer(rebasing: bytes[..<length])
    guard let parsed = try? PacketView.parse(plaintext.span), let view = try? parsed.strippingPadding(plaintext.span)
    else {
      counters.drops.count(.malformed)
      return
    }
    let extensions = ParsedExtensions(plaintext.span, view, ids: transports[id].extensions)
    if let number = extensions.transportSequence, transports[id].record(number, at: now) { schedule(id, at: now) }
    guard let route = route(view, extensions, plaintext.span, on: id, at: now), encodings.contains(route.encoding)
    else {
      counters.drops.count(.unknownStream)
      return
    }
    accept(view, extensions, plaintext, route: route, at: now)
  }

  /// Has what an RTP packet leads to fetched into the CPU's caches while it is opened. It may be anybody's packet: no answer
  /// depends on it.
  @inline(__always)
  private mutating func prefetch(behind bytes: UnsafeMutableBufferPointer<UInt8>, on id: TransportID) {
    guard bytes.count >= PacketView.fixedHeaderLength else { return }
    let ssrc = UnsafeBufferPointer(bytes).span.uint32(at: 8)
    transports[id].security.prefetchOpening(ssrc: ssrc)
    guard let route = transports[id].routes.findIncoming(ssrc) else { return }
    encodings.prefetch(route.encoding, bytes: MemoryLayout<EncodingSlot>.size)
  }

  /// Finds the encoding of a packet: by SSRC, or by RID and MID for an SSRC that is new (RFC 8843 §9.2).
  private mutating func route(
    _ view: PacketView, _ extensions: ParsedExtensions, _ bytes: Span<UInt8>, on id: TransportID, at now: Instant
  ) -> IncomingRoute? {
    if let known = transports[id].routes.findIncoming(view.ssrc) { return known }
    let rid = extensions.repairedRid ?? extensions.rid
    for line in transports[id].routes.lines {
      if let mid = extensions.mid, !equal(bytes, mid, line.mid) { continue }
      if extensions.mid == nil && rid == nil { continue }
      guard let (_, isRetransmission) = producers[line.producer].payloads.codec(view.payloadType) else { continue }
      for encoding in line.encodings {
        if let rid, !equal(bytes, rid, encoding.rid) { continue }
        if rid == nil && !encoding.rid.isEmpty { continue }
        let route = IncomingRoute(
          ssrc: view.ssrc, encoding: encoding.encoding,
          isRetransmission: isRetransmission || extensions.repairedRid != nil)
        return adopt(route, on: id, at: now) ? route : nil
      }
    }
    return nil
  }

  /// Takes a new SSRC for an encoding. One that takes another's place begins with numbers and a clock of its own, and so
  /// does what receivers are sent of it.
  mutating func adopt(_ route: IncomingRoute, on id: TransportID, at now: Instant) -> Bool {
    guard route.isRetransmission || encodings[route.encoding].encoding.admits(ssrc: route.ssrc, at: now),
      transports[id].routes.addIncoming(route)
    else { return false }
    guard !route.isRetransmission, encodings[route.encoding].encoding.follow(ssrc: route.ssrc) else { return true }
    encodings[route.encoding].mutedUntil = .min
    let producer = encodings[route.encoding].producer
    let layer = Int8(truncatingIfNeeded: encodings[route.encoding].encoding.index)
    for consumer in producers[producer].consumers where consumers[consumer].consumer.currentLayer == layer {
      let target = consumers[consumer].consumer.target
      consumers[consumer].consumer.changeSource(target: target)
    }
    if producers[producer].kind == .video && !producers[producer].isMuted { wantKeyframe(route.encoding) }
    return true
  }

  private func equal(_ bytes: Span<UInt8>, _ range: Range<Int>, _ text: [UInt8]) -> Bool {
    guard range.count == text.count else { return false }
    for index in 0..<text.count where bytes[range.lowerBound + index] != text[index] { return false }
    return true
  }

  /// Stores a packet that belongs to a known encoding and lets it be forwarded.
  private mutating func accept(
    _ view: PacketView, _ extensions: ParsedExtensions, _ bytes: UnsafeMutableBufferPointer<UInt8>,
    route: IncomingRoute,
    at now: Instant
  ) {
    let producer = encodings[route.encoding].producer
    prefetchReceivers(of: producer)
    guard let (codec, isRetransmission) = producers[producer].payloads.codec(view.payloadType) else {
      counters.drops.count(.unknownPayloadType)
      return
    }
    var sequence = view.sequenceNumber
    var payload = view.payload
    if isRetransmission {
      guard let original = Retransmission.originalSequenceNumber(bytes.span, view) else {
        counters.drops.count(.uselessRetransmission)
        return
      }
      sequence = original
      payload = (payload.lowerBound + Retransmission.overhead)..<payload.upperBound
    }
    guard payload.count <= PacketCache.longestPayload else {
      counters.drops.count(.tooLarge)
      return
    }
    let clockRate = encodings[route.encoding].encoding.clockRate
    encodings[route.encoding].encoding.rate.add(bytes.count, at: now)
    guard
      case .new(let unwrapped, let needsKeyframe) = encodings[route.encoding].encoding.accept(
        sequence: sequence, isRetransmission: isRetransmission, at: now)
    else {
      counters.drops.count(isRetransmission ? .uselessRetransmission : .duplicate)
      return
    }
    if !isRetransmission {
      encodings[route.encoding].encoding.statistics.received(
        unwrapped, timestamp: view.timestamp, clockRate: clockRate, at: now)
    }
    if needsKeyframe && producers[producer].kind == .video && !producers[producer].isMuted {
      encodings[route.encoding].encoding.keyframes.request()
    }
    schedule(encoding: route.encoding)
    let body = UnsafeBufferPointer(rebasing: bytes[payload])
    // Padding alone is passed on as an empty packet: its number must not look like a loss to the receivers.
    guard let info = payload.isEmpty ? PayloadInfo() : PayloadInfo.parse(body.span, codec: codec, marker: view.marker)
    else {
      counters.drops.count(.malformed)
      return
    }
    let packet = StoredPacket(
      sequence: unwrapped, timestamp: view.timestamp, arrival: now, length: UInt16(payload.count), codec: codec,
      marker: view.marker, info: info, audioLevel: extensions.audioLevel, orientation: extensions.videoOrientation)
    encodings[route.encoding].encoding.cache.insert(packet, payload: UnsafeRawBufferPointer(body))
    if info.startsKeyframe && producers[producer].kind == .video {
      encodings[route.encoding].encoding.keyframeArrived()
    }
    deliver(packet, encoding: route.encoding, producer: producer, at: now)
  }

  /// What a muted track sends stops here; what it says of its loudness too.
  private mutating func deliver(
    _ packet: StoredPacket, encoding: EncodingID, producer: ProducerID, at now: Instant
  ) {
    if producers[producer].isMuted || packet.sequence <= encodings[encoding].mutedUntil {
      counters.drops.count(.muted)
      return
    }
    if let level = packet.audioLevel { heard(level.level, producer: producer, at: now) }
    if producers[producer].encodings.count > 1 { scheduleLayers(producer, at: now) }
    forward(packet, encoding: encoding, at: now)
  }

  private mutating func heard(_ level: UInt8, producer: ProducerID, at now: Instant) {
    let room = producers[producer].room
    rooms[room].speakers.heard(producers[producer].key.value, level: level, at: now)
    guard !rooms[room].speakersScheduled else { return }
    rooms[room].speakersScheduled = true
    deadlines.push(rooms[room].speakers.nextDeadline, .room(room))
  }
}
