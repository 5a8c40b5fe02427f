// Clocks on the wire: NTP time stamps (RFC 3550 §4) and the 24-bit absolute send time.

import Basics

/// Seconds since 1900-01-01 UTC, 32.32 fixed point.
public struct NTPTime: Sendable, Hashable {
  /// Whole seconds in the upper half, fraction in the lower.
  public var value: UInt64
  /// From the origin of NTP time to that of Unix time.
  public static let secondsBefore1970: Int64 = 2_208_988_800

  /// From the wire.
  @inlinable public init(value: UInt64) { self.value = value }

  /// From milliseconds since 1970-01-01 UTC; earlier times count as 1970.
  public init(wallMilliseconds: Int64) {
    let milliseconds = UInt64(clamping: wallMilliseconds)
    let seconds = (milliseconds / 1_000 &+ UInt64(Self.secondsBefore1970)) & 0xffff_ffff
    // Rounded up, so that the same millisecond is read back.
    value = seconds << 32 | (((milliseconds % 1_000) << 32) + 999) / 1_000
  }

  /// Milliseconds since 1970-01-01 UTC, negative before; good until the NTP era ends in 2036.
  public var wallMilliseconds: Int64 {
    let seconds = Int64(value >> 32) - Self.secondsBefore1970
    return seconds * 1_000 + Int64(((value & 0xffff_ffff) * 1_000) >> 32)
  }

  /// The middle 32 bits: seconds as 16.16, as report blocks carry it (LSR).
  @inlinable public var middle: UInt32 { UInt32(truncatingIfNeeded: value >> 16) }
}

/// Lengths of time as 16.16 fixed point seconds: the unit of DLSR.
public enum ShortNTP {
  /// `delta` in 1/65536 s; negative counts as 0, too long as the largest.
  public static func value(_ delta: TimeDelta) -> UInt32 {
    guard delta.nanoseconds > 0 else { return 0 }
    let (seconds, rest) = delta.nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
    guard seconds < 65_536 else { return .max }
    return UInt32(seconds << 16 | (rest << 16) / 1_000_000_000)
  }

  /// The length that `value` stands for.
  public static func delta(_ value: UInt32) -> TimeDelta {
    TimeDelta(nanoseconds: Int64((UInt64(value) * 1_000_000_000) >> 16))
  }

  /// The round trip that a report block tells (RFC 3550 §6.4.1): A − LSR − DLSR, `now` being the middle of the NTP time of
  /// its arrival. Nil when the block echoes no sender report or the sum is not positive.
  public static func roundTrip(now: UInt32, lastReport: UInt32, delay: UInt32) -> TimeDelta? {
    guard lastReport != 0 else { return nil }
    let difference = now &- lastReport &- delay
    guard difference != 0, difference < 0x8000_0000 else { return nil }
    return delta(difference)
  }
}

/// The value of the abs-send-time header extension.
public enum AbsoluteSendTime {
  /// Seconds of `instant` as 6.18 fixed point, 24 bits. Any clock will do: receivers use differences only.
  @inlinable public static func value(at instant: Instant) -> UInt32 {
    let (seconds, rest) = UInt64(bitPattern: instant.nanoseconds).quotientAndRemainder(dividingBy: 1_000_000_000)
    return UInt32(truncatingIfNeeded: (seconds << 18) | (rest << 18) / 1_000_000_000) & 0xff_ffff
  }
}
