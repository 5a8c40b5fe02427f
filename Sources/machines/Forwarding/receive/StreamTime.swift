// The time stamps of an encoding as they are kept: they go on, whatever the publisher says. A receiver follows each that it hears, and
// takes what comes with older ones for late, for good: also what it is sent of the next publisher in the same view.
//
//   publisher   1000 4000 7000 | 3000000000, no keyframe          7000, and a keyframe of 3000003000 comes a second later
//   kept        1000 4000 7000 | nil                              97000, and on from there

import Basics

/// One encoding's.
struct StreamTime: Sendable {
  /// Seconds that a time stamp may lie behind an earlier packet's: pictures that are sent before those that are shown first. Raise it,
  /// and a view may go back as far when another publisher follows.
  static let mostBack: Int64 = 1
  /// Seconds that it may be ahead of the time that has passed, and that a late packet may be behind. Clocks stand still and leap when a
  /// program is halted; a packet of the picture before is asked for when the next one comes, however long that takes. Raise it, and
  /// fewer packets that a receiver has lost take it past half of the thirty-two bits.
  static let widest: Int64 = 60

  private static let unknown = Int64.max

  private var newest: UInt32 = 0
  private var offset: UInt32 = 0
  /// The highest number taken; `unknown` where the next packet may have any time stamp.
  private var sequence = Self.unknown
  private var arrival: Instant = .zero

  /// Another stream of the publisher follows, with a clock of its own.
  mutating func restart() { (sequence, offset) = (Self.unknown, 0) }

  /// What the publisher's time stamp is kept as.
  func kept(_ said: UInt32) -> UInt32 { said &+ offset }

  /// The time stamp to keep; nil for one that fits to nothing. `begins`: the packet begins a keyframe, or needs none; there a clock may
  /// begin anew.
  @inline(__always)
  mutating func take(_ said: UInt32, of number: Int64, begins: Bool, clockRate: UInt32, at now: Instant) -> UInt32? {
    let moved = said &+ offset
    guard number > sequence, moved &- newest <= UInt32(Self.widest) &* clockRate else {
      return takeSpecially(said, of: number, begins: begins, clockRate: clockRate, at: now)
    }
    (sequence, newest, arrival) = (number, moved, now)
    return moved
  }

  /// The first, a late one, one that is shown before, or one whose clock has leapt.
  @inline(never)
  private mutating func takeSpecially(
    _ said: UInt32, of number: Int64, begins: Bool, clockRate: UInt32, at now: Instant
  ) -> UInt32? {
    let moved = said &+ offset
    let step = Int64(Int32(bitPattern: moved &- newest))
    let (back, widest) = (Self.mostBack * Int64(clockRate), Self.widest * Int64(clockRate))
    guard sequence != Self.unknown else {
      (sequence, newest, arrival) = (number, moved, now)
      return moved
    }
    guard number > sequence else { return (-widest...back).contains(step) ? moved : nil }
    // A day's ticks: far from any overflow.
    let elapsed = min((now - arrival).microseconds, 86_400_000_000) * Int64(clockRate) / 1_000_000
    if step >= -back && step <= elapsed + widest {
      sequence = number
      if step > 0 { (newest, arrival) = (moved, now) }
      return moved
    }
    guard begins else { return nil }
    let next = newest &+ UInt32(truncatingIfNeeded: max(1, min(elapsed, widest)))
    (sequence, newest, arrival, offset) = (number, next, now, next &- said)
    return next
  }
}
