// How busy a worker's loop is. Who is let in follows from it (`MediaControl/RoomForecast.swift`).
//
//   sleep ─▶ wake (late by: lag) ─▶ turn: receive, poll, flush (took: busy) ─▶ sleep

import Basics

/// What a worker's loop has done since it started, and how it was in its last whole second.
public struct LoopCounters: Sendable {
  /// Turns of the loop.
  public var turns: UInt64 = 0
  /// Nanoseconds spent in turns.
  public var busyNanoseconds: UInt64 = 0
  /// Nanoseconds of them by what was done. The rest went into timers, commands and telling what happened.
  public var phases = LoopPhases()
  /// System calls to receive.
  public var receiveCalls: UInt64 = 0
  /// Those by how many datagrams they brought: none, 1, 2, 3–4, 5–8, 9–16, 17–32, more.
  public var receivesByDatagrams = InlineArray<8, UInt64>(repeating: 0)
  /// System calls to send: many sends share one.
  public var sendCalls: UInt64 = 0
  /// The longest turn of the last second: no packet that came meanwhile was looked at.
  public var longestTurn = TimeDelta.zero
  /// How late the loop woke for what was due, at worst in the last second.
  public var lag = TimeDelta.zero
  /// The share of a CPU that its thread used in the last second, in percent.
  public var percent = 0.0

  /// All zero.
  public init() {}
}

/// Nanoseconds that a worker's loop spent on each part of its work.
public struct LoopPhases: Sendable, Equatable {
  /// Reading datagrams, opening them, deciding who gets them.
  public var receiving: UInt64 = 0
  /// Writing headers and sealing.
  public var sealing: UInt64 = 0
  /// The system calls that send; on loopback they deliver, too.
  public var sending: UInt64 = 0

  /// All zero.
  public init() {}
}

/// Measures turns. Time comes in; nothing is read.
public struct LoadMeter: Sendable {
  /// What is measured at a time. Shorter and a burst of joins looks like overload, longer and those inside feel it first.
  static let interval = TimeDelta.seconds(1)
  /// Percent of a CPU below which a worker does nothing that anybody has to know of: looking at it each second takes less.
  static let idle = 0.1

  /// What there is to tell.
  public private(set) var counters = LoopCounters()
  private var since: Instant?
  private var cpu = TimeDelta.zero
  private var longestTurn = TimeDelta.zero
  private var lag = TimeDelta.zero

  /// Nothing measured.
  public init() {}

  /// When a worker that was busy has to be looked at again though nothing may happen on it any more.
  public var nextDeadline: Instant {
    guard counters.percent >= Self.idle, let since else { return .distantFuture }
    return since + Self.interval
  }

  /// Notes a system call that brought so many datagrams.
  public mutating func received(_ datagrams: Int) {
    counters.receiveCalls &+= 1
    let place = datagrams > 0 ? 1 + Int.bitWidth - (datagrams - 1).leadingZeroBitCount : 0
    counters.receivesByDatagrams[min(7, place)] &+= 1
  }

  /// Notes what a turn has spent on receiving and on flushing, of which `sending` in `calls` system calls that send.
  public mutating func spent(receiving: TimeDelta, flushing: TimeDelta, sending: TimeDelta, calls: Int = 0) {
    counters.sendCalls &+= UInt64(max(0, calls))
    counters.phases.receiving &+= UInt64(max(0, receiving.nanoseconds))
    counters.phases.sealing &+= UInt64(max(0, (flushing - sending).nanoseconds))
    counters.phases.sending &+= UInt64(max(0, sending.nanoseconds))
  }

  /// Notes a turn that began at `start`, when something was due at `due` (or later), and ended at `end`. True when it is
  /// time to `judge`.
  public mutating func turn(due: Instant, from start: Instant, to end: Instant) -> Bool {
    let took = max(end - start, .zero)
    counters.turns &+= 1
    counters.busyNanoseconds &+= UInt64(took.nanoseconds)
    longestTurn = max(longestTurn, took)
    if due < start { lag = max(lag, start - due) }
    guard let since else { return true }
    return end - since >= Self.interval
  }

  /// Looks at the last second, given the CPU time that the thread has used since it started. That counts, and not the clock: that somebody
  /// else keeps the machine busy for a moment is no reason to send people away.
  public mutating func judge(cpu total: TimeDelta, at now: Instant) {
    if let since, now > since {
      counters.percent = Double((total - cpu).nanoseconds) * 100 / Double((now - since).nanoseconds)
    }
    (counters.longestTurn, counters.lag) = (longestTurn, lag)
    (since, cpu, longestTurn, lag) = (now, total, .zero, .zero)
  }
}
