// The RTP fixed header (RFC 3550 §5.1), CSRC list and the frame of the header extension, as offsets and values.

import Basics

/// Where everything in one RTP packet is. Holds no bytes: every reader takes the packet's bytes next to the view.
public struct PacketView: Sendable, Equatable {
  /// Length of the fixed header.
  public static let fixedHeaderLength = 12

  /// The marker bit; its meaning is the payload format's.
  public var marker: Bool
  /// Whether the padding bit is set and the padding is still counted in `payloadLength`.
  public var hasPadding: Bool
  /// Whether the header extension bit is set.
  public var hasExtension: Bool
  /// 0 … 127.
  public var payloadType: UInt8
  /// 0 … 15.
  public var csrcCount: UInt8
  /// The packet's number in its stream; wraps.
  public var sequenceNumber: UInt16
  /// In units of the codec's clock; wraps.
  public var timestamp: UInt32
  /// The stream's synchronisation source.
  public var ssrc: UInt32
  /// The "defined by profile" field: 0xBEDE or 0x100x (RFC 8285); 0 without an extension.
  public var extensionProfile: UInt16
  /// Where the extension's elements begin (behind its 4-byte header).
  public var extensionOffset: Int
  /// Length of the extension's elements with their padding, a multiple of 4.
  public var extensionLength: Int
  /// Where the payload begins: also the number of bytes that SRTP leaves in the clear (RFC 3711 §3.1).
  public var payloadOffset: Int
  /// Length of the payload; in an encrypted packet with the tag, before `strippingPadding` with the padding.
  public var payloadLength: Int

  /// The payload's place in the packet.
  @inlinable public var payload: Range<Int> { payloadOffset..<(payloadOffset + payloadLength) }

  /// Parses the header of a packet, plain or encrypted. Padding, which is inside the encryption, is left alone.
  ///
  /// Throws `truncated` or `wrongVersion`.
  @inlinable public static func parse(_ bytes: Span<UInt8>) throws(RTPError) -> PacketView {
    guard bytes.count >= fixedHeaderLength else { throw .truncated }
    let first = bytes[0]
    guard first >> 6 == 2 else { throw .wrongVersion }
    var view = PacketView(
      marker: bytes[1] & 0x80 != 0, hasPadding: first & 0x20 != 0, hasExtension: first & 0x10 != 0,
      payloadType: bytes[1] & 0x7f, csrcCount: first & 0x0f, sequenceNumber: bytes.uint16(at: 2),
      timestamp: bytes.uint32(at: 4), ssrc: bytes.uint32(at: 8), extensionProfile: 0, extensionOffset: 0,
      extensionLength: 0, payloadOffset: fixedHeaderLength + 4 * Int(first & 0x0f), payloadLength: 0)
    if view.hasExtension {
      guard bytes.count >= view.payloadOffset + 4 else { throw .truncated }
      view.extensionProfile = bytes.uint16(at: view.payloadOffset)
      view.extensionLength = 4 * Int(bytes.uint16(at: view.payloadOffset + 2))
      view.extensionOffset = view.payloadOffset + 4
      view.payloadOffset = view.extensionOffset + view.extensionLength
    }
    guard bytes.count >= view.payloadOffset else { throw .truncated }
    view.payloadLength = bytes.count - view.payloadOffset
    return view
  }

  /// The view of the same packet when the packet's whole length has become `length`, as after taking off the SRTP tag.
  /// Throws `truncated` when the header alone is longer.
  @inlinable public func withPacketLength(_ length: Int) throws(RTPError) -> PacketView {
    guard length >= payloadOffset else { throw .truncated }
    var view = self
    view.payloadLength = length - payloadOffset
    return view
  }

  /// The view without the padding that the plaintext packet ends in; itself where there is none. A packet of padding
  /// alone (a probe) comes out with `payloadLength` 0. The padding bit in the bytes stays as it is.
  ///
  /// Throws `badPadding`, or `truncated` when the bytes are not those that were parsed.
  @inlinable public func strippingPadding(_ bytes: Span<UInt8>) throws(RTPError) -> PacketView {
    guard hasPadding else { return self }
    guard payload.upperBound <= bytes.count else { throw .truncated }
    guard payloadLength > 0 else { throw .badPadding }
    let padding = Int(bytes[payload.upperBound - 1])
    guard padding > 0, padding <= payloadLength else { throw .badPadding }
    var view = self
    view.payloadLength -= padding
    view.hasPadding = false
    return view
  }

  @usableFromInline init(
    marker: Bool, hasPadding: Bool, hasExtension: Bool, payloadType: UInt8, csrcCount: UInt8, sequenceNumber: UInt16,
    timestamp: UInt32, ssrc: UInt32, extensionProfile: UInt16, extensionOffset: Int, extensionLength: Int,
    payloadOffset: Int, payloadLength: Int
  ) {
    self.marker = marker
    self.hasPadding = hasPadding
    self.hasExtension = hasExtension
    self.payloadType = payloadType
    self.csrcCount = csrcCount
    self.sequenceNumber = sequenceNumber
    self.timestamp = timestamp
    self.ssrc = ssrc
    self.extensionProfile = extensionProfile
    self.extensionOffset = extensionOffset
    self.extensionLength = extensionLength
    self.payloadOffset = payloadOffset
    self.payloadLength = payloadLength
  }
}
