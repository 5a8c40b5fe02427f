// What waits for a peer to read on: first in, first out, bounded. Pure.

/// Messages to one socket. A long message leaves in several frames, so that one write rarely exceeds what the kernel
/// takes at once: libwebsockets cannot see a peer's close frame while a write of its own is half done.
struct OutputQueue {
  /// Raise it and more messages are one frame, and more writes end half way.
  static let frameBytes = 8192

  /// The next frame to be written: a part of the first message.
  struct Frame {
    var range: Range<Int>
    var isFirst: Bool
    var isLast: Bool
  }

  private var messages: [[UInt8]] = []
  private var head = 0
  private var offset = 0
  /// Bytes that are still to be written.
  private(set) var queuedBytes = 0
  private let limits: WebSocketLimits

  init(limits: WebSocketLimits) { self.limits = limits }

  var isEmpty: Bool { head == messages.count }
  var count: Int { messages.count - head }

  /// - Returns: false when the peer is too far behind; the message is not queued then.
  mutating func append(_ message: [UInt8]) -> Bool {
    guard count < limits.maximumQueuedMessages, queuedBytes + message.count <= limits.maximumQueuedBytes || isEmpty
    else { return false }
    messages.append(message)
    queuedBytes += message.count
    return true
  }

  /// The next frame and the message that it is a part of.
  var next: (message: [UInt8], frame: Frame)? {
    guard head < messages.count else { return nil }
    let end = min(offset + Self.frameBytes, messages[head].count)
    let frame = Frame(range: offset..<end, isFirst: offset == 0, isLast: end == messages[head].count)
    return (messages[head], frame)
  }

  /// The frame that `next` showed has been written.
  mutating func advance(_ frame: Frame) {
    offset = frame.range.upperBound
    // What has been written of a long message makes room for others.
    queuedBytes -= frame.range.count
    guard frame.isLast else { return }
    messages[head] = []
    offset = 0
    head += 1
    if head == messages.count {
      messages.removeAll(keepingCapacity: messages.capacity <= 64)
      head = 0
    } else if head >= 256 {
      messages.removeFirst(head)
      head = 0
    }
  }

  mutating func removeAll() {
    messages = []
    head = 0
    offset = 0
    queuedBytes = 0
  }
}
