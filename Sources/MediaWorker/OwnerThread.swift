// A thread that owns what its function creates. State born inside the function cannot be reached from elsewhere.

internal import CLinux
import Glibc

/// A joinable POSIX thread.
public final class OwnerThread: Sendable {
  private final class Start: Sendable {
    let name: String
    let body: @Sendable () -> Void
    init(name: String, body: @escaping @Sendable () -> Void) {
      self.name = name
      self.body = body
    }
  }

  private let thread: pthread_t

  /// Starts `body` on a thread called `name` (as `top -H` shows it, at most 15 bytes).
  /// Traps when the system refuses another thread.
  public init(name: String, body: @escaping @Sendable () -> Void) {
    let start = Unmanaged.passRetained(Start(name: name, body: body))
    var handle = pthread_t()
    let status = pthread_create(
      &handle, nil,
      { argument in
        guard let argument else { return nil }
        let start = Unmanaged<Start>.fromOpaque(argument).takeRetainedValue()
        _ = start.name.withCString { clinux_thread_name($0) }
        start.body()
        return nil
      }, start.toOpaque())
    precondition(status == 0, "pthread_create failed with errno \(status); raise the limit of threads")
    thread = handle
  }

  /// Waits until the thread's function has returned. Call it once.
  public func join() { pthread_join(thread, nil) }
}

/// Reads the machine's clocks; the only place outside the fences that does.
public enum SystemClock {
  /// Nanoseconds on the monotonic clock.
  public static func monotonicNanoseconds() -> Int64 { clinux_monotonic_ns() }
  /// Milliseconds since 1970-01-01 UTC.
  public static func wallMilliseconds() -> Int64 { clinux_wall_ms() }
  /// Keeps the calling thread from running for a time.
  public static func sleep(milliseconds: Int) { usleep(UInt32(clamping: milliseconds) &* 1000) }
}

/// Waits for a mailbox to have messages or for a deadline: what an owner thread without sockets sleeps on.
public struct MailboxWait: Sendable {
  private let descriptor: Int32

  /// Watches `descriptor`, as `Mailbox.descriptor` gives it.
  public init(descriptor: Int32) { self.descriptor = descriptor }

  /// Returns when there is a message or after `nanoseconds`; negative waits without end.
  public func wait(nanoseconds: Int64) {
    var watched = clinux_watch(fd: descriptor, events: Int16(clinux_readable), ready: 0)
    _ = clinux_poll(&watched, 1, nanoseconds)
  }
}
