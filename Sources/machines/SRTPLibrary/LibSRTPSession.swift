// SRTPLibrary: the one target that imports libsrtp2 (RFC 3711, RFC 7714).
//
// Threads: libsrtp2 keeps no state between sessions after `srtp_init`, which runs once, under the lock of a global's
// initialisation. A session belongs to the thread that uses it and may move with its owner; being noncopyable it cannot be
// used by two threads at once by accident.

import Basics
internal import CSRTP

/// Why libsrtp2 refused.
public enum LibSRTPError: Error, Equatable, Sendable {
  /// Too short, or not RTP or RTCP of version 2.
  case malformed
  /// A packet with this index has been seen.
  case replayed
  /// The index lies before the replay window.
  case tooOld
  /// The tag is wrong.
  case authenticationFailed
  /// The SRTCP packet is not encrypted, though the profile says it is.
  case notEncrypted
  /// The buffer has no room for the tag.
  case noRoom
  /// The key has protected as many packets as it may.
  case keyExhausted
  /// Anything else, by libsrtp2's number (`srtp_err_status_t`).
  case library(UInt32)
}

/// One direction of an SRTP session for any number of SSRCs, with one master key.
public struct LibSRTPSession: ~Copyable {
  /// What the session does with its key.
  public enum Direction: Sendable {
    /// Protects. Older sequence numbers may be protected again, within 4,096 of the newest.
    case outbound
    /// Unprotects, with a replay window of 128 packets.
    case inbound
  }

  private let session: OpaquePointer
  private let overhead: (rtp: Int, rtcp: Int)

  /// A session for the key's profile; SSRCs are learnt from packets.
  public init(key: SRTPMasterKey, direction: Direction) throws(LibSRTPError) {
    try check(Self.initialised)
    var policy = srtp_policy_t()
    let profile = Self.profile(key.profile)
    try check(srtp_crypto_policy_set_from_profile_for_rtp(&policy.rtp, profile))
    try check(srtp_crypto_policy_set_from_profile_for_rtcp(&policy.rtcp, profile))
    policy.ssrc.type = direction == .outbound ? ssrc_any_outbound : ssrc_any_inbound
    // Outbound this bounds how old a packet may be that is sent again; a stream's bitmap takes an eighth of it in bytes.
    policy.window_size = direction == .outbound ? 4_096 : 128
    policy.allow_repeat_tx = direction == .outbound ? 1 : 0
    var keyAndSalt = key.key + key.salt
    var created: OpaquePointer?
    let status = keyAndSalt.withUnsafeMutableBufferPointer {
      policy.key = $0.baseAddress
      return srtp_create(&created, &policy)
    }
    try check(status)
    guard let created else { throw .library(srtp_err_status_fail.rawValue) }
    session = created
    overhead = (key.profile.rtpOverhead, key.profile.rtcpOverhead)
  }

  deinit { srtp_dealloc(session) }

  /// Protects the RTP packet in the first `length` bytes in place and returns its new length.
  public func protectRTP(_ packet: inout MutableSpan<UInt8>, length: Int) throws(LibSRTPError) -> Int {
    try apply(srtp_protect, &packet, length, growth: overhead.rtp)
  }

  /// Unprotects the SRTP packet in the first `length` bytes in place and returns its new length. After an error the
  /// bytes mean nothing.
  public func unprotectRTP(_ packet: inout MutableSpan<UInt8>, length: Int) throws(LibSRTPError) -> Int {
    guard length >= 12 + overhead.rtp else { throw .malformed }
    return try apply(srtp_unprotect, &packet, length, growth: 0)
  }

  /// Protects the compound RTCP packet in the first `length` bytes in place and returns its new length.
  public func protectRTCP(_ packet: inout MutableSpan<UInt8>, length: Int) throws(LibSRTPError) -> Int {
    guard length >= 8 else { throw .malformed }
    return try apply(srtp_protect_rtcp, &packet, length, growth: overhead.rtcp)
  }

  /// Unprotects the SRTCP packet in the first `length` bytes in place and returns its new length. After an error the
  /// bytes mean nothing.
  public func unprotectRTCP(_ packet: inout MutableSpan<UInt8>, length: Int) throws(LibSRTPError) -> Int {
    guard length >= 8 + overhead.rtcp else { throw .malformed }
    return try apply(srtp_unprotect_rtcp, &packet, length, growth: 0)
  }

  /// Forgets a stream. Outbound, its SSRC must never be used with this key again: its key stream would repeat.
  public func removeStream(ssrc: UInt32) { srtp_remove_stream(session, ssrc.bigEndian) }

  /// Sets the rollover counter that the next packet of a known stream is taken to have.
  public func setRolloverCounter(_ counter: UInt32, ssrc: UInt32) throws(LibSRTPError) {
    try check(srtp_set_stream_roc(session, ssrc, counter))
  }

  private func apply(
    _ function: (OpaquePointer?, UnsafeMutableRawPointer?, UnsafeMutablePointer<Int32>?) -> srtp_err_status_t,
    _ packet: inout MutableSpan<UInt8>, _ length: Int, growth: Int
  ) throws(LibSRTPError) -> Int {
    guard length >= 0, length <= 0xffff, length + growth <= packet.count else { throw .noRoom }
    var count = Int32(length)
    let session = session
    let status = packet.withUnsafeMutableBytes { function(session, $0.baseAddress, &count) }
    try check(status)
    return Int(count)
  }

  private static let initialised = srtp_init()

  private static func profile(_ profile: SRTPProfile) -> srtp_profile_t {
    switch profile {
    case .aes128CMSHA1_80: srtp_profile_aes128_cm_sha1_80
    case .aeadAES128GCM: srtp_profile_aead_aes_128_gcm
    case .aeadAES256GCM: srtp_profile_aead_aes_256_gcm
    }
  }
}

private func check(_ status: srtp_err_status_t) throws(LibSRTPError) {
  switch status {
  case srtp_err_status_ok: return
  case srtp_err_status_bad_param, srtp_err_status_parse_err: throw .malformed
  case srtp_err_status_replay_fail: throw .replayed
  case srtp_err_status_replay_old, srtp_err_status_pkt_idx_old: throw .tooOld
  // libsrtp2 reports a wrong GCM tag as a failure of the cipher in some builds.
  case srtp_err_status_auth_fail, srtp_err_status_cipher_fail: throw .authenticationFailed
  case srtp_err_status_cant_check: throw .notEncrypted
  case srtp_err_status_key_expired: throw .keyExhausted
  default: throw .library(status.rawValue)
  }
}
