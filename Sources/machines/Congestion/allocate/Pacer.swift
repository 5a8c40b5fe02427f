// How much of what waits for a receiver may leave now. The packets stay with the caller; this is arithmetic over bytes.
//
//   budget(at) bytes ◀── bucket filled at target × 2.5 or × 1.1 ── emptied by sent(size)
//   a probe under way has a bucket of its own, filled at the probe's rate; padding fills what media leaves of it. It ends when it is
//   full, when nobody has padding for it, or after a second

import Basics

/// A bucket of bytes that fills at a rate. Whole numbers alone: it is asked for each packet.
private struct Bucket {
  /// So that half a second of it, in bytes times nanoseconds, stays below 63 bits.
  private static let highestRate = 10_000_000_000
  private static let longest = TimeDelta.milliseconds(500)

  private let bytesPerSecond: Int
  private let most: Int
  private let least: Int
  /// Bytes that may leave; below zero after a packet that was larger than what was left.
  var level = 0
  private(set) var filledAt: Instant?
  /// What was filled in and is not a whole byte yet, in bytes times nanoseconds.
  private var rest = 0

  init(_ rate: BitRate) {
    bytesPerSecond = min(Int(rate.bitsPerSecond / 8), Self.highestRate)
    most = min(max(rate.size(in: Pacer.kept).bytes, 1), Pacer.largestBurst.bytes)
    least = -rate.size(in: Self.longest).bytes - 2_000
  }

  /// The same bucket, filled at another rate.
  func at(_ rate: BitRate) -> Bucket {
    var bucket = Bucket(rate)
    (bucket.level, bucket.filledAt, bucket.rest) = (level, filledAt, rest)
    return bucket
  }

  mutating func fill(at now: Instant) {
    if now == filledAt { return }
    let elapsed = min(max(now - (filledAt ?? now), .zero), Self.longest)
    filledAt = now
    let filled = Int(elapsed.nanoseconds) &* bytesPerSecond &+ rest
    let bytes = filled / 1_000_000_000
    rest = filled &- bytes &* 1_000_000_000
    level = min(max(level, least) &+ bytes, most)
  }
}

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
  /// A probe for which padding was asked so often in a row, and none left, is given up.
  static let mostVainRequests = 10
  /// A backlog longer than this at the pacer's rate would leave in one burst if the pacer relaxed.
  static let shortBacklog = TimeDelta.milliseconds(20)

  private struct ActiveProbe {
    var probe: Probe
    var startedAt: Instant?
    var packets = 0
    var size = ByteCount.zero
    var lastAt: Instant
    /// Requests for padding since the last packet.
    var vainRequests = 0
  }

  private var rate: BitRate
  private var bucket: Bucket
  /// More than this that waits would not be gone after `longestQueue`.
  private var drained: ByteCount
  /// What waited when the budget was asked for last, less what left since.
  private var waiting = ByteCount.zero
  private var active: ActiveProbe?
  /// The cluster that packets belong to now; 0 for none.
  private(set) var cluster: UInt16 = 0
  /// When a probe that is not full is given up: its result would not count any more.
  private(set) var probeDeadline = Instant.distantFuture
  /// The target is so far above what is sent that nothing is counted.
  private(set) var relaxed = false

  /// A pacer for `target`.
  init(target: BitRate) {
    rate = target * Self.firstFactor
    bucket = Bucket(rate)
    drained = rate.size(in: Self.longestQueue)
  }

  /// Whether a probe is being sent.
  var isProbing: Bool { cluster != 0 }
  /// More waits than may leave soon.
  var hasBacklog: Bool { waiting > rate.size(in: Self.shortBacklog) }

  /// Follows the estimator; once a feedback.
  mutating func set(target: BitRate, capacityKnown: Bool, relaxed: Bool) {
    self.relaxed = relaxed
    let wanted = target * (capacityKnown ? Self.steadyFactor : Self.firstFactor)
    guard wanted != rate else { return }
    rate = wanted
    bucket = bucket.at(rate)
    drained = rate.size(in: Self.longestQueue)
  }

  /// Begins a probe.
  mutating func begin(_ probe: Probe, at now: Instant) {
    active = ActiveProbe(probe: probe, lastAt: now - Self.probeInterval)
    cluster = probe.id
    probeDeadline = now + ProbeEstimator.longest
  }

  /// Gives up a probe that was not filled in time.
  @inline(__always)
  mutating func endOverdueProbe(at now: Instant) {
    if now >= probeDeadline { endProbe() }
  }

  private mutating func endProbe() {
    active = nil
    cluster = 0
    probeDeadline = .distantFuture
    // The probe was on top of the ordinary budget.
    bucket.level = max(bucket.level, 0)
  }

  /// Bytes that may leave now, while `waiting` bytes wait. One packet may overdraw it.
  mutating func budget(at now: Instant, waiting: ByteCount) -> ByteCount {
    if relaxed && cluster == 0 { return .unlimited }
    self.waiting = waiting
    endOverdueProbe(at: now)
    if cluster != 0 { return probeBudget(at: now) }
    if waiting > drained { bucket = bucket.at(BitRate(waiting, in: Self.longestQueue)) }
    bucket.fill(at: now)
    if waiting > drained { bucket = bucket.at(rate) }
    return ByteCount(max(0, bucket.level))
  }

  /// When the budget is above zero again.
  func nextRelease(after now: Instant) -> Instant {
    if let active {
      let next = active.lastAt + Self.probeInterval
      guard let started = active.startedAt else { return max(now, next) }
      return max(next, started + active.probe.rate.time(for: active.size))
    }
    guard !relaxed, bucket.level <= 0, let filledAt = bucket.filledAt else { return now }
    return filledAt + rate.time(for: ByteCount(1 - bucket.level))
  }

  /// Bytes of padding to send now that all media has left; 0 outside of a probe. A caller that has none sends none, and the probe ends soon.
  mutating func padding(at now: Instant) -> ByteCount {
    endOverdueProbe(at: now)
    guard active != nil else { return .zero }
    let wanted = probeBudget(at: now)
    if wanted > .zero { noteRequest(at: now) }
    return active == nil ? .zero : wanted
  }

  private mutating func noteRequest(at now: Instant) {
    active?.vainRequests += 1
    active?.lastAt = now
    if let active, active.vainRequests > Self.mostVainRequests { endProbe() }
  }

  /// Counts a packet that left. Audio is counted, though it does not wait.
  @inline(__always)
  mutating func sent(_ size: ByteCount, at now: Instant) {
    if !relaxed {
      bucket.level &-= size.bytes
      waiting = max(waiting - size, .zero)
    }
    if cluster != 0 { sentInProbe(size, at: now) }
  }

  private mutating func probeBudget(at now: Instant) -> ByteCount {
    guard let active else { return .zero }
    guard now >= active.lastAt + Self.probeInterval else { return .zero }
    guard let started = active.startedAt else { return ByteCount(1) }
    return ByteCount(max(0, active.probe.rate.size(in: now - started).bytes + 1 - active.size.bytes))
  }

  private mutating func sentInProbe(_ size: ByteCount, at now: Instant) {
    guard var probe = active else { return }
    probe.startedAt = probe.startedAt ?? now
    probe.lastAt = now
    probe.packets += 1
    probe.size += size
    probe.vainRequests = 0
    active = probe
    let least = probe.probe.least
    if probe.packets >= least.packets && probe.size >= least.size { endProbe() }
  }
}
