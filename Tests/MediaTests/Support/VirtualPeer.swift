// A participant without sockets or clock: ICE's controlling agent, DTLS, libsrtp2 (not our own SRTP), tracks it publishes
// and subscriptions it checks.

import Basics
import Congestion
import Crypto
import DTLS
import ICE
import Media
import RTP
import SRTPLibrary

final class VirtualPeer {
  let index: Int
  let name: String
  let key: TransportKey
  let certificate: Certificate
  var address: SocketAddress
  var uplink = Link.good
  var downlink = Link.good
  var local: ICECredentials
  private(set) var isConnected = false
  private(set) var failure: String?
  private(set) var isClosedByServer = false
  var tracks: [PublishedTrack] = []
  var streams: [ReceivedStream] = []
  /// SSRCs of subscriptions that are over: what still comes on them is no surprise.
  var retired: Set<UInt32> = []
  /// Datagrams waiting for the network.
  var outbox: [(bytes: [UInt8], sent: SentPacket?)] = []
  /// RTP that arrived before there were keys, or that did not open, or on an SSRC nobody told of.
  private(set) var mediaBeforeKeys = 0
  private(set) var unopened = 0
  private(set) var replays = 0
  private(set) var unknownSSRCs: Set<UInt32> = []
  private(set) var rtpReceived = 0
  /// Transport-wide numbers: sent, those that the server said it got, and by when (250 µs ticks).
  private(set) var reported: [UInt16: Int64] = [:]
  private(set) var feedbacks = 0
  private(set) var reportBlocks: [ReportBlock] = []
  private(set) var nackedByServer = 0
  /// SSRCs that the server said BYE for, in order, and the canonical names that it told.
  private(set) var byes: [UInt32] = []
  private(set) var names: [UInt32: String] = [:]
  /// Whether STUN, DTLS and media go out.
  var checksConsent = true
  /// Whether its checks nominate; otherwise it only checks, every half second, and shakes hands all the same.
  var nominates = true
  /// Whether it takes part in the DTLS handshake.
  var shakesHands = true
  /// Sees each packet of its media before it is sealed.
  var onPacket: (([UInt8]) -> Void)?
  /// Which of the server's sockets its datagrams arrive at.
  var socket: UInt8 = 0
  private(set) var remote: ICECredentials
  private var nextPlainCheck = Instant.zero
  /// Switched off.
  var isGone = false
  let serverAddress: SocketAddress
  private var ice: ICEClientAgent
  private var dtls: DTLSConnection
  private let serverFingerprint: CertificateFingerprint
  private var outbound: LibSRTPSession?
  private var inbound: LibSRTPSession?
  private var transportSequence: UInt16 = 0
  private var nextReport = Instant.distantFuture
  /// Whether it answers with transport-wide feedback.
  var reportsArrivals = false
  /// Whether it sends sender reports.
  var sendsReports = true
  /// How far its NTP clock is ahead of the virtual one.
  var clockAhead = TimeDelta.zero
  private var arrivals = TransportFeedbackBuilder()
  private var nextRepair = Instant.distantFuture
  private let reporter: UInt32

  init(
    index: Int, name: String, key: TransportKey, certificate: Certificate, server: SocketAddress,
    serverFingerprint: CertificateFingerprint, credentials: (local: ICECredentials, remote: ICECredentials),
    role: DTLSRole = .client
  ) throws {
    (self.index, self.name, self.key, self.certificate) = (index, name, key, certificate)
    address = SocketAddress(v4: 0x0a00_0001 + UInt32(index), port: 50_000)
    local = credentials.local
    remote = credentials.remote
    serverAddress = server
    self.serverFingerprint = serverFingerprint
    reporter = 0xeeee_0000 + UInt32(index)
    ice = ICEClientAgent(
      local: credentials.local, remote: credentials.remote, candidates: [server], tieBreaker: UInt64(index) + 1,
      seed: UInt64(index) &* 77)
    dtls = try DTLSConnection(role: role, certificate: certificate)
  }

  var path: Path { Path(remote: address, socket: socket) }
  var hasPath: Bool { ice.selected != nil || !nominates }
  var dtlsIsConnected: Bool { dtls.state == .connected }

  var nextDeadline: Instant {
    if isGone { return .distantFuture }
    var next = checksConsent ? (nominates ? ice.nextDeadline : nextPlainCheck) : .distantFuture
    if hasPath && shakesHands { next = min(next, dtls.nextDeadline) }
    guard isConnected else { return next }
    for track in tracks { next = min(next, track.next) }
    return min(next, nextReport, nextRepair, arrivals.nextDeadline)
  }

  // MARK: in

  func handle(_ datagram: [UInt8], at now: Instant) {
    switch PacketClass.classify(datagram.span) {
    case .stun: _ = ice.handle(datagram.span, from: serverAddress, at: now)
    case .dtls:
      dtls.handle(datagram.span, at: now)
      if dtls.state == .closed { isClosedByServer = true }
    case .rtp: receiveRTP(datagram, at: now)
    case .rtcp: receiveRTCP(datagram, at: now)
    case .turnChannel, .unknown: unopened += 1
    }
    poll(at: now)
  }

  private func receiveRTP(_ datagram: [UInt8], at now: Instant) {
    guard inbound != nil else { return mediaBeforeKeys += 1 }
    var bytes = datagram
    var span = bytes.mutableSpan
    let length: Int
    do throws(LibSRTPError) {
      guard let count = try inbound?.unprotectRTP(&span, length: datagram.count) else { return unopened += 1 }
      length = count
    } catch {
      // The network repeats packets; the server must not.
      if error == .replayed { replays += 1 } else { unopened += 1 }
      return
    }
    bytes.removeLast(bytes.count - length)
    guard let view = try? PacketView.parse(bytes.span).strippingPadding(bytes.span) else { return unopened += 1 }
    rtpReceived += 1
    note(bytes, view, at: now)
    let match = streams.firstIndex { $0.ssrc == view.ssrc || $0.rtxSSRC == view.ssrc }
    guard let match else {
      if !retired.contains(view.ssrc) { unknownSSRCs.insert(view.ssrc) }
      return
    }
    if streams[match].rtxSSRC == view.ssrc { streams[match].repairNumbers.insert(view.sequenceNumber) }
    // Padding alone only measures the line.
    if view.payload.isEmpty && streams[match].rtxSSRC == view.ssrc { return }
    streams[match].take(view, bytes, isRTX: streams[match].rtxSSRC == view.ssrc, at: now)
    if nextRepair == .distantFuture { nextRepair = now + .milliseconds(10) }
  }

  private func note(_ bytes: [UInt8], _ view: PacketView, at now: Instant) {
    guard reportsArrivals else { return }
    let extensions = ParsedExtensions(bytes.span, view, ids: Agreed.subscriberExtensions)
    if let number = extensions.transportSequence { arrivals.record(number, at: now) }
  }

  private func reportArrivals(at now: Instant) {
    var compound: [UInt8] = []
    if arrivals.poll(at: now, sender: reporter, media: streams.first?.ssrc ?? 0, into: &compound) > 0 {
      sendRTCP(compound)
    }
  }

  private func receiveRTCP(_ datagram: [UInt8], at now: Instant) {
    guard inbound != nil else { return mediaBeforeKeys += 1 }
    var bytes = datagram
    var span = bytes.mutableSpan
    guard let length = try? inbound?.unprotectRTCP(&span, length: datagram.count) else { return unopened += 1 }
    bytes.removeLast(bytes.count - length)
    var reader = RTCPReader()
    while let packet = try? reader.next(bytes.span) { handle(packet, bytes, at: now) }
  }

  private func handle(_ packet: RTCPPacket, _ bytes: [UInt8], at now: Instant) {
    switch packet {
    case .nack(let nack): nack.forEachSequenceNumber(bytes.span) { resend($0, ssrc: nack.media, at: now) }
    case .pictureLoss(_, let media): for index in tracks.indices { tracks[index].keyframeRequested(media) }
    case .transportFeedback(let feedback):
      feedbacks += 1
      feedback.forEachReceived(bytes.span) { reported[$0] = $1 }
    case .senderReport(let report):
      for index in streams.indices where streams[index].ssrc == report.ssrc { streams[index].take(report, at: now) }
    case .receiverReport(let report):
      for index in 0..<report.blocks.count {
        if let block = report.blocks.block(index, bytes.span) { reportBlocks.append(block) }
      }
    case .bye(let bye): byes += (0..<bye.count).compactMap { bye.ssrc($0, bytes.span) }
    case .sourceDescription(let description):
      if let ssrc = description.ssrc, let cname = description.cname {
        names[ssrc] = String(decoding: bytes[cname], as: UTF8.self)
      }
    default: break
    }
  }

  private func resend(_ sequence: UInt16, ssrc: UInt32, at now: Instant) {
    nackedByServer += 1
    for track in tracks.indices {
      for layer in tracks[track].layers.indices where tracks[track].layers[layer].ssrc == ssrc {
        if let plain = tracks[track].again(sequence, layer: layer) { send(plain, at: now) }
      }
    }
  }

  // MARK: time

  func poll(at now: Instant) {
    guard !isGone else { return }
    pollICE(at: now)
    if hasPath && shakesHands { pollDTLS(at: now) }
    guard isConnected else { return }
    for index in tracks.indices {
      for plain in tracks[index].due(at: now) { send(plain, at: now) }
    }
    if nextRepair <= now { repair(at: now) }
    if nextReport <= now { report(at: now) }
    if arrivals.nextDeadline <= now { reportArrivals(at: now) }
  }

  private func pollICE(at now: Instant) {
    guard checksConsent else { return }
    guard nominates else { return checkWithoutNomination(at: now) }
    var request = [UInt8](repeating: 0, count: ICEClientAgent.requestCapacity)
    while true {
      var span = request.mutableSpan
      switch ice.poll(at: now, request: &span) {
      case .idle: return
      case .send(let length, _): outbox.append((Array(request[..<length]), nil))
      case .connected: break
      case .consentExpired, .failed:
        failure = "ICE"
        return
      }
    }
  }

  private func checkWithoutNomination(at now: Instant) {
    guard nextPlainCheck <= now else { return }
    nextPlainCheck = now + .milliseconds(500)
    if let check = PlainCheck.make(from: local, to: remote) { outbox.append((check, nil)) }
  }

  private func pollDTLS(at now: Instant) {
    dtls.poll(at: now)
    if dtls.state == .connected, !isConnected, failure == nil { takeKeys(at: now) }
    drainDTLS()
  }

  private func drainDTLS() { while let datagram = dtls.nextDatagram() { outbox.append((datagram, nil)) } }

  private func takeKeys(at now: Instant) {
    do {
      let keys = try dtls.verifiedKeys(against: [serverFingerprint])
      outbound = try LibSRTPSession(key: keys.local, direction: .outbound)
      inbound = try LibSRTPSession(key: keys.remote, direction: .inbound)
      isConnected = true
      nextReport = now + .milliseconds(300)
      for index in tracks.indices { tracks[index].next = now }
    } catch {
      failure = "\(error)"
    }
  }

  private func repair(at now: Instant) {
    nextRepair = now + .milliseconds(10)
    for index in streams.indices {
      let numbers = streams[index].missing(at: now)
      guard !numbers.isEmpty else { continue }
      var compound: [UInt8] = []
      RTCPBuilder.appendNACK(to: &compound, sender: reporter, media: streams[index].ssrc, numbers: numbers.span)
      sendRTCP(compound)
    }
  }

  /// Sender reports whose NTP time is the peer's clock, so that capture times can be checked at the far end.
  private func report(at now: Instant) {
    nextReport = now + .seconds(1)
    let none: [ReportBlock] = []
    for track in tracks where track.isSending && sendsReports {
      for (index, layer) in track.layers.enumerated() where layer.isActive && layer.packets > 0 {
        var compound: [UInt8] = []
        RTCPBuilder.appendSenderReport(
          to: &compound, ssrc: layer.ssrc, ntp: NTPTime(value: VirtualPeer.ntp(now + clockAhead)),
          rtpTimestamp: track.timestamp(index, at: now), packetCount: layer.packets, octetCount: layer.bytes,
          blocks: none.span)
        sendRTCP(compound)
      }
    }
  }

  /// 32.32 fixed point seconds of the virtual clock.
  static func ntp(_ now: Instant) -> UInt64 {
    let (seconds, rest) = UInt64(now.nanoseconds).quotientAndRemainder(dividingBy: 1_000_000_000)
    return seconds << 32 | (rest << 32) / 1_000_000_000
  }

  // MARK: out

  func send(_ plain: PlainPacket, at now: Instant) {
    var plain = plain
    transportSequence &+= 1
    plain.header.extensions.transportSequence = transportSequence
    plain.sent.transportSequence = transportSequence
    plain.header.extensions.absSendTime = AbsoluteSendTime.value(at: now)
    var bytes = [UInt8](repeating: 0, count: HeaderTemplate.describedRoom + plain.body.count + 32)
    var span = bytes.mutableSpan
    guard var head = try? plain.header.write(into: &span, ids: plain.ids) else { return }
    if !plain.descriptor.isEmpty {
      let number = UInt16(plain.descriptor[1]) << 8 | UInt16(plain.descriptor[2])
      head =
        plain.descriptor.withUnsafeBytes {
          HeaderTemplate(mid: nil, ids: plain.ids).describe($0, frameNumber: number, header: head, of: &span)
        } ?? head
    }
    // At once: byte by byte, a build that is not optimised spends most of the time of these tests here.
    plain.body.withUnsafeBytes { body in
      span.withUnsafeMutableBytes { UnsafeMutableRawBufferPointer(rebasing: $0[head...]).copyMemory(from: body) }
    }
    if let onPacket { onPacket(span.span.withUnsafeBytes { Array($0[..<(head + plain.body.count)]) }) }
    guard let sealed = try? outbound?.protectRTP(&span, length: head + plain.body.count) else { return }
    bytes.removeLast(bytes.count - sealed)
    outbox.append((bytes, plain.sent))
  }

  /// A receiver report about nothing.
  func sendReport() {
    var compound: [UInt8] = []
    let none: [ReportBlock] = []
    RTCPBuilder.appendReceiverReport(to: &compound, ssrc: 7, blocks: none.span)
    sendRTCP(compound)
  }

  /// Says what our line carries (REMB, draft-alvestrand-rmcat-remb-03 §2).
  func sendEstimate(bitsPerSecond: UInt64) {
    var compound: [UInt8] = []
    let ssrcs = streams.map(\.ssrc)
    RTCPBuilder.appendBandwidthEstimate(to: &compound, sender: reporter, bitrate: bitsPerSecond, sources: ssrcs.span)
    sendRTCP(compound)
  }

  func sendRTCP(_ compound: [UInt8]) {
    var bytes = compound + [UInt8](repeating: 0, count: 32)
    var span = bytes.mutableSpan
    guard let sealed = try? outbound?.protectRTCP(&span, length: compound.count) else { return }
    bytes.removeLast(bytes.count - sealed)
    outbox.append((bytes, nil))
  }

  /// Asks for a keyframe of one of our subscriptions.
  func requestKeyframe(_ consumer: ConsumerKey) {
    for stream in streams where stream.consumer == consumer {
      var compound: [UInt8] = []
      RTCPBuilder.appendPictureLoss(to: &compound, sender: reporter, media: stream.ssrc)
      sendRTCP(compound)
    }
  }

  /// Says that these SSRCs of ours have ended.
  func sendBye(_ ssrcs: [UInt32]) {
    var compound: [UInt8] = []
    RTCPBuilder.appendBye(to: &compound, sources: ssrcs.span)
    sendRTCP(compound)
  }

  /// Asks for everything there is, over and over: keyframes, and the last packets of each of our subscriptions.
  func storm(_ times: Int) {
    for stream in streams {
      let newest = UInt16(truncatingIfNeeded: stream.newest ?? 0)
      let numbers = (0..<250).map { newest &- 250 &+ UInt16($0) }
      for number in 0..<times {
        var compound: [UInt8] = []
        RTCPBuilder.appendNACK(to: &compound, sender: reporter, media: stream.ssrc, numbers: numbers.span)
        RTCPBuilder.appendPictureLoss(to: &compound, sender: reporter, media: stream.ssrc)
        RTCPBuilder.appendFullIntraRequest(
          to: &compound, sender: reporter, media: stream.ssrc, number: UInt8(truncatingIfNeeded: number))
        sendRTCP(compound)
      }
    }
  }

  /// Asks for five thousand packets of each stream at once, most of which never were.
  func claimEverything() { claim(4_760) }

  /// Asks for the first so many packets of each of our subscriptions.
  func claim(_ count: UInt16) {
    for stream in streams {
      let numbers = (0..<count).map { $0 }
      var compound: [UInt8] = []
      RTCPBuilder.appendNACK(to: &compound, sender: reporter, media: stream.ssrc, numbers: numbers.span)
      sendRTCP(compound)
    }
  }

  func sendCloseNotify() {
    dtls.close()
    drainDTLS()
  }

  /// New credentials of both sides (RFC 8445 §9).
  func restartICE(local: ICECredentials, remote: ICECredentials) {
    (self.local, self.remote) = (local, remote)
    ice.restart(local: local, remote: remote, candidates: [serverAddress])
  }

  /// Another address from now on, as after a change of network.
  func move(to new: SocketAddress, at now: Instant, announces: Bool = true) {
    address = new
    if announces { ice.localAddressChanged(at: now) }
  }
}
