// A worker, its peers and the network between them in virtual time. Every turn does what the I/O shell does: takes what has
// arrived, polls what is due, flushes.

import Basics
import Crypto
import DTLS
import Forwarding
import RTP
import Testing

@testable import Media

/// A whole call. Same seed, same call.
final class Call {
  /// Arrivals within one step are one batch, as with `recvmmsg`.
  static let step: Int64 = 100_000
  static let serverCertificate = try? Certificate(wallMilliseconds: 1_760_000_000_000)
  static let peerCertificate = try? Certificate(wallMilliseconds: 1_760_000_000_000)
  static let server = SocketAddress(v4: 0xc000_0201, port: 40_000)

  private(set) var now = Instant.zero + .seconds(1)
  var worker: WorkerState
  private(set) var peers: [VirtualPeer] = []
  private(set) var events: [(at: Instant, event: WorkerEvent)] = []
  /// Arrivals at the server by peer and transport-wide number.
  private(set) var arrivals: [Int: [UInt16: Instant]] = [:]
  /// What has arrived lately, for replays.
  private(set) var recent: [(path: Path, bytes: [UInt8])] = []
  /// Says which packets of publishers the network loses besides what the link does.
  var loses: ((Int, SentPacket) -> Bool)?
  /// Looks at every datagram of the server.
  var onDatagram: ((Path, [UInt8]) -> Void)?
  /// Runs in every turn before what is due leaves.
  var beforeFlush: ((Call) -> Void)?
  /// Runs after every turn.
  var afterTurn: ((Call) -> Void)?
  var dice: SplitMix64
  var sink = CollectingSink()
  /// How many others everybody in rooms that are opened from now on hears at once; nil for all.
  var loudest: Int?
  /// What the worker runs on; nil for one that takes no time.
  var machine: Machine?
  private var flights = DeadlineQueue<Flight>()
  private var lastKey: UInt64
  private var nextSSRC: UInt32 = 0x1000_0000
  private(set) var addresses: [SocketAddress: Int] = [:]
  private var mids: [Int: Int] = [:]
  /// Tracks that another worker has.
  var mirrored: [ProducerKey: MediaKind] = [:]
  private(set) var subscriptions: [ConsumerKey: (peer: Int, producer: ProducerKey?)] = [:]

  /// `firstKey` keeps the keys of several workers apart, as the control plane does.
  init(seed: UInt64 = 1, settings: WorkerState.Settings = WorkerState.Settings(), firstKey: UInt64 = 100) throws {
    dice = SplitMix64(seed: seed)
    lastKey = firstKey
    let certificate = try #require(Self.serverCertificate)
    worker = WorkerState(certificate: certificate, settings: settings, seed: seed)
  }

  func makeKey() -> UInt64 {
    lastKey += 1
    return lastKey
  }

  func makeSSRC() -> UInt32 {
    nextSSRC += 0x1001
    return nextSSRC
  }

  func apply(_ command: WorkerCommand) {
    worker.apply(command, at: now)
    turn()
  }

  // MARK: who is there

  enum Remote {
    case known, wrongFingerprint
    /// The answer comes later, by `answer`.
    case later
  }

  /// `prepare` is for what the peer shall do otherwise from its first turn on.
  func join(
    _ name: String, room: UInt64 = 1, remote: Remote = .known, serverRole: DTLSRole = .server,
    prepare: (VirtualPeer) -> Void = { _ in }
  ) throws -> VirtualPeer {
    let key = TransportKey(makeKey())
    let (local, server) = (ICECredentials.random(using: &dice), ICECredentials.random(using: &dice))
    let peer = try VirtualPeer(
      index: peers.count, name: name, key: key, certificate: try #require(Self.peerCertificate), server: Self.server,
      serverFingerprint: try #require(Self.serverCertificate).sha256Fingerprint, credentials: (local, server),
      role: serverRole == .server ? .client : .server)
    prepare(peer)
    peers.append(peer)
    addresses[peer.address] = peer.index
    apply(.openTransport(key, room: RoomKey(room), credentials: server, loudest: loudest))
    switch remote {
    case .known: answer(peer, serverRole: serverRole)
    case .wrongFingerprint: answer(peer, fingerprint: try #require(Self.serverCertificate).sha256Fingerprint)
    case .later: break
    }
    return peer
  }

  func answer(_ peer: VirtualPeer, fingerprint: CertificateFingerprint? = nil, serverRole: DTLSRole = .server) {
    apply(
      .setRemote(
        peer.key,
        RemoteTransport(
          credentials: peer.local, fingerprints: [fingerprint ?? peer.certificate.sha256Fingerprint], role: serverRole))
    )
  }

  func move(_ peer: VirtualPeer, to address: SocketAddress, announces: Bool = true) {
    addresses[address] = peer.index
    peer.move(to: address, at: now, announces: announces)
  }

  /// A track; `layers` are packets per frame, lowest layer first. Several of them get RIDs and no SSRC in SDP. One that is not `declared` has
  /// neither SSRC, MID nor RID.
  @discardableResult
  func publish(
    _ peer: VirtualPeer, _ kind: MediaKind, codec: CodecProfile = .vp8, layers: [Int] = [2], nack: Bool = true,
    pausesLayers: Bool = false, declared: Bool = true
  )
    -> ProducerKey
  {
    let key = ProducerKey(makeKey())
    let mid = "\(mids[peer.index, default: 0])"
    mids[peer.index, default: 0] += 1
    let counts = kind == .audio ? [1] : layers
    let sending = counts.enumerated().map { index, count in
      SendLayer(
        rid: counts.count > 1 ? "r\(index)" : nil, ssrc: makeSSRC(), rtxSSRC: kind == .video ? makeSSRC() : nil,
        packetsPerFrame: count, packetSize: kind == .audio ? 90 : 1_000, &dice)
    }
    var track = PublishedTrack(key: key, kind: kind, mid: mid, codec: kind == .audio ? .opus : codec, layers: sending)
    if peer.isConnected { track.next = now }
    if !declared { track.taggedPackets = 0 }
    peer.tracks.append(track)
    let encodings = sending.map {
      $0.rid == nil && !declared
        ? EncodingParameters()
        : $0.rid == nil ? EncodingParameters(ssrc: $0.ssrc, rtxSSRC: $0.rtxSSRC) : EncodingParameters(rid: $0.rid)
    }
    apply(
      .addProducer(
        key, transport: peer.key,
        parameters: ReceiveParameters(
          mid: mid, kind: kind, payloads: Agreed.payloads(Agreed.publisher, kind),
          extensions: Agreed.publisherExtensions, encodings: encodings, nack: nack && kind == .video),
        publisher: Publisher(peer.key.value, canonicalName: peer.name), pausesLayers: pausesLayers))
    return key
  }

  /// A subscription; one to no producer is a view of video that shows nothing yet.
  @discardableResult
  func subscribe(
    _ peer: VirtualPeer, to producer: ProducerKey?, codecs: [CodecProfile]? = nil, paused: Bool = false,
    layer: Int? = nil, hasRTX: Bool = true, hasRED: Bool = false, hasFeedback: Bool = true, isDescribed: Bool = true
  ) -> ConsumerKey {
    let key = ConsumerKey(makeKey())
    let kind = peers.flatMap(\.tracks).first { $0.key == producer }?.kind ?? producer.flatMap { mirrored[$0] } ?? .video
    var payloads = Agreed.payloads(Agreed.subscriber, kind).filter { codecs?.contains($0.codec) ?? true }
    if hasRED {
      for index in payloads.indices where kind == .audio { payloads[index].redPayloadType = Agreed.otherREDPayloadType }
    }
    if !hasRTX { for index in payloads.indices { payloads[index].rtxPayloadType = nil } }
    var extensions = Agreed.subscriberExtensions
    if !hasFeedback { extensions.transportSequence = 0 }
    if !isDescribed { extensions.dependencyDescriptor = 0 }
    let parameters = SendParameters(
      mid: "s\(key.value)", kind: kind, ssrc: makeSSRC(), rtxSSRC: kind == .video && hasRTX ? makeSSRC() : nil,
      payloads: payloads, extensions: extensions, nack: kind == .video)
    peer.streams.append(ReceivedStream(consumer: key, parameters))
    subscriptions[key] = (peer.index, producer)
    apply(
      .addConsumer(key, producer: producer, transport: peer.key, parameters: parameters, paused: paused, layer: layer))
    return key
  }

  func track(_ key: ProducerKey, _ change: (inout PublishedTrack) -> Void) {
    for peer in peers {
      for index in peer.tracks.indices where peer.tracks[index].key == key { change(&peer.tracks[index]) }
    }
  }

  func layers(_ key: ProducerKey) -> [SendLayer] {
    peers.flatMap(\.tracks).first { $0.key == key }?.layers ?? []
  }

  func stream(_ key: ConsumerKey) -> ReceivedStream? {
    peers.flatMap(\.streams).first { $0.consumer == key }
  }

  func stopPublishing(_ key: ProducerKey) {
    apply(.removeProducer(key))
    for peer in peers { peer.tracks.removeAll { $0.key == key } }
  }

  // MARK: time

  func run(_ duration: TimeDelta) {
    let end = now + duration
    while true {
      var next = min(flights.next, worker.nextDeadline)
      for peer in peers { next = min(next, peer.nextDeadline) }
      guard next < end else {
        now = end
        return
      }
      // Nothing stops the clock: what is overdue is due now.
      let rounded = Instant(nanoseconds: (max(next, now).nanoseconds + Self.step - 1) / Self.step * Self.step)
      if rounded >= end {
        now = end
        return
      }
      now = max(rounded, now + TimeDelta(nanoseconds: next <= now ? Self.step : 0))
      turn()
    }
  }

  /// Runs until something holds; false when it does not within `limit`.
  func run(atMost limit: TimeDelta, until condition: () -> Bool) -> Bool {
    let end = now + limit
    while !condition() {
      if now >= end { return false }
      run(.milliseconds(5))
    }
    return true
  }

  func turn() {
    while let flight = flights.pop(at: now) { deliver(flight) }
    if machine == nil { worker.poll(at: now) }
    for peer in peers {
      peer.poll(at: now)
      drain(peer)
    }
    beforeFlush?(self)
    if machine == nil { worker.flush(at: now, into: &sink) } else { workerTurn() }
    for (path, bytes) in sink.takeDatagrams() { fly(bytes, to: path) }
    for event in worker.takeEvents() { events.append((now, event)) }
    afterTurn?(self)
  }

  /// A turn of a worker that takes time: what has come waits in the kernel until the last turn is over.
  private func workerTurn() {
    guard var machine, machine.isFree(at: now) else { return }
    let (batch, waited) = machine.read(at: now)
    let before = worker.counters.packetsOut
    for datagram in batch { inject(datagram.bytes, from: datagram.path, at: datagram.arrival) }
    if machine.tells {
      worker.noteTurn(waited: waited, leaves: machine.hasMore, busy: machine.busy, used: machine.used, at: now)
    }
    worker.poll(at: now)
    worker.flush(at: now, into: &sink)
    machine.work(datagrams: batch.count, packets: Int(worker.counters.packetsOut - before), at: now)
    machine.rest(worker.rest(at: machine.free))
    self.machine = machine
  }

  private func deliver(_ flight: Flight) {
    switch flight.direction {
    case .toServer(let path, let peer, let sent):
      if let number = sent?.transportSequence, arrivals[peer]?[number] == nil {
        arrivals[peer, default: [:]][number] = now
      }
      if recent.count == 300 { recent.removeFirst(100) }
      recent.append((path, flight.bytes))
      if machine?.take(flight.bytes, from: path, at: now) == nil { inject(flight.bytes, from: path) }
    case .toPeer(let path):
      guard let index = addresses[path.remote], peers[index].address == path.remote else { return }
      peers[index].handle(flight.bytes, at: now)
    }
  }

  /// Hands a datagram to the worker as if it had arrived.
  func inject(_ bytes: [UInt8], from path: Path, at arrival: Instant? = nil) {
    var copy = bytes
    copy.withUnsafeMutableBytes { worker.receive($0, from: path, at: arrival ?? now) }
  }

  private func drain(_ peer: VirtualPeer) {
    for (bytes, sent) in peer.outbox {
      if let sent, loses?(peer.index, sent) == true { continue }
      let flight = Flight(direction: .toServer(peer.path, peer: peer.index, sent), bytes: bytes)
      for due in peer.uplink.arrivals(of: bytes.count, at: now, &dice, isMedia: isMedia(bytes)) {
        flights.push(due, flight)
      }
    }
    peer.outbox.removeAll(keepingCapacity: true)
  }

  private func fly(_ bytes: [UInt8], to path: Path) {
    onDatagram?(path, bytes)
    guard let index = addresses[path.remote] else { return }
    for due in peers[index].downlink.arrivals(of: bytes.count, at: now, &dice, isMedia: isMedia(bytes)) {
      flights.push(due, Flight(direction: .toPeer(path), bytes: bytes))
    }
  }

  private func isMedia(_ bytes: [UInt8]) -> Bool { PacketClass.classify(bytes.span) == .rtp }

  // MARK: what happened

  func count(_ matches: (WorkerEvent) -> Bool) -> Int { events.count { matches($0.event) } }

  func isConnected(_ peer: VirtualPeer) -> Bool {
    count { if case .transportConnected(peer.key) = $0 { true } else { false } } > 0
  }

  var lastSpeakers: [UInt64]? {
    for (_, event) in events.reversed() {
      if case .activeSpeakers(_, let speakers) = event { return speakers.map(\.producer) }
    }
    return nil
  }

  func forgetEvents() { events.removeAll() }
}

extension WorkerState {
  /// How many SSRCs a transport knows of its peer.
  mutating func routes(of key: TransportKey) -> Int? {
    directory.transports[key].map { ends.transports[$0].routes.incoming.count }
  }
}
