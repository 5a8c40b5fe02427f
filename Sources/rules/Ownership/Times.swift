// How long a node waits for what. What holds is that `decides` is over, on the slowest clock, before `fences` is, on the fastest one:
// OwnershipTests has clocks that differ by two percent, and clocks so far apart that it breaks.

import Basics

/// Times of a node, by its own clock.
enum OwnershipTimes {
  /// From one beat to the next. Longer: the store has less to do, and a death is seen later by as much.
  static let beat = TimeDelta.seconds(1)
  /// How long a node decides after its last beat was sent. Longer: it bridges longer outages, and `fences` has to grow with it.
  static let decides = TimeDelta.seconds(4)
  /// How long others see a beat unchanged before they put the node out. Longer: what a dead node held is away for longer.
  static let fences = TimeDelta.seconds(6)
  /// How long a node takes nothing after its connection began, or under another mark. Longer than `decides`, so that who decides still
  /// has written its leases again.
  static let quiet = TimeDelta.seconds(6)
  /// How long the store may take for an answer, and for a connection. Longer: a connection that is dead is dropped later.
  static let answer = TimeDelta.seconds(3)
  /// From the end of a connection to the next attempt.
  static let pause = TimeDelta.milliseconds(200)
}
