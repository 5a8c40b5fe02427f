// Chance. Each part of a world has dice of its own, so that one more throw of one moves nothing of the others.

import Basics

/// Dice whose throws follow from a seed and what they are for.
struct Dice {
  enum Use: UInt64 {
    case plan = 1
    case delays, order, workload, clocks
  }

  private var random: SplitMix64

  init(_ seed: UInt64, _ use: Use) { random = SplitMix64(seed: seed &* 0x9E37_79B9_7F4A_7C15 &+ use.rawValue) }

  mutating func next() -> UInt64 { random.next() }
  /// 0 ..< n.
  mutating func below(_ n: Int) -> Int { n > 1 ? Int(random.next() % UInt64(n)) : 0 }
  /// One time in n.
  mutating func once(in n: Int) -> Bool { below(n) == 0 }
  /// A length of time between two.
  mutating func time(_ least: TimeDelta, _ most: TimeDelta) -> TimeDelta {
    least + .microseconds(below(Int((most - least).microseconds) + 1))
  }
}
