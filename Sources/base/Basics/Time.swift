// Time as a value. Nothing below the I/O shell reads a clock: an `Instant` comes in as an argument.

/// A point on the machine's monotonic clock, in nanoseconds since an arbitrary origin.
public struct Instant: Comparable, Hashable, Sendable {
  /// Nanoseconds since the clock's origin.
  public var nanoseconds: Int64

  /// An instant `nanoseconds` after the clock's origin.
  @inlinable public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

  /// The clock's origin; virtual-time tests start here.
  @inlinable public static var zero: Instant { Instant(nanoseconds: 0) }
  /// Later than every instant that a clock can show: "never".
  @inlinable public static var distantFuture: Instant { Instant(nanoseconds: .max) }

  /// Earlier.
  @inlinable public static func < (a: Instant, b: Instant) -> Bool { a.nanoseconds < b.nanoseconds }
  /// Saturates at `distantFuture`.
  @inlinable public static func + (a: Instant, b: TimeDelta) -> Instant {
    let (sum, overflow) = a.nanoseconds.addingReportingOverflow(b.nanoseconds)
    return Instant(nanoseconds: overflow ? (b.nanoseconds > 0 ? .max : .min) : sum)
  }
  /// Saturates at the ends of the clock.
  @inlinable public static func - (a: Instant, b: TimeDelta) -> Instant {
    let (sum, overflow) = a.nanoseconds.subtractingReportingOverflow(b.nanoseconds)
    return Instant(nanoseconds: overflow ? (b.nanoseconds > 0 ? .min : .max) : sum)
  }
  /// The time from `b` to `a`; saturates.
  @inlinable public static func - (a: Instant, b: Instant) -> TimeDelta {
    let (difference, overflow) = a.nanoseconds.subtractingReportingOverflow(b.nanoseconds)
    return TimeDelta(nanoseconds: overflow ? (a > b ? .max : .min) : difference)
  }
  /// Saturates at `distantFuture`.
  @inlinable public static func += (a: inout Instant, b: TimeDelta) { a = a + b }
}

/// A length of time in nanoseconds; may be negative.
public struct TimeDelta: Comparable, Hashable, Sendable {
  /// The length in nanoseconds.
  public var nanoseconds: Int64

  /// A length of `nanoseconds`.
  @inlinable public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

  /// No time at all.
  @inlinable public static var zero: TimeDelta { TimeDelta(nanoseconds: 0) }
  /// `n` microseconds.
  @inlinable public static func microseconds(_ n: Int) -> TimeDelta { TimeDelta(nanoseconds: Int64(n) &* 1_000) }
  /// `n` milliseconds.
  @inlinable public static func milliseconds(_ n: Int) -> TimeDelta { TimeDelta(nanoseconds: Int64(n) &* 1_000_000) }
  /// `n` seconds.
  @inlinable public static func seconds(_ n: Int) -> TimeDelta { TimeDelta(nanoseconds: Int64(n) &* 1_000_000_000) }
  /// `n` seconds, fractions allowed.
  @inlinable public static func seconds(_ n: Double) -> TimeDelta {
    TimeDelta(nanoseconds: Int64((n * 1e9).rounded()))
  }

  /// Whole microseconds, rounded toward zero.
  @inlinable public var microseconds: Int64 { nanoseconds / 1_000 }
  /// Whole milliseconds, rounded toward zero.
  @inlinable public var milliseconds: Int64 { nanoseconds / 1_000_000 }
  /// Seconds with their fraction.
  @inlinable public var seconds: Double { Double(nanoseconds) / 1e9 }

  /// Shorter.
  @inlinable public static func < (a: TimeDelta, b: TimeDelta) -> Bool { a.nanoseconds < b.nanoseconds }
  /// Both one after the other.
  @inlinable public static func + (a: TimeDelta, b: TimeDelta) -> TimeDelta {
    TimeDelta(nanoseconds: a.nanoseconds &+ b.nanoseconds)
  }
  /// What `a` is longer than `b`.
  @inlinable public static func - (a: TimeDelta, b: TimeDelta) -> TimeDelta {
    TimeDelta(nanoseconds: a.nanoseconds &- b.nanoseconds)
  }
  /// `n` times as long.
  @inlinable public static func * (a: TimeDelta, n: Int64) -> TimeDelta { TimeDelta(nanoseconds: a.nanoseconds &* n) }
  /// The `n`th part; `n` is not 0.
  @inlinable public static func / (a: TimeDelta, n: Int64) -> TimeDelta { TimeDelta(nanoseconds: a.nanoseconds / n) }
}

/// One reading of both clocks: the monotonic one for timers, the wall clock for what people see.
public struct Now: Hashable, Sendable {
  /// Monotonic time; all deadlines are in it.
  public var instant: Instant
  /// Milliseconds since 1970-01-01 UTC.
  public var wallMilliseconds: Int64

  /// Both readings, taken together.
  public init(instant: Instant, wallMilliseconds: Int64) {
    self.instant = instant
    self.wallMilliseconds = wallMilliseconds
  }

  /// The reading `delta` later on both clocks.
  public func advanced(by delta: TimeDelta) -> Now {
    Now(instant: instant + delta, wallMilliseconds: wallMilliseconds + delta.milliseconds)
  }
}
