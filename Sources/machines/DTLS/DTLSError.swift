// Why a DTLS connection came to nothing, in words for logs and for the person who set the server up.

import Crypto

/// Why a DTLS connection failed.
public enum DTLSError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The handshake did not finish within `DTLSTiming.giveUp`.
  case timedOut
  /// The peer sent a fatal alert with this description number (RFC 5246 §7.2).
  case alert(UInt8)
  /// The peer showed no certificate, so that it has no fingerprint.
  case noPeerCertificate
  /// The peer offered none of our SRTP profiles, or no use_srtp at all.
  case noCommonSRTPProfile
  /// The peer's certificate is not the one that signalling vouched for.
  case fingerprintMismatch
  /// More datagrams or bytes than any handshake takes.
  case flooded
  /// Keys were asked for before the handshake was complete, or after the connection was closed.
  case notConnected
  /// OpenSSL gave up; its words.
  case protocolFailure(String)

  init(_ failure: DTLSEngineFailure) {
    switch failure {
    case .alert(let number): self = .alert(number)
    case .noPeerCertificate: self = .noPeerCertificate
    case .openSSL(let text): self = .protocolFailure(text)
    }
  }

  /// One line for people.
  public var description: String {
    switch self {
    case .timedOut: "the DTLS handshake did not finish in time: the peer's or our datagrams do not arrive"
    case .alert(let number): "the peer refused the DTLS handshake with alert \(number) (\(Self.alertName(number)))"
    case .noPeerCertificate: "the peer showed no certificate in the DTLS handshake"
    case .noCommonSRTPProfile:
      "the peer offers no SRTP profile that we have (AES-128-GCM, AES-256-GCM, AES-128-CM-SHA1-80)"
    case .fingerprintMismatch: "the peer's certificate does not match the fingerprint in its session description"
    case .flooded: "the peer sent more than a DTLS handshake can need"
    case .notConnected: "the DTLS handshake is not complete"
    case .protocolFailure(let text): "DTLS failed: \(text)"
    }
  }

  private static func alertName(_ number: UInt8) -> String {
    switch number {
    case 0: "close notify"
    case 10: "unexpected message"
    case 20: "bad record MAC"
    case 40: "handshake failure"
    case 42: "bad certificate"
    case 43: "unsupported certificate"
    case 44: "certificate revoked"
    case 45: "certificate expired"
    case 46: "certificate unknown"
    case 47: "illegal parameter"
    case 48: "unknown certificate authority"
    case 49: "access denied"
    case 50: "decode error"
    case 51: "decrypt error"
    case 70: "protocol version"
    case 71: "insufficient security"
    case 80: "internal error"
    case 90: "user cancelled"
    default: "not a common one"
    }
  }
}
