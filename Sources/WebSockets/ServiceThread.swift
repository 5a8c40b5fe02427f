// A thread with a name, all signals blocked: signals are the main thread's business, and a broken pipe must kill nobody.
import Basics

internal import CWebSockets

#if canImport(Glibc)
  import Glibc
#endif

/// A running thread that can be waited for.
final class ServiceThread: Sendable {
  private let thread: Locked<pthread_t?>
  private init(_ thread: pthread_t) { self.thread = Locked(thread) }

  /// A thread that nobody will wait for gives back what it holds by itself.
  deinit { thread.withLock { if let running = $0 { pthread_detach(running) } } }

  /// nil when the system has no thread to give.
  static func start(name: String, _ body: @escaping @Sendable () -> Void) -> ServiceThread? {
    final class Box {
      let body: @Sendable () -> Void
      init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }
    var all = sigset_t()
    var before = sigset_t()
    sigfillset(&all)
    pthread_sigmask(SIG_SETMASK, &all, &before)
    defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
    var thread = pthread_t()
    let box = Unmanaged.passRetained(
      Box {
        roost_name_thread(name)
        body()
      })
    let status = pthread_create(
      &thread, nil,
      { argument in
        if let argument { Unmanaged<Box>.fromOpaque(argument).takeRetainedValue().body() }
        return nil
      }, box.toOpaque())
    guard status == 0 else {
      box.release()
      return nil
    }
    return ServiceThread(thread)
  }

  /// Waits for the end of the thread; returns at once when somebody did so before, or when called on it.
  func join() {
    thread.withLock { thread in
      guard let running = thread, pthread_equal(running, pthread_self()) == 0 else { return }
      pthread_join(running, nil)
      thread = nil
    }
  }
}

/// One value handed from a starting thread to the one that waits for it.
final class StartSignal<Value: Sendable>: Sendable {
  private let value = Locked<Value?>(nil)
  private let pipe: (read: Int32, write: Int32)

  init() {
    var ends: [Int32] = [-1, -1]
    _ = Glibc.pipe(&ends)
    pipe = (ends[0], ends[1])
  }
  deinit {
    close(pipe.read)
    close(pipe.write)
  }

  func give(_ new: Value) {
    value.withLock { $0 = new }
    var byte: UInt8 = 1
    _ = write(pipe.write, &byte, 1)
  }

  /// Waits for `give`. To be called once.
  func take() -> Value {
    var byte: UInt8 = 0
    while true {
      if let value = value.withLock({ $0 }) { return value }
      if read(pipe.read, &byte, 1) < 0 && errno != EINTR { sched_yield() }
    }
  }
}
