// When a worker counts as overloaded, in virtual time.

import Basics
import Testing

@testable import Media

struct LoadMeterTests {
  /// Turns of ten milliseconds each, of which `busy` are spent in the turn and on the CPU; returns the changes.
  private func run(
    _ meter: inout LoadMeter, busy: TimeDelta, cpu: inout TimeDelta, from start: Instant, seconds: Int
  ) -> [Bool] {
    var changes: [Bool] = []
    for turn in 0..<(100 * seconds) {
      let at = start + .milliseconds(10 * turn)
      cpu = cpu + busy
      guard meter.turn(due: at - .microseconds(70), from: at, to: at + busy) else { continue }
      if meter.judge(cpu: cpu, at: at + busy) { changes.append(meter.counters.load.isOverloaded) }
    }
    return changes
  }

  @Test(arguments: [(busy: 5_000, overloaded: false), (8_000, false), (9_000, true), (10_000, true)])
  func aFullCoreIsOverload(_ busy: Int, _ overloaded: Bool) {
    var meter = LoadMeter()
    var cpu = TimeDelta.zero
    let changes = run(&meter, busy: .microseconds(busy), cpu: &cpu, from: .zero + .seconds(5), seconds: 3)
    #expect(changes == (overloaded ? [true] : []))
    #expect(meter.counters.load.isOverloaded == overloaded)
    #expect(meter.counters.longestTurn == .microseconds(busy) && meter.counters.lag == .microseconds(70))
    #expect(meter.counters.turns == 300 && meter.counters.busyNanoseconds == UInt64(300 * busy * 1_000))
  }

  @Test func readsAreCountedByWhatTheyBring() {
    var meter = LoadMeter()
    for datagrams in [0, 0, 1, 2, 3, 4, 5, 8, 9, 16, 17, 32, 33, 2_048] { meter.received(datagrams) }
    let counts = (0..<8).map { meter.counters.receivesByDatagrams[$0] }
    #expect(counts == [2, 1, 1, 2, 2, 2, 2, 2] && meter.counters.receiveCalls == 14)
  }

  /// Sealing is what flushing took besides the calls that send; a clock that is off takes nothing away.
  @Test func partsOfATurnAddUp() {
    var meter = LoadMeter()
    for _ in 0..<3 {
      meter.spent(receiving: .microseconds(30), flushing: .microseconds(100), sending: .microseconds(70), calls: 2)
    }
    meter.spent(receiving: .microseconds(-1), flushing: .microseconds(5), sending: .microseconds(6))
    var expected = LoopPhases()
    (expected.receiving, expected.sealing, expected.sending) = (90_000, 90_000, 216_000)
    #expect(meter.counters.phases == expected && meter.counters.sendCalls == 6)
  }

  @Test func betweenTheBoundsItStaysAsItWas() {
    var meter = LoadMeter()
    var cpu = TimeDelta.zero
    var changes = run(&meter, busy: .milliseconds(9), cpu: &cpu, from: .zero + .seconds(5), seconds: 2)
    changes += run(&meter, busy: .microseconds(7_700), cpu: &cpu, from: .zero + .seconds(7), seconds: 3)
    #expect(changes == [true] && meter.counters.load.isOverloaded)
    changes += run(&meter, busy: .milliseconds(5), cpu: &cpu, from: .zero + .seconds(10), seconds: 3)
    #expect(changes == [true, false])
  }

  /// Turns of 10 ms that take this long, and where the bound is, in percent.
  @Test(arguments: [
    (600, 5, true), (400, 5, false), (200, 1, true), (100, 1, false), (10_000, 99, true), (10_000, 100, false),
  ])
  func theBoundIsWhatOneSays(_ busy: Int, _ percent: Int, _ overloaded: Bool) {
    var meter = LoadMeter(fullAbove: percent)
    var cpu = TimeDelta.zero
    let changes = run(&meter, busy: .microseconds(busy), cpu: &cpu, from: .zero + .seconds(5), seconds: 3)
    #expect(changes == (overloaded ? [true] : []))
    let calm = run(&meter, busy: .zero, cpu: &cpu, from: .zero + .seconds(8), seconds: 3)
    #expect(calm == (overloaded ? [false] : []))
  }

  /// A turn that takes long because others have the CPU is no overload of ours.
  @Test func whatOthersTakeDoesNotCount() {
    var meter = LoadMeter()
    for turn in 0..<300 {
      let at = Instant.zero + .milliseconds(10 * turn)
      guard meter.turn(due: at, from: at, to: at + .milliseconds(9)) else { continue }
      let changed = meter.judge(cpu: .milliseconds(turn), at: at + .milliseconds(9))
      #expect(!changed)
    }
    #expect(meter.counters.longestTurn == .milliseconds(9))
  }

  /// Everybody leaves an overloaded worker: nothing happens on it, and yet it must take newcomers again.
  @Test func anOverloadedWorkerIsLookedAtThoughNothingHappens() {
    var meter = LoadMeter()
    var cpu = TimeDelta.zero
    #expect(meter.nextDeadline == .distantFuture)
    _ = run(&meter, busy: .milliseconds(9), cpu: &cpu, from: .zero + .seconds(5), seconds: 2)
    // The second that was still busy, and one in which nothing happened.
    for isCalm in [false, true] {
      let wake = meter.nextDeadline
      #expect(wake < .zero + .seconds(9))
      let due = meter.turn(due: wake, from: wake, to: wake)
      let changed = meter.judge(cpu: cpu, at: wake)
      #expect(due && changed == isCalm)
    }
    #expect(!meter.counters.load.isOverloaded && meter.nextDeadline == .distantFuture)
  }
}
