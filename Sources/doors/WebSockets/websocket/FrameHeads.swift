// The heads of the frames that a client sends (RFC 6455 §5.2), and its close frames whole, read before the library has them: it takes
// frames that are not masked, and close frames that say nothing, for good ones. They also tell where messages begin and end. Pure.

/// Finds the first frame of a connection that no client may send.
package struct FrameHeads: Sendable {
  /// What is wrong with a frame.
  package enum Fault: Hashable, Sendable {
    /// It is not masked (§5.1).
    case unmasked
    /// A control frame in pieces or above 125 bytes (§5.5), or a close frame with one byte, or with a code that none may carry (§7.4).
    case malformed
    /// The reason of a close frame is not UTF-8 (§5.5.1, §8.1).
    case invalidText
    /// Pings and pongs come too fast. This is said to it: it has no clock.
    case tooManyControls
  }

  private enum State {
    /// The flags and the opcode come next.
    case flags
    /// The mask bit and the short length.
    case length
    /// So many bytes of a long length, behind those that make `value`.
    case longLength(left: Int, value: UInt64)
    /// So many bytes of mask and payload.
    case rest(left: UInt64)
    /// The same of a close frame, whose bytes are kept.
    case close(left: Int)
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
  private var opcode: UInt8 = 0
  /// The frame under way is the last of its message.
  private var isFinal = false
  /// A message has begun, and its last frame is not over.
  private var isInMessage = false
  private var begun: UInt64 = 0
  /// What is not whole, behind all that was read.
  package private(set) var unfinished: Unfinished?
  /// Pings and pongs that have begun.
  package private(set) var controls = 0
  /// Mask and payload of a close frame so far: 129 bytes at most.
  private var closing: [UInt8] = []
  /// What was wrong with a frame: nothing of this connection is read any more.
  package private(set) var fault: Fault?

  /// A connection of which no frame was read.
  package init() {}

  /// Reads what has come. Costs time with the frames in it, not with their bytes.
  /// - Returns: how many of the bytes belong to good frames: all, or those before the first that is not. Of that one the library may have
  ///   had some before, but not the last byte.
  package mutating func read(_ bytes: UnsafeRawBufferPointer) -> Int {
    guard fault == nil else { return 0 }
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
        takeShortLength(bytes[index])
        index += 1
      case .longLength(let left, let value):
        takeLength(bytes[index], left: left, value)
        index += 1
      case .rest(let left):
        let taken = Int(min(left, UInt64(bytes.count - index)))
        index += taken
        state = left == UInt64(taken) ? .flags : .rest(left: left - UInt64(taken))
        if left == UInt64(taken) { end() }
      case .close(let left):
        closing.append(bytes[index])
        index += 1
        state = left == 1 ? .flags : .close(left: left - 1)
        if left == 1 {
          fault = faultOfClose()
          end()
        }
      }
      if fault != nil { return frame }
    }
    return bytes.count
  }

  /// Nothing of this connection is read any more.
  package mutating func end(with fault: Fault) { self.fault = self.fault ?? fault }

  private var isControl: Bool { opcode & 0x08 != 0 }

  private mutating func begin(_ flags: UInt8) {
    (isFinal, opcode) = (flags & 0x80 != 0, flags & 0x0f)
    if isControl && !isFinal { fault = .malformed }
    if isControl && opcode != 8 { controls += 1 }
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

  private mutating func takeShortLength(_ byte: UInt8) {
    let length = byte & 0x7f
    if byte & 0x80 == 0 {
      fault = .unmasked
    } else if isControl && (length > 125 || opcode == 8 && length == 1) {
      fault = .malformed
    } else if opcode == 8 {
      closing = []
      state = .close(left: Int(length) + Int(Self.maskBytes))
    } else {
      beginLength(length)
    }
  }

  /// Of the close frame in `closing`, whose payload is a code and a reason, or nothing.
  private func faultOfClose() -> Fault? {
    let payload = closing.dropFirst(4).enumerated().map { $1 ^ closing[$0 & 3] }
    guard payload.count >= 2 else { return nil }
    guard Self.mayCarry(UInt16(payload[0]) << 8 | UInt16(payload[1])) else { return .malformed }
    return String(validating: payload[2...], as: UTF8.self) == nil ? .invalidText : nil
  }

  /// Codes of RFC 6455 §7.4.1 that a frame may have, those that were registered since, and those of libraries and applications.
  private static func mayCarry(_ code: UInt16) -> Bool {
    switch code {
    case 1000...1003, 1007...1014, 3000...4999: true
    default: false
    }
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
