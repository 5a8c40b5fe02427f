// Generic NACK (RFC 4585 §6.2.1), FIR (RFC 5104 §4.3.1) and REMB (draft-alvestrand-rmcat-remb-03 §2.2).

import Basics

/// Packets that a receiver misses.
public struct NACK: Sendable, Hashable {
  /// Who asks.
  public let sender: UInt32
  /// The stream that has holes.
  public let media: UInt32
  /// How many (PID, BLP) items there are.
  public let count: Int
  let offset: Int

  init(_ bytes: Span<UInt8>, _ body: RTCPBody) throws(RTPError) {
    try body.require(12)
    sender = bytes.uint32(at: body.content)
    media = bytes.uint32(at: body.content + 4)
    offset = body.content + 8
    count = (body.end - offset) / 4
  }

  /// The item at `index`: a sequence number and a bitmask of the 16 after it; nil when there is none.
  public func item(_ index: Int, _ bytes: Span<UInt8>) -> (packetID: UInt16, bitmask: UInt16)? {
    let at = offset + 4 * index
    guard index >= 0, index < count, at + 4 <= bytes.count else { return nil }
    return (bytes.uint16(at: at), bytes.uint16(at: at + 2))
  }

  /// Calls `body` with each sequence number that is asked for, item by item: at most 17 times `count`.
  @inlinable public func forEachSequenceNumber(_ bytes: Span<UInt8>, _ body: (UInt16) -> Void) {
    for index in 0..<count {
      guard var (number, mask) = item(index, bytes) else { return }
      body(number)
      while mask != 0 {
        number &+= 1
        if mask & 1 != 0 { body(number) }
        mask >>= 1
      }
    }
  }
}

/// Requests for a keyframe, one per source.
public struct FullIntraRequest: Sendable, Hashable {
  /// Who asks.
  public let sender: UInt32
  /// How many sources are asked.
  public let count: Int
  let offset: Int

  init(_ bytes: Span<UInt8>, _ body: RTCPBody) throws(RTPError) {
    try body.require(16)
    sender = bytes.uint32(at: body.content)
    offset = body.content + 8
    count = (body.end - offset) / 8
  }

  /// The request at `index`: a repetition carries the same number as the original. Nil when there is none.
  public func request(_ index: Int, _ bytes: Span<UInt8>) -> (ssrc: UInt32, number: UInt8)? {
    let at = offset + 8 * index
    guard index >= 0, index < count, at + 8 <= bytes.count else { return nil }
    return (bytes.uint32(at: at), bytes[at + 4])
  }
}

/// REMB: what a receiver believes it can take in all.
public struct BandwidthEstimate: Sendable, Hashable {
  static let name: UInt32 = 0x5245_4d42  // "REMB"
  /// Who says so.
  public let sender: UInt32
  /// Bits per second, saturated at the largest UInt64.
  public let bitrate: UInt64
  /// How many streams share it.
  public let count: Int
  let offset: Int

  /// Nil when the application layer feedback is not REMB.
  init?(_ bytes: Span<UInt8>, _ body: RTCPBody) throws(RTPError) {
    guard body.end - body.content >= 16, bytes.uint32(at: body.content + 8) == Self.name else { return nil }
    sender = bytes.uint32(at: body.content)
    count = Int(bytes[body.content + 12])
    let exponent = UInt64(bytes[body.content + 13] >> 2)
    let mantissa = UInt64(bytes.uint24(at: body.content + 13) & 0x3_ffff)
    bitrate = exponent > UInt64(mantissa.leadingZeroBitCount) ? .max : mantissa << exponent
    offset = body.content + 16
    guard offset + 4 * count <= body.end else { throw .malformed }
  }

  /// The stream at `index`; nil when there is none.
  public func ssrc(_ index: Int, _ bytes: Span<UInt8>) -> UInt32? {
    guard index >= 0, index < count, offset + 4 * index + 4 <= bytes.count else { return nil }
    return bytes.uint32(at: offset + 4 * index)
  }
}
