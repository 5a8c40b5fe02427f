// What one turn of a worker gives to those who decide, and takes from them.

import Basics
import Forwarding

/// A turn: what time it is, and room for what comes of it. It can only be added to: nobody who is handed it reads what others have
/// told, so no decision depends on the order in which others were made. `WorkerState` alone takes out what was said.
struct Turn {
  /// When the turn began. One reading of the clock serves all that is done in it.
  fileprivate(set) var now = Instant.zero
  /// What the control plane has not been told yet.
  fileprivate var events: [WorkerEvent] = []
  /// Packets that were dropped on the way to the send queue.
  fileprivate var drops = DropCounters()

  /// The control plane is to hear of it.
  mutating func tell(_ event: WorkerEvent) { events.append(event) }

  /// Counts a packet that goes no further.
  @inline(__always)
  mutating func drop(_ reason: DropReason) { drops.count(reason) }
}

extension WorkerState {
  /// A turn begins, or goes on: all that follows happens at this time.
  @inline(__always)
  mutating func begin(at now: Instant) { turn.now = now }

  /// Takes what has happened since the last call.
  public mutating func takeEvents() -> [WorkerEvent] {
    if turn.events.isEmpty { return [] }
    defer { turn.events.removeAll(keepingCapacity: true) }
    return turn.events
  }
}
