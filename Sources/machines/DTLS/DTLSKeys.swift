// From exported keying material to SRTP master keys (RFC 5764 §4.2).

import Basics
import Crypto

/// The SRTP keys of a connection whose peer has been verified.
public struct DTLSKeys: Equatable, Sendable {
  /// The negotiated protection profile, that of both keys.
  public let profile: SRTPProfile
  /// Protects what we send.
  public let local: SRTPMasterKey
  /// Opens what the peer sends.
  public let remote: SRTPMasterKey

  /// Cuts `material`, which holds client key, server key, client salt and server salt in this order; nil when it is short.
  init?(profile: SRTPProfile, role: DTLSRole, material: [UInt8]) {
    let (key, salt) = (profile.keyLength, profile.saltLength)
    guard material.count == 2 * (key + salt) else { return nil }
    let salts = material[(2 * key)...]
    guard
      let client = SRTPMasterKey(profile: profile, key: Array(material[..<key]), salt: Array(salts.prefix(salt))),
      let server = SRTPMasterKey(
        profile: profile, key: Array(material[key..<(2 * key)]), salt: Array(salts.suffix(salt)))
    else { return nil }
    self.profile = profile
    local = role == .client ? client : server
    remote = role == .client ? server : client
  }

  /// Bytes of keying material to export.
  static func materialLength(_ profile: SRTPProfile) -> Int { 2 * (profile.keyLength + profile.saltLength) }
}
