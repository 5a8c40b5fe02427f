// What can be wrong with a packet or a session, and the choice of backend.

import Basics
import Crypto
import IPSecMB
import SRTPLibrary

/// Why a packet was not protected or unprotected. Small, so that a caller can count it as a drop.
public enum SRTPError: Error, Equatable, Sendable {
  /// Too short, not version 2, or a header that is longer than the packet.
  case malformed
  /// The receiver has had this packet, or the sender has protected this sequence number before.
  case replayed
  /// More than 127 packets older than the newest.
  case tooOld
  /// The tag is wrong: forged, damaged, or of another key.
  case authenticationFailed
  /// The SRTCP packet is not encrypted (E flag 0), though every profile we negotiate encrypts.
  case notEncrypted
  /// One SSRC more than the session takes.
  case tooManyStreams
  /// The buffer has no room for the tag.
  case noRoom
  /// The key has protected as many packets as it may (RFC 3711 §9.2).
  case keyExhausted
  /// The library under the session failed; not for anything the peer sent.
  case backendFailed

  init(_ error: LibSRTPError) {
    switch error {
    case .malformed: self = .malformed
    case .replayed: self = .replayed
    case .tooOld: self = .tooOld
    case .authenticationFailed: self = .authenticationFailed
    case .notEncrypted: self = .notEncrypted
    case .noRoom: self = .noRoom
    case .keyExhausted: self = .keyExhausted
    case .library: self = .backendFailed
    }
  }
}

/// Which library does the cryptography.
public enum SRTPBackend: String, CaseIterable, Sendable {
  /// libipsec-mb for AES-GCM, four times cheaper than OpenSSL 3.0; AES-CM stays with OpenSSL. x86-64 with AES instructions.
  case ipsecMB = "ipsec-mb"
  /// OpenSSL with kept contexts: no allocation per packet.
  case openSSL = "openssl"
  /// libsrtp2.
  case libSRTP = "libsrtp"

  /// Whether this machine can use it.
  public var isAvailable: Bool { self != .ipsecMB || MultiBufferGCM.isAvailable }

  /// Those that this machine can use.
  public static var available: [SRTPBackend] { allCases.filter(\.isAvailable) }

  /// The one to use where nobody has measured: docs/decisions/0004-srtp-backends.md. A server measures when it starts (`costs`).
  public static func preferred(for profile: SRTPProfile) -> SRTPBackend {
    profile != .aes128CMSHA1_80 && MultiBufferGCM.isAvailable ? .ipsecMB : .openSSL
  }

  /// What it is, for a line that people read.
  public var described: String {
    switch self {
    case .ipsecMB: "libipsec-mb (\(MultiBufferGCM.instructions ?? "not on this CPU"))"
    case .openSSL: openSSLVersion()
    case .libSRTP: "libsrtp2"
    }
  }
}
