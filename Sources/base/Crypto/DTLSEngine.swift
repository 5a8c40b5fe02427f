// DTLS 1.2 (RFC 6347) by OpenSSL as a machine of datagrams, without timers. Used by the DTLS target, which adds virtual time,
// bounds and the fingerprint check.
//
// OpenSSL retransmits by the real clock only, and a flight must not be sent again as it was: a retransmitted message goes
// in a new record with a new number (RFC 6347 §4.2.2), which nobody else can make for an encrypted one. So when a flight has
// been written, OpenSSL's timer is made to expire at once, several times over, and every flight comes with its
// retransmissions, made in advance. After that the timer is set past the end of any handshake.

import Basics
internal import COpenSSL

/// Why OpenSSL gave a connection up.
public enum DTLSEngineFailure: Error, Equatable, Sendable {
  /// The peer sent a fatal alert (RFC 5246 §7.2) with this description number.
  case alert(UInt8)
  /// The peer, as a client, showed no certificate.
  case noPeerCertificate
  /// Anything else; OpenSSL's words.
  case openSSL(String)
}

/// One DTLS connection. Belongs to one thread.
public struct DTLSEngine: ~Copyable {
  /// Where the connection stands after a step.
  public enum Progress: Equatable, Sendable {
    /// The handshake goes on: send what was written, and come back with a datagram.
    case handshaking
    /// The handshake is complete.
    case established
    /// The peer said close_notify.
    case closed
    /// It is over; an alert may have been written.
    case failed(DTLSEngineFailure)
  }

  /// Largest datagram we write: fits every path that carries IPv6 with tunnel headers.
  public static let mtu = 1200

  private let ssl: OpaquePointer
  private let queue: DatagramQueue
  /// How often something came of a datagram once the handshake was over: application data, which nobody takes, or an answer. Nothing comes of
  /// what is forged or came before.
  public private(set) var reactions = 0
  /// Whether OpenSSL's buffers for records, 17 KiB, were given back: once the handshake is over hardly a record comes.
  private var hasRested = false

  /// A connection that has not sent anything yet; a client's first `advance()` writes the ClientHello.
  public init(role: DTLSRole, certificate: Certificate) throws(CryptoError) {
    ErrorQueue.clear()
    queue = DatagramQueue(mtu: Self.mtu)
    guard let ssl = SSL_new(certificate.context) else { throw ErrorQueue.error("SSL_new") }
    guard let bio = queue.makeBIO() else {
      SSL_free(ssl)
      throw ErrorQueue.error("BIO_new")
    }
    self.ssl = ssl
    SSL_set_bio(ssl, bio, bio)
    roost_ssl_set_mtu(ssl, Self.mtu)
    DTLS_set_timer_cb(ssl) { ssl, _ in DatagramQueue.of(SSL_get_rbio(ssl))?.nextTimeout() ?? 3_600_000_000 }
    switch role {
    case .client: SSL_set_connect_state(ssl)
    case .server: SSL_set_accept_state(ssl)
    }
  }

  deinit { SSL_free(ssl) }

  /// Goes on without input: a client starts its handshake.
  public mutating func advance() -> Progress { step() }

  /// Goes on with one datagram from the peer.
  public mutating func advance(with datagram: Span<UInt8>) -> Progress {
    datagram.withUnsafeBytes { bytes in
      queue.incoming = bytes
      let wasFinished = SSL_is_init_finished(ssl) == 1
      defer {
        queue.incoming = nil
        if wasFinished && !queue.outgoing.isEmpty { reactions &+= 1 }
      }
      return step()
    }
  }

  /// The datagrams written since the last call, in order; at most `DatagramQueue.outgoingLimit`.
  public mutating func takeOutgoing() -> [[UInt8]] {
    defer { queue.outgoing = [] }
    return queue.outgoing
  }

  /// What to send when the flight that `takeOutgoing` gave last stays unanswered: the first time, the second and so on.
  public mutating func takeRetransmissions() -> [[[UInt8]]] {
    defer { queue.copies = [] }
    return queue.copies.filter { !$0.isEmpty }
  }

  /// Writes application data; nothing before the handshake is over.
  public mutating func write(_ message: Span<UInt8>) {
    defer { rest() }
    if begin(), SSL_is_init_finished(ssl) == 1, message.count > 0 {
      message.withUnsafeBytes { _ = SSL_write(ssl, $0.baseAddress, Int32(clamping: $0.count)) }
    }
  }

  /// Writes close_notify; nothing during a handshake.
  public mutating func close() {
    defer { rest() }
    if begin(), SSL_is_init_finished(ssl) == 1 { SSL_shutdown(ssl) }
  }

  /// Before each step. OpenSSL takes its buffers anew to read, and crashes (3.0) where it is to write an alert without them. So it gets them
  /// here; false where there is no memory for them.
  private mutating func begin() -> Bool {
    ErrorQueue.clear()
    queue.beginStep()
    if hasRested { hasRested = SSL_alloc_buffers(ssl) != 1 }
    return !hasRested
  }

  /// Behind each step.
  private mutating func rest() {
    if SSL_is_init_finished(ssl) == 1 { hasRested = SSL_free_buffers(ssl) == 1 }
    ErrorQueue.clear()
  }

  private mutating func step() -> Progress {
    defer { rest() }
    guard begin() else { return .failed(.openSSL("no memory for records")) }
    if SSL_is_init_finished(ssl) == 0 {
      let result = SSL_do_handshake(ssl)
      guard result == 1 else { return progress(after: result, waiting: .handshaking) }
    }
    return drain()
  }

  /// Reads what may follow the handshake: a repeated last flight of the peer, which OpenSSL answers, alerts, data.
  private mutating func drain() -> Progress {
    withUnsafeTemporaryAllocation(byteCount: 2048, alignment: 1) { scratch in
      while true {
        let result = SSL_read(ssl, scratch.baseAddress, Int32(scratch.count))
        guard result > 0 else { return progress(after: result, waiting: .established) }
        reactions &+= 1
      }
    }
  }

  private func progress(after result: Int32, waiting: Progress) -> Progress {
    switch SSL_get_error(ssl, result) {
    case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE: return waiting
    case SSL_ERROR_ZERO_RETURN: return .closed
    default: return .failed(Self.failure())
    }
  }

  private static func failure() -> DTLSEngineFailure {
    guard let (code, text) = ErrorQueue.removeAll() else { return .openSSL("gave no reason") }
    let reason = ERR_GET_REASON(code)
    if reason == SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE { return .noPeerCertificate }
    // OpenSSL numbers the reason of a received alert by its description.
    if let alert = UInt8(exactly: Int(reason) - Int(SSL_AD_REASON_OFFSET)) { return .alert(alert) }
    return .openSSL(text)
  }
}

// What a completed handshake agreed on.
extension DTLSEngine {
  /// The negotiated SRTP profile; nil when there is none in common or the handshake is not over.
  public var srtpProfile: SRTPProfile? {
    guard SSL_is_init_finished(ssl) == 1, let profile = SSL_get_selected_srtp_profile(ssl) else { return nil }
    return UInt16(exactly: profile.pointee.id).flatMap(SRTPProfile.init)
  }

  /// `length` bytes of keying material for SRTP (RFC 5764 §4.2); nil before the handshake is over.
  public func exportSRTPKeyingMaterial(length: Int) -> [UInt8]? {
    guard SSL_is_init_finished(ssl) == 1 else { return nil }
    ErrorQueue.clear()
    let label = "EXTRACTOR-dtls_srtp"
    var material = [UInt8](repeating: 0, count: length)
    guard SSL_export_keying_material(ssl, &material, length, label, label.utf8.count, nil, 0, 0) == 1 else {
      return nil
    }
    return material
  }

  /// The hash of the peer's certificate; nil before it has come.
  public func peerFingerprint(_ algorithm: CertificateFingerprint.Algorithm) -> CertificateFingerprint? {
    guard let certificate = SSL_get1_peer_certificate(ssl) else { return nil }
    defer { X509_free(certificate) }
    return certificateFingerprint(certificate, algorithm)
  }

  /// The DTLS cipher suite in OpenSSL's words, for logs.
  public var cipherName: String? {
    SSL_get_current_cipher(ssl).flatMap { SSL_CIPHER_get_name($0) }.map { String(cString: $0) }
  }
}
