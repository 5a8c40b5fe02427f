// A histogram of delays with buckets that grow with the value: sixteen to each power of two, so a percentile is right
// within 6 %.

import Basics

/// How long packets took, in microseconds, from one clock.
public struct LatencyHistogram: Sendable, Hashable {
  private static let fineBits = 4
  private static let buckets = 40 << fineBits

  private var counts: [UInt32]
  /// Delays recorded.
  public private(set) var count: UInt64 = 0
  /// The longest, in microseconds.
  public private(set) var maximum: UInt64 = 0

  /// Empty.
  public init() { counts = Array(repeating: 0, count: Self.buckets) }

  /// Adds a delay, `times` times; negative ones count as none.
  public mutating func record(_ delay: TimeDelta, times: Int = 1) {
    let microseconds = UInt64(max(0, delay.microseconds))
    counts[Self.bucket(microseconds)] &+= UInt32(truncatingIfNeeded: times)
    count += UInt64(times)
    maximum = max(maximum, microseconds)
  }

  /// Adds all of another histogram.
  public mutating func merge(_ other: LatencyHistogram) {
    guard other.count > 0 else { return }
    for index in counts.indices { counts[index] &+= other.counts[index] }
    count += other.count
    maximum = max(maximum, other.maximum)
  }

  /// What was added since `earlier`, an older state of the same histogram; the maximum is that of both.
  public func since(_ earlier: LatencyHistogram) -> LatencyHistogram {
    var result = self
    for index in counts.indices { result.counts[index] &-= earlier.counts[index] }
    result.count -= min(count, earlier.count)
    return result
  }

  /// The delay in microseconds that `share` (0 … 1) of the packets did not exceed; 0 when there are none.
  public func percentile(_ share: Double) -> UInt64 {
    let wanted = UInt64((Double(count) * share).rounded(.up))
    var seen: UInt64 = 0
    for (index, number) in counts.enumerated() {
      seen += UInt64(number)
      if seen >= wanted, seen > 0 { return min(Self.upperBound(index), maximum) }
    }
    return maximum
  }

  /// Non-empty buckets as (upper bound in microseconds, count), for charts.
  public var bars: [(microseconds: UInt64, count: UInt32)] {
    counts.indices.filter { counts[$0] > 0 }.map { (Self.upperBound($0), counts[$0]) }
  }

  private static func bucket(_ value: UInt64) -> Int {
    guard value >= 1 << fineBits else { return Int(value) }
    let exponent = 63 - value.leadingZeroBitCount
    let fine = Int(value >> UInt64(exponent - fineBits)) & ((1 << fineBits) - 1)
    return min((exponent - fineBits + 1) << fineBits | fine, buckets - 1)
  }

  private static func upperBound(_ bucket: Int) -> UInt64 {
    guard bucket >= 1 << fineBits else { return UInt64(bucket) }
    let exponent = UInt64(bucket >> fineBits) + UInt64(fineBits) - 1
    let fine = UInt64(bucket & ((1 << fineBits) - 1))
    let width = UInt64(1) << (exponent - UInt64(fineBits))
    return (UInt64(1 << fineBits) + fine) * width + width - 1
  }
}
