// One DTLS-SRTP connection (RFC 6347, RFC 5764) without sockets or clocks:
//
//   let dtls = DTLSConnection(role: .server, certificate: certificate)
//   datagram in → handle(_:at:)      nextDeadline reached → poll(at:)      after either: send nextDatagram() until nil
//   state == .connected and the peer's SDP is known → verifiedKeys(against:)
//
// Keys come out only through `verifiedKeys(against:)`, so there is no media before the fingerprint has been checked.

import Basics
import Crypto

/// When a handshake sends again and when it gives up.
public struct DTLSTiming: Sendable {
  /// First wait before a flight is sent again. Browsers use 50 ms: a lost datagram then costs little of a join, and on a
  /// path slower than that a flight too many is about 1 kB.
  public var initialRetransmission = TimeDelta.milliseconds(50)
  /// Each wait is twice the one before, up to this. Higher makes a join over a very lossy path slower.
  public var longestRetransmission = TimeDelta.milliseconds(1_000)
  /// From the first datagram of either side until the connection fails with `timedOut`.
  public var giveUp = TimeDelta.milliseconds(30_000)
  /// From an alert that is not encrypted until the handshake fails by it, unless it is complete by then. Anybody can forge such an alert;
  /// lower it, and a forged one ends a handshake over a slow line.
  public var alertWait = TimeDelta.seconds(3)

  /// The defaults above.
  public init() {}
}

/// A DTLS connection that yields SRTP keys. Belongs to one thread.
public struct DTLSConnection: ~Copyable {
  /// Where the connection stands.
  public enum State: Equatable, Sendable {
    /// Not complete; for a server also: nothing has come yet.
    case handshaking
    /// Complete. The peer holds the key of its certificate; whose certificate it is, is for `verifiedKeys` to say.
    case connected
    /// Over, for this reason. What `nextDatagram` still gives (an alert) should be sent.
    case failed(DTLSError)
    /// One of the two said close_notify.
    case closed
  }

  /// What became of a datagram.
  public enum Intake: Equatable, Sendable {
    /// It was looked at.
    case taken
    /// It was no DTLS, cut off, could mean nothing any more, or came after the end.
    case ignored
    /// It was dropped unread: the peer has sent as much as it may once the handshake is done.
    case overRate
  }

  /// What a handshake may take of the peer before it is complete: a real one takes less than 20 datagrams and 10 kB,
  /// retransmissions within `giveUp` at most a few times that.
  public static let handshakeDatagramLimit = 1_000
  static let handshakeByteLimit = 256 * 1024
  /// Datagrams waiting to be taken with `nextDatagram`; beyond this they are lost, as on a network.
  static let pendingLimit = 32

  /// Our side of the handshake.
  public let role: DTLSRole
  /// Where the connection stands.
  public private(set) var state = State.handshaking
  /// Datagrams that were not DTLS, cut off, could mean nothing any more, or came after the end.
  public private(set) var ignoredDatagrams = 0

  /// Whether a flight of the handshake was sent. A server that has failed and sent none has met no hello that it could take.
  public private(set) var hasSentFlight = false

  private var engine: DTLSEngine
  private let timing: DTLSTiming
  private var started = false
  private var retransmission: Retransmission
  private var received = (datagrams: 0, bytes: 0)
  private var pace = RecordPace()
  private var pending: [[UInt8]] = []
  /// An alert that was not encrypted, and when it counts.
  private var alert: (number: UInt8, due: Instant)?

  /// A connection that waits for the peer (server), or sends its ClientHello at the first `poll` (client).
  public init(role: DTLSRole, certificate: Certificate, timing: DTLSTiming = DTLSTiming()) throws(CryptoError) {
    engine = try DTLSEngine(role: role, certificate: certificate)
    self.role = role
    self.timing = timing
    retransmission = Retransmission(timing)
  }

  /// Takes in one datagram from the peer (first byte 20…63, RFC 7983).
  @discardableResult
  public mutating func handle(_ datagram: Span<UInt8>, at now: Instant) -> Intake {
    guard state == .handshaking || state == .connected, DTLSRecords.arePlausible(datagram) else { return ignore() }
    if state == .connected { return handleConnected(datagram, at: now) }
    start(at: now)
    received.datagrams += 1
    received.bytes += datagram.count
    guard received.datagrams <= Self.handshakeDatagramLimit, received.bytes <= Self.handshakeByteLimit else {
      fail(.flooded)
      return .taken
    }
    if let number = DTLSRecords.plainAlert(datagram) {
      if alert == nil { alert = (number, now + timing.alertWait) }
      return .taken
    }
    absorb(engine.advance(with: datagram), at: now)
    return .taken
  }

  /// An alert is heard however much has come: it may be close_notify, and OpenSSL takes five of the others in a row.
  private mutating func handleConnected(_ datagram: Span<UInt8>, at now: Instant) -> Intake {
    guard DTLSRecords.mayMatter(datagram) else { return ignore() }
    guard pace.admits(at: now) || DTLSRecords.isAlert(datagram) else { return .overRate }
    let before = engine.reactions
    absorb(engine.advance(with: datagram), at: now)
    if engine.reactions != before { pace.take(at: now) }
    return .taken
  }

  private mutating func ignore() -> Intake {
    ignoredDatagrams &+= 1
    return .ignored
  }

  /// Does what is due: a client's first flight, a retransmission, giving up.
  public mutating func poll(at now: Instant) {
    guard state == .handshaking, started || role == .client else { return }
    start(at: now)
    if let alert, now >= alert.due { return fail(.alert(alert.number)) }
    guard now < retransmission.giveUpAt else { return fail(.timedOut) }
    for datagram in retransmission.due(at: now) { send(datagram) }
  }

  /// When `poll` wants to be called: at once for a client that has not started, never (`distantFuture`) when nothing is due.
  public var nextDeadline: Instant {
    guard state == .handshaking else { return .distantFuture }
    if !started { return role == .client ? Instant(nanoseconds: .min) : .distantFuture }
    return min(retransmission.nextDeadline, alert?.due ?? .distantFuture)
  }

  /// The next datagram to send, oldest first; nil when there is none.
  public mutating func nextDatagram() -> [UInt8]? {
    pending.isEmpty ? nil : pending.removeFirst()
  }

  /// Sends application data, as peers with data channels do. Nothing before the handshake is done.
  public mutating func write(_ message: Span<UInt8>) {
    guard state == .connected else { return }
    engine.write(message)
    for datagram in engine.takeOutgoing() { send(datagram) }
  }

  /// Says close_notify and is closed; a handshake that is not complete just ends.
  public mutating func close() {
    guard state == .handshaking || state == .connected else { return }
    engine.close()
    for datagram in engine.takeOutgoing() { send(datagram) }
    state = .closed
    retransmission.stop()
  }

  /// The hash of the peer's certificate, once connected: for logs and for who compares it himself.
  public func peerFingerprint(_ algorithm: CertificateFingerprint.Algorithm = .sha256) -> CertificateFingerprint? {
    state == .connected ? engine.peerFingerprint(algorithm) : nil
  }

  /// The SRTP profile of a complete handshake.
  public var srtpProfile: SRTPProfile? { state == .connected ? engine.srtpProfile : nil }

  /// The DTLS cipher suite in OpenSSL's words, for logs.
  public var cipherName: String? { state == .connected ? engine.cipherName : nil }

  /// Compares the peer's certificate with the fingerprints of its session description and releases the keys.
  ///
  /// Of several fingerprints those with the strongest hash count, and one of them must match (RFC 8122 §5). A mismatch, or
  /// an empty list, fails the connection for good. May be asked again with the same result.
  /// Throws `notConnected` before the handshake is complete, the reason of a failed connection, or `fingerprintMismatch`.
  public mutating func verifiedKeys(against fingerprints: [CertificateFingerprint]) throws(DTLSError) -> DTLSKeys {
    switch state {
    case .connected: break
    case .failed(let error): throw error
    case .handshaking, .closed: throw .notConnected
    }
    guard matchesPeer(fingerprints) else {
      close()
      fail(.fingerprintMismatch)
      throw .fingerprintMismatch
    }
    guard let profile = engine.srtpProfile,
      let material = engine.exportSRTPKeyingMaterial(length: DTLSKeys.materialLength(profile)),
      let keys = DTLSKeys(profile: profile, role: role, material: material)
    else {
      fail(.protocolFailure("no keying material"))
      throw .protocolFailure("no keying material")
    }
    return keys
  }

  private func matchesPeer(_ fingerprints: [CertificateFingerprint]) -> Bool {
    guard let strongest = fingerprints.map(\.algorithm).max(), let peer = engine.peerFingerprint(strongest) else {
      return false
    }
    return fingerprints.contains { $0.algorithm == strongest && constantTimeEquals($0.bytes.span, peer.bytes.span) }
  }

  private mutating func start(at now: Instant) {
    guard !started else { return }
    started = true
    retransmission.begin(at: now)
    if role == .client { absorb(engine.advance(), at: now) }
  }

  /// Sends what the engine wrote, keeps its retransmissions if it is a flight, and follows the engine's state.
  private mutating func absorb(_ progress: DTLSEngine.Progress, at now: Instant) {
    for datagram in engine.takeOutgoing() { send(datagram) }
    let copies = engine.takeRetransmissions()
    switch progress {
    case .handshaking:
      if !copies.isEmpty {
        hasSentFlight = true
        retransmission.keep(copies, at: now)
      }
    case .established:
      guard state == .handshaking else { return }
      state = .connected
      retransmission.stop()
      if engine.srtpProfile == nil {
        close()
        fail(.noCommonSRTPProfile)
      }
    case .closed: close()
    case .failed(let failure): fail(DTLSError(failure))
    }
  }

  private mutating func send(_ datagram: [UInt8]) {
    guard pending.count < Self.pendingLimit else { return }
    pending.append(datagram)
  }

  private mutating func fail(_ error: DTLSError) {
    state = .failed(error)
    retransmission.stop()
  }
}
