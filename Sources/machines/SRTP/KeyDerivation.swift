// Session keys from the master key (RFC 3711 §4.3, RFC 6188 for 256 bits, RFC 7714 §11), with key derivation rate 0.

import Basics
import Crypto

/// The keys of one direction of SRTP or of SRTCP.
struct SessionKeys {
  /// What the keys are for; the raw value is the first of its three labels (RFC 3711 §4.3.1 and §4.3.2).
  enum Use: UInt8 {
    case rtp = 0
    case rtcp = 3
  }

  private(set) var encryption: [UInt8]
  /// 20 bytes; unused with AEAD.
  private(set) var authentication: [UInt8]
  /// 14 bytes, or 12 with AEAD.
  private(set) var salt: [UInt8]

  /// Keys that were derived already, as in RFC 7714's vectors.
  init(encryption: [UInt8], authentication: [UInt8], salt: [UInt8]) {
    self.encryption = encryption
    self.authentication = authentication
    self.salt = salt
  }

  init(_ master: SRTPMasterKey, _ use: Use) throws(CryptoError) {
    encryption = try Self.derive(master, label: use.rawValue, length: master.profile.keyLength)
    authentication = try Self.derive(master, label: use.rawValue + 1, length: 20)
    salt = try Self.derive(master, label: use.rawValue + 2, length: master.profile.saltLength)
  }

  /// Overwrites the keys, which the ciphers have expanded by then.
  mutating func wipe() {
    Crypto.wipe(&encryption)
    Crypto.wipe(&authentication)
    Crypto.wipe(&salt)
  }

  /// `length` bytes of AES-CM key stream under the master key, starting at (salt XOR label · 2^48) · 2^16. An AEAD salt of
  /// 12 bytes counts as 14 with two zeroes at its end.
  static func derive(_ master: SRTPMasterKey, label: UInt8, length: Int) throws(CryptoError) -> [UInt8] {
    let start = wideInteger(master.salt) << UInt128(8 * (16 - master.salt.count)) ^ UInt128(label) << 64
    var bytes = [UInt8](repeating: 0, count: length)
    let cipher = try AESCTR(key: master.key.span)
    var span = bytes.mutableSpan
    try cipher.apply(iv: bigEndianBytes(start), to: &span, in: 0..<length)
    return bytes
  }
}

/// Up to 16 bytes in network order as a number.
func wideInteger(_ bytes: [UInt8]) -> UInt128 { bytes.reduce(0) { $0 << 8 | UInt128($1) } }

/// A number as 16 bytes in network order.
func bigEndianBytes(_ value: UInt128) -> InlineArray<16, UInt8> {
  InlineArray { UInt8(truncatingIfNeeded: value >> UInt128(120 - 8 * $0)) }
}
