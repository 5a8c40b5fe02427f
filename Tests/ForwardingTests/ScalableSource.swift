// A publisher whose encoder makes temporal and spatial layers, as a model: it knows what each frame refers to, and what the
// packets say of it.

import Basics
import RTP

@testable import Forwarding

/// One frame of one spatial layer.
struct ModelFrame: Hashable {
  let picture: Int
  let spatial: Int
}

struct ModelPacket {
  var stored: StoredPacket
  let frame: ModelFrame
  let references: [ModelFrame]
  /// Packets of the frame.
  let count: Int
}

struct ScalableSource {
  enum Mode: CaseIterable, Sendable {
    /// Three temporal layers with sync bits.
    case vp8
    /// Three by three layers with references in each packet.
    case vp9Flexible
    /// Three temporal layers whose structure says that groups are closed.
    case vp9Groups
    /// Three by three layers with U bits; upper spatial layers refer to lower ones in key pictures only.
    case vp9Points
    /// Three by three layers with frame numbers and references, as the dependency descriptor tells them.
    case av1
    /// Every second picture is referred to by nobody.
    case h264
  }

  /// One picture of the cycle: its temporal layer, how far back its references are, whether layers open here.
  private typealias Picture = (temporal: UInt8, distances: [Int], isPoint: Bool)

  /// As libwebrtc's encoder for VP8 has it.
  private static let long: [Picture] = [
    (0, [4], false), (2, [1], true), (1, [2], true), (2, [1, 2], false),
    (0, [4], false), (2, [1, 2], false), (1, [2, 4], false), (2, [1, 2], false),
  ]
  private static let short: [Picture] = [(0, [4], false), (2, [1], false), (1, [2], false), (2, [1, 2], false)]
  private static let pairs: [Picture] = [(0, [2], false), (1, [1], true)]

  let mode: Mode
  private(set) var picture = 0
  private var key = 0
  private var sequence: Int64 = 1_000
  private var pictureID: UInt16
  private var tl0: UInt8 = 250
  private var frameNumber: UInt16 = 0xfff0
  /// Frame numbers of the last pictures, for references.
  private var numbers: [ModelFrame: UInt16] = [:]
  private var random: SplitMix64

  init(_ mode: Mode, seed: UInt64) {
    self.mode = mode
    random = SplitMix64(seed: seed)
    pictureID = UInt16(truncatingIfNeeded: seed &* 31) & 0x7fff
  }

  var codec: CodecProfile {
    switch mode {
    case .vp8: .vp8
    case .vp9Flexible, .vp9Groups, .vp9Points: .vp9Profile0
    case .av1: .av1
    case .h264: .h264ConstrainedBaseline
    }
  }

  private var spatialLayers: Int {
    switch mode {
    case .vp8, .vp9Groups, .h264: 1
    case .vp9Flexible, .vp9Points, .av1: 3
    }
  }

  /// The most that there is.
  var most: LayerLimit {
    LayerLimit(spatial: UInt8(spatialLayers - 1), temporal: mode == .h264 ? 1 : 2)
  }

  private var cycle: [Picture] {
    switch mode {
    case .vp8, .vp9Flexible, .vp9Points, .av1: Self.long
    case .vp9Groups: Self.short
    case .h264: Self.pairs
    }
  }

  /// The packets of the next picture. A keyframe where it is the first or `key` says so.
  mutating func next(key wantsKey: Bool = false) -> [ModelPacket] {
    let isKey = wantsKey || picture == 0
    if isKey { key = picture }
    let position = (picture - key) % cycle.count
    let now = cycle[position]
    if now.temporal == 0 { tl0 &+= 1 }
    pictureID = (pictureID + 1) & 0x7fff
    // Now and then upper spatial layers refer to nothing of earlier pictures.
    let refreshes = position == 0 && Int.random(in: 0..<8, using: &random) == 0
    var packets: [ModelPacket] = []
    for spatial in 0..<spatialLayers {
      packets += frame(spatial, now, isKey: isKey, refreshes: refreshes && spatial > 0)
    }
    packets[packets.count - 1].stored.marker = true
    if mode == .vp8 || mode == .h264 { packets[packets.count - 1].stored.info.endsFrame = true }
    picture += 1
    return packets
  }

  private mutating func frame(_ spatial: Int, _ now: Picture, isKey: Bool, refreshes: Bool) -> [ModelPacket] {
    let frame = ModelFrame(picture: picture, spatial: spatial)
    let earlier = isKey || refreshes ? [] : now.distances.filter { picture - $0 >= key }
    var references = earlier.map { ModelFrame(picture: picture - $0, spatial: spatial) }
    let looksDown = spatial > 0 && (isKey || refreshes || mode != .vp9Points)
    if looksDown { references.append(ModelFrame(picture: picture, spatial: spatial - 1)) }
    frameNumber &+= 1
    numbers[frame] = frameNumber
    var info = PayloadInfo()
    (info.temporalLayer, info.spatialLayer) = (now.temporal, UInt8(spatial))
    describe(&info, now, earlier: earlier, references: references, isKey: isKey && spatial == 0)
    let count = Int.random(in: 1...3, using: &random)
    return (0..<count).map { index in
      var part = info
      part.startsFrame = index == 0
      part.startsKeyframe = isKey && spatial == 0 && index == 0
      part.endsFrame = index == count - 1 && codec != .vp8 && codec != .h264ConstrainedBaseline
      if index > 0 { part.groups = .unsaid }
      defer { sequence += 1 }
      var stored = StoredPacket(
        sequence: sequence, timestamp: UInt32(truncatingIfNeeded: picture * 3_000),
        arrival: .zero + .milliseconds(33 * picture), length: 100, codec: codec, marker: false, info: part,
        audioLevel: nil, orientation: nil)
      if mode == .av1 { stored.setDescriptor(length: 3, frameNumber: frameNumber) }
      return ModelPacket(stored: stored, frame: frame, references: references, count: count)
    }
  }

  /// What the payload says.
  private mutating func describe(
    _ info: inout PayloadInfo, _ now: Picture, earlier: [Int], references: [ModelFrame], isKey: Bool
  ) {
    switch mode {
    case .vp8:
      info.isLayerSyncPoint = now.isPoint
      info.pictureID = .init(offset: 2, value: pictureID, isLong: true)
      info.tl0PictureIndex = .init(offset: 4, value: tl0)
    case .h264: info.isLayerSyncPoint = now.isPoint
    case .vp9Flexible:
      info.pictureID = .init(offset: 1, value: pictureID, isLong: true)
      info.dependencies = .init(number: pictureID, width: 15)
      for distance in earlier { info.dependencies?.refer(to: distance) }
    case .vp9Groups, .vp9Points:
      info.pictureID = .init(offset: 1, value: pictureID, isLong: true)
      info.tl0PictureIndex = .init(offset: 4, value: tl0)
      if mode == .vp9Groups && isKey { info.groups = .closed }
      info.isLayerSyncPoint = mode == .vp9Points && (picture - key) % cycle.count == 0
    case .av1:
      info.dependencies = .init(number: frameNumber, width: 16)
      for reference in references {
        if let number = numbers[reference] { info.dependencies?.refer(to: Int(frameNumber &- number)) }
      }
    }
  }
}
