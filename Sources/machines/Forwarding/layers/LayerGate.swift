// Which packets of one encoding a receiver is sent when not all of its layers fit: temporal and spatial layers (scalable coding).
//
//   down: at the next picture, at once                         no frame that is sent refers to one above it
//   up:   VP8    temporal, one layer at a time, at a frame whose Y bit is set (RFC 7741 §4.2)
//         VP9    temporal, behind a picture whose U bit is set (RFC 9628 §4.2), or behind any of the base layer where the groups of
//                pictures are closed; where each picture tells its references, as soon as all of them were sent
//         AV1    as soon as all frames that the dependency descriptor names were sent
//         H264   pictures that nobody refers to may come and go
//         all    at a keyframe; spatial layers there alone, for the last packet of the highest one sent must bear the marker bit, and
//                when that leaves, nobody knows yet whether another one begins in the same picture
//
// It sees each packet of the stream once and in order; what comes late is judged by what was sent then.

import Basics
import RTP

struct LayerGate: Sendable {
  /// Pictures of an upper temporal layer in a row without a way up, after which only a keyframe is believed to be one: raise it and
  /// who has room again waits longer, lower it and streams that open their layers seldom cost keyframes.
  static let patience: UInt8 = 45

  /// What is to be sent as soon as it can be decoded.
  private(set) var target = LayerLimit.all
  /// What is sent now.
  private(set) var current = LayerLimit.all
  /// A spatial layer between `current` and `target` came in this picture, or in the one before.
  private var isHeldBack = false
  private var wasHeldBack = false
  /// A spatial layer above `current` came in this picture.
  private var wasAbove = false
  /// Pictures in a row without anything above `current`.
  private var calmPictures: UInt8 = 0
  /// Frames of a temporal layer between `current` and `target` in a row.
  private var heldPictures: UInt8 = 0
  private var hasPicture = false
  /// What follows the newest picture sent can be decoded in all temporal layers.
  private var opensAll = false
  /// No picture refers to an upper temporal layer across one of the base layer.
  private var groupsAreClosed = false
  /// Layers of the frame in hand, for packets that do not say.
  private var frame = LayerLimit(spatial: 0, temporal: 0)
  /// Time stamp of the newest picture.
  private var timestamp: UInt32 = 0
  private var history = FrameHistory()

  /// Whether a packet may have to be left out, or marked otherwise.
  var isThinning: Bool { target != .all || current != .all }

  /// Whether only a keyframe opens the layers that are wanted.
  var awaitsKeyframe: Bool { isHeldBack || wasHeldBack || heldPictures >= Self.patience }

  /// What is to be sent from the next picture on. `picture` is the time stamp of the newest one sent, which may be half sent.
  mutating func aim(at new: LayerLimit, picture: UInt32) {
    if !isThinning {
      (history, hasPicture, timestamp) = (FrameHistory(), true, picture)
      frame = LayerLimit(spatial: 0, temporal: 0)
    }
    target = new
    calmPictures = 0
    if new.spatial <= current.spatial { (isHeldBack, wasHeldBack) = (false, false) }
    if new.temporal <= current.temporal { heldPictures = 0 }
  }

  /// The stream begins with this packet of a keyframe: all that follows can be decoded.
  mutating func restart(with info: PayloadInfo) {
    current = target
    (isHeldBack, wasHeldBack, wasAbove, hasPicture, opensAll) = (false, false, false, false, false)
    (heldPictures, calmPictures) = (0, 0)
    history = FrameHistory()
    note(info.groups)
  }

  private mutating func note(_ groups: PayloadInfo.PictureGroups) {
    switch groups {
    case .unsaid: break
    case .open: groupsAreClosed = false
    case .closed: groupsAreClosed = true
    }
  }

  /// Whether the next packet of the stream is sent.
  mutating func admits(_ packet: StoredPacket) -> Bool {
    // Padding alone belongs to no picture.
    if packet.length == 0 { return true }
    let info = packet.info
    frame.follow(packet, isNewPicture: !hasPicture || packet.timestamp != timestamp)
    if !hasPicture || packet.timestamp != timestamp { beginPicture(packet) }
    if let dependencies = info.dependencies { history.advance(to: dependencies.number, of: dependencies.width) }
    return admitsFrame(of: packet)
  }

  private mutating func admitsFrame(of packet: StoredPacket) -> Bool {
    let info = packet.info
    if frame.spatial > current.spatial {
      wasAbove = true
      if frame.spatial <= target.spatial { isHeldBack = true }
    }
    guard current.includes(spatial: frame.spatial, temporal: frame.temporal) else { return false }
    guard isDecodable(info) else {
      heldPictures = min(heldPictures + 1, Self.patience)
      return false
    }
    if info.dependencies != nil {
      history.noteSent()
      if frame.temporal > 0 { heldPictures = 0 }
    }
    if opensWhatFollows(packet) { opensAll = true }
    return true
  }

  /// Down goes it at once, and up where this picture allows it.
  private mutating func beginPicture(_ packet: StoredPacket) {
    (hasPicture, timestamp) = (true, packet.timestamp)
    (wasHeldBack, isHeldBack) = (isHeldBack, false)
    note(packet.info.groups)
    current = current.intersection(target)
    if packet.info.startsKeyframe {
      current = target
      history = FrameHistory()
    } else if opensAll || packet.info.dependencies != nil {
      // Where references are known, each frame is held against what was sent.
      current.temporal = target.temporal
    } else if opensItsLayer(packet) {
      current.temporal = frame.temporal
    }
    opensAll = false
    countPictures(packet)
  }

  /// Notes for how long layers have been waited for, and whether there is any to wait for.
  private mutating func countPictures(_ packet: StoredPacket) {
    let isAbove = frame.temporal > current.temporal || wasAbove
    (wasAbove, calmPictures) = (false, isAbove ? 0 : min(calmPictures + 1, Self.patience))
    if calmPictures == Self.patience { current = target }
    if frame.temporal > current.temporal && frame.temporal <= target.temporal {
      heldPictures = min(heldPictures + 1, Self.patience)
    } else if current.temporal >= target.temporal && packet.info.dependencies == nil {
      heldPictures = 0
    }
  }

  /// Whether the next temporal layer may be sent from this picture on.
  private func opensItsLayer(_ packet: StoredPacket) -> Bool {
    guard frame.temporal == current.temporal + 1, frame.temporal <= target.temporal, packet.info.startsFrame else {
      return false
    }
    return packet.codec.opensLayersWithin && packet.info.isLayerSyncPoint
  }

  /// Whether pictures behind this one may be of any temporal layer.
  private func opensWhatFollows(_ packet: StoredPacket) -> Bool {
    guard !packet.codec.opensLayersWithin else { return false }
    return packet.info.isLayerSyncPoint || (groupsAreClosed && frame.temporal == 0)
  }

  /// Whether all that a frame refers to was sent. The base layer is sent in any case: a receiver that cannot decode it asks for a keyframe.
  private func isDecodable(_ info: PayloadInfo) -> Bool {
    guard frame.temporal > 0, let dependencies = info.dependencies else { return true }
    return history.has(dependencies.references)
  }
}

extension LayerLimit {
  /// Goes on to the layers of the frame that a packet is of: the next one of its stream.
  @inline(__always)
  mutating func follow(_ packet: StoredPacket, isNewPicture: Bool) {
    let info = packet.info
    if packet.codec.saysLayersInEachPacket || info.dependencies != nil || info.startsFrame {
      if isNewPicture || !packet.codec.hasOneLayerInAPicture {
        self = LayerLimit(spatial: info.spatialLayer, temporal: info.temporalLayer)
      }
    } else if isNewPicture {
      // The beginning is missing: it may be of any layer.
      self = LayerLimit(spatial: 0, temporal: 0)
    }
  }
}

extension CodecProfile {
  /// Whether each packet says which layers it is of. In others only the first of a frame does.
  fileprivate var saysLayersInEachPacket: Bool {
    switch self {
    case .opus, .vp8, .vp9Profile0, .vp9Profile2: true
    case .h264ConstrainedBaseline, .h264ConstrainedBaselineMode0, .h264Baseline, .h264BaselineMode0, .h264Main,
      .h264High, .h264MainMode0, .h264HighMode0, .av1:
      false
    }
  }

  /// Whether the first packet of a picture speaks for all of it: what else stands in one may look as if nobody referred to it.
  fileprivate var hasOneLayerInAPicture: Bool {
    isH264
  }

  /// Whether a point of synchronisation lets its own layer begin, and not the layers of what follows it.
  fileprivate var opensLayersWithin: Bool {
    switch self {
    case .opus, .vp8, .h264ConstrainedBaseline, .h264ConstrainedBaselineMode0, .h264Baseline, .h264BaselineMode0,
      .h264Main, .h264High, .h264MainMode0, .h264HighMode0:
      true
    case .vp9Profile0, .vp9Profile2, .av1: false
    }
  }

  /// Whether picture identifiers are only counted, so that they close up where pictures are left out. VP9's tell what refers to what.
  var closesPictureIDs: Bool {
    switch self {
    case .vp8: true
    case .opus, .vp9Profile0, .vp9Profile2, .h264ConstrainedBaseline, .h264ConstrainedBaselineMode0, .h264Baseline,
      .h264BaselineMode0, .h264Main, .h264High, .h264MainMode0, .h264HighMode0, .av1:
      false
    }
  }
}

/// Which of the last frames were sent, by their numbers.
struct FrameHistory: Sendable {
  /// The frame `n + 1` before the newest is bit `n`. Of what is not known it is believed that it was sent.
  private var sent = UInt64.max
  private var newest: UInt16?
  private var isNewestSent = false

  /// Goes on to the frame with this number of `width` bits. Frames between were missing: they may come late.
  mutating func advance(to number: UInt16, of width: UInt8) {
    guard let newest else {
      self.newest = number
      return
    }
    let mask = UInt16(truncatingIfNeeded: (UInt32(1) << UInt32(min(width, 16))) - 1)
    let step = Int((number &- newest) & mask)
    guard step > 0, step <= Int(mask) / 2 else { return }
    // Ones come in for what was missing.
    sent = step >= 64 ? .max : ~(~sent << UInt64(step))
    if !isNewestSent && step <= 64 { sent &= ~(1 << UInt64(step - 1)) }
    (self.newest, isNewestSent) = (number, false)
  }

  mutating func noteSent() { isNewestSent = true }

  /// Whether all of these frames were sent: bit `n` stands for the one `n + 1` before the newest.
  func has(_ references: UInt64) -> Bool { references & ~sent == 0 }
}
