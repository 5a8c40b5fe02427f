// What a receiver believes that its line carries, for clients that say so themselves (REMB, draft-alvestrand-rmcat-remb-03): what came,
// and whether packets stay longer under way than the quickest did, by their abs-send-time.

import Basics
import RTP

/// How a participant tells the server about its line.
public enum BandwidthFeedback: String, Sendable, Hashable, CaseIterable {
  /// Transport-wide feedback (draft-holmer-rmcat-transport-wide-cc-extensions-01), as browsers do.
  case twcc
  /// Its own estimate, as older clients do.
  case remb
  /// Nothing but receiver reports.
  case none
}

struct OwnEstimate {
  /// Between two REMBs.
  static let interval = TimeDelta.seconds(1)
  /// The rate that came is taken over this long.
  static let window = TimeDelta.milliseconds(500)
  /// A queue longer than this is pressure.
  static let deep = TimeDelta.milliseconds(60)
  /// The least delay is looked for in this long a time, and the one before it.
  static let baseWindow = TimeDelta.seconds(30)
  /// Of what came, while the queue is deep.
  static let backOff = 0.85
  /// Growth a second while there is no queue, up to so many times what comes.
  static let growth = 1.08
  static let most = 1.5

  /// Bits per second.
  private(set) var bitrate = 1_000_000.0
  private(set) var nextDeadline = Instant.distantFuture
  private var bytes = 0
  private var windowStart = Instant.distantFuture
  /// Least of arrival less departure, in 1/2^18 s, modulo 64 s.
  private var leastNow: UInt32?
  private var leastBefore: UInt32?
  private var leastSince = Instant.zero
  private var deepest = TimeDelta.zero
  private var isOver = false

  /// Takes a packet of `bytes` bytes that left at `sent` (24 bits, 6.18 fixed-point seconds).
  mutating func add(sent: UInt32, bytes count: Int, at now: Instant) {
    if windowStart == .distantFuture {
      windowStart = now
      nextDeadline = now + Self.interval
    }
    noteDelay(sent, at: now)
    bytes += count
    if now - windowStart >= Self.window { endWindow(at: now) }
  }

  private mutating func noteDelay(_ sent: UInt32, at now: Instant) {
    let delay = (AbsoluteSendTime.value(at: now) &- sent) & 0xff_ffff
    if now - leastSince > Self.baseWindow {
      (leastBefore, leastNow) = (leastNow, nil)
      leastSince = now
    }
    leastNow = Self.lesser(leastNow, delay)
    let base = Self.lesser(leastBefore, leastNow ?? delay)
    let queue = TimeDelta.seconds(Double((delay &- base) & 0xff_ffff) / Double(1 << 18))
    deepest = max(deepest, queue)
  }

  /// The earlier of two numbers on a circle.
  private static func lesser(_ one: UInt32?, _ other: UInt32) -> UInt32 {
    guard let one else { return other }
    return (one &- other) & 0xff_ffff < 0x80_0000 ? other : one
  }

  private mutating func endWindow(at now: Instant) {
    let seconds = (now - windowStart).seconds
    let received = Double(bytes) * 8 / seconds
    if deepest > Self.deep {
      bitrate = min(bitrate, received * Self.backOff)
      // The server hears of it at once.
      if !isOver { nextDeadline = now }
      isOver = true
    } else {
      bitrate = max(bitrate, min(bitrate * (1 + (Self.growth - 1) * seconds), received * Self.most))
      isOver = false
    }
    bitrate = max(bitrate, 30_000)
    (bytes, windowStart, deepest) = (0, now, .zero)
  }

  /// Appends what is due to be said.
  mutating func poll(at now: Instant, sender: UInt32, sources: [UInt32], into compound: inout [UInt8]) {
    guard nextDeadline <= now else { return }
    nextDeadline = now + Self.interval
    RTCPBuilder.appendBandwidthEstimate(to: &compound, sender: sender, bitrate: UInt64(bitrate), sources: sources.span)
  }
}
