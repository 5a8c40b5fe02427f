// FINGERPRINT (RFC 8489 §14.7) and MESSAGE-INTEGRITY (§14.5). STUN itself knows no HMAC: the caller brings one.

import Basics

/// An HMAC-SHA1 over two byte strings, one after the other, with a key that the caller knows.
public typealias IntegrityTag = InlineArray<20, UInt8>

extension MessageView {
  static let fingerprintMask: UInt32 = 0x5354_554e

  /// Whether the message ends in a FINGERPRINT that is right.
  public func fingerprintHolds(_ bytes: Span<UInt8>) -> Bool {
    guard let offset = fingerprintOffset, bytes.count == length else { return false }
    return bytes.uint32(at: offset + 4) == CRC32.checksum(bytes.extracting(first: offset)) ^ Self.fingerprintMask
  }

  /// Whether the message carries a MESSAGE-INTEGRITY that is right; takes the same time whatever byte is wrong.
  ///
  /// `hmac` is HMAC-SHA1 of its first argument followed by its second: the header as it was when the tag was made (its
  /// length field ends with the tag), and what lies between header and tag.
  public func integrityHolds(
    _ bytes: Span<UInt8>, hmac: (_ header: Span<UInt8>, _ body: Span<UInt8>) -> IntegrityTag
  ) -> Bool {
    guard let offset = integrityOffset, bytes.count == length else { return false }
    let tag = Self.integrityTag(bytes, upTo: offset, hmac: hmac)
    var difference: UInt8 = 0
    for index in 0..<20 { difference |= tag[index] ^ bytes[offset + 4 + index] }
    return difference == 0
  }

  /// The tag of a message whose MESSAGE-INTEGRITY attribute starts at `offset`.
  static func integrityTag(
    _ bytes: Span<UInt8>, upTo offset: Int, hmac: (Span<UInt8>, Span<UInt8>) -> IntegrityTag
  ) -> IntegrityTag {
    var header = InlineArray<20, UInt8>(repeating: 0)
    for index in 0..<headerLength { header[index] = bytes[index] }
    let length = UInt16(truncatingIfNeeded: offset + 24 - headerLength)
    header[2] = UInt8(length >> 8)
    header[3] = UInt8(length & 0xff)
    return hmac(header.span, bytes.extracting(headerLength..<offset))
  }
}

/// The CRC-32 of Ethernet and zip (ISO/IEC 13239, reflected 0x04C11DB7).
enum CRC32 {
  private static let table: InlineArray<256, UInt32> = {
    var table = InlineArray<256, UInt32>(repeating: 0)
    for index in 0..<256 {
      var value = UInt32(index)
      for _ in 0..<8 { value = value & 1 == 0 ? value >> 1 : value >> 1 ^ 0xedb8_8320 }
      table[index] = value
    }
    return table
  }()

  static func checksum(_ bytes: Span<UInt8>) -> UInt32 {
    let table = table
    var value = UInt32.max
    for index in bytes.indices { value = value >> 8 ^ table[Int((value ^ UInt32(bytes[index])) & 0xff)] }
    return ~value
  }
}
