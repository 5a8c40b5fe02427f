// How large pictures are, as keyframes say it: VP8 (RFC 6386 §9.1), VP9 (RFC 9628 §4.2.1; its bitstream §7.2), H264 (ITU-T H.264
// §7.3.2.1). AV1 says it in the dependency descriptor.

import Basics

/// Width and height in pixels.
public struct PictureSize: Sendable, Hashable {
  /// Pixels in a line.
  public var width: Int
  /// Lines.
  public var height: Int

  /// A size; nil where one of the two is 0.
  public init?(_ width: Int, _ height: Int) {
    guard width > 0, height > 0 else { return nil }
    (self.width, self.height) = (width, height)
  }

  /// 2^32 at most: each of the two has 16 bits.
  public var pixels: Int { width * height }

  /// Reads the payload of a packet that begins a keyframe; nil where it does not say, or is encrypted. Of spatial layers the largest.
  public static func parse(_ payload: Span<UInt8>, codec: CodecProfile) -> PictureSize? {
    switch codec {
    case .vp8: vp8(payload)
    case .vp9Profile0: vp9(payload, hasDepth: false)
    case .vp9Profile2: vp9(payload, hasDepth: true)
    case .h264ConstrainedBaseline, .h264ConstrainedBaselineMode0, .h264Baseline, .h264BaselineMode0, .h264Main,
      .h264High, .h264MainMode0, .h264HighMode0:
      h264(payload)
    case .av1, .opus: nil
    }
  }

  // MARK: VP8

  private static func vp8(_ payload: Span<UInt8>) -> PictureSize? {
    guard payload.count > 1 else { return nil }
    var at = 1
    if payload[0] & 0x80 != 0 {
      let present = payload[1]
      at = 2
      if present & 0x80 != 0 {
        guard at < payload.count else { return nil }
        at += payload[at] & 0x80 != 0 ? 2 : 1
      }
      if present & 0x40 != 0 { at += 1 }
      if present & 0x30 != 0 { at += 1 }
    }
    // |frame tag (24)|9d 01 2a|scale (2), width (14)|scale (2), height (14)|, lowest byte first.
    guard at + 10 <= payload.count, payload[at] & 1 == 0, payload[at + 3] == 0x9d, payload[at + 4] == 0x01,
      payload[at + 5] == 0x2a
    else { return nil }
    let width = Int(payload[at + 6]) | Int(payload[at + 7] & 0x3f) << 8
    return PictureSize(width, Int(payload[at + 8]) | Int(payload[at + 9] & 0x3f) << 8)
  }

  // MARK: VP9

  private static func vp9(_ payload: Span<UInt8>, hasDepth: Bool) -> PictureSize? {
    guard payload.count > 1 else { return nil }
    let first = payload[0]
    var at = 1
    if first & 0x80 != 0 {
      at += payload[at] & 0x80 != 0 ? 2 : 1
    }
    if first & 0x20 != 0 { at += first & 0x10 != 0 ? 1 : 2 }
    // A picture that refers to others is no keyframe.
    guard first & 0x40 == 0, at < payload.count else { return nil }
    guard first & 0x02 != 0 else { return vp9Header(payload, at, hasDepth: hasDepth) }
    let head = payload[at]
    let last = at + 1 + 4 * Int(head >> 5)
    guard head & 0x10 != 0, last + 4 <= payload.count else { return nil }
    return PictureSize(Int(payload.uint16(at: last)), Int(payload.uint16(at: last + 2)))
  }

  /// |marker (2)|profile (2)|shown (1)|type (1)|show, resilient (2)|49 83 42|depth?|colours|width − 1 (16)|height − 1 (16)|
  private static func vp9Header(_ payload: Span<UInt8>, _ at: Int, hasDepth: Bool) -> PictureSize? {
    let header = payload.extracting(at...)
    var reader = BitReader()
    guard let marker = reader.read(2, header), marker == 2, reader.skip(2, header), let shown = reader.read(1, header),
      shown == 0, let type = reader.read(1, header), type == 0, reader.skip(2, header),
      let sync = reader.read(24, header), sync == 0x49_83_42, !hasDepth || reader.skip(1, header),
      let space = reader.read(3, header), space != 7, reader.skip(1, header), let width = reader.read(16, header),
      let height = reader.read(16, header)
    else { return nil }
    return PictureSize(Int(width) + 1, Int(height) + 1)
  }

  // MARK: H264

  private static func h264(_ payload: Span<UInt8>) -> PictureSize? {
    guard payload.count > 1 else { return nil }
    switch payload[0] & 0x1f {
    case 7: return parameterSet(payload)
    case 24:
      var at = 1
      while at + 2 < payload.count {
        let end = at + 2 + Int(payload.uint16(at: at))
        guard end <= payload.count, end > at + 2 else { return nil }
        if payload[at + 2] & 0x1f == 7 { return parameterSet(payload.extracting((at + 2)..<end)) }
        at = end
      }
      return nil
    default: return nil
    }
  }

  /// Profiles that say how their colours are coded.
  private static let profilesWithColours: [UInt8] = [44, 83, 86, 100, 110, 118, 122, 128, 134, 135, 138, 139, 244]

  /// What is cropped is not taken off: sizes are compared, and not shown.
  private static func parameterSet(_ unit: Span<UInt8>) -> PictureSize? {
    guard unit.count > 4 else { return nil }
    var reader = ParameterSetReader(at: 4)
    guard reader.unsigned(unit) != nil,
      !profilesWithColours.contains(unit[1]) || reader.skipColours(unit), reader.skipOrder(unit),
      reader.unsigned(unit) != nil, reader.bit(unit) != nil, let width = reader.unsigned(unit),
      let height = reader.unsigned(unit), let isWhole = reader.bit(unit), width < 4_096, height < 4_096
    else { return nil }
    return PictureSize((width + 1) * 16, (height + 1) * 16 * (isWhole ? 1 : 2))
  }
}

/// Reads the numbers of a parameter set: bits without the bytes that keep start codes out (§7.4.1.1), Exp-Golomb codes (§9.1).
private struct ParameterSetReader {
  private var at: Int
  private var bitsRead = 0
  private var zeros = 0

  init(at: Int) { self.at = at }

  mutating func bit(_ unit: Span<UInt8>) -> Bool? {
    guard at < unit.count else { return nil }
    let bit = unit[at] >> UInt8(7 - bitsRead) & 1
    bitsRead += 1
    if bitsRead == 8 { next(unit) }
    return bit == 1
  }

  private mutating func next(_ unit: Span<UInt8>) {
    zeros = unit[at] == 0 ? zeros + 1 : 0
    (at, bitsRead) = (at + 1, 0)
    if zeros >= 2, at < unit.count, unit[at] == 3 { (at, zeros) = (at + 1, 0) }
  }

  mutating func unsigned(_ unit: Span<UInt8>) -> Int? {
    var length = 0
    while let bit = bit(unit) {
      if bit {
        var value = 1
        for _ in 0..<length {
          guard let next = self.bit(unit) else { return nil }
          value = value << 1 | (next ? 1 : 0)
        }
        return value - 1
      }
      length += 1
      guard length <= 31 else { return nil }
    }
    return nil
  }

  private mutating func signed(_ unit: Span<UInt8>) -> Int? {
    unsigned(unit).map { $0 & 1 == 1 ? ($0 + 1) / 2 : -$0 / 2 }
  }

  mutating func skipColours(_ unit: Span<UInt8>) -> Bool {
    guard let format = unsigned(unit) else { return false }
    if format == 3, bit(unit) == nil { return false }
    guard unsigned(unit) != nil, unsigned(unit) != nil, bit(unit) != nil, let scales = bit(unit) else { return false }
    guard scales else { return true }
    for list in 0..<(format == 3 ? 12 : 8) {
      guard let isThere = bit(unit) else { return false }
      if isThere && !skipScale(list < 6 ? 16 : 64, unit) { return false }
    }
    return true
  }

  private mutating func skipScale(_ count: Int, _ unit: Span<UInt8>) -> Bool {
    var (last, next) = (8, 8)
    for _ in 0..<count {
      if next != 0 {
        guard let delta = signed(unit), (-256...256).contains(delta) else { return false }
        next = (last + delta + 256) % 256
      }
      if next != 0 { last = next }
    }
    return true
  }

  /// How frames are numbered, and in which order they are shown.
  mutating func skipOrder(_ unit: Span<UInt8>) -> Bool {
    guard unsigned(unit) != nil, let type = unsigned(unit) else { return false }
    if type == 0 { return unsigned(unit) != nil }
    guard type == 1 else { return true }
    guard bit(unit) != nil, unsigned(unit) != nil, unsigned(unit) != nil, let cycle = unsigned(unit), cycle <= 255
    else { return false }
    for _ in 0..<cycle where unsigned(unit) == nil { return false }
    return true
  }
}
