// Messages between threads: a mutex-guarded array that is drained whole, and an eventfd that wakes the reader.

internal import CLinux
import Basics

/// A queue with many writers and one reader. Bounded: beyond `capacity` a message is refused, and the writer is told.
public final class Mailbox<Message: Sendable>: Sendable {
  private struct Contents: Sendable {
    var messages: [Message] = []
    var isClosed = false
    var refused: UInt64 = 0

    /// Whether so many more may come; counts them where there is no room.
    mutating func admits(_ more: Int, _ capacity: Int) -> Bool {
      if isClosed { return false }
      if messages.count + more <= capacity { return true }
      refused &+= UInt64(more)
      return false
    }
  }

  private let contents = Locked(Contents())
  private let capacity: Int
  /// Readable while messages wait; for the reader to poll.
  public let descriptor: Int32

  /// An empty mailbox. Traps when the process has no file descriptor left, which at start-up nothing can mend.
  public init(capacity: Int = 1_000_000) {
    self.capacity = capacity
    descriptor = clinux_eventfd_create()
    precondition(
      descriptor >= 0, "eventfd: no file descriptor left (errno \(-descriptor)); raise the limit of open files")
    contents.withLock { $0.messages.reserveCapacity(64) }
  }

  deinit { _ = clinux_close(descriptor) }

  /// Adds a message and wakes the reader; false when the mailbox is full or closed.
  @discardableResult public func post(_ message: Message) -> Bool {
    let (accepted, wake) = contents.withLock { contents in
      guard contents.admits(1, capacity) else { return (false, false) }
      contents.messages.append(message)
      return (true, contents.messages.count == 1)
    }
    if wake { _ = clinux_eventfd_signal(descriptor) }
    return accepted
  }

  /// Adds messages in order and wakes the reader; false when they do not all fit.
  @discardableResult public func post(_ messages: [Message]) -> Bool {
    if messages.isEmpty { return true }
    let accepted = contents.withLock { contents in
      guard contents.admits(messages.count, capacity) else { return false }
      contents.messages.append(contentsOf: messages)
      return true
    }
    if accepted { _ = clinux_eventfd_signal(descriptor) }
    return accepted
  }

  /// Takes all messages; `spare` gives its storage to the next ones, so that nothing is allocated in the long run.
  public func drain(into spare: inout [Message]) {
    spare.removeAll(keepingCapacity: true)
    _ = clinux_eventfd_drain(descriptor)
    contents.withLock { swap(&$0.messages, &spare) }
  }

  /// Refuses all further messages.
  public func close() { contents.withLock { $0.isClosed = true } }

  /// Messages waiting.
  public var count: Int { contents.withLock { $0.messages.count } }

  /// Messages refused because the mailbox was full. Those that come when it is closed do not count.
  public var refused: UInt64 { contents.withLock { $0.refused } }
}
