// What the DTLS handshake hands to SRTP: a protection profile and one master key for each direction (RFC 5764 §4).
// It lives here because both C fences and both machines speak of it.

/// A DTLS-SRTP protection profile; the raw value is its number on the wire (RFC 5764 §4.1.2, RFC 7714 §14.2).
public enum SRTPProfile: UInt16, CaseIterable, Sendable {
  /// SRTP_AES128_CM_HMAC_SHA1_80 (RFC 3711, RFC 5764): 16-byte key, 14-byte salt, 10-byte tag.
  case aes128CMSHA1_80 = 0x0001
  /// SRTP_AEAD_AES_128_GCM (RFC 7714): 16-byte key, 12-byte salt, 16-byte tag.
  case aeadAES128GCM = 0x0007
  /// SRTP_AEAD_AES_256_GCM (RFC 7714): 32-byte key, 12-byte salt, 16-byte tag.
  case aeadAES256GCM = 0x0008

  /// Cheapest of the strong ones first: the order in which we offer, and choose when we are the DTLS server.
  public static let preferenceOrder: [SRTPProfile] = [.aeadAES128GCM, .aeadAES256GCM, .aes128CMSHA1_80]

  /// Bytes of a master key.
  @inlinable public var keyLength: Int { self == .aeadAES256GCM ? 32 : 16 }
  /// Bytes of a master salt.
  @inlinable public var saltLength: Int { self == .aes128CMSHA1_80 ? 14 : 12 }
  /// Bytes of the authentication tag of an SRTP or SRTCP packet.
  @inlinable public var tagLength: Int { self == .aes128CMSHA1_80 ? 10 : 16 }
  /// What protecting an RTP packet adds to its length.
  @inlinable public var rtpOverhead: Int { tagLength }
  /// What protecting an RTCP packet adds to its length: the tag, the E flag and the SRTCP index.
  @inlinable public var rtcpOverhead: Int { tagLength + 4 }
}

/// The master key and salt that protect one direction.
public struct SRTPMasterKey: Equatable, Sendable {
  /// Decides the cipher and the lengths of `key` and `salt`.
  public let profile: SRTPProfile
  /// `profile.keyLength` bytes.
  public let key: [UInt8]
  /// `profile.saltLength` bytes.
  public let salt: [UInt8]

  /// nil unless both lengths are those of the profile.
  public init?(profile: SRTPProfile, key: [UInt8], salt: [UInt8]) {
    guard key.count == profile.keyLength, salt.count == profile.saltLength else { return nil }
    self.profile = profile
    self.key = key
    self.salt = salt
  }
}
