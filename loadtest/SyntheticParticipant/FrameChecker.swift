// Checks one stream packet by packet, in order: whose it is, whether frames are whole, whether time goes forward, and
// whether anything is missing that the sequence numbers do not show.

import Basics
import RTP
import RoostProtocol

struct FrameChecker {
  /// The identity that stamps must have; nil while signalling has not said it.
  var identity: UInt64?
  /// A mute or the like was announced: the next jump in a sound's frame numbers is its.
  var mayJump = false
  /// Whether a decoder would be waiting for a keyframe.
  private(set) var needsKeyframe: Bool
  private let kind: TrackKind
  private var lastTimestamp: UInt32?
  private var lastFrame: UInt32?
  private var lastLayer: UInt8?
  /// The frame that packets are coming of.
  private var open: OpenFrame?
  /// Packets before this one were given up.
  private(set) var hasGap = false
  private var ledger = OrdinalLedger()
  private var watch = FreezeWatch()

  private struct OpenFrame {
    var timestamp: UInt32
    var isKeyframe: Bool
    var isBroken: Bool
    var nextPacket: UInt16
    var stamp: PayloadStamp?
  }

  init(kind: TrackKind) {
    self.kind = kind
    needsKeyframe = kind == .video
  }

  /// Packets were given up.
  mutating func skip(_ counts: inout ReceiveStatistics) {
    hasGap = true
    if open != nil {
      counts.brokenFrames += 1
      open = nil
    }
    if kind == .video { needsKeyframe = true }
  }

  /// The next packet in order. Returns true when it completed a frame.
  mutating func take(_ fact: PacketFact, at now: Instant, _ counts: inout ReceiveStatistics) -> Bool {
    if fact.isEmpty { return false }
    checkIdentity(fact, &counts)
    checkTime(fact, &counts)
    let resumptions = counts.resumptions
    let isWhole = kind == .audio ? takeSound(fact, &counts) : takePicture(fact, &counts)
    let hasResumed = counts.resumptions != resumptions
    if let stamp = fact.stamp { ledger.take(stamp, hasResumed: hasResumed, &counts) }
    if hasResumed { watch = FreezeWatch() }
    if isWhole, kind == .video, watch.freezes(at: now) { counts.freezes += 1 }
    return isWhole
  }

  private func checkIdentity(_ fact: PacketFact, _ counts: inout ReceiveStatistics) {
    guard let stamp = fact.stamp else {
      counts.unstamped += 1
      return
    }
    counts.shownIdentity = stamp.identity
    if let identity, stamp.identity != identity { counts.wrongStream += 1 }
  }

  private mutating func checkTime(_ fact: PacketFact, _ counts: inout ReceiveStatistics) {
    defer { lastTimestamp = fact.timestamp }
    guard let last = lastTimestamp else { return }
    let isSame = fact.timestamp == last
    let standsStill = isSame && (kind == .audio || (fact.startsFrame && open == nil && !hasGap))
    if standsStill || (!isSame && !fact.timestamp.isNewer(than: last)) { counts.timestampErrors += 1 }
  }

  private mutating func takeSound(_ fact: PacketFact, _ counts: inout ReceiveStatistics) -> Bool {
    if let stamp = fact.stamp {
      checkProgress(stamp, isKeyframe: false, &counts)
    } else if lastFrame != nil {
      // A stream with stamps has one in each packet of sound.
      counts.malformedFrames += 1
    }
    complete(fact.stamp, isKeyframe: false, &counts)
    return true
  }

  private mutating func takePicture(_ fact: PacketFact, _ counts: inout ReceiveStatistics) -> Bool {
    if fact.startsFrame {
      if open != nil { counts.malformedFrames += 1 }
      begin(fact, &counts)
    } else if !goesOn(fact) {
      // The rest of a frame whose beginning was given up is no news.
      if open != nil || !hasGap { counts.malformedFrames += 1 }
      open = nil
      return false
    } else if let stamp = fact.stamp, open?.stamp == nil {
      // Frames of a clip say who they are in their last packet alone.
      checkProgress(stamp, isKeyframe: open?.isKeyframe ?? false, &counts)
      open?.stamp = stamp
    }
    guard fact.marker, let frame = open else { return false }
    open = nil
    return end(frame, &counts)
  }

  private mutating func begin(_ fact: PacketFact, _ counts: inout ReceiveStatistics) {
    if fact.startsKeyframe { needsKeyframe = false }
    if let stamp = fact.stamp { checkProgress(stamp, isKeyframe: fact.startsKeyframe, &counts) }
    open = OpenFrame(
      timestamp: fact.timestamp, isKeyframe: fact.startsKeyframe, isBroken: false, nextPacket: 1, stamp: fact.stamp)
  }

  /// Whether a packet goes on with the open frame.
  private mutating func goesOn(_ fact: PacketFact) -> Bool {
    guard let frame = open, frame.timestamp == fact.timestamp, fits(fact.stamp, frame, isTrailer: fact.hasTrailer)
    else {
      return false
    }
    open?.nextPacket = frame.nextPacket &+ 1
    return true
  }

  /// Whether a later packet of a frame has the stamp that it should have: each packet has one, or the last alone where the
  /// frame is real; those of other clients have none.
  private func fits(_ stamp: PayloadStamp?, _ frame: OpenFrame, isTrailer: Bool) -> Bool {
    switch (stamp, frame.stamp) {
    case (nil, let first): first == nil
    case (_, nil): isTrailer
    case (let stamp?, let first?):
      stamp.frame == first.frame && stamp.layer == first.layer && stamp.packet == frame.nextPacket
    }
  }

  private mutating func end(_ frame: OpenFrame, _ counts: inout ReceiveStatistics) -> Bool {
    if let stamp = frame.stamp, stamp.packets != frame.nextPacket {
      counts.malformedFrames += 1
      return false
    }
    complete(frame.stamp, isKeyframe: frame.isKeyframe, &counts)
    return true
  }

  private mutating func complete(_ stamp: PayloadStamp?, isKeyframe: Bool, _ counts: inout ReceiveStatistics) {
    counts.frames += 1
    if isKeyframe { counts.keyframes += 1 }
    if let stamp {
      counts.lastFrame = stamp.frame
      counts.layer = stamp.layer
    }
    hasGap = false
  }

  /// Frames count up one by one. A jump is marked where sequence numbers show it, where a keyframe follows, or where
  /// sound was muted.
  private mutating func checkProgress(
    _ stamp: PayloadStamp, isKeyframe: Bool, _ counts: inout ReceiveStatistics
  ) {
    defer {
      lastFrame = stamp.frame
      lastLayer = stamp.layer
    }
    guard let lastFrame, let lastLayer else { return }
    let step = stamp.frame &- lastFrame
    if step == 1 && stamp.layer == lastLayer { return }
    if hasGap && step < 0x8000_0000 && step > 0 && stamp.layer == lastLayer { return }
    if step == 0 || step >= 0x8000_0000 {
      // Another layer's picture of the same moment may follow where the layer changes.
      if stamp.layer == lastLayer || !isKeyframe { counts.unmarkedGaps += 1 } else { counts.resumptions += 1 }
    } else if isKeyframe || (kind == .audio && mayJump) {
      counts.resumptions += 1
      mayJump = false
    } else {
      counts.unmarkedGaps += 1
    }
  }
}
