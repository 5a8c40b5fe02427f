// Serial number arithmetic (RFC 1982) for RTP's 16-bit sequence numbers and 32-bit time stamps.

extension UInt16 {
  /// Whether this sequence number comes after `other` on the circle (RFC 1982; half a circle apart counts as before).
  @inlinable public func isNewer(than other: UInt16) -> Bool {
    self != other && (self &- other) < 0x8000
  }
  /// Signed distance from `other` to this number, −32,768 … 32,767.
  @inlinable public func distance(from other: UInt16) -> Int { Int(Int16(bitPattern: self &- other)) }
}

extension UInt32 {
  /// Whether this time stamp comes after `other` on the circle (RFC 1982).
  @inlinable public func isNewer(than other: UInt32) -> Bool {
    self != other && (self &- other) < 0x8000_0000
  }
}

/// Turns 16-bit sequence numbers into 64-bit ones that never wrap.
public struct SequenceUnwrapper: Sendable {
  /// The newest number seen so far, unwrapped; nil before the first.
  public private(set) var newest: Int64?

  /// An unwrapper that has seen nothing.
  public init() {}

  /// The unwrapped number nearest to the newest one seen. The first is returned as it is, so a reordered earlier one
  /// may come out negative.
  @inlinable public mutating func unwrap(_ number: UInt16) -> Int64 {
    let value = peek(number)
    advance(to: value)
    return value
  }

  /// As `unwrap`, without remembering the number.
  @inlinable public func peek(_ number: UInt16) -> Int64 {
    guard let newest else { return Int64(number) }
    return newest + Int64(number.distance(from: UInt16(truncatingIfNeeded: newest)))
  }

  @usableFromInline mutating func advance(to value: Int64) {
    if let current = newest, current >= value { return }
    newest = value
  }
}
