// The heads of the frames that a client sends (RFC 6455 §5.2), read before the library has them: it takes frames that are not masked
// for good ones, and says nothing of it. Pure.

/// Finds the first frame of a connection that is not masked (RFC 6455 §5.1).
package struct FrameHeads: Sendable {
  private enum State {
    /// The flags and the opcode come next.
    case flags
    /// The mask bit and the short length.
    case length
    /// So many bytes of a long length, behind those that make `value`.
    case longLength(left: Int, value: UInt64)
    /// So many bytes of mask and payload.
    case rest(left: UInt64)
  }

  private static let maskBytes: UInt64 = 4

  private var state = State.flags
  /// A frame was not masked: nothing of this connection is read any more.
  package private(set) var isBroken = false

  /// A connection of which no frame was read.
  package init() {}

  /// Reads what has come. Costs time with the frames in it, not with their bytes.
  /// - Returns: how many of the bytes belong to frames that are masked: all, or those before the first that is not.
  package mutating func read(_ bytes: UnsafeRawBufferPointer) -> Int {
    guard !isBroken else { return 0 }
    var index = 0
    var frame = 0
    while index < bytes.count {
      switch state {
      case .flags:
        frame = index
        index += 1
        state = .length
      case .length:
        guard bytes[index] & 0x80 != 0 else {
          isBroken = true
          return frame
        }
        beginLength(bytes[index] & 0x7f)
        index += 1
      case .longLength(let left, let value):
        takeLength(bytes[index], left: left, value)
        index += 1
      case .rest(let left):
        let taken = Int(min(left, UInt64(bytes.count - index)))
        index += taken
        state = left == UInt64(taken) ? .flags : .rest(left: left - UInt64(taken))
      }
    }
    return bytes.count
  }

  private mutating func beginLength(_ length: UInt8) {
    switch length {
    case 127: state = .longLength(left: 8, value: 0)
    case 126: state = .longLength(left: 2, value: 0)
    default: state = .rest(left: UInt64(length) + Self.maskBytes)
    }
  }

  private mutating func takeLength(_ byte: UInt8, left: Int, _ value: UInt64) {
    let value = value << 8 | UInt64(byte)
    // No frame is so long that its end could not be counted to: the library refuses those above 63 bits.
    state =
      left > 1
      ? .longLength(left: left - 1, value: value) : .rest(left: min(value, .max - Self.maskBytes) + Self.maskBytes)
  }
}
