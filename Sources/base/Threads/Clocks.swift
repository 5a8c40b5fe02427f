// The machine's clocks. Only the I/O shell reads them: below it, time comes in as an argument.
public import Basics

internal import CLinux

/// The clock that never goes back and knows no date: for deadlines and durations.
public enum MonotonicClock {
  /// The time now. It counts from the machine's start.
  public static func now() -> Instant { Instant(nanoseconds: clinux_monotonic_ns()) }
}

/// The clock that people set: for dates in records and certificates.
public enum WallClock {
  /// Milliseconds since 1970-01-01 UTC.
  public static func milliseconds() -> Int64 { clinux_wall_ms() }
  /// Nanoseconds since 1970-01-01 UTC.
  public static func nanoseconds() -> Int64 { clinux_wall_ns() }
}

extension Now {
  /// Reads both clocks.
  public static func read() -> Now {
    Now(instant: MonotonicClock.now(), wallMilliseconds: WallClock.milliseconds())
  }
}
