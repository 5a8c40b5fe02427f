// The earlier packets that a packet of sound carries to a receiver whose line loses some (RFC 2198). They come from the cache, whatever
// the publisher sends.
//
//   cache: … N-2 N-1 N ─▶ |header N-2|header N-1|header N| N-2 | N-1 | N |

import Basics
import RTP

/// Bounds of what is added.
public enum Redundancy {
  /// Earlier packets in one. With two, of three packets lost in a row one is heard; a third would cost as much again, and come later
  /// than most receivers wait.
  public static let most = 2
  /// Bytes of payload that a packet does not grow beyond: what every path carries whole.
  static let longestPayload = 1_200
}

extension PacketCache {
  /// How many packets right before `packet`, `most` at most, fit into one with it, and how long its payload then is. None before number
  /// `first`, none beyond a packet that is missing, no silence. Count 0 where none fits.
  public func redundancy(before packet: StoredPacket, since first: Int64, most: Int) -> (count: Int, length: UInt16) {
    var (count, length) = (0, RedundantAudio.ownHeader + Int(packet.length))
    while count < most {
      guard let earlier = earlier(count + 1, before: packet), earlier.sequence >= first else { break }
      let longer = length + RedundantAudio.blockHeader + Int(earlier.length)
      guard longer <= Redundancy.longestPayload else { break }
      (count, length) = (count + 1, longer)
    }
    return (count, UInt16(count > 0 ? length : Int(packet.length)))
  }

  /// The packet `distance` before another, where it may go along with that.
  private func earlier(_ distance: Int, before packet: StoredPacket) -> StoredPacket? {
    guard let earlier = find(packet.sequence - Int64(distance)), earlier.codec == packet.codec, !earlier.info.isDTX,
      (1...RedundantAudio.longestBlock).contains(Int(earlier.length)),
      (1...RedundantAudio.longestOffset).contains(packet.timestamp &- earlier.timestamp)
    else { return nil }
    return earlier
  }

  /// Writes the packet at `place` with those before it, `count` at most, all of them under `payloadType`. Fewer where they are not here
  /// any more. Returns the bytes written; nil where they do not fit into `payload`.
  public func writeRedundant(
    at place: Int, count: Int, payloadType: UInt8, into payload: UnsafeMutableRawBufferPointer
  ) -> Int? {
    let packet = self[place]
    var (first, length) = (0, RedundantAudio.ownHeader + Int(packet.length))
    while first < count, let earlier = earlier(first + 1, before: packet) {
      first += 1
      length += RedundantAudio.blockHeader + Int(earlier.length)
    }
    // What is written below is so long and no longer, which makes it right to write it unchecked.
    guard length <= payload.count else { return nil }
    var at = 0
    for distance in stride(from: first, to: 0, by: -1) {
      guard let earlier = earlier(distance, before: packet),
        unsafe RedundantAudio.writeHeader(
          payloadType: payloadType, age: packet.timestamp &- earlier.timestamp, length: Int(earlier.length),
          into: payload, at: at)
      else { return nil }
      at += RedundantAudio.blockHeader
    }
    unsafe payload[at] = payloadType
    at += RedundantAudio.ownHeader
    for distance in stride(from: first, to: 0, by: -1) {
      if let earlier = earlier(distance, before: packet) { unsafe copy(earlier, to: payload, &at) }
    }
    unsafe copy(packet, to: payload, &at)
    return at
  }
}
