// Who gets a datagram: demultiplexing by its first two bytes (RFC 7983 §7, RFC 5761 §4).

/// What a datagram on the media port is, judged by its first bytes alone.
public enum PacketClass: UInt8, Sendable, Equatable {
  case stun, dtls, turnChannel, rtp, rtcp
  /// Empty, too short to tell, or of a protocol that is not spoken here.
  case unknown

  /// The class of a datagram; nothing but its first two bytes is read.
  @inlinable public static func classify(_ bytes: Span<UInt8>) -> PacketClass {
    guard bytes.count >= 2 else { return .unknown }
    return classify(firstByte: bytes[0], secondByte: bytes[1])
  }

  /// The class of a datagram that starts with these two bytes.
  @inlinable public static func classify(firstByte: UInt8, secondByte: UInt8) -> PacketClass {
    switch firstByte {
    case 0...3: .stun
    case 20...63: .dtls
    case 64...79: .turnChannel
    case 128...191: isRTCP(secondByte: secondByte) ? .rtcp : .rtp
    default: .unknown
    }
  }

  /// Whether an RTP-or-RTCP packet with this second byte is RTCP: packet types 192 … 223, which as RTP would be payload
  /// types 64 … 95 with a marker (RFC 5761 §4).
  @inlinable public static func isRTCP(secondByte: UInt8) -> Bool { (192...223).contains(secondByte) }
}

/// Whether a datagram that is RTP or RTCP is RTCP (RFC 5761 §4).
@inlinable public func isRTCP(_ bytes: Span<UInt8>) -> Bool {
  bytes.count >= 2 && PacketClass.isRTCP(secondByte: bytes[1])
}
