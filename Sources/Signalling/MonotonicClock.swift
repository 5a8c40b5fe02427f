// The clock of the front door, which is part of the I/O shell.
import Basics

#if canImport(Glibc)
  import Glibc
#endif

/// The machine's monotonic clock.
public enum MonotonicClock {
  /// The time now.
  public static let now: @Sendable () -> Instant = {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Instant(nanoseconds: Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec))
  }
}
