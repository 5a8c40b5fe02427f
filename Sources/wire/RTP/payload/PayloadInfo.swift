// What forwarding needs to know about a payload, read once from its descriptor. One file per codec does the reading.

import Basics

/// Codec-independent facts about one packet's payload. Offsets count from the start of the payload.
public struct PayloadInfo: Sendable, Hashable {
  /// The packet begins something that decodes without what came before: a VP8/VP9 keyframe, an H264 parameter set or IDR
  /// picture, an AV1 coded video sequence, any Opus packet.
  public var startsKeyframe = false
  /// The packet may be the first of a frame. Certain for VP8, VP9 and Opus; for H264 and AV1 it says that the packet
  /// begins with a whole NAL unit or OBU, or the first piece of one.
  public var startsFrame = false
  /// The packet is the last of a frame (of a layer frame in VP9).
  public var endsFrame = false
  /// H264: what begins in the packet.
  public var units: H264Units = []
  /// Decoding may go up to this temporal layer here (VP8 Y; H264: nobody refers to the picture), or to any layer behind this
  /// picture (VP9 U).
  public var isLayerSyncPoint = false
  /// Nothing refers to this frame (VP8 N, H264 nal_ref_idc 0), or only other spatial layers do (VP9 Z).
  public var isDiscardable = false
  /// Opus: two bytes at most, so silence (RFC 7587 §3.1.3 discontinuous transmission).
  public var isDTX = false
  /// 0 … 7; 0 where the stream has no temporal layers. H264 has two: 1 is of pictures that nobody refers to.
  public var temporalLayer: UInt8 = 0
  /// 0 … 7; 0 where the stream has no spatial layers.
  public var spatialLayer: UInt8 = 0
  /// VP9: what the packet says of the stream's groups of pictures.
  public var groups = PictureGroups.unsaid
  /// VP9 in flexible mode, AV1 with a dependency descriptor: what the frame refers to.
  public var dependencies: FrameDependencies?
  /// VP8 or VP9 picture identifier.
  public var pictureID: PictureID?
  /// VP8 or VP9 (non-flexible mode) index of the last base layer frame.
  public var tl0PictureIndex: TL0PictureIndex?

  /// How pictures of upper temporal layers refer to each other (VP9 scalability structure, RFC 9628 §4.2.1).
  public enum PictureGroups: UInt8, Sendable, Hashable {
    /// Nothing is said here.
    case unsaid
    /// Some refer across a picture of the base layer to one of an upper layer.
    case open
    /// None does: behind each picture of the base layer all layers may begin.
    case closed
  }

  /// What one frame refers to.
  public struct FrameDependencies: Sendable, Hashable {
    /// Bit `n` stands for the frame whose number is `n + 1` less. Where one is further back, bit 63 stands for it.
    public var references: UInt64
    /// The frame's own number: of a picture with all its spatial layers in VP9, of a frame of one layer in AV1.
    public var number: UInt16
    /// Bits of the number, after which it wraps: 7 … 16.
    public var width: UInt8

    /// A frame that refers to nothing.
    public init(number: UInt16, width: UInt8) { (references, self.number, self.width) = (0, number, width) }

    /// Adds the frame `distance` before this one, 1 or more.
    public mutating func refer(to distance: Int) { references |= 1 << UInt64(min(max(distance, 1), 64) - 1) }
  }

  /// A picture identifier and where it is.
  public struct PictureID: Sendable, Hashable {
    /// Of its first byte in the payload.
    public var offset: UInt8
    /// 7 or 15 bits.
    public var value: UInt16
    /// Whether it has 15 bits.
    public var isLong: Bool

    /// An identifier of 7 or, when long, 15 bits.
    public init(offset: UInt8, value: UInt16, isLong: Bool) {
      self.offset = offset
      self.value = value
      self.isLong = isLong
    }

    /// Writes another identifier in its place, in the same width. Does nothing where the payload is too short.
    @inlinable public func write(_ value: UInt16, into payload: inout MutableSpan<UInt8>) {
      let offset = Int(offset)
      if isLong {
        if offset + 1 < payload.count { payload.store(0x8000 | value, at: offset) }
      } else if offset < payload.count {
        payload[offset] = UInt8(truncatingIfNeeded: value) & 0x7f
      }
    }
  }

  /// An index of the last base layer frame and where it is.
  public struct TL0PictureIndex: Sendable, Hashable {
    /// In the payload.
    public var offset: UInt8
    /// 8 bits.
    public var value: UInt8

    /// An index at a place.
    public init(offset: UInt8, value: UInt8) {
      self.offset = offset
      self.value = value
    }
  }

  /// Nothing known.
  public init() {}

  /// Reads a payload (without padding; `marker` is its header's). Nil when it is too short for its own descriptor or
  /// breaks its format: a packet that no decoder can use.
  public static func parse(_ payload: Span<UInt8>, codec: CodecProfile, marker: Bool) -> PayloadInfo? {
    switch codec {
    case .opus: opus(payload)
    case .vp8: vp8(payload, marker: marker)
    case .vp9Profile0, .vp9Profile2: vp9(payload)
    case .h264ConstrainedBaseline, .h264ConstrainedBaselineMode0, .h264Baseline, .h264BaselineMode0, .h264Main,
      .h264High, .h264MainMode0, .h264HighMode0:
      h264(payload, marker: marker)
    case .av1: av1(payload, marker: marker)
    }
  }

  static func opus(_ payload: Span<UInt8>) -> PayloadInfo? {
    guard payload.count > 0 else { return nil }
    var info = PayloadInfo()
    info.startsKeyframe = true
    info.startsFrame = true
    info.endsFrame = true
    info.isDTX = payload.count <= 2
    return info
  }
}
