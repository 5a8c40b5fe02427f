// What others want done on a service thread at a time: one timer for all of it.
import Basics
import Threads

/// Closures by the moment that they are to be called at. On the service thread alone.
final class Errands {
  private var queue = DeadlineQueue<@Sendable () -> Void>()
  private var alarm: Alarm?

  init(_ loop: EventLoop) { alarm = Alarm(loop) { [unowned self] _ in run() } }

  /// Has `errand` called at `time`, as soon as may be where that is over.
  func add(_ time: Instant, _ errand: @escaping @Sendable () -> Void) {
    queue.push(time, errand)
    arm()
  }

  /// Before the loop is let go of.
  func stop() { alarm = nil }

  private func run() {
    // Those that are added meanwhile have their turn later: an errand that comes back at once would keep the thread.
    let now = MonotonicClock.now()
    for _ in 0..<queue.count { queue.pop(at: now)?() }
    arm()
  }

  private func arm() {
    guard queue.next < alarm?.due ?? .distantFuture else { return }
    alarm?.set(queue.next, now: MonotonicClock.now())
  }
}
