// A participant of the bench: the handshake is real, after that it only seals packets for the worker to forward.

import Basics
import Congestion
import Crypto
import DTLS
import Forwarding
import ICE
import Media
import RTP
import SRTP

/// What one seat sends on one track.
struct BenchTrack {
  let kind: MediaKind
  let ssrc: UInt32
  let mid: ExtensionTag
  var sequence: UInt16 = 0
}

final class Seat {
  static let server = SocketAddress(v4: 0xc000_0201, port: 40_000)

  let index: Int
  let transport: TransportKey
  let path: Path
  let local = ICECredentials.random(using: &generator)
  let remote = ICECredentials.random(using: &generator)
  var tracks: [BenchTrack] = []
  private var ice: ICEClientAgent
  private var dtls: DTLSConnection
  private var sender: SRTPSender?
  private var transportSequence: UInt16 = 0
  private var arrivals = TransportFeedbackBuilder()
  /// The newest transport-wide number that was reported on.
  private var reported: UInt16 = 0

  /// Whose path that is.
  static func index(of path: Path) -> Int { Int(path.remote.low & 0xff_ffff) - 1 }

  nonisolated(unsafe) private static var generator = SystemRandomNumberGenerator()

  init(_ index: Int, certificate: Certificate) throws {
    self.index = index
    transport = TransportKey(UInt64(index) + 1)
    path = Path(remote: SocketAddress(v4: 0x0a00_0001 + UInt32(index), port: 50_000), socket: 0)
    ice = ICEClientAgent(
      local: local, remote: remote, candidates: [Self.server], tieBreaker: UInt64(index) + 1, seed: UInt64(index) &* 77)
    dtls = try DTLSConnection(role: .client, certificate: certificate)
  }

  var isConnected: Bool { sender != nil }

  /// What has to go to the worker at `now`.
  func poll(at now: Instant, fingerprint: CertificateFingerprint) -> [[UInt8]] {
    var out: [[UInt8]] = []
    var request = [UInt8](repeating: 0, count: ICEClientAgent.requestCapacity)
    polling: while true {
      var span = request.mutableSpan
      switch ice.poll(at: now, request: &span) {
      case .send(let length, _): out.append(Array(request[..<length]))
      case .connected: break
      case .idle, .consentExpired, .failed: break polling
      }
    }
    guard ice.selected != nil else { return out }
    dtls.poll(at: now)
    if dtls.state == .connected, sender == nil, let keys = try? dtls.verifiedKeys(against: [fingerprint]) {
      sender = try? SRTPSender(key: keys.local)
    }
    while let datagram = dtls.nextDatagram() { out.append(datagram) }
    return out
  }

  /// One more media packet arrives.
  func note(_ arrival: Instant) {
    reported &+= 1
    arrivals.record(reported, at: arrival)
  }

  /// A sealed report about what has arrived since the last one (transport-wide feedback); nil where nothing has.
  func feedback(at now: Instant) -> [UInt8]? {
    var compound: [UInt8] = []
    guard arrivals.poll(at: now + .seconds(1), sender: 7, media: 7, into: &compound) > 0 else { return nil }
    let length = compound.count
    compound += [UInt8](repeating: 0, count: 32)
    var span = compound.mutableSpan
    guard let sealed = try? sender?.protectRTCP(&span, length: length) else { return nil }
    return Array(compound[..<sealed])
  }

  /// Takes what the worker sent; media is nobody's business here.
  func handle(_ datagram: [UInt8], at now: Instant) {
    switch PacketClass.classify(datagram.span) {
    case .stun: _ = ice.handle(datagram.span, from: Self.server, at: now)
    case .dtls: dtls.handle(datagram.span, at: now)
    default: break
    }
  }

  /// One sealed packet of a track. The time stamp counts microseconds, so that the far end can tell how long it was held.
  func packet(_ track: Int, payload: Int, marker: Bool, keyframe: Bool, at now: Instant) -> [UInt8] {
    let isVideo = tracks[track].kind == .video
    var header = RTPHeader(
      marker: marker, payloadType: isVideo ? 96 : 111, sequenceNumber: tracks[track].sequence,
      timestamp: UInt32(truncatingIfNeeded: now.nanoseconds / 1_000), ssrc: tracks[track].ssrc)
    tracks[track].sequence &+= 1
    transportSequence &+= 1
    header.extensions.transportSequence = transportSequence
    header.extensions.mid = tracks[track].mid
    if !isVideo { header.extensions.audioLevel = AudioLevel(level: 30, voice: true) }
    var bytes = [UInt8](repeating: 0, count: RTPHeader.maximumLength + payload + 32)
    var span = bytes.mutableSpan
    guard let head = try? header.write(into: &span, ids: Bench.extensions) else { return [] }
    // VP8 without extensions of the descriptor: S = 1, partition 0; then the frame's first byte, P = 0 for a keyframe.
    span[head] = isVideo && keyframe ? 0x10 : 0
    span[head + 1] = keyframe ? 0 : 1
    if isVideo && keyframe { for (at, byte) in [(4, 0x9d), (5, 0x01), (6, 0x2a)] { span[head + at] = UInt8(byte) } }
    guard let length = try? sender?.protectRTP(&span, length: head + payload) else { return [] }
    return Array(bytes[..<length])
  }
}
