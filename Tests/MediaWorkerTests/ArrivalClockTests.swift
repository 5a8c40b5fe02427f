// When datagrams arrived: as the kernel says, within what can be true.

import Basics
import Testing

@testable import MediaWorker

struct ArrivalClockTests {
  /// Our clock shows seconds since the machine started, the wall clock those since 1970.
  private static let wall: Int64 = 1_760_000_000_000_000_000

  private static func instant(_ microseconds: Int64) -> Instant {
    Instant(nanoseconds: 5_000_000_000 + microseconds * 1_000)
  }

  /// A clock that has turned at 0 and now, 1,000 µs later.
  private func clock(setBy seconds: Int64 = 0) -> ArrivalClock {
    var clock = ArrivalClock(at: Self.instant(0))
    clock.turn(at: Self.instant(0), wall: Self.wall)
    clock.turn(at: Self.instant(1_000), wall: Self.wall + 1_000_000 + seconds * 1_000_000_000)
    return clock
  }

  @Test func stampsBecomeTimesOfOurClock() {
    var clock = clock()
    #expect([100, 250, 999].map { clock.arrival(Self.wall + $0 * 1_000) } == [100, 250, 999].map(Self.instant))
  }

  @Test func timeNeverRunsBackwards() {
    var clock = clock()
    #expect(clock.arrival(Self.wall + 500_000) == Self.instant(500))
    #expect(clock.arrival(Self.wall + 400_000) == Self.instant(500), "another socket's, looked at later")
    #expect(clock.arrival(Self.wall - 7_000_000) == Self.instant(500), "before the last turn")
    #expect(clock.arrival(Self.wall + 9_000_000) == Self.instant(1_000), "after this turn began")
    clock.turn(at: Self.instant(1_600), wall: Self.wall + 1_600_000)
    #expect(clock.arrival(Self.wall + 900_000) == Self.instant(1_000))
  }

  /// How late the worker is does not end where the last turn began.
  @Test func theLongestWaitOfATurnIsKnown() {
    var clock = clock()
    #expect(clock.longestWait == .zero)
    for stamp in [Self.wall + 400_000, Self.wall - 7_000_000, Self.wall + 900_000] { _ = clock.arrival(stamp) }
    #expect(clock.longestWait == .milliseconds(8))
    _ = clock.arrival(0)
    #expect(clock.longestWait == .milliseconds(8))
    clock.turn(at: Self.instant(1_600), wall: Self.wall + 1_600_000)
    #expect(clock.longestWait == .zero)
  }

  @Test func withoutAStampItIsNow() {
    var clock = clock()
    #expect(clock.arrival(0) == Self.instant(1_000))
    #expect(clock.arrival(-5) == Self.instant(1_000))
  }

  /// Somebody sets the wall clock between the stamp and our look at it: the time is off by no more than the turn is long.
  @Test(arguments: [-3_600, 3_600] as [Int64]) func aWallClockThatIsSetDoesNoHarm(_ seconds: Int64) {
    var clock = clock(setBy: seconds)
    let arrival = clock.arrival(Self.wall + 500_000)
    #expect(arrival >= Self.instant(0) && arrival <= Self.instant(1_000))
    #expect(clock.arrival(.max) <= Self.instant(1_000))
    #expect(clock.arrival(1) >= arrival)
  }
}
