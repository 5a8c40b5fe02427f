// The heads of the frames that a client sends (RFC 6455 §5.2), read before the library has them: it takes frames that are not masked
// for good ones, and says nothing of it. They also tell where messages begin and end. Pure.

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

  /// A message that has begun and is not whole, or a control frame that is alone.
  package struct Unfinished: Equatable, Sendable {
    /// Each that begins has another.
    package let number: UInt64
    /// Bytes of it that its frames announce so far. Those of control frames do not count.
    package fileprivate(set) var bytes: UInt64
  }

  private static let maskBytes: UInt64 = 4

  private var state = State.flags
  /// The frame under way is none of a message.
  private var isControl = false
  /// The frame under way is the last of its message.
  private var isFinal = false
  /// A message has begun, and its last frame is not over.
  private var isInMessage = false
  private var begun: UInt64 = 0
  /// What is not whole, behind all that was read.
  package private(set) var unfinished: Unfinished?
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
        begin(bytes[index])
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
        if left == UInt64(taken) { end() }
      }
    }
    return bytes.count
  }

  private mutating func begin(_ flags: UInt8) {
    (isFinal, isControl) = (flags & 0x80 != 0, flags & 0x08 != 0)
    if !isControl { isInMessage = true }
    guard unfinished == nil else { return }
    begun += 1
    unfinished = Unfinished(number: begun, bytes: 0)
  }

  private mutating func end() {
    if !isControl, isFinal { isInMessage = false }
    if !isInMessage { unfinished = nil }
  }

  private mutating func follow(_ length: UInt64) {
    // No frame is so long that its end could not be counted to: the library refuses those above 63 bits.
    let length = min(length, .max - Self.maskBytes)
    state = .rest(left: length + Self.maskBytes)
    guard !isControl, let bytes = unfinished?.bytes else { return }
    let (sum, isOver) = bytes.addingReportingOverflow(length)
    unfinished?.bytes = isOver ? .max : sum
  }

  private mutating func beginLength(_ length: UInt8) {
    switch length {
    case 127: state = .longLength(left: 8, value: 0)
    case 126: state = .longLength(left: 2, value: 0)
    default: follow(UInt64(length))
    }
  }

  private mutating func takeLength(_ byte: UInt8, left: Int, _ value: UInt64) {
    let value = value << 8 | UInt64(byte)
    if left > 1 { state = .longLength(left: left - 1, value: value) } else { follow(value) }
  }
}
