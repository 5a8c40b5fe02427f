// Where a packet of sound is put together with earlier ones (RFC 2198), to be sealed from here.

import Forwarding

/// Memory for one payload, kept.
struct RedundancyBuffer: ~Copyable {
  /// More than the longest payload with its padding.
  private static let capacity = 4_096
  private let bytes: UnsafeMutableRawBufferPointer

  init() {
    bytes = .allocate(byteCount: Self.capacity, alignment: 64)
    bytes.initializeMemory(as: UInt8.self, repeating: 0)
  }
  deinit { bytes.deallocate() }

  /// The packet at `place` with `count` earlier ones, each of `payloadType`, and `padding` bytes of RTP padding behind (RFC 3550 §5.1).
  /// Good until the next call.
  @inline(never)
  func body(
    of cache: borrowing PacketCache, at place: Int, count: Int, payloadType: UInt8, padding: Int
  ) -> UnsafeRawBufferPointer {
    guard
      let length = cache.writeRedundant(
        at: place, count: count, payloadType: payloadType,
        into: UnsafeMutableRawBufferPointer(rebasing: bytes.dropLast(PacketCache.longestPadding)))
    else { return UnsafeRawBufferPointer(rebasing: bytes[..<0]) }
    guard padding > 0, padding <= PacketCache.longestPadding else {
      return UnsafeRawBufferPointer(rebasing: bytes[..<length])
    }
    for index in length..<(length + padding) { bytes[index] = 0 }
    bytes[length + padding - 1] = UInt8(truncatingIfNeeded: padding)
    return UnsafeRawBufferPointer(rebasing: bytes[..<(length + padding)])
  }
}
