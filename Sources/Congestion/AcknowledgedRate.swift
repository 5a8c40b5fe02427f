// The rate that really arrives, by the receiver's clock: the one measured figure among all the estimates.

import Basics

/// A window over the newest arrivals. Adding takes constant time; reading walks the window and happens once a feedback.
struct AcknowledgedRate {
  /// Arrivals remembered: at 20 Mbit/s a quarter of a second.
  static let capacity = 512
  /// Long enough to span a dozen frames, for the ceiling.
  static let steadyWindow = TimeDelta.milliseconds(500)
  /// Short enough to see a fall, for backing off.
  static let recentWindow = TimeDelta.milliseconds(150)
  /// Fewer arrivals than this say nothing.
  static let fewest = 5

  private struct Arrival {
    var at = TimeDelta.zero
    var size = ByteCount.zero
  }
  private var ring = Array(repeating: Arrival(), count: capacity)
  private var count = 0
  /// Over `steadyWindow`; nil until enough has arrived.
  private(set) var steady: BitRate?
  /// Over `recentWindow`; nil until enough has arrived. Worked out when asked for: only a fall wants it.
  var recent: BitRate? { rate(over: Self.recentWindow, atLeast: Self.fewest) ?? steady }

  /// Nothing has arrived.
  init() {}

  /// Adds one arrival, in the order of feedback.
  mutating func add(_ size: ByteCount, at arrival: TimeDelta) {
    ring[count & (Self.capacity - 1)] = Arrival(at: arrival, size: size)
    count += 1
  }

  /// Works the steady rate out anew; once a feedback.
  mutating func update() {
    steady = rate(over: Self.steadyWindow, atLeast: 2 * Self.fewest) ?? steady
  }

  /// Forgets all arrivals, and keeps the steady rate until there is a new one: the receiver's clock jumped.
  mutating func restart() { count = 0 }

  /// Bytes after the first packet of the window over the time since it. A window that holds fewer than `atLeast` packets
  /// reaches back to four times its length for them.
  private func rate(over window: TimeDelta, atLeast fewest: Int) -> BitRate? {
    let known = min(count, Self.capacity)
    guard known >= fewest else { return nil }
    let newest = ring[(count - 1) & (Self.capacity - 1)].at
    var size = ByteCount.zero
    var first = newest
    var last = newest
    var index = 0
    while index < known {
      let arrival = ring[(count - 1 - index) & (Self.capacity - 1)]
      let age = newest - arrival.at
      if age > window && (index >= fewest || age > window * 4) { break }
      size += arrival.size
      first = min(first, arrival.at)
      last = max(last, arrival.at)
      index += 1
    }
    guard index >= fewest else { return nil }
    // The oldest packet's bytes came before its arrival.
    size -= ring[(count - index) & (Self.capacity - 1)].size
    let span = max(last - first, .milliseconds(1))
    return BitRate(size, in: span)
  }
}
