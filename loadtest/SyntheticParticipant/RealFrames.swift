// Real media, without any codec here: clips of frames that somebody else encoded, and whole frames for somebody else to
// decode. Frames of a clip cannot carry a stamp in each packet; it stands at the end of a frame's last packet, where Opus has
// padding and where VP8 decoders do not look.

import RTP

/// Encoded frames to be sent over and over. The first is a keyframe, after which the others follow; the last is followed by
/// the first.
public struct MediaClip: Sendable, Hashable {
  /// At least one. A frame of sound ends in `PayloadStamp.length` bytes of padding.
  public let frames: [[UInt8]]

  /// A clip of these frames.
  public init(frames: [[UInt8]]) { self.frames = frames.isEmpty ? [[0]] : frames }

  func frame(_ index: Int) -> [UInt8] { frames[index % frames.count] }
}

/// A part of a clip's frame that goes into one packet.
struct ClipPiece: Sendable {
  var frame: Int
  var start: Int
  var length: Int

  /// Payload bytes of a packet without descriptor and stamp.
  private static let capacity = 1_150

  /// The pieces of a frame, nearly equal in size.
  static func count(ofFrame bytes: Int) -> Int { max(1, (bytes + capacity - 1) / capacity) }

  init(frame: Int, packet: Int, packets: Int, bytes: Int) {
    let size = (bytes + packets - 1) / packets
    self.frame = frame
    start = min(packet * size, bytes)
    length = min(size, bytes - start)
  }
}

/// Looks at the whole frames of one stream; lives on the thread of its connection.
public protocol FrameInspector: AnyObject {
  /// Takes the next frame that a decoder could decode. `identity` is what its stamps must say, nil while nobody knows;
  /// `isContinuous` says that it follows the frame before it without a gap.
  func take(_ frame: [UInt8], identity: UInt64?, isContinuous: Bool)
  /// What was found so far.
  var findings: InspectorFindings { get }
}

/// What an inspector found.
public struct InspectorFindings: Sendable, Hashable {
  /// Frames decoded.
  public var decoded: UInt64 = 0
  /// Frames that could not be decoded.
  public var undecodable: UInt64 = 0
  /// Pictures and sounds of somebody else.
  public var wrongIdentity: UInt64 = 0
  /// The worst likeness to what was encoded, in decibels, among the pictures that were compared.
  public var lowestPSNR: Double?

  /// Nothing yet.
  public init() {}
}

/// Puts the frames of a stream together from its packets in order.
struct FrameAssembler {
  private var bytes: [UInt8] = []

  /// Takes the next packet's payload; the frame when it is the last of a whole one.
  mutating func take(_ fact: PacketFact, isVideo: Bool, isWhole: Bool) -> [UInt8]? {
    guard let payload = fact.payload else { return nil }
    if fact.startsFrame || !isVideo { bytes.removeAll(keepingCapacity: true) }
    let start = isVideo ? Self.descriptorLength(payload) : 0
    let end = payload.count - (fact.hasTrailer && isVideo ? PayloadStamp.length : 0)
    if start < end { bytes += payload[start..<end] }
    // More than any frame that is sent here; what goes on without an end is dropped.
    if bytes.count > 1 << 20 { bytes.removeAll() }
    return isWhole && !bytes.isEmpty ? bytes : nil
  }

  /// Bytes of a VP8 payload descriptor (RFC 7741 §4.2).
  static func descriptorLength(_ payload: [UInt8]) -> Int {
    guard payload.count > 2, payload[0] & 0x80 != 0 else { return 1 }
    let flags = payload[1]
    var length = 2
    if flags & 0x80 != 0 { length += payload[2] & 0x80 != 0 ? 2 : 1 }
    if flags & 0x40 != 0 { length += 1 }
    if flags & 0x30 != 0 { length += 1 }
    return length
  }
}
