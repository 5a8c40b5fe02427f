// One direction of a network path in virtual time.
//
//   send ─▶ random and bursty loss ─▶ bottleneck with a drop-tail queue ─▶ delay and jitter ─▶ reordering, duplication ─▶ arrival

import Basics

/// How a line behaves. Everything may change over time.
public struct LineProfile: Sendable {
  /// Capacity of the bottleneck in bits per second.
  public var capacity: Schedule<Double>
  /// One-way delay in milliseconds, without the queue.
  public var delay: Schedule<Double>
  /// Up to this many milliseconds more, at random for each packet. Order is kept, unless `reordering` says otherwise.
  public var jitter = Schedule(0.0)
  /// Share of packets lost at random.
  public var loss = Schedule(0.0)
  /// Probability for a packet to begin a burst of losses.
  public var burstStart = Schedule(0.0)
  /// Packets in a burst of losses, on average.
  public var burstLength = 4.0
  /// Share of packets that arrive up to `reorderingDelay` later than those behind them.
  public var reordering = Schedule(0.0)
  /// In milliseconds.
  public var reorderingDelay = 10.0
  /// Share of packets that arrive twice.
  public var duplication = Schedule(0.0)
  /// What the queue holds, in milliseconds at the capacity of the moment.
  public var queue = Schedule(300.0)

  /// A line of `capacity` bits per second and `delay` milliseconds, with a queue of 300 ms and no faults.
  public init(capacity: Schedule<Double>, delay: Double = 50) {
    self.capacity = capacity
    self.delay = Schedule(delay)
  }
}

/// What a line did to a packet.
public enum Delivery: Sendable, Equatable {
  /// Lost at random or in a burst.
  case lost
  /// The queue was full.
  case dropped
  /// Arrives once, or a second time as well.
  case arrives(at: Instant, again: Instant?)
}

/// A line at work. Calls must come in order of time; what happens follows from the seed alone.
public struct Line: Sendable {
  private let profile: LineProfile
  private var random: SplitMix64
  private var busyUntil = Instant.zero
  private var newestArrival = Instant.zero
  private var burstLeft = 0
  /// Packets that were sent into the line.
  public private(set) var sent = 0
  /// Those of them that it lost or dropped.
  public private(set) var missing = 0

  /// An idle line.
  public init(_ profile: LineProfile, seed: UInt64) {
    self.profile = profile
    random = SplitMix64(seed: seed)
  }

  /// How long a packet that comes now waits in the queue.
  public func queueing(at now: Instant) -> TimeDelta { max(busyUntil - now, .zero) }

  /// The capacity at `now`, in bits per second.
  public func capacity(at now: Instant) -> Double { profile.capacity.value(at: now) }

  /// Sends `bytes` into the line.
  public mutating func send(_ bytes: Int, at now: Instant) -> Delivery {
    sent += 1
    if losesAtRandom(at: now) {
      missing += 1
      return .lost
    }
    let limit = profile.queue.value(at: now) / 1e3 * capacity(at: now) / 8
    guard backlog(at: now) + Double(bytes) <= max(limit, 3_000) else {
      missing += 1
      return .dropped
    }
    busyUntil = departure(of: Double(bytes) * 8, from: max(now, busyUntil))
    var arrival = busyUntil + milliseconds(profile.delay.value(at: now) + profile.jitter.value(at: now) * uniform())
    if random.chance(profile.reordering.value(at: now)) {
      arrival += milliseconds(profile.reorderingDelay * uniform())
    } else {
      arrival = max(arrival, newestArrival)
      newestArrival = arrival
    }
    let twice = random.chance(profile.duplication.value(at: now))
    return .arrives(at: arrival, again: twice ? arrival + milliseconds(5 * uniform()) : nil)
  }

  private mutating func losesAtRandom(at now: Instant) -> Bool {
    if burstLeft > 0 {
      burstLeft -= 1
      return true
    }
    if random.chance(profile.burstStart.value(at: now)) {
      burstLeft = Int((2 * profile.burstLength * uniform()).rounded())
      return true
    }
    return random.chance(profile.loss.value(at: now))
  }

  /// Bytes in the queue: what the line will have carried from now until it is idle.
  private func backlog(at now: Instant) -> Double {
    var bits = 0.0
    var at = now
    while at < busyUntil {
      let end = min(busyUntil, profile.capacity.nextChange(after: at))
      bits += (end - at).seconds * capacity(at: at)
      at = end
    }
    return bits / 8
  }

  /// When `bits` have left, beginning at `start`, across changes of the capacity.
  private func departure(of bits: Double, from start: Instant) -> Instant {
    var left = bits
    var at = start
    while true {
      let change = profile.capacity.nextChange(after: at)
      let needed = left / capacity(at: at)
      guard change < at + .seconds(needed) else { return at + .seconds(needed) }
      left -= (change - at).seconds * capacity(at: at)
      at = change
    }
  }

  private mutating func uniform() -> Double { Double(random.next() >> 11) / Double(1 << 53) }
  private func milliseconds(_ n: Double) -> TimeDelta { .seconds(n / 1e3) }
}
