// Messages between threads: an array under a mutex that is drained whole, and a wake-up for the reader.
import Basics

/// A queue with many writers and one reader. Bounded: what does not fit is refused, and the writer is told.
///
/// The reader is woken by the first message only: it drains all that wait at once.
public final class Mailbox<Message: Sendable>: Sendable {
  private struct Contents: Sendable {
    var messages: [Message] = []
    var weight = 0
    var isClosed = false
    var refused: UInt64 = 0

    mutating func refuse(_ count: Int) -> Bool {
      if !isClosed { refused &+= UInt64(count) }
      return false
    }
  }

  private enum WakeUp: Sendable {
    case event(WakeEvent)
    case call(@Sendable () -> Void)

    func give() {
      switch self {
      case .event(let event): event.signal()
      case .call(let wake): wake()
      }
    }
  }

  private let contents = Locked(Contents())
  private let capacity: Int
  private let wakeUp: WakeUp

  /// An empty mailbox whose reader sleeps on its `descriptor`, or in `wait`. `capacity` is the most that its messages may weigh.
  /// Traps when the process has no file descriptor left, which at start-up nothing can mend.
  public convenience init(capacity: Int = 1_000_000) {
    do throws(ThreadError) {
      self.init(capacity: capacity, .event(try WakeEvent()))
    } catch {
      preconditionFailure("\(error)")
    }
  }

  /// An empty mailbox whose reader sleeps in a loop of its own. `wake` has that loop drain the mailbox soon. It is called on the
  /// writer's thread, with no lock held.
  public convenience init(capacity: Int, wake: @escaping @Sendable () -> Void) {
    self.init(capacity: capacity, .call(wake))
  }

  private init(capacity: Int, _ wakeUp: WakeUp) {
    self.capacity = capacity
    self.wakeUp = wakeUp
    contents.withLock { $0.messages.reserveCapacity(64) }
  }

  /// Readable while messages wait; −1 where the reader is woken by a call.
  public var descriptor: Int32 {
    switch wakeUp {
    case .event(let event): event.descriptor
    case .call: -1
    }
  }

  /// Adds a message and wakes the reader; false when the mailbox is full or closed. A heavy message needs as little room as a light
  /// one: so one that weighs more than `capacity` can be had.
  @discardableResult public func post(_ message: Message, weight: Int = 1) -> Bool {
    let (isAccepted, isFirst) = contents.withLock { contents in
      guard !contents.isClosed, contents.weight < capacity else { return (contents.refuse(1), false) }
      contents.messages.append(message)
      contents.weight += weight
      return (true, contents.messages.count == 1)
    }
    if isFirst { wakeUp.give() }
    return isAccepted
  }

  /// Adds messages of weight 1 in order and wakes the reader; false when they do not all fit.
  @discardableResult public func post(_ messages: [Message]) -> Bool {
    if messages.isEmpty { return true }
    let (isAccepted, isFirst) = contents.withLock { contents in
      guard !contents.isClosed, messages.count <= capacity - contents.weight else {
        return (contents.refuse(messages.count), false)
      }
      let isFirst = contents.messages.isEmpty
      contents.messages.append(contentsOf: messages)
      contents.weight += messages.count
      return (true, isFirst)
    }
    if isFirst { wakeUp.give() }
    return isAccepted
  }

  /// Wakes the reader without a message.
  public func wake() { wakeUp.give() }

  /// Takes all messages; `spare` gives its storage to the next ones, so that nothing is allocated in the long run.
  public func drain(into spare: inout [Message]) {
    spare.removeAll(keepingCapacity: true)
    // Before the messages are taken: one that comes in between wakes the reader for nothing, and none is overlooked.
    if case .event(let event) = wakeUp { event.drain() }
    contents.withLock {
      swap(&$0.messages, &spare)
      $0.weight = 0
    }
  }

  /// Takes all messages.
  public func drain() -> [Message] {
    var messages: [Message] = []
    drain(into: &messages)
    return messages
  }

  /// Returns when there is a message or after `nanoseconds`; negative waits without end. For a reader that is woken by a call it
  /// returns at once.
  public func wait(nanoseconds: Int64 = -1) {
    if case .event(let event) = wakeUp { event.wait(nanoseconds: nanoseconds) }
  }

  /// Refuses all further messages. Those that wait can still be drained.
  public func close() { contents.withLock { $0.isClosed = true } }

  /// Messages waiting.
  public var count: Int { contents.withLock { $0.messages.count } }

  /// Messages refused because the mailbox was full. Those that come when it is closed do not count.
  public var refused: UInt64 { contents.withLock { $0.refused } }
}
