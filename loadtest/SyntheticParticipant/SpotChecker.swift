// Checks a stream of which not every packet is opened: those that are must say that they are the ones that sequence numbers say.

import Basics

struct SpotChecker {
  /// The sender's count at the latest packet, as its number among those that came says.
  private var ordinal: UInt32
  private var layer: UInt8

  /// A stream that was followed up to the packet with this count.
  init(after ordinal: UInt32, layer: UInt8) {
    self.ordinal = ordinal
    self.layer = layer
  }

  /// The next packet in order, opened or not. With `mayJump` the track was muted: its count may have gone on meanwhile, and
  /// the flag goes out when that shows.
  mutating func take(_ fact: PacketFact, identity: UInt64?, mayJump: inout Bool, _ counts: inout ReceiveStatistics) {
    if fact.isEmpty { return }
    skip(1, &counts)
    if fact.isSealed { return }
    guard let stamp = fact.stamp else {
      counts.malformedFrames += 1
      return
    }
    counts.shownIdentity = stamp.identity
    if let identity, stamp.identity != identity { counts.wrongStream += 1 }
    if stamp.ordinal != ordinal { jump(to: stamp, &mayJump, &counts) }
    layer = stamp.layer
  }

  private mutating func jump(to stamp: PayloadStamp, _ mayJump: inout Bool, _ counts: inout ReceiveStatistics) {
    let step = stamp.ordinal &- ordinal
    ordinal = stamp.ordinal
    counts.lastOrdinal = ordinal
    // Layers are counted each by itself.
    guard stamp.layer == layer else { return }
    if mayJump && step < 1 << 31 {
      mayJump = false
      counts.resumptions += 1
    } else {
      counts.unmarkedGaps += 1
      // What numbers hide ought to have come all the same.
      if step < 1 << 31 { counts.expected += UInt64(step) }
    }
  }

  /// So many numbers have passed.
  mutating func skip(_ packets: Int, _ counts: inout ReceiveStatistics) {
    ordinal &+= UInt32(truncatingIfNeeded: packets)
    counts.expected += UInt64(packets)
    counts.lastOrdinal = ordinal
  }
}
