// One value from a thread that starts to the one that waits for it.
import Basics

/// Given once, taken once.
public final class Promise<Value: Sendable>: Sendable {
  private let mailbox = Mailbox<Value>(capacity: 1)

  /// A promise that is not kept yet. Traps when the process has no file descriptor left.
  public init() {}

  /// Gives the value. What is given after it is ignored.
  public func give(_ value: Value) {
    mailbox.post(value)
    mailbox.close()
  }

  /// Waits for the value.
  public func take() -> Value {
    while true {
      mailbox.wait()
      if let value = mailbox.drain().first { return value }
    }
  }
}
