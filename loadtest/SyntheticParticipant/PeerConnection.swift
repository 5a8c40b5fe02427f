// One peer connection of a participant, sans-IO: transport below, sender or receiver above, and a bad network in between.
//
//   socket ─▶ handle ─▶ SecureTransport ─▶ MediaReceiver (RTP) / both (RTCP)
//   socket ◀─ outbox ◀─ SecureTransport ◀─ MediaSender / MediaReceiver ◀─ poll at nextDeadline

import Basics
import Crypto
import RTP
import RoostProtocol

/// What a connection has to tell.
enum ConnectionEvent: Sendable, Equatable {
  case connected
  case lostConsent
  case failed(String)
}

/// What makes a connection.
struct ConnectionSetup: Sendable {
  var certificate: Certificate
  var credentials: ICECredentials
  var dtlsRole = DTLSRole.client
  var splitsClientHello = false
  var usesServersSRTP = false
  var spotChecks = false
  var impairments = Impairments()
  var feedback = BandwidthFeedback.twcc
  var user: String
  var seed: UInt64
  /// Wall clock, milliseconds since 1970, at the monotonic clock's origin.
  var wallOrigin: Int64
  var tracks: [SendTrack] = []
  var fault: ServerFault?
  var inspector: (@Sendable (_ isAudio: Bool) -> any FrameInspector)?
}

/// What a connection can be told while it lives.
enum ConnectionCommand: Sendable {
  /// Start, or restart ICE.
  case begin(RemoteEnd, local: ICECredentials)
  /// What the answer took, by mid; lines that are not named were not taken.
  case agree([String: AgreedLine], trackIds: [String: String])
  case setLines([ReceiveLine])
  case setSending(mid: String, Bool)
  /// Another track, which the next answer may take.
  case add(SendTrack)
  case expectJump(trackId: String)
  case impair(Impairments)
  /// So many datagrams at once.
  case storm(Storm, Int)
  case forgetGaps
}

struct PeerConnection: ~Copyable {
  /// Of so many reads of a light connection one brings whole packets.
  static let readsPerCheck = 16

  private var transport: SecureTransport
  private var sender: MediaSender
  private var receiver: MediaReceiver
  private(set) var impairments: Impairments
  /// The line that the impairments have, at work.
  private var line: AccessLine?
  private var outbox = Outbox()
  private var late = JitterQueue()
  private var events: [ConnectionEvent] = []
  private var announced = ConnectionState.idle
  private var link: SplitMix64
  private var hasLostConsent = false
  private let wallOrigin: Int64
  private let spotChecks: Bool
  /// Which reads are opened is drawn: media comes at regular times, and a regular choice would meet the same streams each time.
  private var choice: SplitMix64
  private var injector: FaultInjector?
  /// Datagrams in, out, and kept in.
  private(set) var received: UInt64 = 0
  private var sent: UInt64 = 0
  private var unsent: UInt64 = 0

  init(_ setup: ConnectionSetup) throws(CryptoError) {
    link = SplitMix64(seed: setup.seed)
    transport = try SecureTransport(
      role: setup.dtlsRole, certificate: setup.certificate, local: setup.credentials,
      splitsClientHello: setup.splitsClientHello, isQuick: setup.usesServersSRTP, tieBreaker: link.next())
    sender = MediaSender(cname: setup.user)
    sender.tracks = setup.tracks
    receiver = MediaReceiver(
      ssrc: UInt32.random(in: 1 ... .max, using: &link), cname: setup.user, feedback: setup.feedback,
      inspector: setup.inspector)
    impairments = setup.impairments
    line = setup.impairments.line.map { AccessLine($0, seed: setup.seed) }
    wallOrigin = setup.wallOrigin
    spotChecks = setup.spotChecks
    choice = SplitMix64(seed: ~setup.seed)
    injector = setup.fault.map { FaultInjector($0) }
  }

  /// Notes whether more may wait in the socket than was read.
  mutating func note(isBehind: Bool, at now: Instant) {
    // No longer than a busy thread's turns are: a read may have taken exactly what there was.
    receiver.behindUntil = isBehind ? now + .milliseconds(50) : .zero
  }

  var nextDeadline: Instant {
    let onLine = min(line?.nextDue ?? .distantFuture, late.nextDue)
    guard transport.state == .connected else { return min(transport.nextDeadline, onLine) }
    let delayed = injector?.nextDeadline ?? .distantFuture
    return min(transport.nextDeadline, sender.nextDeadline, receiver.nextDeadline, delayed, onLine)
  }

  mutating func takeEvents() -> [ConnectionEvent] {
    guard !events.isEmpty else { return [] }
    defer { events = [] }
    return events
  }

  // MARK: Inputs

  /// Whether packets of the next read are to be opened. Where not all are checked and everything flows over a good network,
  /// those of one read in `readsPerCheck` are, and the others are counted by their headers.
  mutating func opensNextPackets() -> Bool {
    guard spotChecks, injector == nil, impairments == Impairments(), receiver.isFlowing() else {
      receiver.standsFor = 1
      return true
    }
    receiver.standsFor = Self.readsPerCheck
    return choice.next() % UInt64(Self.readsPerCheck) == 0
  }

  /// Takes a datagram that `arrived` in the kernel before `now`.
  mutating func handle(
    _ datagram: inout MutableSpan<UInt8>, from source: SocketAddress, arrived: Instant, at now: Instant
  ) {
    guard admit(datagram.span) != nil else { return }
    if line == nil {
      take(&datagram, from: source, arrived: arrived, at: now)
    } else {
      line?.receive(datagram.span, from: source, at: arrived)
    }
  }

  /// Takes what has come through the line.
  private mutating func takeFromLine(at now: Instant) {
    while let next = line?.take(at: now) {
      var bytes = next.bytes
      var datagram = bytes.mutableSpan
      take(&datagram, from: next.from, arrived: next.due, at: now)
    }
  }

  /// Takes a datagram of `length` bytes, of which only the first may have been read: of RTP it is the header that counts.
  mutating func glance(
    _ datagram: inout MutableSpan<UInt8>, of length: Int, from source: SocketAddress, arrived: Instant, at now: Instant
  ) {
    guard let kind = admit(datagram.span) else { return }
    if kind == .rtp {
      receiver.glance(datagram.span, length: length - transport.rtpOverhead, at: arrived)
    } else if datagram.count == length {
      take(&datagram, from: source, arrived: arrived, at: now)
    }
  }

  /// Counts a datagram and says what it is; nil where the network loses it.
  private mutating func admit(_ datagram: Span<UInt8>) -> PacketClass? {
    received += 1
    if impairments.isBlackout { return nil }
    let kind = PacketClass.classify(datagram)
    if kind == .rtp || kind == .rtcp, link.chance(impairments.receiveLoss) { return nil }
    return kind
  }

  private mutating func take(
    _ datagram: inout MutableSpan<UInt8>, from source: SocketAddress, arrived: Instant, at now: Instant
  ) {
    switch transport.handle(&datagram, from: source, at: now, outbox: &outbox) {
    case .none: break
    case .rtp(let length): takeMedia(&datagram, length: length, at: arrived)
    case .rtcp(let length): handleCompound(datagram.span.extracting(first: length), at: now)
    }
    announce(at: now)
  }

  private mutating func takeMedia(_ packet: inout MutableSpan<UInt8>, length: Int, at arrived: Instant) {
    switch injector?.apply(&packet, length: length, at: arrived) ?? .once {
    case .never: return
    case .once: break
    case .twice: receiver.receive(&packet, length: length, at: arrived)
    }
    receiver.receive(&packet, length: length, at: arrived)
  }

  private mutating func deliverDelayed(at now: Instant) {
    while var bytes = injector?.takeDue(at: now) {
      var packet = bytes.mutableSpan
      receiver.receive(&packet, length: packet.count, at: now)
    }
  }

  private mutating func handleCompound(_ bytes: Span<UInt8>, at now: Instant) {
    var reader = RTCPReader()
    while true {
      do throws(RTPError) {
        guard let packet = try reader.next(bytes) else { return }
        sender.handle(packet, bytes, at: now, transport: &transport, outbox: &outbox)
        receiver.handle(packet, at: now)
      } catch {
        if error != .malformed { return }
      }
    }
  }

  mutating func poll(at now: Instant) {
    takeFromLine(at: now)
    transport.poll(at: now, outbox: &outbox)
    announce(at: now)
    guard transport.state == .connected else { return }
    deliverDelayed(at: now)
    let wall = NTPTime(wallMilliseconds: wallOrigin + now.nanoseconds / 1_000_000)
    sender.poll(at: now, wall: wall, transport: &transport, outbox: &outbox)
    receiver.poll(at: now, transport: &transport, outbox: &outbox)
  }

  mutating func apply(_ command: ConnectionCommand, at now: Instant) {
    switch command {
    case .begin(let remote, let local):
      hasLostConsent = false
      transport.begin(remote, local: local)
    case .agree(let lines, let trackIds): agree(lines, trackIds, at: now)
    case .setLines(let lines): receiver.setLines(lines)
    case .setSending(let mid, let isSending):
      for index in sender.tracks.indices where sender.tracks[index].mid == mid {
        sender.tracks[index].isSending = isSending
      }
    case .add(let track): sender.tracks.append(track)
    case .expectJump(let trackId): receiver.expectJump(trackId: trackId)
    case .impair(let impairments):
      self.impairments = impairments
      if line?.shape != impairments.line { line = impairments.line.map { AccessLine($0, seed: link.next()) } }
    case .storm(let storm, let count): send(storm, count)
    case .forgetGaps: receiver.forgetGaps()
    }
    poll(at: now)
  }

  private mutating func send(_ storm: Storm, _ count: Int) {
    var maker = StormMaker(seed: link.next())
    let targets = receiver.streams.map { StormMaker.Target(ssrc: $0.line.ssrc, newest: $0.newest) }
    for _ in 0..<count { send(maker.make(storm, about: targets, from: receiver.ssrc)) }
  }

  private mutating func send(_ datagram: StormDatagram) {
    switch datagram {
    case .plain(let bytes): if let path = transport.path { outbox.append(bytes.span, to: path) }
    case .rtp(let bytes):
      var sealed = bytes + [UInt8](repeating: 0, count: SecureTransport.overhead)
      var span = sealed.mutableSpan
      _ = transport.sendRTP(&span, length: bytes.count, outbox: &outbox)
    case .rtcp(let bytes):
      var sealed = bytes + [UInt8](repeating: 0, count: SecureTransport.overhead)
      var span = sealed.mutableSpan
      _ = transport.sendRTCP(&span, length: bytes.count, outbox: &outbox)
    }
  }

  private mutating func agree(_ lines: [String: AgreedLine], _ trackIds: [String: String], at now: Instant) {
    for index in sender.tracks.indices {
      let mid = sender.tracks[index].mid
      sender.tracks[index].agreed = lines[mid]
      for stream in sender.tracks[index].streams.indices {
        sender.tracks[index].streams[stream].statistics.trackId = trackIds[mid]
      }
    }
    if transport.state == .connected { sender.begin(at: now, random: &link) }
  }

  /// The socket is another one now.
  mutating func localAddressChanged(at now: Instant) {
    transport.localAddressChanged(at: now)
    poll(at: now)
  }

  mutating func close() { transport.close(into: &outbox) }

  private mutating func announce(at now: Instant) {
    if transport.lostConsent, !hasLostConsent {
      hasLostConsent = true
      events.append(.lostConsent)
    }
    guard transport.state != announced else { return }
    announced = transport.state
    switch announced {
    case .connected:
      sender.begin(at: now, random: &link)
      receiver.begin(at: now)
      events.append(.connected)
    case .failed(let reason): events.append(.failed(reason))
    case .idle, .checking, .handshaking: break
    }
  }

  // MARK: Outputs

  /// Hands each waiting datagram that the network does not lose or keep back to `send`, which says whether the socket took it.
  mutating func flush(at now: Instant, _ send: (Span<UInt8>, SocketAddress) -> Bool) {
    while let (bytes, address) = late.take(at: now) { count(send(bytes.span, address)) }
    if outbox.isEmpty { return }
    // Out of `self` meanwhile: a span into a property would lock the others.
    var waiting = Outbox()
    swap(&waiting, &outbox)
    for (range, address) in waiting.entries {
      let datagram = waiting.bytes.span.extracting(range)
      let isMedia = datagram.count > 0 && datagram[0] >= 128
      if impairments.isBlackout || (isMedia && link.chance(impairments.sendLoss)) {
        count(false)
      } else if let fate = line?.send(datagram.count, at: now) {
        switch fate {
        case .lost: count(false)
        case .due(let due): late.add(datagram, to: address, due: due)
        }
      } else if isMedia, impairments.jitter > .zero {
        let delay = Int64(link.next() % UInt64(impairments.jitter.nanoseconds))
        late.add(datagram, to: address, due: now + TimeDelta(nanoseconds: delay))
      } else {
        count(send(datagram, address))
      }
    }
    waiting.removeAll()
    swap(&waiting, &outbox)
  }

  private mutating func count(_ wasSent: Bool) { if wasSent { sent += 1 } else { unsent += 1 } }

  /// The transport's counts.
  var connectionStatistics: ConnectionStatistics {
    var result = ConnectionStatistics()
    result.state = transport.state
    result.connectedAt = transport.connectedAt
    result.consents = transport.consents
    result.datagramsReceived = received
    result.datagramsSent = sent
    result.datagramsNotSent = unsent
    result.unopened = transport.unopened
    result.unknownSSRC = receiver.unknownSSRC
    result.early = transport.early
    result.transportFeedback = sender.transportFeedback
    result.nacks = sender.nacks
    result.keyframeRequests = sender.keyframeRequests
    result.ownEstimate = receiver.saidEstimate
    return result
  }

  /// Adds this connection's part to a sum over all of them.
  func addTotals(to result: inout DriverTotals) {
    result.datagramsReceived += received
    result.datagramsSent += sent
    result.lateness.merge(sender.lateness)
    result.latency.merge(receiver.audioLatency)
    result.latency.merge(receiver.videoLatency)
    for track in sender.tracks {
      for stream in track.streams { result.mediaSent += stream.statistics.packets }
    }
    for stream in receiver.streams { stream.addTotals(to: &result) }
  }

  func latestPackets(ofTrack trackId: String) -> [Instant] {
    receiver.streams.compactMap {
      let counts = $0.counts
      return counts.isActive && counts.trackId == trackId ? counts.lastPacketAt : nil
    }
  }

  mutating func forgetDelays() {
    receiver.forgetDelays()
    sender.lateness = LatencyHistogram()
  }

  mutating func holdSender() { sender.isHeld = true }

  /// Adds what this connection sent and received.
  func addStatistics(to result: inout ParticipantStatistics) {
    for track in sender.tracks { result.sent += track.streams.map(\.statistics) }
    result.received += receiver.streams.map(\.statistics)
    result.audioLatency.merge(receiver.audioLatency)
    result.videoLatency.merge(receiver.videoLatency)
  }
}
