// Redundant audio (RFC 2198): a packet's sound, and before it that of the packets just before.
//
//   |1| PT (7) | time stamp offset (14) | length (10) |   for each earlier block, the oldest first
//   |0| PT (7) |                                          for the packet's own
//   earlier blocks … | the packet's own, to the end
//
// It says by which time, and not by which number, an earlier block went before. `OpusPacket.duration` tells whether it was the very
// packet before.

import Basics

/// What stands in a RED payload. Offsets count from its start.
public struct RedundantAudio: Sendable {
  /// Earlier blocks that are read; a payload with more is malformed. Browsers send one, and none needs more than this.
  public static let mostBlocks = 8
  /// The furthest that an earlier block may lie back, in ticks of the media clock.
  public static let longestOffset: UInt32 = 0x3fff
  /// The longest earlier block, in bytes.
  public static let longestBlock = 0x3ff
  /// Bytes that an earlier block's header takes.
  public static let blockHeader = 4
  /// Bytes that the header of the packet's own block takes.
  public static let ownHeader = 1

  /// Sound of one packet.
  public struct Block: Sendable, Hashable {
    /// Of the format inside.
    public var payloadType: UInt8
    /// Ticks by which it is older than the packet.
    public var age: UInt32
    /// Where it is in the payload.
    public var range: Range<Int>

    /// All of it.
    public init(payloadType: UInt8, age: UInt32, range: Range<Int>) {
      (self.payloadType, self.age, self.range) = (payloadType, age, range)
    }
  }

  /// The packet's own sound.
  public let own: Block
  /// Earlier blocks.
  public let count: Int
  private var blocks = InlineArray<8, Block>(repeating: Block(payloadType: 0, age: 0, range: 0..<0))

  /// The earlier block `index`, 0 ..< `count`, the oldest first.
  public func earlier(_ index: Int) -> Block { blocks[index] }

  /// Reads a payload, without padding. Nil where headers or blocks reach beyond its end, where there are too many, or where nothing is
  /// left for the packet's own.
  public static func parse(_ payload: Span<UInt8>) -> RedundantAudio? { RedundantAudio(payload) }

  private init?(_ payload: Span<UInt8>) {
    var (at, found) = (0, 0)
    while at < payload.count && payload[at] & 0x80 != 0 {
      guard found < Self.mostBlocks, at + Self.blockHeader <= payload.count else { return nil }
      let fields = UInt32(payload[at + 1]) << 16 | UInt32(payload[at + 2]) << 8 | UInt32(payload[at + 3])
      blocks[found] = Block(
        payloadType: payload[at] & 0x7f, age: fields >> 10, range: 0..<Int(fields & UInt32(Self.longestBlock)))
      found += 1
      at += Self.blockHeader
    }
    guard at < payload.count else { return nil }
    let payloadType = payload[at] & 0x7f
    at += Self.ownHeader
    for index in 0..<found {
      let length = blocks[index].range.count
      guard at + length <= payload.count else { return nil }
      blocks[index].range = at..<(at + length)
      at += length
    }
    guard at < payload.count else { return nil }
    own = Block(payloadType: payloadType, age: 0, range: at..<payload.count)
    count = found
  }

  /// Writes the header of an earlier block of `length` bytes at `offset`. False, and nothing written, where its age or length does not
  /// fit in the header, or the header not in `payload`.
  public static func writeHeader(
    payloadType: UInt8, age: UInt32, length: Int, into payload: UnsafeMutableRawBufferPointer, at offset: Int
  ) -> Bool {
    guard age <= longestOffset, (0...longestBlock).contains(length), offset >= 0, offset + blockHeader <= payload.count
    else { return false }
    let fields = age << 10 | UInt32(truncatingIfNeeded: length)
    payload[offset] = 0x80 | payloadType
    payload[offset + 1] = UInt8(truncatingIfNeeded: fields >> 16)
    payload[offset + 2] = UInt8(truncatingIfNeeded: fields >> 8)
    payload[offset + 3] = UInt8(truncatingIfNeeded: fields)
    return true
  }
}

/// What an Opus packet says of itself (RFC 6716 §3.1).
public enum OpusPacket {
  /// How long its sound is, in ticks of 48 kHz; nil for one that breaks the format.
  public static func duration(_ payload: Span<UInt8>) -> UInt32? {
    guard payload.count > 0 else { return nil }
    let configuration = payload[0] >> 3
    let frame: UInt32 =
      switch configuration {
      case 0..<12: configuration & 3 == 3 ? 2_880 : 480 << UInt32(configuration & 3)
      case 12..<16: configuration & 1 == 0 ? 480 : 960
      default: 120 << UInt32(configuration & 3)
      }
    let frames: UInt32
    switch payload[0] & 3 {
    case 0: frames = 1
    case 1, 2: frames = 2
    default:
      guard payload.count > 1 else { return nil }
      frames = UInt32(payload[1] & 0x3f)
    }
    // 120 ms at most.
    guard frames > 0, frame * frames <= 5_760 else { return nil }
    return frame * frames
  }
}
