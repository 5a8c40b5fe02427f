// AES-CM with HMAC-SHA1-80 (RFC 3711 §4.1.1, §4.2.1) on OpenSSL, one direction.
//
//   SRTP:   header | payload, encrypted | tag 10          tag over all before it and the rollover counter
//   SRTCP:  8 bytes | rest, encrypted | E + index 4 | tag 10          tag over all before it

import Basics
import Crypto

struct AESCMTransform: ~Copyable {
  static let tagLength = 10
  // Behind pointers, because hashing changes them and a transform is used in place: see `GCMCipher`.
  private let rtp: UnsafeMutablePointer<Half>
  private let rtcp: UnsafeMutablePointer<Half>

  private struct Half: ~Copyable {
    var cipher: AESCTR
    var hmac: HMACSHA1
    /// Salt · 2^16.
    let salt: UInt128

    init(_ keys: SessionKeys) throws(CryptoError) {
      cipher = try AESCTR(key: keys.encryption.span)
      hmac = HMACSHA1(key: keys.authentication.span)
      salt = wideInteger(keys.salt) << 16
    }

    /// The key stream of a packet over a part of it.
    func crypt(_ packet: inout MutableSpan<UInt8>, _ range: Range<Int>, ssrc: UInt32, index: UInt64) -> Bool {
      do throws(CryptoError) {
        try cipher.apply(iv: iv(ssrc, index), to: &packet, in: range)
        return true
      } catch {
        return false
      }
    }

    /// The key stream of a packet over its payload, which stands elsewhere and goes to `offset`.
    func crypt(
      _ payload: Span<UInt8>, to packet: inout MutableSpan<UInt8>, at offset: Int, ssrc: UInt32, index: UInt64
    ) -> Bool {
      do throws(CryptoError) {
        try cipher.apply(iv: iv(ssrc, index), payload, to: &packet, at: offset)
        return true
      } catch {
        return false
      }
    }

    private func iv(_ ssrc: UInt32, _ index: UInt64) -> InlineArray<16, UInt8> {
      bigEndianBytes(salt ^ UInt128(ssrc) << 64 ^ UInt128(index) << 16)
    }
  }

  init(_ master: SRTPMasterKey) throws(CryptoError) {
    var rtpKeys = try SessionKeys(master, .rtp)
    defer { rtpKeys.wipe() }
    var rtcpKeys = try SessionKeys(master, .rtcp)
    defer { rtcpKeys.wipe() }
    try self.init(rtp: rtpKeys, rtcp: rtcpKeys)
  }

  init(rtp rtpKeys: SessionKeys, rtcp rtcpKeys: SessionKeys) throws(CryptoError) {
    let first = try Half(rtpKeys)
    let second = try Half(rtcpKeys)
    rtp = .allocate(capacity: 1)
    rtcp = .allocate(capacity: 1)
    rtp.initialize(to: first)
    rtcp.initialize(to: second)
  }

  deinit {
    for half in [rtp, rtcp] {
      half.deinitialize(count: 1)
      half.deallocate()
    }
  }

  func sealRTP(_ packet: inout MutableSpan<UInt8>, _ bounds: RTPBounds, length: Int, index: UInt64)
    -> Result<Int, SRTPError>
  {
    guard rtp.pointee.crypt(&packet, bounds.headerLength..<length, ssrc: bounds.ssrc, index: index) else {
      return .failure(.backendFailed)
    }
    return .success(appendTag(&packet, length, index))
  }

  func sealRTP(_ payload: Span<UInt8>, to packet: inout MutableSpan<UInt8>, _ bounds: RTPBounds, index: UInt64)
    -> Result<Int, SRTPError>
  {
    let header = bounds.headerLength
    guard rtp.pointee.crypt(payload, to: &packet, at: header, ssrc: bounds.ssrc, index: index) else {
      return .failure(.backendFailed)
    }
    return .success(appendTag(&packet, header + payload.count, index))
  }

  private func appendTag(_ packet: inout MutableSpan<UInt8>, _ length: Int, _ index: UInt64) -> Int {
    let tag = rtpTag(packet.span.extracting(0..<length), index)
    for byte in 0..<Self.tagLength { packet[length + byte] = tag[byte] }
    return length + Self.tagLength
  }

  func openRTP(_ packet: inout MutableSpan<UInt8>, _ bounds: RTPBounds, length: Int, index: UInt64)
    -> Result<Int, SRTPError>
  {
    let end = length - Self.tagLength
    let tag = rtpTag(packet.span.extracting(0..<end), index)
    guard Self.matches(tag, packet.span.extracting(end..<length)) else { return .failure(.authenticationFailed) }
    guard rtp.pointee.crypt(&packet, bounds.headerLength..<end, ssrc: bounds.ssrc, index: index) else {
      return .failure(.backendFailed)
    }
    return .success(end)
  }

  func sealRTCP(_ packet: inout MutableSpan<UInt8>, ssrc: UInt32, length: Int, index: UInt32)
    -> Result<Int, SRTPError>
  {
    guard rtcp.pointee.crypt(&packet, RTCPBounds.headerLength..<length, ssrc: ssrc, index: UInt64(index)) else {
      return .failure(.backendFailed)
    }
    packet.store(SRTCPTrailer.encrypted | index, at: length)
    let end = length + 4
    let tag = rtcp.pointee.hmac.authenticate(packet.span.extracting(0..<end))
    for byte in 0..<Self.tagLength { packet[end + byte] = tag[byte] }
    return .success(end + Self.tagLength)
  }

  func openRTCP(_ packet: inout MutableSpan<UInt8>, ssrc: UInt32, length: Int, index: UInt32)
    -> Result<Int, SRTPError>
  {
    let end = length - Self.tagLength
    let tag = rtcp.pointee.hmac.authenticate(packet.span.extracting(0..<end))
    guard Self.matches(tag, packet.span.extracting(end..<length)) else { return .failure(.authenticationFailed) }
    guard rtcp.pointee.crypt(&packet, RTCPBounds.headerLength..<(end - 4), ssrc: ssrc, index: UInt64(index)) else {
      return .failure(.backendFailed)
    }
    return .success(end - 4)
  }

  private func rtpTag(_ authenticated: Span<UInt8>, _ index: UInt64) -> HMACSHA1.Tag {
    let rollover = index >> 16
    let counter = InlineArray<4, UInt8> { UInt8(truncatingIfNeeded: rollover >> UInt64(24 - 8 * $0)) }
    rtp.pointee.hmac.reset()
    rtp.pointee.hmac.update(authenticated)
    rtp.pointee.hmac.update(counter.span)
    return rtp.pointee.hmac.finish()
  }

  private static func matches(_ tag: HMACSHA1.Tag, _ received: Span<UInt8>) -> Bool {
    constantTimeEquals(tag.span.extracting(0..<tagLength), received)
  }
}
