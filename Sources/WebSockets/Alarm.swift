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
  private let ring: (_ due: Instant) -> Void

  /// An alarm that is not set. It must be gone before `context` is. `ring` is given the moment that it was set to.
  init(_ context: OpaquePointer, ring: @escaping (_ due: Instant) -> Void) {
    self.context = context
    self.ring = ring
    entry.initialize(to: Entry())
    entry.pointee.owner = Unmanaged.passUnretained(self).toOpaque()
  }

  deinit {
    lws_sul_cancel(Self.event(of: entry))
    entry.deallocate()
  }

  /// Has it go off at `time`, and no sooner than in a millisecond, in the place of what it was set to.
  func set(_ time: Instant, now: Instant) {
    due = max(time, now + .milliseconds(1))
    // Rounded up: to go off early is to look for nothing.
    lws_sul_schedule(context, 0, Self.event(of: entry), Self.goOff, (due - now).microseconds + 1)
  }

  private static func event(of entry: UnsafeMutablePointer<Entry>) -> UnsafeMutablePointer<lws_sorted_usec_list_t> {
    UnsafeMutableRawPointer(entry).assumingMemoryBound(to: lws_sorted_usec_list_t.self)
  }

  /// What libwebsockets calls.
  private static let goOff: sul_cb_t = { event in
    guard let event else { return }
    let entry = UnsafeMutableRawPointer(event).assumingMemoryBound(to: Entry.self)
    guard let owner = entry.pointee.owner else { return }
    Unmanaged<Alarm>.fromOpaque(owner).takeUnretainedValue().goOff()
  }

  private func goOff() {
    let due = due
    self.due = .distantFuture
    ring(due)
  }
}
