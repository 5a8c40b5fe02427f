// The stamp that synthetic payloads carry in each packet, so that a receiver can tell whose packet it is, whether all of a
// frame came, and how long it took. 36 bytes, big-endian:
//
//   magic 4 | identity 8 | sent at, ns 8 | frame 4 | packet 2 | packets 2 | payload length 2 | layer 1 | keyframe 1 | ordinal 4
//
// It stands behind Opus' TOC byte, and behind descriptor and frame header of VP8.

import Basics

/// Who made a packet, which one it is, and when.
public struct PayloadStamp: Sendable, Hashable {
  /// Bytes of a stamp.
  public static let length = 36
  /// Where it stands in an Opus payload.
  public static let audioOffset = 1
  /// Where it stands in a VP8 payload: descriptor with a 15-bit picture ID, then room for a keyframe's header.
  public static let videoOffset = 14

  private static let magic: UInt32 = 0x5253_544d  // "RSTM"

  /// The track: `identity(user:label:)`.
  public var identity: UInt64
  /// When the frame was made, on the machine's monotonic clock.
  public var sentAt: Instant
  /// Frames of the track so far; counts on while the track is muted. All layers of one picture share it.
  public var frame: UInt32
  /// Which packet of the frame, from 0.
  public var packet: UInt16
  /// Packets of the frame.
  public var packets: UInt16
  /// Bytes of the whole payload.
  public var payloadLength: UInt16
  /// Which simulcast layer, from 0.
  public var layer: UInt8
  /// Whether the frame is a keyframe.
  public var isKeyframe: Bool
  /// Packets of this encoding so far, this one included: what a server may renumber, it cannot hide.
  public var ordinal: UInt32

  /// The identity of a track: FNV-1a of user and label, so that a packet of another person's track, or of another track
  /// of the same person, is noticed.
  public static func identity(user: String, label: String) -> UInt64 {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in [Array(user.utf8), [0], Array(label.utf8)].joined() {
      hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3
    }
    return hash
  }

  /// Writes the stamp at `offset`; `length` bytes must be there.
  func write(into packet: inout MutableSpan<UInt8>, at offset: Int) {
    packet.store(Self.magic, at: offset)
    packet.store(identity, at: offset + 4)
    packet.store(UInt64(bitPattern: sentAt.nanoseconds), at: offset + 12)
    packet.store(frame, at: offset + 20)
    packet.store(self.packet, at: offset + 24)
    packet.store(packets, at: offset + 26)
    packet.store(payloadLength, at: offset + 28)
    packet[offset + 30] = layer
    packet[offset + 31] = isKeyframe ? 1 : 0
    packet.store(ordinal, at: offset + 32)
  }

  /// The stamp at `offset`; nil where there is none, as in packets of other clients.
  init?(_ packet: Span<UInt8>, at offset: Int) {
    guard offset >= 0, packet.count - offset >= Self.length, packet.uint32(at: offset) == Self.magic else { return nil }
    identity = packet.uint64(at: offset + 4)
    sentAt = Instant(nanoseconds: Int64(bitPattern: packet.uint64(at: offset + 12)))
    frame = packet.uint32(at: offset + 20)
    self.packet = packet.uint16(at: offset + 24)
    packets = packet.uint16(at: offset + 26)
    payloadLength = packet.uint16(at: offset + 28)
    layer = packet[offset + 30]
    isKeyframe = packet[offset + 31] & 1 != 0
    ordinal = packet.uint32(at: offset + 32)
  }

  /// All of it.
  init(
    identity: UInt64, sentAt: Instant, frame: UInt32, packet: UInt16, packets: UInt16, payloadLength: UInt16,
    layer: UInt8, isKeyframe: Bool, ordinal: UInt32 = 0
  ) {
    self.identity = identity
    self.sentAt = sentAt
    self.frame = frame
    self.packet = packet
    self.packets = packets
    self.payloadLength = payloadLength
    self.layer = layer
    self.isKeyframe = isKeyframe
    self.ordinal = ordinal
  }
}
