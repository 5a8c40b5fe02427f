// How a publisher's clock stands to the server's. Sender reports tell when something was captured by the publisher's clock (RFC 3550
// §6.4.1); receivers are told it by the server's. So whatever one receiver is sent is of one clock, whoever it is from: a view that
// shows now this one and now that one, beside the sound of a third.
//
//   reports of all tracks of a transport ─▶ arrival − NTP time ─▶ the least of the newest ones ─▶ lead

import Basics

/// What is known of one publisher's NTP clock. All tracks of a transport share it, so that their relation is the publisher's own.
struct PublisherClock {
  /// Reports that are remembered. More follow a clock that drifts more slowly; fewer let a report that was held up count.
  static let window = 16
  /// A clock that differs by more from what was known of it has been set anew; or a report was held up on its way.
  static let jump = TimeDelta.seconds(1)
  /// No report is held up for longer: its connection would be over.
  static let longestHold = TimeDelta.seconds(10)
  /// So many reports in a row that seem to be late, and agree, were not held up: the clock has been set back.
  static let agreeing = 3

  /// Nanoseconds from the publisher's NTP time to the arrival of a report, of the newest reports.
  private var leads: [Int64] = []
  private var next = 0
  /// Reports in a row that came late, by more than `jump`, and the first of them.
  private var late = (count: 0, lead: Int64(0))
  /// The least of them: of the report that was held up least. Nil before the first.
  private(set) var lead: Int64?
  /// Since when the clock goes as it does. What was reported before is of no use any more.
  private(set) var since = Instant.zero

  /// Takes in a report with this NTP time, 32.32 fixed point.
  mutating func take(ntp: UInt64, at now: Instant) {
    let new = now.nanoseconds &- Self.nanoseconds(ntp)
    if let lead {
      let difference = new &- lead
      if difference > Self.jump.nanoseconds {
        let agrees = late.count > 0 && (new &- late.lead).magnitude <= Self.jump.nanoseconds.magnitude
        late = agrees ? (late.count + 1, late.lead) : (1, new)
        guard late.count >= Self.agreeing || difference > Self.longestHold.nanoseconds else { return }
        begin(at: now)
      } else if difference < -Self.jump.nanoseconds {
        // Nothing arrives before it was sent.
        begin(at: now)
      }
      late.count = 0
    }
    if leads.count < Self.window { leads.append(new) } else { leads[next] = new }
    next = (next + 1) % Self.window
    lead = leads.min()
  }

  private mutating func begin(at now: Instant) {
    leads.removeAll(keepingCapacity: true)
    next = 0
    since = now
  }

  /// The server's NTP time at a publisher's, moved on by `elapsed` nanoseconds; nil where the publisher's clock is not known, or was
  /// another one at `arrival`. `origin` is NTP time at the origin of the server's clock.
  func serverTime(of ntp: UInt64, arrival: Instant, elapsed: UInt64, origin: TimeDelta) -> UInt64? {
    guard let lead, arrival >= since else { return nil }
    return Self.ntp(Self.nanoseconds(ntp) &+ lead &+ origin.nanoseconds &+ Int64(clamping: elapsed))
  }

  /// The server's NTP time.
  static func serverTime(at now: Instant, origin: TimeDelta) -> UInt64 { ntp(now.nanoseconds &+ origin.nanoseconds) }

  private static func ntp(_ time: Int64) -> UInt64 {
    let (seconds, rest) = UInt64(clamping: time).quotientAndRemainder(dividingBy: 1_000_000_000)
    return seconds << 32 | (rest << 32) / 1_000_000_000
  }

  /// Since 1900, of at most 136 years: it fits.
  private static func nanoseconds(_ ntp: UInt64) -> Int64 {
    Int64(ntp >> 32) * 1_000_000_000 + Int64(((ntp & 0xffff_ffff) * 1_000_000_000) >> 32)
  }
}
