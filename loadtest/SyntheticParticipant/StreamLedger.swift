// What a stream's stamps and pace say beyond its sequence numbers: how many packets ought to have come, and where a viewer
// would have seen the picture stand still.

import Basics

/// Counts what should have come by the sender's own numbers.
struct OrdinalLedger {
  private var last: UInt32?
  private var layer: UInt8 = 0

  /// Takes the next stamp in order. A mute or a change of layer (`hasResumed`) excuses what lies between.
  mutating func take(_ stamp: PayloadStamp, hasResumed: Bool, _ counts: inout ReceiveStatistics) {
    let step = stamp.ordinal &- (last ?? stamp.ordinal &- 1)
    let isExcused = hasResumed || stamp.layer != layer || step == 0 || step > 1 << 31
    // Frames of a clip have one stamp, in their last packet: those before it belong to it.
    counts.expected += last == nil || isExcused ? UInt64(stamp.packet) + 1 : UInt64(step)
    counts.lastOrdinal = stamp.ordinal
    last = stamp.ordinal
    layer = stamp.layer
  }
}

/// Freezes as the W3C's statistics count them (webrtc-stats, freezeCount): a picture that comes after more than
/// max(3 δ, δ + 150 ms), δ being the average interval of the last thirty pictures.
struct FreezeWatch {
  private static let patience = 0.150
  private var lastAt: Instant?
  private var average: Double?

  /// Takes a whole picture; true when it ends a freeze.
  mutating func freezes(at now: Instant) -> Bool {
    defer { lastAt = now }
    guard let lastAt else { return false }
    let interval = (now - lastAt).seconds
    guard let usual = average else {
      average = interval
      return false
    }
    average = usual + (interval - usual) / 30
    return interval > max(3 * usual, usual + Self.patience)
  }
}
