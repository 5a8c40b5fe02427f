// As much of RTP and RTCP headers as SRTP must know: where the payload starts, whose packet it is, and its number.

import Basics

/// The header of an RTP packet (RFC 3550 §5.1), CSRCs and extension included: what is authenticated but not encrypted.
struct RTPBounds {
  let headerLength: Int
  let ssrc: UInt32
  let sequence: UInt16

  /// Those of a packet that whoever asks has put together himself.
  init(headerLength: Int, ssrc: UInt32, sequence: UInt16) {
    (self.headerLength, self.ssrc, self.sequence) = (headerLength, ssrc, sequence)
  }

  /// nil unless `packet` is version 2 and its header ends within it.
  init?(_ packet: Span<UInt8>) {
    guard packet.count >= 12, packet[0] >> 6 == 2 else { return nil }
    var length = 12 + 4 * Int(packet[0] & 0x0f)
    if packet[0] & 0x10 != 0 {
      guard length + 4 <= packet.count else { return nil }
      length += 4 + 4 * (Int(packet[length + 2]) << 8 | Int(packet[length + 3]))
    }
    guard length <= packet.count else { return nil }
    headerLength = length
    sequence = packet.uint16(at: 2)
    ssrc = packet.uint32(at: 8)
  }
}

/// The unencrypted start of a compound RTCP packet: the first header and its sender's SSRC.
enum RTCPBounds {
  static let headerLength = 8

  /// The sender's SSRC; nil unless `packet` is version 2 and holds the header.
  static func ssrc(_ packet: Span<UInt8>) -> UInt32? {
    guard packet.count >= headerLength, packet[0] >> 6 == 2 else { return nil }
    return packet.uint32(at: 4)
  }
}
