// A wake-up that one thread gives and another waits for: an eventfd (eventfd(2)).
internal import CLinux

/// What the system refused to make.
public struct ThreadError: Error, Equatable, CustomStringConvertible {
  /// `eventfd` or `thread`.
  public let what: String
  /// The system's number, as in errno.
  public let code: Int32

  /// One line for the operator.
  public var description: String {
    what == "thread"
      ? "no thread (errno \(code)); raise the limit of threads"
      : "\(what): no file descriptor left (errno \(code)); raise the limit of open files"
  }
}

/// Signalled from any thread. Its descriptor stays readable until it is drained.
public final class WakeEvent: Sendable {
  /// Readable while it is signalled; for a loop that polls other descriptors too.
  public let descriptor: Int32

  /// An event that is not signalled.
  public init() throws(ThreadError) {
    descriptor = clinux_eventfd_create()
    if descriptor < 0 { throw ThreadError(what: "eventfd", code: -descriptor) }
  }

  deinit { _ = clinux_close(descriptor) }

  /// Makes the descriptor readable.
  public func signal() { _ = clinux_eventfd_signal(descriptor) }

  /// Makes it unreadable again, however often it was signalled.
  public func drain() { _ = clinux_eventfd_drain(descriptor) }

  /// Returns when it is signalled, or after `nanoseconds`; negative waits without end. A signal may end the wait early.
  public func wait(nanoseconds: Int64 = -1) {
    var watched = clinux_watch(fd: descriptor, events: Int16(clinux_readable), ready: 0)
    _ = clinux_poll(&watched, 1, nanoseconds)
  }
}
