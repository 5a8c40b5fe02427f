// The rate by delay: additive or multiplicative increase, multiplicative decrease (AIMD).
//
//   over ──▶ back off below what arrives ──▶ hold while the queue drains ──▶ return to just below capacity ──▶ increase

import Basics

/// What the line carried when it was last full, with how much that varies.
struct LinkCapacity {
  /// How much of the old average stays with a new measurement.
  private static let smoothing = 0.95
  private var kilobits: Double?
  /// Variance divided by the mean, in kbit/s.
  private var deviation = 0.4

  /// Nothing known.
  init() {}

  /// Average of the measurements; nil when nothing is known.
  var estimate: BitRate? { kilobits.map { .kilobits($0) } }
  /// Below this a measurement belongs to another line.
  var lower: BitRate { kilobits.map { .kilobits($0 - 3 * spread($0)) } ?? .zero }
  /// Above this the line carries more than was known.
  var upper: BitRate { kilobits.map { .kilobits($0 + 3 * spread($0)) } ?? .unlimited }

  private func spread(_ mean: Double) -> Double { (deviation * mean).squareRoot() }

  /// Forgets what was known.
  mutating func reset() { kilobits = nil }

  /// The line was full and carried `rate`.
  mutating func measure(_ rate: BitRate) {
    let mean = kilobits.map { Self.smoothing * $0 + (1 - Self.smoothing) * rate.kilobits } ?? rate.kilobits
    kilobits = mean
    let error = mean - rate.kilobits
    deviation = Self.smoothing * deviation + (1 - Self.smoothing) * error * error / max(mean, 1)
    deviation = min(max(deviation, 0.4), 2.5)
  }
}

/// What one step of rate control goes by.
struct RateInput {
  var use: LineUse
  /// Arrived over half a second, or longer.
  var measured: SteadyRate?
  /// Arrived over the last 150 ms; needed with `over` alone.
  var recent: BitRate?
  var roundTrip: TimeDelta
  /// How much longer packets are under way than the shortest time seen lately.
  var queueing: TimeDelta
  /// Something was lost since the last step.
  var lost: Bool
  /// The sender has less to send than it may.
  var applicationLimited: Bool

  var steady: BitRate? { measured?.rate }
}

/// Turns overuse and underuse into a rate.
struct RateControl {
  /// What is left of the arriving rate after overuse.
  static let backOff = 0.85
  /// Taken off besides, so that a slow line drains too.
  static let backOffStep = BitRate.kilobits(5)
  /// What is left while a queue of `deepQueue` or more drains after the line became thinner.
  static let deepBackOff = 0.6
  /// A queue longer than this is drained fast.
  static let deepQueue = TimeDelta.milliseconds(120)
  /// Where the rate goes when the queue has drained, of what the line carried.
  static let resume = 0.93
  /// The estimate stays below this multiple of what arrives, plus `ceilingStep`.
  static let ceiling = 1.5
  static let ceilingStep = BitRate.kilobits(10)
  /// Growth in a second while the capacity is unknown.
  static let growth = 0.08
  /// The additive increase is a packet for each such time and a tenth of the round trip: a long way is little disadvantage.
  static let responseTime = TimeDelta.milliseconds(110)
  static let typicalPacket = ByteCount(1_200)

  private enum Phase { case increase, hold }

  private(set) var target: BitRate
  private(set) var capacity = LinkCapacity()
  private(set) var lastDecrease: Instant?
  private(set) var competition = Competition()
  private var phase = Phase.hold
  private var lastChange: Instant?
  /// Set from a decrease until the queue has drained: the rate to return to.
  private var resumeAt: BitRate?
  private let minimum: BitRate
  private let mechanisms: Mechanisms

  /// Where the rate goes once the queue of a decrease has drained; `target` while none drains.
  var settled: BitRate { max(target, resumeAt ?? target) }

  /// Begins at `start`; never goes below `minimum`.
  init(start: BitRate, minimum: BitRate, mechanisms: Mechanisms) {
    target = start
    self.minimum = minimum
    self.mechanisms = mechanisms
  }

  /// A probe or a peer showed that the line carries `rate`.
  mutating func set(_ rate: BitRate, at now: Instant) {
    target = max(minimum, rate)
    lastChange = now
  }

  /// The control of `memory`: half a second in which little was sent takes a tenth of the target.
  mutating func fade() { target = max(minimum, target * 0.9) }

  /// One step; once a feedback.
  mutating func update(_ input: RateInput, at now: Instant) {
    if mechanisms.contains(.competition) {
      competition.update(queueing: input.queueing, measured: input.measured, at: now)
    }
    if competition.isOn {
      compete(input, at: now)
      lastChange = now
      return
    }
    switch input.use {
    case .over: decreaseIfDue(input, at: now)
    case .under: phase = .hold
    case .normal:
      if phase == .hold { leaveHold(input, at: now) }
    }
    if phase == .increase { increase(input, at: now) }
    lastChange = now
  }

  /// Somebody else's queue: only loss lowers the rate, and it grows in small steps.
  private mutating func compete(_ input: RateInput, at now: Instant) {
    resumeAt = nil
    phase = .increase
    if input.lost {
      if competition.lost(at: now) { target = max(minimum, target * Competition.backOff) }
    } else {
      increase(input, at: now)
    }
  }

  /// A further decrease waits for the effect of the last one, unless the rate is far above what arrives.
  private mutating func decreaseIfDue(_ input: RateInput, at now: Instant) {
    guard mechanisms.contains(.delay) else { return }
    let wait = min(max(input.roundTrip, .milliseconds(10)), .milliseconds(200))
    let farAbove = input.recent.map { $0 * 2 < target } ?? false
    if let lastDecrease, now - lastDecrease < wait, !farAbove { return }
    decrease(input, at: now)
  }

  private mutating func decrease(_ input: RateInput, at now: Instant) {
    phase = .hold
    guard let arriving = input.recent else {
      target = max(minimum, target * 0.5)
      lastDecrease = now
      return
    }
    let fell = arriving < capacity.lower || arriving < target * 0.7
    if arriving < capacity.lower { capacity.reset() }
    capacity.measure(arriving)
    let deep = fell && input.queueing > Self.deepQueue
    let rate = arriving * (deep ? Self.deepBackOff : Self.backOff) - Self.backOffStep
    target = max(minimum, min(rate, target))
    resumeAt = arriving * Self.resume
    lastDecrease = now
    competition.decreased()
  }

  /// The queue has drained: back to just below what the line carries, then on in small steps.
  private mutating func leaveHold(_ input: RateInput, at now: Instant) {
    guard resumeAt == nil || input.queueing < .milliseconds(40) || waited(at: now) else { return }
    phase = .increase
    if mechanisms.contains(.resume), let resumeAt { target = max(target, resumeAt) }
    resumeAt = nil
  }

  private func waited(at now: Instant) -> Bool { lastDecrease.map { now - $0 > .milliseconds(1_000) } ?? true }

  private mutating func increase(_ input: RateInput, at now: Instant) {
    if let steady = input.steady, steady > capacity.upper { capacity.reset() }
    if mechanisms.contains(.applicationLimit), input.applicationLimited { return }
    let elapsed = min(max(0, (now - (lastChange ?? now)).seconds), 1)
    let step: BitRate
    if competition.isOn || (capacity.estimate != nil && mechanisms.contains(.additive)) {
      step = additiveRate(input.roundTrip) * elapsed
    } else {
      step = max(target * Self.growth, .kilobits(4)) * elapsed
    }
    var next = target + step
    if mechanisms.contains(.applicationLimit), let steady = input.steady {
      next = min(next, max(target, steady * Self.ceiling + Self.ceilingStep))
    }
    target = next
  }

  /// Bits per second gained each second: a packet for each response time.
  private func additiveRate(_ roundTrip: TimeDelta) -> BitRate {
    let perFrame = target.size(in: .milliseconds(33))
    let packets = max(1, (perFrame.bytes + Self.typicalPacket.bytes - 1) / Self.typicalPacket.bytes)
    let packet = ByteCount(max(perFrame.bytes / packets, 150))
    return max(.kilobits(4), BitRate(packet, in: Self.responseTime + roundTrip / 10))
  }
}
