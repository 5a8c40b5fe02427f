// The plaintext of what a producer sent lately, stored once and read by every consumer: for the first send, and again
// when a receiver asks for a retransmission (RFC 4585 generic NACK).
//
//   entries (by sequence number modulo their count)     payload bytes (one ring, written in arrival order)
//   [seq, position, length, info …]  ────────────────▶ ……|payload|payload|payload|…
//
// An entry is good as long as the ring has not been written over its position. Nothing is allocated after `init`.

import Basics
import RTP

/// What the forwarder knows of one stored packet besides its payload bytes; the header is rebuilt for each receiver.
public struct StoredPacket: Sendable {
  /// Unwrapped sequence number in the encoding's own numbering.
  public var sequence: Int64
  /// The publisher's RTP time stamp.
  public var timestamp: UInt32
  /// Arrival on the worker's clock.
  public var arrival: Instant
  /// Payload length in bytes, without header, extensions and padding.
  public var length: UInt16
  /// The codec that the payload type stood for.
  public var codec: CodecProfile
  /// The RTP marker bit.
  public var marker: Bool
  /// Facts read from the payload once.
  public var info: PayloadInfo
  /// How loud the packet is; nil when it did not say.
  public var audioLevel: AudioLevel?
  /// Video orientation byte; nil when absent.
  public var orientation: UInt8?
  /// Where the payload starts, counted in bytes ever written to the ring.
  var position: Int64 = 0

  /// All but the place in the ring.
  public init(
    sequence: Int64, timestamp: UInt32, arrival: Instant, length: UInt16, codec: CodecProfile, marker: Bool,
    info: PayloadInfo, audioLevel: AudioLevel?, orientation: UInt8?
  ) {
    self.sequence = sequence
    self.timestamp = timestamp
    self.arrival = arrival
    self.length = length
    self.codec = codec
    self.marker = marker
    self.info = info
    self.audioLevel = audioLevel
    self.orientation = orientation
  }
}

/// A bounded store of the newest packets of one encoding. Owned by one thread.
public struct PacketCache: ~Copyable {
  /// Longest payload that is stored.
  public static let longestPayload = 2_048
  /// Packets in the largest cache.
  public static let mostPackets = 512

  private let bytes: UnsafeMutableRawBufferPointer
  private var entries: [StoredPacket?]
  private var written: Int64 = 0

  /// Room for `byteCapacity` bytes of payload in at most `packetCapacity` packets (rounded up to a power of two).
  public init(byteCapacity: Int, packetCapacity: Int) {
    bytes = .allocate(byteCount: max(byteCapacity, Self.longestPayload), alignment: 64)
    var capacity = 16
    while capacity < packetCapacity { capacity *= 2 }
    entries = Array(repeating: nil, count: capacity)
  }

  deinit { bytes.deallocate() }

  /// Stores a payload under `packet.sequence`, in place of the oldest; one longer than `longestPayload` is not stored.
  public mutating func insert(_ packet: StoredPacket, payload: UnsafeRawBufferPointer) {
    guard payload.count <= Self.longestPayload else { return }
    var entry = packet
    let start = Int(written % Int64(bytes.count))
    // A payload never wraps: what is left at the end of the ring stays unused.
    if start + payload.count > bytes.count { written += Int64(bytes.count - start) }
    entry.position = written
    let offset = Int(written % Int64(bytes.count))
    if let source = payload.baseAddress, let base = bytes.baseAddress {
      (base + offset).copyMemory(from: source, byteCount: payload.count)
    }
    written += Int64(payload.count)
    entries[slot(packet.sequence)] = entry
  }

  /// The packet with this unwrapped sequence number, if it is still here.
  public func find(_ sequence: Int64) -> StoredPacket? {
    guard let entry = entries[slot(sequence)], entry.sequence == sequence,
      written - entry.position <= Int64(bytes.count)
    else { return nil }
    return entry
  }

  /// The payload bytes of a packet that `find` has just returned; good until the next `insert`.
  public func payload(of packet: StoredPacket) -> UnsafeRawBufferPointer {
    let offset = Int(packet.position % Int64(bytes.count))
    return UnsafeRawBufferPointer(rebasing: bytes[offset..<(offset + Int(packet.length))])
  }

  private func slot(_ sequence: Int64) -> Int { Int(truncatingIfNeeded: sequence) & (entries.count - 1) }
}
