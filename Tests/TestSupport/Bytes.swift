// Bytes for tests: from text, and at random with a seed.

import Basics

/// Bytes from hexadecimal digits; everything else between them is passed over.
public func hex(_ text: String) -> [UInt8] {
  let digits = text.compactMap(\.hexDigitValue)
  return stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
}

extension SplitMix64 {
  /// So many bytes, the same ones in every run.
  public mutating func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8(truncatingIfNeeded: next()) } }
}
