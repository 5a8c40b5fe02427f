// A stop that one thread asks for and another waits for, as a descriptor so that event loops can watch it too.
import Glibc
import Threads

/// Made once, seen by everybody who watches it.
final class StopRequest: Sendable {
  private let event: WakeEvent

  /// Becomes readable when the stop is requested, and stays so.
  var descriptor: Int32 { event.descriptor }

  init() throws(CommandFailure) {
    do throws(ThreadError) {
      event = try WakeEvent()
    } catch {
      throw CommandFailure(message: "no eventfd: \(String(cString: strerror(error.code)))")
    }
  }

  /// Requests the stop.
  func make() { event.signal() }

  /// Returns once the stop was requested.
  func wait() {
    var watched = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    while poll(&watched, 1, -1) < 1 {}
  }
}
