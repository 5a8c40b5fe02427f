// When datagrams arrived, from the kernel's stamps. The loop sleeps past arrivals while packets wait for company, and a
// publisher's bandwidth estimate lives on when they came, not on when we looked.

import Basics

/// Turns stamps of the wall clock into monotonic time that never runs backwards.
struct ArrivalClock {
  private var now: Instant
  private var latest: Instant
  /// Wall clock less monotonic clock, in nanoseconds; read anew each turn, since the wall clock may be set.
  private var difference: Int64 = 0
  /// How long the datagram of this turn had waited that waited longest; may be wrong for a turn in which somebody sets the
  /// wall clock.
  private(set) var longestWait = TimeDelta.zero

  init(at now: Instant) {
    self.now = now
    latest = now
  }

  /// A turn of the loop begins at `now`, when the wall clock shows `wall` nanoseconds.
  mutating func turn(at now: Instant, wall: Int64) {
    // What the last turn did, it did at its own time: nothing may arrive before that any more.
    latest = max(latest, self.now)
    self.now = now
    difference = wall &- now.nanoseconds
    longestWait = .zero
  }

  /// When a datagram with this stamp arrived: not before the last turn nor any datagram before it, and not after this turn
  /// began. 0 stands for a datagram without a stamp, which counts as just arrived.
  mutating func arrival(_ stamp: Int64) -> Instant {
    guard stamp > 0 else {
      latest = now
      return now
    }
    let stamped = Instant(nanoseconds: stamp &- difference)
    longestWait = max(longestWait, now - stamped)
    latest = min(max(stamped, latest), now)
    return latest
  }
}
