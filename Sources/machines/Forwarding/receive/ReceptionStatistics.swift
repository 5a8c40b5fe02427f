// Loss and jitter of one received encoding for the report blocks sent to its publisher (RFC 3550 §6.4.1, A.3, A.8).

import Basics
import RTP

/// Statistics of one SSRC at the server.
public struct ReceptionStatistics: Sendable {
  private var base: Int64?
  private var highest: Int64 = 0
  private var received: Int64 = 0
  private var expectedBefore: Int64 = 0
  private var receivedBefore: Int64 = 0
  private var expectedTaken: Int64 = 0
  private var receivedTaken: Int64 = 0
  private var transit: Int64?
  private var jitter16: Int64 = 0
  /// The least that a packet lay behind the first one's time stamp, of this window and the one before, in ticks of the media clock.
  private var earliest = (base: Int64(0), least: Int64.max, before: Int64.max)
  /// When the first packet came, and when the window began.
  private var began = Instant.zero, window = Instant.zero
  private var senderReport: (middleNTP: UInt32, arrival: Instant)?

  /// Nothing received.
  public init() {}

  /// Counts one packet; duplicates must not be counted.
  public mutating func received(_ sequence: Int64, timestamp: UInt32, clockRate: UInt32, at now: Instant) {
    // Jitter per RFC 3550 A.8, in units of the media clock, kept times 16.
    let arrival = Int64(UInt32(truncatingIfNeeded: now.nanoseconds / 1_000 &* Int64(clockRate / 1_000) / 1_000))
    let transit = Int64(Int32(truncatingIfNeeded: arrival &- Int64(timestamp)))
    if base == nil {
      (base, highest) = (sequence, sequence)
      (began, window, earliest.base) = (now, now, transit)
    }
    received += 1
    highest = max(highest, sequence)
    earliest.least = min(earliest.least, Int64(Int32(truncatingIfNeeded: transit &- earliest.base)))
    if let previous = self.transit {
      let difference = abs(Int64(Int32(truncatingIfNeeded: transit &- previous)))
      jitter16 += difference - ((jitter16 + 8) >> 4)
      // The clock was set anew.
      if difference > Int64(clockRate) { earliest = (transit, 0, .max) }
    }
    self.transit = transit
  }

  /// How long what lay behind least counts, once and again: a clock that drifts by 200 ppm is off by 3 ms then.
  static let earliestWindow = TimeDelta.seconds(8)

  /// The publisher's time stamp of now, by those of its packets that came earliest; nil where none has come for `wait` yet.
  public mutating func timestamp(after wait: TimeDelta, clockRate: UInt32, at now: Instant) -> UInt32? {
    guard base != nil, now - began >= wait else { return nil }
    let least = min(earliest.least, earliest.before)
    if now - window >= Self.earliestWindow {
      (earliest.before, earliest.least, window) = (earliest.least, .max, now)
    }
    guard least < .max else { return nil }
    let arrival = now.nanoseconds / 1_000 &* Int64(clockRate / 1_000) / 1_000
    return UInt32(truncatingIfNeeded: arrival &- earliest.base &- least)
  }

  /// Remembers the publisher's sender report for the LSR and DLSR fields.
  public mutating func senderReport(middleNTP: UInt32, at now: Instant) { senderReport = (middleNTP, now) }

  /// Packets that should have come since the last call of this, those that did not, and the jitter of now in ticks of the media clock.
  /// Reports to the publisher count by themselves.
  public mutating func take() -> (expected: Int, lost: Int, jitter: Int) {
    guard let base else { return (0, 0, 0) }
    let expected = highest - base + 1
    defer { (expectedTaken, receivedTaken) = (expected, received) }
    let lost = (expected - expectedTaken) - (received - receivedTaken)
    return (Int(expected - expectedTaken), Int(max(lost, 0)), Int(jitter16 >> 4))
  }

  /// The report since the last call; nil before the first packet.
  public mutating func report(about ssrc: UInt32, at now: Instant) -> ReportBlock? {
    guard let base else { return nil }
    let expected = highest - base + 1
    let lost = expected - received
    let expectedNow = expected - expectedBefore
    let lostNow = expectedNow - (received - receivedBefore)
    expectedBefore = expected
    receivedBefore = received
    let fraction = expectedNow > 0 && lostNow > 0 ? min(255, lostNow * 256 / expectedNow) : 0
    return ReportBlock(
      ssrc: ssrc, fractionLost: UInt8(truncatingIfNeeded: fraction),
      cumulativeLost: Int32(truncatingIfNeeded: max(-0x80_0000, min(0x7f_ffff, lost))),
      highestSequence: UInt32(truncatingIfNeeded: highest), jitter: UInt32(truncatingIfNeeded: jitter16 >> 4),
      lastReport: senderReport?.middleNTP ?? 0, delay: senderReport.map { ShortNTP.value(now - $0.arrival) } ?? 0)
  }
}
