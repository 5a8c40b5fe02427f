// A value behind a POSIX mutex. `Synchronization.Mutex` is a little leaner, but its slow path is code that
// ThreadSanitizer does not see, so that every contended use is reported as a race; this one it understands.

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// A value that several threads share, touched by one at a time. A reference: copies are the same value.
///
/// Safe to use, whatever is done with it: both addresses are its own, filled in `init`, emptied in `deinit` and given to nobody. The
/// value's leaves `withLock` as an `inout` alone, while the mutex is held.
@safe public final class Locked<Value: Sendable>: @unchecked Sendable {
  // Unchecked: the compiler cannot know that `value` is only touched with `mutex` held. Both live at fixed addresses.
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private let value: UnsafeMutablePointer<Value>

  /// A shared value that begins as `value`.
  public init(_ value: Value) {
    unsafe mutex = .allocate(capacity: 1)
    unsafe mutex.initialize(to: pthread_mutex_t())
    unsafe pthread_mutex_init(mutex, nil)
    unsafe self.value = .allocate(capacity: 1)
    unsafe self.value.initialize(to: value)
  }

  deinit {
    unsafe value.deinitialize(count: 1)
    unsafe value.deallocate()
    unsafe pthread_mutex_destroy(mutex)
    unsafe mutex.deinitialize(count: 1)
    unsafe mutex.deallocate()
  }

  /// Runs `body` alone with the value. Not to be called again inside `body`.
  public func withLock<Result, Failure: Error>(_ body: (inout Value) throws(Failure) -> Result) throws(Failure)
    -> Result
  {
    unsafe pthread_mutex_lock(mutex)
    defer { unsafe pthread_mutex_unlock(mutex) }
    return unsafe try body(&value.pointee)
  }
}
