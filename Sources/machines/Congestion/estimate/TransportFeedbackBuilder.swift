// Tells a publisher which of its packets arrived and when (draft-holmer-rmcat-transport-wide-cc-extensions-01), so that its
// bandwidth estimation works.
//
//   record(number, at) ──▶ ring of arrivals by number ──▶ poll(at) every 50 – 100 ms ──▶ feedback packets
//                          |reported … | next … newest|

import Basics
import RTP

/// Gathers the arrivals of one transport's packets and turns them into feedback. Recording allocates nothing.
public struct TransportFeedbackBuilder: Sendable {
  /// Packet numbers that are remembered. At 50 ms a report this holds for 40,000 packets a second; of a gap that is larger
  /// only the part behind it is reported.
  static let window = 2_048
  /// A packet is reported this long after its arrival at the latest.
  static let longestInterval = TimeDelta.milliseconds(100)
  /// With `busy` packets waiting it is this long.
  static let shortestInterval = TimeDelta.milliseconds(50)
  /// Packets waiting from which on reports come at the short interval (about 2.5 Mbit/s of video).
  static let busy = 15
  private static let missing = Int64.min

  /// Arrival ticks by number modulo `window`, `missing` where none is known. Good for `newest − window + 1 … newest`.
  private var arrivals: [Int64] = []
  private var unwrapper = SequenceUnwrapper()
  /// First number that has not been reported on.
  private var next: Int64 = 0
  private var feedbackCount: UInt8 = 0
  private var waiting = 0
  private var firstWaiting = Instant.distantFuture

  /// A builder that has seen nothing.
  public init() {}

  /// When `poll` has something to report; `distantFuture` while nothing waits.
  public var nextDeadline: Instant {
    guard waiting > 0 else { return .distantFuture }
    return firstWaiting + (waiting >= Self.busy ? Self.shortestInterval : Self.longestInterval)
  }

  /// Notes the arrival of the packet with this transport-wide number. A repetition changes nothing. A packet that comes
  /// after the report that called it lost is reported again, with what came after it.
  public mutating func record(_ transportSequence: UInt16, at now: Instant) {
    if let newest = unwrapper.newest {
      let number = unwrapper.peek(transportSequence)
      guard number > newest - Int64(Self.window) else { return }
      if number > newest { forget(after: newest, upTo: number) }
    } else {
      arrivals = Array(repeating: Self.missing, count: Self.window)
      next = Int64(transportSequence)
    }
    let number = unwrapper.unwrap(transportSequence)
    guard arrivals[slot(number)] == Self.missing else { return }
    arrivals[slot(number)] = now.nanoseconds / 250_000
    next = min(next, number)
    if waiting == 0 { firstWaiting = now }
    waiting += 1
  }

  /// Appends the feedback that is due, as whole RTCP packets, and returns their number: 0 before `nextDeadline`.
  public mutating func poll(at now: Instant, sender: UInt32, media: UInt32, into buffer: inout [UInt8]) -> Int {
    now >= nextDeadline ? report(sender: sender, media: media, into: &buffer) : 0
  }

  /// Appends feedback about all that has not been reported on, for those with a clock of their own. The number of packets: 0 where nothing waits.
  public mutating func report(sender: UInt32, media: UInt32, into buffer: inout [UInt8]) -> Int {
    guard waiting > 0, let newest = unwrapper.newest else { return 0 }
    var packets = 0
    while next <= newest {
      let base = next
      let report = RTCPBuilder.TransportFeedbackReport(
        sender: sender, media: media, baseSequence: UInt16(truncatingIfNeeded: base),
        statusCount: Int(newest - base) + 1,
        feedbackCount: feedbackCount)
      let covered = RTCPBuilder.appendTransportFeedback(to: &buffer, report) { index in
        let ticks = arrivals[slot(base + Int64(index))]
        return ticks == Self.missing ? nil : ticks
      }
      guard covered > 0 else { break }
      next += Int64(covered)
      feedbackCount &+= 1
      packets += 1
    }
    next = newest + 1
    waiting = 0
    firstWaiting = .distantFuture
    return packets
  }

  /// Makes room for the numbers after `newest` up to `number`.
  private mutating func forget(after newest: Int64, upTo number: Int64) {
    let first = max(newest + 1, number - Int64(Self.window) + 1)
    // Not `for`: over a range of Int64 it allocates in a build that is not optimised.
    var old = first
    while old <= number {
      arrivals[slot(old)] = Self.missing
      old += 1
    }
    next = max(next, number - Int64(Self.window) + 1)
  }

  private func slot(_ number: Int64) -> Int { Int(number & Int64(Self.window - 1)) }
}
