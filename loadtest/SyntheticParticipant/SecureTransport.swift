// One peer connection below its media: ICE (controlling), DTLS and SRTP, without sockets or clocks.
//
//   begin ─▶ checking ─ICE─▶ handshaking ─DTLS, fingerprint─▶ connected
//                ▲                                              │ restart keeps DTLS and keys
//                └──────────────────────────────────────────────┘

import Basics
import Crypto
import DTLS
import ICE
import RTP

/// What the other side said of its end.
struct RemoteEnd: Sendable {
  var credentials: ICECredentials
  var fingerprints: [CertificateFingerprint]
  var candidates: [SocketAddress]
}

/// What a datagram turned out to be.
enum Arrival {
  case none
  /// An RTP packet, plain now, of this many bytes.
  case rtp(Int)
  /// A compound RTCP packet, likewise.
  case rtcp(Int)
}

struct SecureTransport: ~Copyable {
  /// Room that sealing wants behind a packet.
  static let overhead = 64
  private(set) var state = ConnectionState.idle
  private(set) var connectedAt: Instant?
  private(set) var unopened: UInt64 = 0
  private(set) var early: UInt64 = 0
  /// Set when the server stopped answering checks.
  private(set) var lostConsent = false
  private(set) var local: ICECredentials
  private var fingerprints: [CertificateFingerprint] = []
  private var ice: ICEClientAgent?
  private var dtls: DTLSConnection
  private var split: SplitClientHello?
  /// nil until DTLS has agreed on keys.
  private var seals: MediaSeals?
  /// What SRTP adds to an RTP packet.
  private(set) var rtpOverhead = 0
  private let isQuick: Bool
  private let tieBreaker: UInt64
  private var requests = [UInt8](repeating: 0, count: ICEClientAgent.requestCapacity)

  init(
    role: DTLSRole, certificate: Certificate, local: ICECredentials, splitsClientHello: Bool, isQuick: Bool,
    tieBreaker: UInt64
  ) throws(CryptoError) {
    self.isQuick = isQuick
    dtls = try DTLSConnection(role: role, certificate: certificate)
    self.local = local
    self.tieBreaker = tieBreaker
    split = splitsClientHello ? SplitClientHello() : nil
  }

  /// Where media goes; nil while there is no path.
  var path: SocketAddress? {
    switch ice {
    case .some(let agent): agent.selected
    case .none: nil
    }
  }

  /// Consent checks that the server has answered.
  var consents: UInt64 {
    switch ice {
    case .some(let agent): agent.consents
    case .none: 0
    }
  }

  var nextDeadline: Instant {
    if case .failed = state { return .distantFuture }
    let agent: Instant
    switch ice {
    case .some(let running): agent = running.nextDeadline
    case .none: agent = .distantFuture
    }
    return path == nil ? agent : min(agent, dtls.nextDeadline)
  }

  /// Starts, or starts ICE anew when it already runs with other credentials (RFC 8445 §9).
  mutating func begin(_ remote: RemoteEnd, local: ICECredentials) {
    if case .failed = state { return }
    self.local = local
    fingerprints = remote.fingerprints
    lostConsent = false
    if ice == nil {
      ice = ICEClientAgent(
        local: local, remote: remote.credentials, candidates: remote.candidates, tieBreaker: tieBreaker,
        seed: tieBreaker ^ 0x5eed)
      state = .checking
    } else {
      ice?.restart(local: local, remote: remote.credentials, candidates: remote.candidates)
    }
  }

  /// The socket is another one now.
  mutating func localAddressChanged(at now: Instant) { ice?.localAddressChanged(at: now) }

  /// Says close_notify, where there is somebody to say it to.
  mutating func close(into outbox: inout Outbox) {
    dtls.close()
    sendHandshake(into: &outbox)
    state = .failed("closed")
  }

  // MARK: In

  mutating func handle(
    _ datagram: inout MutableSpan<UInt8>, from source: SocketAddress, at now: Instant, outbox: inout Outbox
  ) -> Arrival {
    switch PacketClass.classify(datagram.span) {
    case .stun:
      _ = ice?.handle(datagram.span, from: source, at: now)
      poll(at: now, outbox: &outbox)
    case .dtls:
      guard path != nil || state == .handshaking else { break }
      dtls.handle(datagram.span, at: now)
      advance(at: now, outbox: &outbox)
    case .rtp: return open(&datagram, isRTCP: false)
    case .rtcp: return open(&datagram, isRTCP: true)
    case .turnChannel, .unknown: break
    }
    return .none
  }

  private mutating func open(_ packet: inout MutableSpan<UInt8>, isRTCP: Bool) -> Arrival {
    guard seals != nil else {
      early += 1
      return .none
    }
    do {
      let length = try seals?.open(&packet, isRTCP: isRTCP) ?? 0
      return isRTCP ? .rtcp(length) : .rtp(length)
    } catch {
      unopened += 1
      return .none
    }
  }

  // MARK: Time

  mutating func poll(at now: Instant, outbox: inout Outbox) {
    var isBusy = ice != nil
    while isBusy { isBusy = pollICE(at: now, outbox: &outbox) }
    guard path != nil else { return }
    dtls.poll(at: now)
    advance(at: now, outbox: &outbox)
  }

  /// One step of ICE; false when it has nothing more to do.
  private mutating func pollICE(at now: Instant, outbox: inout Outbox) -> Bool {
    // Out of `self` while the agent, which is in it, writes to it.
    var request: [UInt8] = []
    swap(&request, &requests)
    defer { swap(&request, &requests) }
    var span = request.mutableSpan
    switch ice?.poll(at: now, request: &span) ?? .idle {
    case .idle: return false
    case .send(let length, let address): outbox.append(request.span.extracting(first: length), to: address)
    case .connected: if state == .checking { state = .handshaking }
    case .consentExpired: lostConsent = true
    case .failed: state = .failed("no candidate of the server answered")
    }
    return true
  }

  /// Sends what DTLS wrote and takes the keys when they are there.
  private mutating func advance(at now: Instant, outbox: inout Outbox) {
    sendHandshake(into: &outbox)
    switch dtls.state {
    case .handshaking: return
    case .connected: if seals == nil { takeKeys(at: now, outbox: &outbox) }
    case .failed(let error): state = .failed("\(error)")
    case .closed: state = .failed("the server closed the DTLS connection")
    }
  }

  private mutating func takeKeys(at now: Instant, outbox: inout Outbox) {
    do {
      let keys = try dtls.verifiedKeys(against: fingerprints)
      seals = try MediaSeals(keys, isQuick: isQuick)
      rtpOverhead = keys.remote.profile.rtpOverhead
      state = .connected
      connectedAt = now
    } catch {
      state = .failed("\(error)")
      sendHandshake(into: &outbox)
    }
  }

  private mutating func sendHandshake(into outbox: inout Outbox) {
    while let datagram = dtls.nextDatagram() {
      guard let path else { continue }
      for piece in split?.transform(datagram) ?? [datagram] { outbox.append(piece.span, to: path) }
    }
  }

  // MARK: Out

  /// Seals the RTP packet in the first `length` bytes and queues it; false when there is no path or no key.
  mutating func sendRTP(_ packet: inout MutableSpan<UInt8>, length: Int, outbox: inout Outbox) -> Bool {
    send(&packet, length, isRTCP: false, &outbox)
  }

  /// Seals the compound RTCP packet in the first `length` bytes and queues it; false when there is no path or no key.
  mutating func sendRTCP(_ packet: inout MutableSpan<UInt8>, length: Int, outbox: inout Outbox) -> Bool {
    send(&packet, length, isRTCP: true, &outbox)
  }

  private mutating func send(
    _ packet: inout MutableSpan<UInt8>, _ length: Int, isRTCP: Bool, _ outbox: inout Outbox
  ) -> Bool {
    guard let path, let sealed = try? seals?.seal(&packet, length: length, isRTCP: isRTCP) else { return false }
    outbox.append(packet.span.extracting(first: sealed), to: path)
    return true
  }
}
