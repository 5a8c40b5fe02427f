// How busy a worker is, in virtual time.

import Basics
import Testing

@testable import Media

struct LoadMeterTests {
  /// Turns of ten milliseconds each, of which `busy` are spent in the turn and on the CPU; returns what was measured, second by second.
  private func run(
    _ meter: inout LoadMeter, busy: TimeDelta, cpu: inout TimeDelta, from start: Instant, seconds: Int
  ) -> [Double] {
    var measured: [Double] = []
    for turn in 0..<(100 * seconds) {
      let at = start + .milliseconds(10 * turn)
      cpu = cpu + busy
      guard meter.turn(due: at - .microseconds(70), from: at, to: at + busy) else { continue }
      meter.judge(cpu: cpu, at: at + busy)
      measured.append(meter.counters.percent)
    }
    return measured
  }

  /// The first turn has nothing before it that could be measured.
  @Test(arguments: [10, 5_000, 8_000, 9_000, 10_000]) func aSecondIsMeasured(_ busy: Int) {
    var meter = LoadMeter()
    var cpu = TimeDelta.zero
    let measured = run(&meter, busy: .microseconds(busy), cpu: &cpu, from: .zero + .seconds(5), seconds: 3)
    #expect(measured == [0] + Array(repeating: Double(busy) / 100, count: measured.count - 1) && measured.count == 3)
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

  /// A turn that takes long because others have the CPU is none of our time.
  @Test func whatOthersTakeDoesNotCount() {
    var meter = LoadMeter()
    for turn in 0..<300 {
      let at = Instant.zero + .milliseconds(10 * turn)
      guard meter.turn(due: at, from: at, to: at + .milliseconds(9)) else { continue }
      meter.judge(cpu: .milliseconds(turn), at: at + .milliseconds(9))
    }
    #expect(meter.counters.percent == 10)
    #expect(meter.counters.longestTurn == .milliseconds(9))
  }

  /// Everybody leaves a busy worker: nothing happens on it, and yet it must be told that it can take newcomers again. One that does next to
  /// nothing is left alone.
  @Test func aBusyWorkerIsLookedAtThoughNothingHappens() {
    var meter = LoadMeter()
    var cpu = TimeDelta.zero
    #expect(meter.nextDeadline == .distantFuture)
    _ = run(&meter, busy: .milliseconds(9), cpu: &cpu, from: .zero + .seconds(5), seconds: 2)
    // The second that was still busy, and one in which nothing happened.
    for isCalm in [false, true] {
      let wake = meter.nextDeadline
      #expect(wake < .zero + .seconds(9))
      let due = meter.turn(due: wake, from: wake, to: wake)
      meter.judge(cpu: cpu, at: wake)
      #expect(due && (meter.counters.percent == 0) == isCalm)
    }
    #expect(meter.nextDeadline == .distantFuture)
    _ = run(&meter, busy: .microseconds(9), cpu: &cpu, from: .zero + .seconds(20), seconds: 3)
    #expect(meter.nextDeadline == .distantFuture, "nine hundredths of a percent")
  }
}
