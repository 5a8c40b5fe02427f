// One timer for all sockets of a service thread, of the loop itself: libwebsockets walks a list to the place of each of its own.
import Basics

internal import CWebSockets

/// Calls `ring` on the service thread, once, at the moment it is set to.
final class Alarm {
  /// When it goes off; `.distantFuture` while it is not set.
  private(set) var due = Instant.distantFuture
  private let timer = UnsafeMutablePointer<ev_timer>.allocate(capacity: 1)
  private let loop: EventLoop
  private let ring: (_ due: Instant) -> Void

  /// An alarm that is not set. `ring` is given the moment that it was set to.
  init(_ loop: EventLoop, ring: @escaping (_ due: Instant) -> Void) {
    self.loop = loop
    self.ring = ring
    timer.initialize(to: ev_timer())
  }

  deinit {
    ev_timer_stop(loop.pointer, timer)
    timer.deallocate()
  }

  /// Has it go off at `time`, and no sooner than in a millisecond, in the place of what it was set to.
  func set(_ time: Instant, now: Instant) {
    due = max(time, now + .milliseconds(1))
    // Rounded up: to go off early is to look for nothing.
    let seconds = Double((due - now).microseconds + 1) / 1_000_000
    roost_ev_alarm(loop.pointer, timer, seconds, Self.goOff, Unmanaged.passUnretained(self).toOpaque())
  }

  /// What libev calls.
  private static let goOff: @convention(c) (OpaquePointer?, UnsafeMutablePointer<ev_timer>?, Int32) -> Void = {
    _, timer, _ in
    guard let owner = timer?.pointee.data else { return }
    Unmanaged<Alarm>.fromOpaque(owner).takeUnretainedValue().goOff()
  }

  private func goOff() {
    let due = due
    self.due = .distantFuture
    ring(due)
  }
}
