// A network whose delay varies: each datagram waits for a time of its own, so later ones may overtake it.

import Basics

struct JitterQueue {
  private var waiting: [(due: Instant, bytes: [UInt8], to: SocketAddress)] = []

  /// When the next one goes out; `distantFuture` when none waits.
  private(set) var nextDue = Instant.distantFuture

  mutating func add(_ datagram: Span<UInt8>, to address: SocketAddress, due: Instant) {
    waiting.append((due, datagram.withUnsafeBufferPointer { Array($0) }, address))
    nextDue = min(nextDue, due)
  }

  /// The next datagram whose time has come.
  mutating func take(at now: Instant) -> (bytes: [UInt8], to: SocketAddress)? {
    guard nextDue <= now, let index = waiting.indices.min(by: { waiting[$0].due < waiting[$1].due }) else { return nil }
    let taken = waiting.remove(at: index)
    nextDue = waiting.lazy.map(\.due).min() ?? .distantFuture
    return (taken.bytes, taken.to)
  }
}
