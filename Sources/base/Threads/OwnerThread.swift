// A thread that owns what its function creates. State born inside the function cannot be reached from elsewhere.
import Basics
import Glibc

internal import CLinux

/// A POSIX thread that can be waited for.
///
/// It takes no signals but those of its own faults: stopping is the main thread's business, and a broken pipe must kill nobody.
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
  private let isJoined = Locked(false)

  /// Starts `body` on a thread called `name` (as `top -H` shows it, at most 15 bytes).
  public init(starting name: String, body: @escaping @Sendable () -> Void) throws(ThreadError) {
    let start = Unmanaged.passRetained(Start(name: name, body: body))
    let status: Int32
    (thread, status) = Self.withSignalsBlocked {
      var handle = pthread_t()
      let status = pthread_create(
        &handle, nil,
        { argument in
          guard let argument else { return nil }
          OwnerThread.run(Unmanaged<Start>.fromOpaque(argument).takeRetainedValue())
          return nil
        }, start.toOpaque())
      return (handle, status)
    }
    guard status == 0 else {
      start.release()
      isJoined.withLock { $0 = true }
      throw ThreadError(what: "thread", code: status)
    }
  }

  /// Likewise. Traps when the system refuses another thread, which at start-up nothing can mend.
  public convenience init(name: String, body: @escaping @Sendable () -> Void) {
    do throws(ThreadError) {
      try self.init(starting: name, body: body)
    } catch {
      preconditionFailure("\(error)")
    }
  }

  /// A thread that nobody will wait for gives back what it holds by itself.
  deinit { isJoined.withLock { if !$0 { pthread_detach(thread) } } }

  /// Waits until the thread's function has returned. Returns at once when somebody did so before, or when called on it.
  public func join() {
    guard pthread_equal(thread, pthread_self()) == 0 else { return }
    isJoined.withLock { isJoined in
      if !isJoined { pthread_join(thread, nil) }
      isJoined = true
    }
  }

  /// The calling thread's number: no other that runs at the same time has it.
  public static var currentNumber: UInt { UInt(pthread_self()) }

  /// Keeps the calling thread from running for a time.
  public static func sleep(milliseconds: Int) { usleep(UInt32(clamping: milliseconds) &* 1000) }

  private static func run(_ start: Start) {
    _ = start.name.withCString { clinux_thread_name($0) }
    start.body()
  }

  /// A new thread has the mask of the one that makes it.
  private static func withSignalsBlocked<R>(_ body: () -> R) -> R {
    var blocked = sigset_t()
    var before = sigset_t()
    sigfillset(&blocked)
    // A fault that is blocked ends the process without a word of where it was.
    for fault in [SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT, SIGSYS] { sigdelset(&blocked, fault) }
    pthread_sigmask(SIG_SETMASK, &blocked, &before)
    defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
    return body()
  }
}
