// As much of RTP and RTCP headers as SRTP must know: where the payload starts, whose packet it is, and its number.

/// The header of an RTP packet (RFC 3550 §5.1), CSRCs and extension included: what is authenticated but not encrypted.
struct RTPBounds {
  let headerLength: Int
  let ssrc: UInt32
  let sequence: UInt16

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
    sequence = UInt16(packet[2]) << 8 | UInt16(packet[3])
    ssrc = packet.bigEndian32(at: 8)
  }
}

/// The unencrypted start of a compound RTCP packet: the first header and its sender's SSRC.
enum RTCPBounds {
  static let headerLength = 8

  /// The sender's SSRC; nil unless `packet` is version 2 and holds the header.
  static func ssrc(_ packet: Span<UInt8>) -> UInt32? {
    guard packet.count >= headerLength, packet[0] >> 6 == 2 else { return nil }
    return packet.bigEndian32(at: 4)
  }
}

extension Span<UInt8> {
  /// Four bytes in network order. The caller knows that they are there.
  func bigEndian32(at offset: Int) -> UInt32 {
    UInt32(self[offset]) << 24 | UInt32(self[offset + 1]) << 16 | UInt32(self[offset + 2]) << 8
      | UInt32(self[offset + 3])
  }
}

extension MutableSpan<UInt8> {
  /// Writes four bytes in network order. The caller knows that there is room.
  mutating func setBigEndian32(_ value: UInt32, at offset: Int) {
    for byte in 0..<4 { self[offset + byte] = UInt8(truncatingIfNeeded: value >> UInt32(24 - 8 * byte)) }
  }
}
