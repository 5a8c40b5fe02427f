// Bit rates and sizes as types. Both saturate, so that no number from a peer traps.

import Basics

/// A bit rate. Never negative, never above `unlimited`.
public struct BitRate: Comparable, Hashable, Sendable {
  /// Bits per second.
  public let bitsPerSecond: Double

  /// A rate of `bitsPerSecond`, cut to what a rate can be.
  @inlinable public init(bitsPerSecond: Double) {
    self.bitsPerSecond = bitsPerSecond > 0 ? min(bitsPerSecond, 1e12) : 0
  }
  /// The rate at which `size` takes `time`; `unlimited` when it takes none.
  @inlinable public init(_ size: ByteCount, in time: TimeDelta) {
    self.init(bitsPerSecond: time.nanoseconds > 0 ? Double(size.bytes) * 8e9 / Double(time.nanoseconds) : 1e12)
  }

  /// `n` thousand bits per second.
  @inlinable public static func kilobits(_ n: Double) -> BitRate { BitRate(bitsPerSecond: n * 1e3) }
  /// `n` million bits per second.
  @inlinable public static func megabits(_ n: Double) -> BitRate { BitRate(bitsPerSecond: n * 1e6) }
  /// Nothing.
  @inlinable public static var zero: BitRate { BitRate(bitsPerSecond: 0) }
  /// More than any line carries.
  @inlinable public static var unlimited: BitRate { BitRate(bitsPerSecond: 1e12) }

  /// In thousand bits per second.
  @inlinable public var kilobits: Double { bitsPerSecond / 1e3 }

  /// Slower.
  @inlinable public static func < (a: BitRate, b: BitRate) -> Bool { a.bitsPerSecond < b.bitsPerSecond }
  /// Both together.
  @inlinable public static func + (a: BitRate, b: BitRate) -> BitRate {
    BitRate(bitsPerSecond: a.bitsPerSecond + b.bitsPerSecond)
  }
  /// What is left of `a`; at least zero.
  @inlinable public static func - (a: BitRate, b: BitRate) -> BitRate {
    BitRate(bitsPerSecond: a.bitsPerSecond - b.bitsPerSecond)
  }
  /// `factor` times as fast.
  @inlinable public static func * (a: BitRate, factor: Double) -> BitRate {
    BitRate(bitsPerSecond: a.bitsPerSecond * factor)
  }
  /// How many times as fast as `b`; 0 when `b` is zero.
  @inlinable public static func / (a: BitRate, b: BitRate) -> Double {
    b.bitsPerSecond > 0 ? a.bitsPerSecond / b.bitsPerSecond : 0
  }

  /// What is sent in `time` at this rate.
  @inlinable public func size(in time: TimeDelta) -> ByteCount {
    ByteCount(Int(min(max(0, bitsPerSecond * Double(time.nanoseconds) / 8e9), 1e15)))
  }
  /// How long `size` takes at this rate; at most an hour.
  @inlinable public func time(for size: ByteCount) -> TimeDelta {
    guard bitsPerSecond > 0 else { return .seconds(3_600) }
    return TimeDelta(nanoseconds: Int64(min(max(0, Double(size.bytes) * 8e9 / bitsPerSecond), 3.6e12)))
  }
}

/// A size in bytes.
public struct ByteCount: Comparable, Hashable, Sendable {
  /// Bytes.
  public var bytes: Int

  /// `bytes` bytes.
  @inlinable public init(_ bytes: Int) { self.bytes = bytes }

  /// Nothing.
  @inlinable public static var zero: ByteCount { ByteCount(0) }
  /// What a budget says where nothing holds back.
  @inlinable public static var unlimited: ByteCount { ByteCount(.max) }

  /// Smaller.
  @inlinable public static func < (a: ByteCount, b: ByteCount) -> Bool { a.bytes < b.bytes }
  /// Both together.
  @inlinable public static func + (a: ByteCount, b: ByteCount) -> ByteCount { ByteCount(a.bytes &+ b.bytes) }
  /// What is left of `a`; may be negative.
  @inlinable public static func - (a: ByteCount, b: ByteCount) -> ByteCount { ByteCount(a.bytes &- b.bytes) }
  /// Adds.
  @inlinable public static func += (a: inout ByteCount, b: ByteCount) { a = a + b }
  /// Takes off; the result may be negative.
  @inlinable public static func -= (a: inout ByteCount, b: ByteCount) { a = a - b }
}

/// The natural logarithm of a positive number, to about 1e-10. The standard library has none, and one function is no reason
/// to link the mathematics library everywhere.
func naturalLogarithm(_ x: Double) -> Double {
  guard x > 0, x.isFinite else { return x > 0 ? 709 : -745 }
  // x = m · 2^e with m in 0.7 … 1.42, so that the series below converges fast.
  let shift = x.significand > 1.42 ? 1 : 0
  let mantissa = shift == 1 ? x.significand / 2 : x.significand
  let y = (mantissa - 1) / (mantissa + 1)
  let square = y * y
  let series = 1 + square * (1 / 3.0 + square * (1 / 5.0 + square * (1 / 7.0 + square * (1 / 9.0 + square / 11))))
  return 2 * y * series + Double(Int(x.exponent) + shift) * 0.693_147_180_559_945_3
}
