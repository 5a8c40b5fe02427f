// AEAD_AES_128_GCM and AEAD_AES_256_GCM (RFC 7714), one direction, on whichever library has the cipher.
//
//   SRTP:   header, associated | payload, encrypted | tag 16
//   SRTCP:  8 bytes, associated | rest, encrypted | tag 16 | E + index 4, associated

import Basics
import Crypto

struct GCMTransform<Cipher: GCMCipher & ~Copyable>: ~Copyable {
  static var tagLength: Int { 16 }
  private let rtp: Cipher
  private let rtcp: Cipher
  private let rtpSalt: Salt
  private let rtcpSalt: Salt

  /// 96 bits, as a nonce is made of them.
  private struct Salt {
    let high: UInt32
    let low: UInt64

    init(_ salt: UInt128) {
      high = UInt32(truncatingIfNeeded: salt >> 64)
      low = UInt64(truncatingIfNeeded: salt)
    }
  }

  init(_ master: SRTPMasterKey, _ direction: GCMDirection) throws(CryptoError) {
    var rtpKeys = try SessionKeys(master, .rtp)
    defer { rtpKeys.wipe() }
    var rtcpKeys = try SessionKeys(master, .rtcp)
    defer { rtcpKeys.wipe() }
    try self.init(rtp: rtpKeys, rtcp: rtcpKeys, direction)
  }

  init(rtp rtpKeys: SessionKeys, rtcp rtcpKeys: SessionKeys, _ direction: GCMDirection) throws(CryptoError) {
    let rtp = try Cipher(key: rtpKeys.encryption.span, direction: direction)
    let rtcp = try Cipher(key: rtcpKeys.encryption.span, direction: direction)
    self.rtp = rtp
    self.rtcp = rtcp
    rtpSalt = Salt(wideInteger(rtpKeys.salt))
    rtcpSalt = Salt(wideInteger(rtcpKeys.salt))
  }

  func prefetch() { rtp.prefetch() }

  func sealRTP(_ packet: inout MutableSpan<UInt8>, _ bounds: RTPBounds, length: Int, index: UInt64)
    -> Result<Int, SRTPError>
  {
    do throws(CryptoError) {
      try rtp.seal(
        nonce: Self.nonce(rtpSalt, bounds.ssrc, index), &packet, plaintext: bounds.headerLength..<length,
        associated: 0..<bounds.headerLength, trailer: 0..<0)
      return .success(length + Self.tagLength)
    } catch {
      return .failure(.backendFailed)
    }
  }

  func sealRTP(_ payload: Span<UInt8>, to packet: inout MutableSpan<UInt8>, _ bounds: RTPBounds, index: UInt64)
    -> Result<Int, SRTPError>
  {
    do throws(CryptoError) {
      try rtp.seal(
        nonce: Self.nonce(rtpSalt, bounds.ssrc, index), payload, to: &packet, associated: bounds.headerLength)
      return .success(bounds.headerLength + payload.count + Self.tagLength)
    } catch {
      return .failure(.backendFailed)
    }
  }

  func openRTP(_ packet: inout MutableSpan<UInt8>, _ bounds: RTPBounds, length: Int, index: UInt64)
    -> Result<Int, SRTPError>
  {
    let end = length - Self.tagLength
    do throws(CryptoError) {
      let authentic = try rtp.open(
        nonce: Self.nonce(rtpSalt, bounds.ssrc, index), &packet, ciphertext: bounds.headerLength..<end,
        associated: 0..<bounds.headerLength, trailer: 0..<0)
      return authentic ? .success(end) : .failure(.authenticationFailed)
    } catch {
      return .failure(.backendFailed)
    }
  }

  func sealRTCP(_ packet: inout MutableSpan<UInt8>, ssrc: UInt32, length: Int, index: UInt32)
    -> Result<Int, SRTPError>
  {
    let trailer = length + Self.tagLength
    packet.store(SRTCPTrailer.encrypted | index, at: trailer)
    do throws(CryptoError) {
      try rtcp.seal(
        nonce: Self.nonce(rtcpSalt, ssrc, UInt64(index)), &packet, plaintext: RTCPBounds.headerLength..<length,
        associated: 0..<RTCPBounds.headerLength, trailer: trailer..<(trailer + 4))
      return .success(trailer + 4)
    } catch {
      return .failure(.backendFailed)
    }
  }

  func openRTCP(_ packet: inout MutableSpan<UInt8>, ssrc: UInt32, length: Int, index: UInt32)
    -> Result<Int, SRTPError>
  {
    let end = length - 4 - Self.tagLength
    do throws(CryptoError) {
      let authentic = try rtcp.open(
        nonce: Self.nonce(rtcpSalt, ssrc, UInt64(index)), &packet, ciphertext: RTCPBounds.headerLength..<end,
        associated: 0..<RTCPBounds.headerLength, trailer: (length - 4)..<length)
      return authentic ? .success(end) : .failure(.authenticationFailed)
    } catch {
      return .failure(.backendFailed)
    }
  }

  /// Salt XOR (16 zero bits, SSRC, 48 bits of index): for SRTP rollover counter and sequence number, for SRTCP 16 zero
  /// bits and its index (RFC 7714 §8.1, §9.1).
  @inline(__always)
  private static func nonce(_ salt: Salt, _ ssrc: UInt32, _ index: UInt64) -> InlineArray<12, UInt8> {
    var nonce = InlineArray<12, UInt8>(repeating: 0)
    var bytes = nonce.mutableSpan
    bytes.store(salt.high ^ ssrc >> 16, at: 0)
    bytes.store(salt.low ^ UInt64(ssrc) << 48 ^ index, at: 4)
    return nonce
  }
}
