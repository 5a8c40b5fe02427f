// A value behind a POSIX mutex. `Synchronization.Mutex` is a little leaner, but its slow path is code that
// ThreadSanitizer does not see, so that every contended use is reported as a race; this one it understands.

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// A value that several threads share, touched by one at a time. A reference: copies are the same value.
public final class Locked<Value: Sendable>: @unchecked Sendable {
  // Unchecked: the compiler cannot know that `value` is only touched with `mutex` held. Both live at fixed addresses.
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private let value: UnsafeMutablePointer<Value>

  /// A shared value that begins as `value`.
  public init(_ value: Value) {
    mutex = .allocate(capacity: 1)
    mutex.initialize(to: pthread_mutex_t())
    pthread_mutex_init(mutex, nil)
    self.value = .allocate(capacity: 1)
    self.value.initialize(to: value)
  }

  deinit {
    value.deinitialize(count: 1)
    value.deallocate()
    pthread_mutex_destroy(mutex)
    mutex.deinitialize(count: 1)
    mutex.deallocate()
  }

  /// Runs `body` alone with the value. Not to be called again inside `body`.
  public func withLock<Result, Failure: Error>(_ body: (inout Value) throws(Failure) -> Result) throws(Failure)
    -> Result
  {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return try body(&value.pointee)
  }
}
