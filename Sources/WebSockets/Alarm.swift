// One timer for all sockets of a service thread: each of libwebsockets' own is put into a list that is walked to its place.
import Basics

internal import CWebSockets

/// Calls `ring` on the service thread, once, at the moment it is set to.
final class Alarm {
  /// What libwebsockets keeps in its list and gives back, and behind it whose it is.
  private struct Entry {
    var event = lws_sorted_usec_list_t()
    var owner: UnsafeMutableRawPointer?
  }

  /// When it goes off; `.distantFuture` while it is not set.
  private(set) var due = Instant.distantFuture
  private let entry = UnsafeMutablePointer<Entry>.allocate(capacity: 1)
  private let context: OpaquePointer
  private let ring: () -> Void

  init(_ context: OpaquePointer, ring: @escaping () -> Void) {
    self.context = context
    self.ring = ring
    entry.initialize(to: Entry())
    entry.pointee.owner = Unmanaged.passUnretained(self).toOpaque()
  }

  deinit { entry.deallocate() }

  /// Has it go off at `time`, and no sooner than in a millisecond, in the place of what it was set to.
  func set(_ time: Instant, now: Instant) {
    due = max(time, now + .milliseconds(1))
    withEvent { lws_sul_schedule(context, 0, $0, goOff, (due - now).microseconds) }
  }

  /// Must be called before the context is destroyed.
  func cancel() {
    due = .distantFuture
    withEvent { lws_sul_cancel($0) }
  }

  private func withEvent(_ body: (UnsafeMutablePointer<lws_sorted_usec_list_t>) -> Void) {
    body(UnsafeMutableRawPointer(entry).assumingMemoryBound(to: lws_sorted_usec_list_t.self))
  }

  /// What libwebsockets calls.
  private let goOff: sul_cb_t = { event in
    guard let event else { return }
    let entry = UnsafeMutableRawPointer(event).assumingMemoryBound(to: Entry.self)
    guard let owner = entry.pointee.owner else { return }
    Unmanaged<Alarm>.fromOpaque(owner).takeUnretainedValue().ring()
  }
}
