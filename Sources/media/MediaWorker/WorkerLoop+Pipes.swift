// What a worker's loop does where it has pipes to other workers: it may be woken by them, and reads them as it reads its sockets.

import Basics
import Media

extension WorkerLoop {
  /// How soon a full ring is tried again. Its reader has been woken and needs less.
  static let again = TimeDelta.milliseconds(1)

  /// When the loop has to turn again though nothing else is due.
  func pipesDue(at end: Instant) -> Instant { pipes.hasMore ? end : pipes.isStuck ? end + Self.again : .distantFuture }

  /// Waits for a datagram or a message until something is due, and for what other workers write.
  mutating func sleep(from end: Instant, until due: Instant) -> LoopWaits.Ready {
    let time = due == .distantFuture ? -1 : max(0, (due - end).nanoseconds)
    guard time != 0, !pipes.isEmpty else { return waits.wait(nanoseconds: time) }
    guard bell.maySleep(unless: { pipes.hasNews() }) else { return waits.wait(nanoseconds: 0) }
    defer { bell.isAwake() }
    return waits.wait(nanoseconds: time)
  }

  /// Takes in what the last look at the pipes has seen.
  mutating func readPipes(at now: Instant) {
    Self.read(&pipes, into: &state, through: &sockets, early: &early, at: now)
  }

  private static func read(
    _ pipes: inout WorkerPipes, into state: inout WorkerState, through sockets: inout UDPSockets,
    early: inout TimeDelta, at now: Instant
  ) {
    pipes.read(into: &state, at: now) { Self.flushEarly(&$0, through: &sockets, early: &early, at: now) }
  }
}
