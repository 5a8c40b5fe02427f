// Numbers in network byte order, read from and written to spans. Every access is checked against the span's bounds, so
// a parser's own length check comes first.
//
// What is marked as unsafe here is right for two reasons. Offsets are checked by the span that is read or written; and of bytes any value is
// an integer, and any bytes of an integer are bytes.

extension Span where Element == UInt8 {
  /// Two bytes at `offset` as a big-endian number.
  @inlinable public func uint16(at offset: Int) -> UInt16 {
    unsafe UInt16(bigEndian: bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt16.self))
  }
  /// Three bytes at `offset` as a big-endian number.
  @inlinable public func uint24(at offset: Int) -> UInt32 {
    UInt32(self[offset]) << 16 | UInt32(uint16(at: offset + 1))
  }
  /// Four bytes at `offset` as a big-endian number.
  @inlinable public func uint32(at offset: Int) -> UInt32 {
    unsafe UInt32(bigEndian: bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt32.self))
  }
  /// Eight bytes at `offset` as a big-endian number.
  @inlinable public func uint64(at offset: Int) -> UInt64 {
    unsafe UInt64(bigEndian: bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self))
  }
}

extension MutableSpan where Element == UInt8 {
  /// Writes two bytes at `offset`, big-endian.
  @inlinable public mutating func store(_ value: UInt16, at offset: Int) {
    var raw = unsafe mutableBytes
    raw.storeBytes(of: value.bigEndian, toByteOffset: offset, as: UInt16.self)
  }
  /// Writes the low three bytes of `value` at `offset`, big-endian.
  @inlinable public mutating func store24(_ value: UInt32, at offset: Int) {
    self[offset] = UInt8(truncatingIfNeeded: value >> 16)
    store(UInt16(truncatingIfNeeded: value), at: offset + 1)
  }
  /// Writes four bytes at `offset`, big-endian.
  @inlinable public mutating func store(_ value: UInt32, at offset: Int) {
    var raw = unsafe mutableBytes
    raw.storeBytes(of: value.bigEndian, toByteOffset: offset, as: UInt32.self)
  }
  /// Writes eight bytes at `offset`, big-endian.
  @inlinable public mutating func store(_ value: UInt64, at offset: Int) {
    var raw = unsafe mutableBytes
    raw.storeBytes(of: value.bigEndian, toByteOffset: offset, as: UInt64.self)
  }
  /// Copies all of `source` to `offset`.
  @inlinable public mutating func store(_ source: Span<UInt8>, at offset: Int) {
    precondition(offset >= 0 && offset <= count && source.count <= count - offset, "copy beyond the span")
    unsafe withUnsafeMutableBytes { to in
      unsafe source.withUnsafeBytes { from in
        unsafe UnsafeMutableRawBufferPointer(rebasing: to[offset..<(offset + from.count)]).copyMemory(from: from)
      }
    }
  }
}

extension Array where Element == UInt8 {
  /// Appends two bytes, big-endian.
  @inlinable public mutating func append(bigEndian value: UInt16) {
    append(UInt8(truncatingIfNeeded: value >> 8))
    append(UInt8(truncatingIfNeeded: value))
  }
  /// Appends the low three bytes of `value`, big-endian.
  @inlinable public mutating func append(bigEndian24 value: UInt32) {
    append(UInt8(truncatingIfNeeded: value >> 16))
    append(bigEndian: UInt16(truncatingIfNeeded: value))
  }
  /// Appends four bytes, big-endian.
  @inlinable public mutating func append(bigEndian value: UInt32) {
    append(bigEndian: UInt16(truncatingIfNeeded: value >> 16))
    append(bigEndian: UInt16(truncatingIfNeeded: value))
  }
  /// Appends eight bytes, big-endian.
  @inlinable public mutating func append(bigEndian value: UInt64) {
    append(bigEndian: UInt32(truncatingIfNeeded: value >> 32))
    append(bigEndian: UInt32(truncatingIfNeeded: value))
  }
}
