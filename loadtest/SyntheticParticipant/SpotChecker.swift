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

  /// The next packet in order, opened or not.
  mutating func take(_ fact: PacketFact, identity: UInt64?, _ counts: inout ReceiveStatistics) {
    skip(1, &counts)
    if fact.isSealed { return }
    guard let stamp = fact.stamp else {
      counts.malformedFrames += 1
      return
    }
    counts.shownIdentity = stamp.identity
    if let identity, stamp.identity != identity { counts.wrongStream += 1 }
    if stamp.ordinal != ordinal {
      // Layers are counted each by itself.
      if stamp.layer == layer { counts.unmarkedGaps += 1 }
      ordinal = stamp.ordinal
      counts.lastOrdinal = ordinal
    }
    layer = stamp.layer
  }

  /// So many numbers have passed.
  mutating func skip(_ packets: Int, _ counts: inout ReceiveStatistics) {
    ordinal &+= UInt32(truncatingIfNeeded: packets)
    counts.expected += UInt64(packets)
    counts.lastOrdinal = ordinal
  }
}
