// The dependency descriptor header extension (AV1 RTP payload format 1.0, appendix A): which layer a frame is of, and which frames it
// refers to. Most packets name a template of the structure that came with the keyframe.
//
//   |start|end|template (6)|frame number (16)|        and where there is more:
//   |structure?|active targets?|own DTIs?|own references?|own chains?| structure … | active targets … | own …

import Basics

/// The templates that frames of one encoding name. A keyframe brings them.
public struct DependencyStructure: Sendable, Equatable {
  /// What a frame of this kind is.
  public struct Template: Sendable, Equatable {
    /// 0 … 3 as a rule, 7 at most.
    public var spatialLayer: UInt8 = 0
    /// 0 … 7.
    public var temporalLayer: UInt8 = 0
    /// As `PayloadInfo.FrameDependencies.references`.
    public var references: UInt64 = 0
  }

  /// Template identifiers have six bits.
  public static let mostTemplates = 64

  /// The identifier of the first.
  public var firstID: UInt8
  /// At most `mostTemplates`.
  public var templates: [Template]
  /// 1 … 32.
  public var decodeTargets: Int
  /// 0 … `decodeTargets`.
  public var chains: Int
  /// Of the highest spatial layer, where it says so.
  public var size: PictureSize?
}

/// The dependency descriptor of one packet.
public struct DependencyDescriptor: Sendable, Equatable {
  /// Whether the packet is the first of its frame.
  public var startsFrame: Bool
  /// Whether it is the last of its frame.
  public var endsFrame: Bool
  /// Wraps.
  public var frameNumber: UInt16
  /// The frame's layers and references.
  public var frame: DependencyStructure.Template
  /// The structure that the packet brings, for it and those behind it.
  public var structure: DependencyStructure?

  /// Whether the descriptor of a packet, at `range` of `bytes`, says that a coded video sequence begins here: it brings a structure, which
  /// keyframes alone do.
  public static func beginsSequence(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Bool {
    range.count > 3 && bytes[range.lowerBound] & 0x80 != 0 && bytes[range.lowerBound + 3] & 0x80 != 0
  }

  /// Reads a descriptor. `known` is the structure that came last. Nil where it is malformed, or names a template that is not known.
  public static func parse(_ bytes: Span<UInt8>, known: DependencyStructure?) -> DependencyDescriptor? {
    guard bytes.count >= 3 else { return nil }
    var reader = BitReader()
    guard let flags = reader.read(2, bytes), let template = reader.read(6, bytes), let number = reader.read(16, bytes)
    else { return nil }
    var descriptor = DependencyDescriptor(
      startsFrame: flags & 2 != 0, endsFrame: flags & 1 != 0, frameNumber: UInt16(truncatingIfNeeded: number),
      frame: .init(), structure: nil)
    let extended = bytes.count > 3 ? reader.read(5, bytes) : 0
    guard let extended else { return nil }
    if extended & 0x10 != 0 {
      guard let structure = DependencyStructure.read(&reader, bytes) else { return nil }
      descriptor.structure = structure
    }
    guard let structure = descriptor.structure ?? known,
      descriptor.readFrame(UInt8(truncatingIfNeeded: template), extended, of: structure, &reader, bytes)
    else { return nil }
    return descriptor
  }

  /// What the frame is: its template's, or with references of its own.
  private mutating func readFrame(
    _ template: UInt8, _ extended: UInt32, of structure: DependencyStructure, _ reader: inout BitReader,
    _ bytes: Span<UInt8>
  ) -> Bool {
    let index = Int((template &- structure.firstID) & 63)
    guard index < structure.templates.count else { return false }
    frame = structure.templates[index]
    if extended & 0x08 != 0, !reader.skip(structure.decodeTargets, bytes) { return false }
    if extended & 0x04 != 0, !reader.skip(2 * structure.decodeTargets, bytes) { return false }
    if extended & 0x02 != 0 {
      guard let references = Self.readReferences(&reader, bytes) else { return false }
      frame.references = references
    }
    return extended & 0x01 == 0 || reader.skip(8 * structure.chains, bytes)
  }

  /// |size in half bytes (2)|distance − 1| … until a size of 0.
  private static func readReferences(_ reader: inout BitReader, _ bytes: Span<UInt8>) -> UInt64? {
    var frame = PayloadInfo.FrameDependencies(number: 0, width: 16)
    while true {
      guard let size = reader.read(2, bytes) else { return nil }
      if size == 0 { return frame.references }
      guard let distance = reader.read(4 * Int(size), bytes) else { return nil }
      frame.refer(to: Int(distance) + 1)
    }
  }
}

extension DependencyStructure {
  static func read(_ reader: inout BitReader, _ bytes: Span<UInt8>) -> DependencyStructure? {
    guard let first = reader.read(6, bytes), let targets = reader.read(5, bytes) else { return nil }
    var structure = DependencyStructure(
      firstID: UInt8(truncatingIfNeeded: first), templates: [], decodeTargets: Int(targets) + 1, chains: 0)
    guard structure.readLayers(&reader, bytes),
      // What each frame is to each decode target: not needed to see what it refers to.
      reader.skip(2 * structure.templates.count * structure.decodeTargets, bytes),
      structure.readReferences(&reader, bytes), structure.readChains(&reader, bytes),
      structure.readSizes(&reader, bytes)
    else { return nil }
    return structure
  }

  /// Template by template: same layer as the one before (0), next temporal (1), next spatial (2), no more (3).
  private mutating func readLayers(_ reader: inout BitReader, _ bytes: Span<UInt8>) -> Bool {
    var template = Template()
    while templates.count < Self.mostTemplates {
      templates.append(template)
      switch reader.read(2, bytes) {
      case 0: break
      case 1: template.temporalLayer += 1
      case 2:
        template.spatialLayer += 1
        template.temporalLayer = 0
      case 3: return true
      default: return false
      }
      guard template.temporalLayer < 8, template.spatialLayer < 8 else { return false }
    }
    return false
  }

  /// For each template |1|distance − 1 (4)| … |0|.
  private mutating func readReferences(_ reader: inout BitReader, _ bytes: Span<UInt8>) -> Bool {
    for index in templates.indices {
      var frame = PayloadInfo.FrameDependencies(number: 0, width: 16)
      while true {
        guard let follows = reader.read(1, bytes) else { return false }
        if follows == 0 { break }
        guard let distance = reader.read(4, bytes) else { return false }
        frame.refer(to: Int(distance) + 1)
      }
      templates[index].references = frame.references
    }
    return true
  }

  private mutating func readChains(_ reader: inout BitReader, _ bytes: Span<UInt8>) -> Bool {
    guard let count = reader.readNonSymmetric(below: decodeTargets + 1, bytes) else { return false }
    chains = count
    guard count > 0 else { return true }
    for _ in 0..<decodeTargets {
      guard reader.readNonSymmetric(below: count, bytes) != nil else { return false }
    }
    return reader.skip(4 * templates.count * count, bytes)
  }

  /// For each spatial layer |width − 1 (16)|height − 1 (16)|.
  private mutating func readSizes(_ reader: inout BitReader, _ bytes: Span<UInt8>) -> Bool {
    guard let present = reader.read(1, bytes) else { return false }
    guard present == 1, let highest = templates.map(\.spatialLayer).max() else { return true }
    guard reader.skip(32 * Int(highest), bytes), let width = reader.read(16, bytes),
      let height = reader.read(16, bytes)
    else { return false }
    size = PictureSize(Int(width) + 1, Int(height) + 1)
    return true
  }
}

/// Reads bits, the highest of a byte first. Holds no bytes.
struct BitReader {
  /// The next bit.
  private(set) var position = 0

  /// The next `count` bits, 32 at most; nil where there are fewer.
  mutating func read(_ count: Int, _ bytes: Span<UInt8>) -> UInt32? {
    guard count <= 32, position + count <= 8 * bytes.count else { return nil }
    var value: UInt32 = 0
    for bit in position..<(position + count) {
      value = value << 1 | UInt32(bytes[bit >> 3] >> UInt8(7 - bit & 7) & 1)
    }
    position += count
    return value
  }

  /// Passes over bits; false where there are fewer.
  mutating func skip(_ count: Int, _ bytes: Span<UInt8>) -> Bool {
    guard position + count <= 8 * bytes.count else { return false }
    position += count
    return true
  }

  /// A number below `limit`, 1 or more, in as few bits as that takes (AV1 §4.10.7).
  mutating func readNonSymmetric(below limit: Int, _ bytes: Span<UInt8>) -> Int? {
    let width = Int.bitWidth - limit.leadingZeroBitCount
    let short = 1 << width - limit
    guard let value = read(width - 1, bytes).map(Int.init) else { return nil }
    if value < short { return value }
    guard let bit = read(1, bytes) else { return nil }
    return value << 1 - short + Int(bit)
  }
}

extension PayloadInfo {
  /// Takes in what the descriptor says of the packet, which is more exact than what the payload does.
  public mutating func take(_ descriptor: DependencyDescriptor) {
    (startsFrame, endsFrame) = (descriptor.startsFrame, descriptor.endsFrame)
    (spatialLayer, temporalLayer) = (descriptor.frame.spatialLayer, descriptor.frame.temporalLayer)
    var frame = FrameDependencies(number: descriptor.frameNumber, width: 16)
    frame.references = descriptor.frame.references
    dependencies = frame
  }
}
