// What was measured of a flow and of a line, in slots of 50 ms.

import Basics

/// The figures of one flow over time.
public struct FlowTrace: Sendable {
  /// Length of a slot in seconds.
  public static let slot = 0.05
  /// Media bytes that arrived, by the slot of their arrival.
  public internal(set) var received: [Double] = []
  /// The target in bits per second at the end of each slot.
  public internal(set) var target: [Double] = []
  /// Whether the estimator was relaxed at the end of each slot.
  public internal(set) var relaxed: [Bool] = []
  /// Length of a slot of `decoded` in seconds.
  public static let pictureSlot = 0.2
  /// Frames that could be decoded, by the slot in which they were complete.
  public internal(set) var decoded: [Int] = []
  /// From the arrival of each sound packet at the server to its departure, in milliseconds.
  public internal(set) var audioDelays: [Double] = []
  /// Media bytes sent in all.
  public internal(set) var mediaSent = 0
  /// Padding bytes sent in all.
  public internal(set) var paddingSent = 0
  /// Packets sent.
  public internal(set) var packets = 0
  /// Packets that the line lost.
  public internal(set) var missing = 0
  /// Times at which a layered source went up.
  public internal(set) var stepsUp: [Double] = []
  /// Those of them after which it had to go down within 10 s.
  public internal(set) var failedSteps: [Double] = []

  /// Bits per second that arrived between two times in seconds.
  public func rate(_ from: Double, _ to: Double) -> Double {
    let range = Self.slots(from, to, received.count)
    return range.isEmpty ? 0 : received[range].reduce(0, +) * 8 / (Double(range.count) * Self.slot)
  }

  /// Mean target between two times, in bits per second.
  public func meanTarget(_ from: Double, _ to: Double) -> Double {
    let range = Self.slots(from, to, target.count)
    return range.isEmpty ? 0 : target[range].reduce(0, +) / Double(range.count)
  }

  mutating func decode(_ frames: Int, at now: Instant) {
    let slot = Int((now - .zero).seconds / Self.pictureSlot)
    while decoded.count <= slot { decoded.append(0) }
    decoded[slot] += frames
  }

  /// The share of the slots between two times, in seconds, in which a frame could be decoded.
  public func pictureShare(_ from: Double, _ to: Double) -> Double {
    let (first, end) = (Int((from / Self.pictureSlot).rounded()), Int((to / Self.pictureSlot).rounded()))
    let good = (first..<end).filter { $0 < decoded.count && decoded[$0] > 0 }.count
    return Double(good) / Double(max(end - first, 1))
  }

  /// The delay that `share` of the sound packets stay below, in milliseconds.
  public func audioDelay(_ share: Double) -> Double {
    let sorted = audioDelays.sorted()
    return sorted.isEmpty ? 0 : sorted[min(Int(Double(sorted.count) * share), sorted.count - 1)]
  }

  /// The share of the slots between two times in which the estimator was relaxed.
  public func relaxedShare(_ from: Double, _ to: Double) -> Double {
    let part = relaxed[Self.slots(from, to, relaxed.count)]
    return Double(part.filter { $0 }.count) / Double(max(part.count, 1))
  }

  /// Seconds after `from` until the target satisfies `test`; 999 when it never does before `to`.
  public func timeToTarget(_ from: Double, _ to: Double, _ test: (Double) -> Bool) -> Double {
    let range = Self.slots(from, to, target.count)
    guard let index = range.first(where: { test(target[$0]) }) else { return 999 }
    return Double(index + 1) * Self.slot - from
  }

  /// Seconds after `from` until the rate over the second before reaches `bits`; 999 when it never does before `to`.
  public func timeToRate(_ from: Double, _ to: Double, _ bits: Double) -> Double {
    var at = from + Self.slot
    while at <= to {
      if rate(max(from, at - 0.5), at) >= bits, at - from >= 0.25 { return at - from }
      at += Self.slot
    }
    return 999
  }

  static func slots(_ from: Double, _ to: Double, _ count: Int) -> Range<Int> {
    let first = min(max(0, Int((from / slot).rounded())), count)
    return first..<max(first, min(Int((to / slot).rounded()), count))
  }
}

/// The queue of one line over time.
public struct LineTrace: Sendable {
  /// Length of a slot in seconds.
  public static let slot = 0.01
  /// Waiting time in the queue in seconds, at the start of each slot.
  public internal(set) var queue: [Double] = []
  /// Capacity in bits per second, at the start of each slot.
  public internal(set) var capacity: [Double] = []

  /// The waiting time that `share` of the slots between two times stay below, in milliseconds.
  public func quantile(_ share: Double, _ from: Double, _ to: Double) -> Double {
    let sorted = part(from, to).sorted()
    guard !sorted.isEmpty else { return 0 }
    return sorted[min(Int(Double(sorted.count) * share), sorted.count - 1)] * 1e3
  }

  /// Seconds between two times in which the queue was longer than `milliseconds`.
  public func timeAbove(_ milliseconds: Double, _ from: Double, _ to: Double) -> Double {
    Double(part(from, to).filter { $0 * 1e3 > milliseconds }.count) * Self.slot
  }

  private func part(_ from: Double, _ to: Double) -> ArraySlice<Double> {
    let first = min(max(0, Int((from / Self.slot).rounded())), queue.count)
    return queue[first..<max(first, min(Int((to / Self.slot).rounded()), queue.count))]
  }
}
