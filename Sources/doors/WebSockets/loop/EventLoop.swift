// What a service thread sleeps in: a loop of libev on epoll (docs/decisions). Its turn costs what has happened, not what is connected.
//
// Threads: made, turned and let go of on the service thread. libev wants nothing of other threads; they wake libwebsockets, and it
// the loop.
internal import CWebSockets

/// A loop that a context of libwebsockets watches its sockets with.
final class EventLoop {
  /// The plug-in sets its timer for libwebsockets' own timeouts once, and no sooner when one comes that is due before. So the library
  /// is woken so often, and sees what is due. Raise it, and its timeouts are so much later.
  private static let tickSeconds = 0.25

  let pointer: OpaquePointer
  private let tick = UnsafeMutablePointer<ev_timer>.allocate(capacity: 1)

  /// Nil where the system has no descriptor or memory left.
  init?() {
    guard let loop = roost_ev_loop() else { return nil }
    pointer = loop
    tick.initialize(to: ev_timer())
  }

  /// After the context: it takes its watchers out as it goes.
  deinit {
    ev_loop_destroy(pointer)
    tick.deallocate()
  }

  /// From now on the timeouts of `context` are met.
  func watchTimeouts(of context: OpaquePointer) {
    roost_ev_tick(
      pointer, tick, Self.tickSeconds,
      { _, timer, _ in lws_cancel_service(timer.map { OpaquePointer($0.pointee.data) } ?? nil) },
      UnsafeMutableRawPointer(context))
  }

  /// Before that context is destroyed.
  func forgetTimeouts() { ev_timer_stop(pointer, tick) }

  /// Waits until something has happened, and has it served.
  func turn() { ev_run(pointer, Int32(EVRUN_ONCE)) }

  /// Serves what has happened, and waits for nothing.
  func turnAtOnce() { ev_run(pointer, Int32(EVRUN_NOWAIT)) }

  /// Makes `info` one for a context on this loop, and the context from it.
  func makeContext(_ info: inout lws_context_creation_info, tls: Bool) -> OpaquePointer? {
    var foreign: UnsafeMutableRawPointer? = UnsafeMutableRawPointer(pointer)
    return withUnsafeMutablePointer(to: &foreign) { foreign in
      info.foreign_loops = foreign
      info.options |= LWSOption.libev
      info.retry_and_idle_policy = roost_lws_unwatched()
      defer { info.foreign_loops = nil }
      return ContextCreation.make(&info, tls: tls)
    }
  }
}
