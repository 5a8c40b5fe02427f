// Builds the plaintext packet that one receiver gets: a new header, then the stored payload with its descriptor's
// picture numbers moved on where a layer was switched.

import Basics
import RTP

/// Largest packet that a receiver is sent, before sealing: what fits an Ethernet frame over IPv6 with room for the tag.
public let maximumOutgoingPacket = 1_436

/// Writes a packet at the start of `out` and returns its length, or nil when it would exceed `maximumOutgoingPacket`.
/// With `originalSequence` it is a retransmission (RFC 4588 §4) and `header` belongs to the RTX stream.
public func writePacket(
  _ header: RTPHeader, originalSequence: UInt16?, packet: StoredPacket, rewrite: Rewrite,
  payload: UnsafeRawBufferPointer, ids: HeaderExtensionIDs, into out: inout MutableSpan<UInt8>
) -> Int? {
  let room = RTPHeader.maximumLength + Retransmission.overhead + payload.count
  guard room <= out.count, var at = try? header.write(into: &out, ids: ids) else { return nil }
  if let originalSequence {
    guard let length = try? Retransmission.writeOriginalSequenceNumber(originalSequence, into: &out, at: at) else {
      return nil
    }
    at += length
  }
  guard at + payload.count <= maximumOutgoingPacket else { return nil }
  out.withUnsafeMutableBytes { bytes in
    UnsafeMutableRawBufferPointer(rebasing: bytes[at..<(at + payload.count)]).copyMemory(from: payload)
  }
  if rewrite.pictureIDDelta != 0 || rewrite.tl0Delta != 0 {
    rewriteDescriptor(packet.info, rewrite, payload: at..<(at + payload.count), in: &out)
  }
  return at + payload.count
}

/// Lengthens a packet of `length` bytes to `target` with RTP padding (RFC 3550 §5.1) and returns its new length. A packet
/// that is as long already, or would exceed `maximumOutgoingPacket`, or lacks more than 255 bytes, stays as it is.
public func padPacket(_ length: Int, to target: Int, in packet: inout MutableSpan<UInt8>) -> Int {
  let padding = target - length
  guard padding > 0, padding <= 255, target <= min(maximumOutgoingPacket, packet.count) else { return length }
  for index in length..<(target - 1) { packet[index] = 0 }
  packet[target - 1] = UInt8(padding)
  packet[0] |= 0x20
  return target
}

/// Moves the VP8 or VP9 picture identifier and TL0PICIDX on (RFC 7741 §4.2), in the width they have.
private func rewriteDescriptor(
  _ info: PayloadInfo, _ rewrite: Rewrite, payload: Range<Int>, in packet: inout MutableSpan<UInt8>
) {
  if let picture = info.pictureID {
    let value = picture.value &+ rewrite.pictureIDDelta
    let at = payload.lowerBound + Int(picture.offset)
    if picture.isLong, at + 1 < payload.upperBound {
      packet[at] = 0x80 | UInt8(truncatingIfNeeded: value >> 8)
      packet[at + 1] = UInt8(truncatingIfNeeded: value)
    } else if !picture.isLong, at < payload.upperBound {
      packet[at] = UInt8(truncatingIfNeeded: value) & 0x7f
    }
  }
  if let tl0 = info.tl0PictureIndex, payload.lowerBound + Int(tl0.offset) < payload.upperBound {
    packet[payload.lowerBound + Int(tl0.offset)] = tl0.value &+ rewrite.tl0Delta
  }
}
