// RTX: retransmissions in a stream of their own (RFC 4588 §4), the original sequence number (OSN) before the payload.

import Basics

/// Taking retransmissions apart and putting them together.
public enum Retransmission {
  /// Bytes that the original sequence number takes.
  public static let overhead = 2

  /// The number of the packet that an RTX packet repeats; nil when it repeats none (empty or padding only: a probe).
  /// `view` is the padding-stripped view of the plaintext RTX packet.
  @inlinable public static func originalSequenceNumber(_ bytes: Span<UInt8>, _ view: PacketView) -> UInt16? {
    guard view.payloadLength >= overhead, view.payload.upperBound <= bytes.count else { return nil }
    return bytes.uint16(at: view.payloadOffset)
  }

  /// Turns an RTX packet into the packet it repeats, in place: payload moved over the OSN, sequence number, payload type
  /// and SSRC restored, padding gone. Returns the new view; the packet is `payload.upperBound` long.
  ///
  /// `view` is the padding-stripped view of the plaintext packet. Throws `malformed` when it repeats nothing.
  public static func unwrap(
    _ packet: inout MutableSpan<UInt8>, _ view: PacketView, payloadType: UInt8, ssrc: UInt32
  ) throws(RTPError) -> PacketView {
    guard let original = originalSequenceNumber(packet.span, view) else { throw .malformed }
    var restored = view
    restored.payloadLength -= overhead
    restored.sequenceNumber = original
    restored.payloadType = payloadType & 0x7f
    restored.ssrc = ssrc
    restored.hasPadding = false
    for index in restored.payload { packet[index] = packet[index + overhead] }
    packet[0] &= ~0x20
    packet[1] = restored.payloadType | (view.marker ? 0x80 : 0)
    packet.store(original, at: 2)
    packet.store(ssrc, at: 8)
    return restored
  }

  /// Writes the OSN at `offset`, where the RTX header ends, and returns its length: the original payload goes behind.
  /// Throws `noRoom`.
  @inlinable public static func writeOriginalSequenceNumber(
    _ number: UInt16, into packet: inout MutableSpan<UInt8>, at offset: Int
  ) throws(RTPError) -> Int {
    guard offset >= 0, packet.count - offset >= overhead else { throw .noRoom }
    packet.store(number, at: offset)
    return overhead
  }
}
