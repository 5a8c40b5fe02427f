// How much of what waits for a receiver may leave now. The packets stay with the caller; this is arithmetic over bytes.
//
//   budget(at) bytes ◀── bucket filled at target × 2.5 or × 1.1 ── emptied by sent(size)
//   a probe under way has a bucket of its own, filled at the probe's rate; padding fills what media leaves of it

import Basics

/// The send budget of one transport.
struct Pacer {
  /// While the line is unknown a picture leaves quickly …
  static let firstFactor = 2.5
  /// … and once its capacity is known, evenly.
  static let steadyFactor = 1.1
  /// What waits must be gone after this long, whatever the target says.
  static let longestQueue = TimeDelta.seconds(2)
  /// Unused budget kept: what a turn of the loop may be late.
  static let kept = TimeDelta.milliseconds(5)
  static let largestBurst = ByteCount(63_000)
  /// Packets of a probe leave at least this far apart.
  static let probeInterval = TimeDelta.milliseconds(2)

  private struct ActiveProbe {
    var probe: Probe
    var startedAt: Instant?
    var packets = 0
    var size = ByteCount.zero
    var lastAt = Instant.zero
  }

  private var rate: BitRate
  /// Bytes that may leave; below zero after a packet that was larger than what was left.
  private var allowance = 0
  private var filledAt: Instant?
  private var active: ActiveProbe?
  /// The target is so far above what is sent that nothing is counted.
  private(set) var relaxed = false

  /// A pacer for `target`.
  init(target: BitRate) { rate = target * Self.firstFactor }

  /// The cluster that packets belong to now; 0 for none.
  var cluster: UInt16 { active?.probe.id ?? 0 }
  /// Whether a probe is being sent.
  var isProbing: Bool { active != nil }

  /// Follows the estimator; once a feedback.
  mutating func set(target: BitRate, capacityKnown: Bool, relaxed: Bool) {
    rate = target * (capacityKnown ? Self.steadyFactor : Self.firstFactor)
    self.relaxed = relaxed
  }

  /// Begins a probe.
  mutating func begin(_ probe: Probe) { active = ActiveProbe(probe: probe) }

  /// Bytes that may leave now, while `waiting` bytes wait. One packet may overdraw it.
  mutating func budget(at now: Instant, waiting: ByteCount) -> ByteCount {
    if relaxed && active == nil { return .unlimited }
    if active != nil { return probeBudget(at: now) }
    fill(at: now, waiting: waiting)
    return ByteCount(max(0, allowance))
  }

  /// When the budget is above zero again.
  func nextRelease(after now: Instant) -> Instant {
    if let active {
      guard let started = active.startedAt else { return now }
      return max(active.lastAt + Self.probeInterval, started + active.probe.rate.time(for: active.size))
    }
    guard !relaxed, allowance <= 0, let filledAt else { return now }
    return filledAt + rate.time(for: ByteCount(1 - allowance))
  }

  /// Bytes of padding to send now that all media has left; 0 outside of a probe.
  mutating func padding(at now: Instant) -> ByteCount {
    guard active != nil else { return .zero }
    return probeBudget(at: now)
  }

  /// Counts a packet that left. Audio is counted, though it does not wait.
  mutating func sent(_ size: ByteCount, at now: Instant) {
    if !relaxed { allowance -= size.bytes }
    if active != nil { sentInProbe(size, at: now) }
  }

  private mutating func fill(at now: Instant, waiting: ByteCount) {
    let drain = BitRate(waiting, in: Self.longestQueue)
    let rate = max(self.rate, drain)
    let elapsed = min(max(now - (filledAt ?? now), .zero), .milliseconds(500))
    let most = min(max(rate.size(in: Self.kept).bytes, 1), Self.largestBurst.bytes)
    let least = -rate.size(in: .milliseconds(500)).bytes - 2_000
    allowance = min(max(allowance, least) + rate.size(in: elapsed).bytes, most)
    filledAt = now
  }

  private mutating func probeBudget(at now: Instant) -> ByteCount {
    guard let active else { return .zero }
    guard let started = active.startedAt else { return ByteCount(1) }
    guard now >= active.lastAt + Self.probeInterval || active.packets == 0 else { return .zero }
    return ByteCount(max(0, active.probe.rate.size(in: now - started).bytes + 1 - active.size.bytes))
  }

  private mutating func sentInProbe(_ size: ByteCount, at now: Instant) {
    guard var probe = active else { return }
    probe.startedAt = probe.startedAt ?? now
    probe.lastAt = now
    probe.packets += 1
    probe.size += size
    let least = probe.probe.least
    active = probe.packets >= least.packets && probe.size >= least.size ? nil : probe
    // The probe was on top of the ordinary budget.
    if active == nil { allowance = max(allowance, 0) }
  }
}
