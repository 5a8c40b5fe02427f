// SRTP of one connection, both ways. It is libsrtp2's, so that an error of the server's in sealing cannot hide in both ends;
// in large crowds some participants may open and seal RTP with the server's own code, which costs a fifth of that.

import Basics
import DTLS
import SRTP
import SRTPLibrary

struct MediaSeals: ~Copyable {
  private var outbound: LibSRTPSession
  private var inbound: LibSRTPSession
  /// Opens RTP in place of `inbound`.
  private var quickInbound: SRTPReceiver?
  /// Seals RTP in place of `outbound`.
  private var quickOutbound: SRTPSender?

  /// `isQuick`: RTP is opened and sealed by the server's own code.
  init(_ keys: DTLSKeys, isQuick: Bool) throws {
    let sealing = try LibSRTPSession(key: keys.local, direction: .outbound)
    let opening = try LibSRTPSession(key: keys.remote, direction: .inbound)
    let quickOpening: SRTPReceiver? = isQuick ? try SRTPReceiver(key: keys.remote) : nil
    let quickSealing: SRTPSender? = isQuick ? try SRTPSender(key: keys.local) : nil
    outbound = sealing
    inbound = opening
    quickInbound = quickOpening
    quickOutbound = quickSealing
  }

  /// Checks and decrypts a whole packet in place; the length of the plain one.
  mutating func open(_ packet: inout MutableSpan<UInt8>, isRTCP: Bool) throws -> Int {
    if isRTCP { return try inbound.unprotectRTCP(&packet, length: packet.count) }
    if let length = try quickInbound?.unprotectRTP(&packet, length: packet.count) { return length }
    return try inbound.unprotectRTP(&packet, length: packet.count)
  }

  /// Seals the packet in the first `length` bytes in place; the length of the sealed one.
  mutating func seal(_ packet: inout MutableSpan<UInt8>, length: Int, isRTCP: Bool) throws -> Int {
    if isRTCP { return try outbound.protectRTCP(&packet, length: length) }
    // Where no RTX was agreed on a repetition is the very same packet, as libsrtp2's session allows.
    if let length = try quickOutbound?.protectRTP(&packet, length: length, resending: true) { return length }
    return try outbound.protectRTP(&packet, length: length)
  }
}
