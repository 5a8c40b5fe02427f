// A stop that one thread asks for and another waits for, as a descriptor so that event loops can watch it too.
import CLinux
import Glibc

/// Made once, seen by everybody who watches it.
final class StopRequest: Sendable {
  /// Becomes readable when the stop is requested, and stays so.
  let descriptor: Int32

  init() throws(StartError) {
    descriptor = clinux_eventfd_create()
    if descriptor < 0 { throw StartError(message: "no eventfd: \(String(cString: strerror(-descriptor)))") }
  }

  deinit { _ = clinux_close(descriptor) }

  /// Requests the stop.
  func make() { _ = clinux_eventfd_signal(descriptor) }

  /// Returns once the stop was requested.
  func wait() {
    var watched = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    while poll(&watched, 1, -1) < 1 {}
  }
}
