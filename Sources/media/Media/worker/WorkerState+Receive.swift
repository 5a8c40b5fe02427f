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
    counted.packetsIn &+= 1
    counted.bytesIn &+= UInt64(datagram.count)
    let bytes = datagram.assumingMemoryBound(to: UInt8.self)
    switch PacketClass.classify(UnsafeBufferPointer(bytes).span) {
    case .stun: receiveSTUN(UnsafeBufferPointer(bytes), from: path, at: now)
    case .dtls: receiveDTLS(UnsafeBufferPointer(bytes), from: path, at: now)
    case .rtp: receiveRTP(bytes, from: path, at: now)
    case .rtcp: receiveRTCP(bytes, from: path, at: now)
    case .turnChannel, .unknown: counted.drops.count(.unknownProtocol)
    }
  }

  private mutating func receiveSTUN(_ bytes: UnsafeBufferPointer<UInt8>, from path: Path, at now: Instant) {
    // What comes from elsewhere never gets a path, and so all else of it ends as well.
    guard settings.admits(path.remote) else { return counted.drops.count(.unknownSource) }
    guard let message = try? MessageView.parse(bytes.span), let key = UfragKey(recipientOf: message, bytes.span),
      let id = directory.transport(fragment: key), ends.transports.contains(id)
    else {
      counted.drops.count(.badSTUN)
      return
    }
    let owner = directory.paths[path]
    if let owner, owner != id, ends.transports.contains(owner), ends.transports[owner].holds(path, at: now) {
      counted.drops.count(.badSTUN)
      return
    }
    let couldSend = ends.transports[id].canSend
    let network = PeerNetwork(path.remote)
    let outcome = ends.transports[id].handleSTUN(
      message, bytes.span, from: path, isKnown: owner == id, at: now,
      answersAll: failedChecks.answers(network, at: now), reply: &failedChecks.reply, control: &egress.control)
    if let drop = outcome.drop {
      counted.drops.count(drop)
      if outcome.toldWhy { failedChecks.answered(network, at: now) }
      return
    }
    claim(path, for: id)
    ends.transports[id].mayAnswer(on: path)
    ends.transports[id].expectConnection(anew: false, at: now)
    if outcome.recovered { recovered(id, on: path) }
    // The handshake may have been done on a path that is nominated only now.
    if !couldSend && ends.transports[id].canSend { forwarder.wake(.transport(id), &ends) }
    // A check may be the first sign of a line that was dark.
    if ends.transports[id].isDark { followLine(of: id, at: now) }
    settle(id, at: now)
  }

  /// Media from this path is the transport's from now on.
  private mutating func claim(_ path: Path, for id: TransportID) {
    if let owner = directory.paths[path], owner != id, ends.transports.contains(owner) { seize(path, from: owner) }
    if let evicted = ends.transports[id].remember(path), directory.paths[evicted] == id {
      directory.paths[evicted] = nil
    }
    directory.paths[path] = id
  }

  /// A path is another's from now on. Where media went there the transport is lost, until its peer checks again.
  private mutating func seize(_ path: Path, from owner: TransportID) {
    let wasUsed = ends.transports[owner].path == path
    ends.transports[owner].forget(path)
    guard wasUsed else { return }
    ends.transports[owner].expireConsent()
    releasePaths(of: owner)
    // One that is over has been told of.
    if ends.transports[owner].security.hasFailed { return }
    turn.tell(.transportLost(ends.transports[owner].key))
  }

  /// The transport's paths lead nowhere until they are checked again.
  mutating func releasePaths(of id: TransportID) {
    if let lost = ends.transports[id].foundLostPath() { release(lost, of: id) }
    for path in ends.transports[id].paths { release(path, of: id) }
  }

  /// Consent has run out. What the peer sends from where it was last is still taken, as it may be all that it has to say.
  mutating func loseConsent(of id: TransportID) {
    for path in ends.transports[id].paths where path != ends.transports[id].lostPath { release(path, of: id) }
    ends.transports[id].disown()
    turn.tell(.transportLost(ends.transports[id].key))
  }

  /// Consent is back, by a check or by media.
  private mutating func recovered(_ id: TransportID, on path: Path) {
    if let lost = ends.transports[id].foundLostPath(), lost != path { release(lost, of: id) }
    // No check brings back what the peer has closed.
    if ends.transports[id].security.hasFailed { return }
    turn.tell(.transportRecovered(ends.transports[id].key))
  }

  private mutating func release(_ path: Path, of id: TransportID) {
    if directory.paths[path] == id { directory.paths[path] = nil }
    ends.transports[id].forget(path)
  }

  /// Notes where authenticated media, no replay, came from.
  @inline(__always)
  mutating func heard(_ id: TransportID, from path: Path, at now: Instant) {
    if ends.transports[id].heard(from: path, at: now) { returned(id, on: path, at: now) }
  }

  private mutating func returned(_ id: TransportID, on path: Path, at now: Instant) {
    claim(path, for: id)
    recovered(id, on: path)
    forwarder.wake(.transport(id), &ends)
    settle(id, at: now)
  }

  private mutating func receiveDTLS(_ bytes: UnsafeBufferPointer<UInt8>, from path: Path, at now: Instant) {
    guard let id = directory.paths[path], ends.transports.contains(id) else {
      counted.drops.count(.unknownSource)
      return
    }
    if let drop = ends.transports[id].security.handle(bytes.span, certificate: certificate, at: now) {
      counted.drops.count(drop)
      if drop == .tooManyRecords { return }
    } else {
      ends.transports[id].heardHandshake(bytes.count, from: path)
    }
    settle(id, at: now)
  }

  private mutating func receiveRTP(_ bytes: UnsafeMutableBufferPointer<UInt8>, from path: Path, at now: Instant) {
    guard let id = directory.paths[path], ends.transports.contains(id) else {
      counted.drops.count(.unknownSource)
      return
    }
    let counts = prefetchRoute(of: bytes, on: id)
    guard ends.transports[id].bounds.admits(bytes.count, of: counts, at: now) else {
      return IntakeExcess.drop(bytes, of: counts, on: id, &self, at: now)
    }
    var packet = bytes.mutableSpan
    let length: Int
    switch ends.transports[id].security.unprotectRTP(&packet) {
    case .drop(let reason):
      counted.drops.count(reason)
      return
    case .plaintext(let count): length = count
    }
    ends.transports[id].bounds.take(bytes.count, of: counts, at: now)
    heard(id, from: path, at: now)
    let plaintext = UnsafeMutableBufferPointer(rebasing: bytes[..<length])
    guard let parsed = try? PacketView.parse(plaintext.span), let view = try? parsed.strippingPadding(plaintext.span)
    else {
      counted.drops.count(.malformed)
      return
    }
    let extensions = ParsedExtensions(plaintext.span, view, ids: ends.transports[id].extensions)
    if let number = extensions.transportSequence, ends.transports[id].record(number, at: now) { schedule(id, at: now) }
    let found = forwarder.route(view, extensions, plaintext.span, &ends.transports[id].routes, at: now)
    guard let route = found, forwarder.encodings.contains(route.encoding) else {
      counted.drops.count(.unknownStream)
      let report = Demultiplexer.stray(
        view, extensions, plaintext.span, &ends.transports[id].routes, forwarder, at: now)
      if let report { turn.tell(.streamStrays(ends.transports[id].key, report)) }
      return
    }
    forwarder.accept(
      view, extensions, plaintext, route: route, &ends, &egress, &turn)
  }

  /// Prefetches what an RTP packet leads to while it is opened. It may be anybody's packet: no answer depends on it. Returns what it
  /// counts as, by what it says.
  @inline(__always)
  private mutating func prefetchRoute(of bytes: UnsafeMutableBufferPointer<UInt8>, on id: TransportID) -> IntakeClass {
    guard bytes.count >= PacketView.fixedHeaderLength else { return .unrouted }
    let ssrc = UnsafeBufferPointer(bytes).span.uint32(at: 8)
    ends.transports[id].security.prefetchOpening(ssrc: ssrc)
    guard let route = ends.transports[id].routes.findIncoming(ssrc) else { return .unrouted }
    forwarder.encodings.prefetch(route.encoding, bytes: MemoryLayout<EncodingSlot>.size)
    return route.counts
  }
}

/// What is above a publisher's bound.
enum IntakeExcess {
  /// Drops a packet unread. It is not asked for again: that would make what is too much still more.
  @inline(never)
  fileprivate static func drop(
    _ bytes: UnsafeMutableBufferPointer<UInt8>, of kind: IntakeClass, on id: TransportID, _ worker: inout WorkerState,
    at now: Instant
  ) {
    note(kind, on: id, &worker, at: now)
    guard bytes.count >= PacketView.fixedHeaderLength else { return }
    let header = UnsafeBufferPointer(bytes).span
    guard let route = worker.ends.transports[id].routes.findIncoming(header.uint32(at: 8)), !route.isRetransmission,
      worker.forwarder.encodings.contains(route.encoding)
    else { return }
    worker.forwarder.encodings[route.encoding].encoding.dropped(sequence: header.uint16(at: 2))
  }

  /// Counts a datagram, and tells now and then whose it was.
  static func note(_ kind: IntakeClass, on id: TransportID, _ worker: inout WorkerState, at now: Instant) {
    worker.counted.drops.count(.overBitrate)
    guard let limit = worker.ends.transports[id].bounds.takeNews(of: kind, at: now) else { return }
    worker.turn.tell(.transportExceeds(worker.ends.transports[id].key, kind, bitsPerSecond: limit))
  }
}
