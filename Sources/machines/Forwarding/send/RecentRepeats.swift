// Spaces repeats: a receiver that asks for a packet twice within a round trip would be sent it twice, on a line that is short.

import Basics

/// When packets of one stream were sent again last. Takes memory only once something was.
public struct RecentRepeats: Sendable {
  /// Numbers that are remembered. Two that are a multiple of it apart share a place, and the newer one holds it.
  private static let places = 64
  /// What of a round trip must have gone by, in tenths: it varies.
  private static let tenths: Int64 = 8
  /// A round trip that is not known, or is longer, counts as this.
  private static let longest = TimeDelta.milliseconds(400)

  private struct Repeat {
    var sequence: UInt16
    var at: Instant
  }

  private var repeats: [Repeat] = []

  /// Nothing was sent again.
  public init() {}

  /// Whether `sequence` may be sent again at `now`.
  public func admits(_ sequence: UInt16, roundTrip: TimeDelta, at now: Instant) -> Bool {
    guard !repeats.isEmpty else { return true }
    let last = repeats[Int(sequence) % Self.places]
    return last.sequence != sequence || (now - last.at) * 10 >= min(roundTrip, Self.longest) * Self.tenths
  }

  /// Notes that `sequence` is sent again.
  public mutating func note(_ sequence: UInt16, at now: Instant) {
    if repeats.isEmpty {
      repeats = Array(repeating: Repeat(sequence: 0, at: Instant(nanoseconds: .min / 64)), count: Self.places)
    }
    repeats[Int(sequence) % Self.places] = Repeat(sequence: sequence, at: now)
  }
}
