// The handshake of a transport and the keys that come of it. Media keys exist only after the peer's certificate
// has matched the fingerprint in its SDP, which may arrive after the handshake is done.

import Basics
import Crypto
import DTLS
import Forwarding
import SRTP

/// DTLS and SRTP of one transport.
struct Security: ~Copyable {
  /// What has changed since the last look.
  enum Change {
    case connected
    case failed(TransportFailure)
  }

  // What each packet needs comes first.
  /// Whether keys are there. Asked for each packet of each receiver, so it is kept rather than looked up in `sender`.
  private(set) var isReady = false
  /// Bytes that sealing adds to an RTP packet; 0 before there are keys.
  private(set) var rtpOverhead = 0
  private(set) var hasFailed = false
  private var sender: SRTPSender?
  private var receiver: SRTPReceiver?
  private var dtls: DTLSConnection?
  private var remote: RemoteTransport?
  private let backend: SRTPBackend?
  private var refused = RefusedHellos()

  init(backend: SRTPBackend?) { self.backend = backend }

  /// Whether the peer's description is known.
  var isDescribed: Bool { remote != nil }

  var nextDeadline: Instant {
    switch dtls {
    case .some(let connection): min(connection.nextDeadline, refused.due)
    case .none: refused.due
    }
  }

  mutating func setRemote(_ remote: RemoteTransport) { self.remote = remote }

  /// Takes a datagram; says why not where there is no handshake that it could belong to, or too much has come.
  mutating func handle(_ datagram: Span<UInt8>, certificate: Certificate, at now: Instant) -> DropReason? {
    // A ClientHello may come before the answer that says the peer is active; a peer that sends one is.
    if dtls == nil && remote?.role != .client { begin(.server, certificate) }
    switch dtls?.handle(datagram, at: now) {
    case .taken: return nil
    case .overRate: return .tooManyRecords
    case .ignored, nil: return .unexpectedDTLS
    }
  }

  /// Sends the ClientHello where the server is the DTLS client (`a=setup:passive` of the peer, RFC 5763 §5). The caller knows a
  /// path that has passed a check; a nomination may come later (RFC 8445 §12.1.1).
  mutating func startIfClient(certificate: Certificate, at now: Instant) {
    guard dtls == nil, !hasFailed, remote?.role == .client else { return }
    begin(.client, certificate)
    dtls?.poll(at: now)
  }

  private mutating func begin(_ role: DTLSRole, _ certificate: Certificate) {
    guard !hasFailed else { return }
    dtls = try? DTLSConnection(role: role, certificate: certificate)
  }

  mutating func poll(at now: Instant) { dtls?.poll(at: now) }

  mutating func nextDatagram() -> [UInt8]? { dtls?.nextDatagram() }

  mutating func close() { dtls?.close() }

  /// Looks whether the handshake has come to something since the last call.
  mutating func settle(at now: Instant) -> Change? {
    guard !hasFailed else { return nil }
    if let reason = refused.pollReason(at: now) { return fail(.handshake(reason)) }
    guard let state = dtls?.state else { return nil }
    switch state {
    case .handshaking:
      if dtls?.hasSentFlight == true { refused.clear() }
      return nil
    // An alert that was encrypted with the connection's key: its owner has ended it.
    case .failed where isReady: return fail(.closedByPeer)
    case .failed(let error):
      if dtls?.role == .server, dtls?.hasSentFlight == false, refused.mayTryAgain(after: error, at: now) {
        dtls = nil
        return nil
      }
      return fail(.handshake(String(describing: error)))
    case .closed: return fail(.closedByPeer)
    case .connected: return isReady ? nil : takeKeys()
    }
  }

  /// A ClientHello that the server could not take may be forged: the next one begins anew. Its alert is not sent, as it would end the
  /// handshake of the one who is forged.
  private struct RefusedHellos {
    /// Until the transport fails by it. A peer that sends nothing better repeats its hello a few times meanwhile.
    static let patience = TimeDelta.seconds(3)
    private var first: (reason: String, due: Instant)?
    private var count = 0

    var due: Instant { first?.due ?? .distantFuture }

    mutating func mayTryAgain(after error: DTLSError, at now: Instant) -> Bool {
      count += 1
      if first == nil { first = (String(describing: error), now + Self.patience) }
      return count < DTLSConnection.handshakeDatagramLimit
    }

    mutating func clear() { first = nil }

    func pollReason(at now: Instant) -> String? { now >= due ? first?.reason : nil }
  }

  private mutating func takeKeys() -> Change? {
    guard let remote else { return nil }
    do throws(DTLSError) {
      guard let keys = try dtls?.verifiedKeys(against: remote.fingerprints) else { return nil }
      return start(keys)
    } catch {
      return fail(error == .fingerprintMismatch ? .fingerprintMismatch : .handshake(String(describing: error)))
    }
  }

  private mutating func start(_ keys: DTLSKeys) -> Change {
    do throws(SRTPError) {
      sender = try SRTPSender(key: keys.local, backend: backend)
      receiver = try SRTPReceiver(key: keys.remote, backend: backend)
      (isReady, rtpOverhead) = (true, keys.local.profile.rtpOverhead)
      return .connected
    } catch {
      return fail(.handshake("SRTP did not start: \(error)"))
    }
  }

  private mutating func fail(_ failure: TransportFailure) -> Change {
    (hasFailed, isReady) = (true, false)
    refused.clear()
    sender = nil
    receiver = nil
    return .failed(failure)
  }

  // MARK: media

  /// What became of a received packet.
  enum Opened {
    case plaintext(Int)
    case drop(DropReason)
  }

  mutating func unprotectRTP(_ packet: inout MutableSpan<UInt8>) -> Opened {
    let length = packet.count
    do throws(SRTPError) {
      guard let opened = try receiver?.unprotectRTP(&packet, length: length) else { return .drop(.notReady) }
      return .plaintext(opened)
    } catch {
      return .drop(DropReason(error))
    }
  }

  mutating func unprotectRTCP(_ packet: inout MutableSpan<UInt8>) -> Opened {
    let length = packet.count
    do throws(SRTPError) {
      guard let opened = try receiver?.unprotectRTCP(&packet, length: length) else { return .drop(.notReady) }
      return .plaintext(opened)
    } catch {
      return .drop(DropReason(error))
    }
  }

  /// A stream that was sent has ended for good: its SSRC is never used again on this transport.
  mutating func forget(ssrc: UInt32) { sender?.forget(ssrc: ssrc) }

  /// SSRCs that are being sent.
  var sendingStreams: Int {
    switch sender {
    case .some(let sender): sender.streamCount
    case .none: 0
    }
  }

  /// Prefetches what sealing a packet of `ssrc` needs.
  mutating func prefetch(ssrc: UInt32) { sender?.prefetch(ssrc: ssrc) }

  /// Prefetches what opening a packet of `ssrc` needs.
  mutating func prefetchOpening(ssrc: UInt32) { receiver?.prefetch(ssrc: ssrc) }

  /// Prefetches the state of a stream alone, where the key is in the caches already.
  mutating func prefetchStream(_ ssrc: UInt32) { sender?.prefetchStream(ssrc) }

  /// Seals a packet of which the header is written and the payload stands elsewhere, and returns the sealed length; nil before
  /// there are keys.
  mutating func protectRTP(
    _ packet: inout MutableSpan<UInt8>, header: Int, payload: Span<UInt8>, ssrc: UInt32, sequence: UInt16
  ) throws(SRTPError) -> Int? {
    try sender?.protectRTP(&packet, header: header, payload: payload, ssrc: ssrc, sequence: sequence)
  }

  mutating func protectRTCP(_ packet: inout MutableSpan<UInt8>, length: Int) throws(SRTPError) -> Int? {
    try sender?.protectRTCP(&packet, length: length)
  }
}

extension DropReason {
  /// Why a packet was not sealed.
  init(sealing error: SRTPError) {
    switch error {
    case .tooOld: self = .sealTooOld
    case .replayed: self = .sealReplayed
    case .tooManyStreams, .keyExhausted: self = .sealExhausted
    case .malformed, .noRoom, .backendFailed, .authenticationFailed, .notEncrypted: self = .sealFailed
    }
  }

  /// Why a packet was not opened.
  init(_ error: SRTPError) {
    switch error {
    case .replayed, .tooOld: self = .replayed
    case .authenticationFailed: self = .authentication
    default: self = .malformed
    }
  }
}
