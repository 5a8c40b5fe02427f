// When to probe, and how fast. A probe is a few packets sent faster than the target for some milliseconds.
//
//   start: × 3, × 6 · result > 0.7 × probe: × 2 · little sent: × 2 each 5 s · wish grows: × 1, × 2 · after a fall: 85 % of the old
//   · more arrives than the line was known to carry: × 2

import Basics

/// How much a cluster must contain at least.
struct ProbeSize {
  var packets: Int
  var size: ByteCount
}

/// One probe cluster.
struct Probe {
  /// Never 0; wraps.
  var id: UInt16
  var rate: BitRate
  /// It must show how much a line carries behind a bucket that lets some kilobytes through at once.
  var isLong = false

  static let fewestPackets = 5
  static let shortest = TimeDelta.milliseconds(15)
  /// Of a long one: more than twice what such a bucket holds. More bytes, and thin lines get a queue from each probe.
  static let longSize = ByteCount(7_500)
  static let longest = TimeDelta.milliseconds(80)

  /// Five packets, or 15 ms if that is more; of a long one 7,500 bytes, or 80 ms if that is less.
  var least: ProbeSize {
    let size = rate.size(in: Self.shortest)
    let long = min(Self.longSize, rate.size(in: Self.longest))
    return ProbeSize(packets: Self.fewestPackets, size: isLong ? max(size, long) : size)
  }
}

/// What the controller decides by.
struct ProbeInput {
  var target: BitRate
  var use: LineUse
  var applicationLimited: Bool
  /// More arrives than the line was known to carry.
  var outgrown: Bool
  /// Loss or missing feedback holds the target down, and probing would say nothing.
  var held: Bool
}

/// Chooses probe rates. Its clusters leave one after another.
struct ProbeController {
  static let first = [3.0, 6.0]
  static let further = 2.0
  /// A result above this share of what was tried asks for more.
  static let promising = 0.7
  static let limitedInterval = TimeDelta.seconds(5)
  /// After a fall below this share of the old rate …
  static let fall = 0.66
  /// … so much of the old one is tried again.
  static let recovery = 0.85
  static let recoveryWindow = TimeDelta.seconds(5)
  static let patience = TimeDelta.seconds(1)
  /// A wish that has grown by less is not tried.
  static let notableGrowth = 1.25
  /// Nothing above this multiple of the wish is tried.
  static let mostOfWish = 2.0
  /// For the rest of a probe of which most is reported.
  static let restPatience = TimeDelta.milliseconds(250)
  /// Between probes because more arrives than was known; doubles with each one in vain.
  static let growthInterval = TimeDelta.seconds(1)
  static let longestGrowthInterval = TimeDelta.seconds(16)
  private static let mostQueued = 4

  /// While little is known, a probe after one that found the line free goes straight to this multiple of the wish.
  static let sufficient = 1.6

  private enum Phase { case start, waiting, idle }

  /// A probe raised the target of a line that had shown a limit.
  private struct Raise {
    /// The settled rate before the first probe of the series.
    var from: BitRate
    var at: Instant
    var cluster: UInt16
    /// All of the probe was reported.
    var isWhole: Bool
    /// The next one has been reported.
    var isAnswered = false
  }

  private var phase = Phase.start
  private var clusters = ProbeEstimator()
  private var queue: [Probe] = []
  private var lastID: UInt16 = 0
  private var lastRate = BitRate.zero
  private var lastProbe = Instant.zero
  /// What the receiver would like to be sent at most.
  private(set) var wish: BitRate
  /// The wish for which the line was probed last.
  private var probedWish = BitRate.zero
  /// When that was.
  private var grownAt = Instant(nanoseconds: .min / 64)
  /// The line is quiet, and nothing holds the target down.
  private var mayProbe = true
  private var oldRate: BitRate?
  private var fellAt = Instant.zero
  private var growthWait = growthInterval
  private var growing = false
  private var freeAt: Instant?
  private var raise: Raise?

  /// A controller that probes up to twice `wish`.
  init(wish: BitRate) {
    self.wish = wish
    queue.reserveCapacity(Self.mostQueued)
  }

  /// The next cluster to send, taken out. `isLong`: as `Probe` has it.
  mutating func next(isLong: Bool = false) -> Probe? {
    guard !queue.isEmpty else { return nil }
    var probe = queue[0]
    probe.isLong = isLong
    // Not `removeFirst`: it allocates in a build that is not optimised.
    var index = 1
    while index < queue.count {
      queue[index - 1] = queue[index]
      index += 1
    }
    queue.removeLast()
    clusters.begin(probe)
    return probe
  }
  /// A packet of a cluster arrived; a result as soon as there is enough of the cluster.
  mutating func add(_ packet: ReceivedPacket, isCautious: Bool) -> ProbeResult? {
    clusters.add(packet, isCautious: isCautious)
  }
  /// Whether the probes of the start are still under way.
  private(set) var isStarting = true
  /// Nothing above this is worth knowing.
  var most: BitRate { wish * Self.mostOfWish }
  /// Whether a cluster waits.
  var hasNext: Bool { !queue.isEmpty }

  /// A cluster waits, or its result does.
  var isBusy: Bool { phase != .idle || hasNext }

  /// Whether a probe has just shown that the line carries more than the target.
  func foundFree(at now: Instant) -> Bool { freeAt.map { now - $0 < Self.patience } ?? false }

  /// The rate before probes raised it a moment ago; nil where they did not.
  func raisedFrom(at now: Instant) -> BitRate? { raise.flatMap { now - $0.at < Self.patience ? $0.from : nil } }

  /// The same while another probe is on its way that may take it back, or the rest of that one.
  func unconfirmed(at now: Instant) -> BitRate? {
    guard let raise, !raise.isAnswered, let from = raisedFrom(at: now) else { return nil }
    let isOpen = phase == .waiting || hasNext || (!raise.isWhole && now - raise.at < Self.restPatience)
    return isOpen ? from : nil
  }

  /// What the receiver would like to be sent has changed.
  mutating func setWish(_ rate: BitRate, target: BitRate, at now: Instant) {
    wish = rate
    // Measured rates go up and down all the time; a thin line must not be probed for that.
    let grows = rate > probedWish * Self.notableGrowth
    if rate < probedWish { probedWish = max(rate, probedWish * 0.99) }
    guard grows, mayProbe, phase != .start, now - grownAt > Self.patience, target < rate else { return }
    (probedWish, grownAt) = (rate, now)
    enqueue(rate, target, at: now)
    enqueue(rate * Self.further, target, at: now)
  }

  /// The target fell from `old` to `new` at once.
  mutating func fell(from old: BitRate, to new: BitRate, at now: Instant) {
    guard new < old * Self.fall, !recovering(at: now) else { return }
    oldRate = old
    fellAt = now
  }

  private func recovering(at now: Instant) -> Bool { oldRate != nil && now - fellAt < Self.recoveryWindow }

  /// Looks whether a probe is due.
  mutating func poll(_ input: ProbeInput, at now: Instant) {
    mayProbe = input.use == .normal && !input.held
    if phase == .start {
      for factor in Self.first { enqueue(input.target * factor, input.target, at: now) }
      phase = .waiting
      return
    }
    if phase == .waiting, now - lastProbe > Self.patience { phase = .idle }
    if phase == .idle { isStarting = false }
    guard phase == .idle, queue.isEmpty, input.use == .normal, !input.held else { return }
    if recoveryDue(input, at: now) { return }
    if input.outgrown, !input.applicationLimited, now - lastProbe > growthWait {
      growing = true
      growthWait = min(growthWait * 2, Self.longestGrowthInterval)
      enqueue(input.target * Self.further, input.target, at: now)
    } else if input.applicationLimited, now - lastProbe > Self.limitedInterval {
      enqueue(input.target * Self.further, input.target, at: now)
    }
  }

  private mutating func recoveryDue(_ input: ProbeInput, at now: Instant) -> Bool {
    guard let old = oldRate else { return false }
    guard recovering(at: now), old * Self.recovery > input.target else {
      oldRate = nil
      return false
    }
    guard now - fellAt > Self.recoveryWindow / 2 else { return false }
    oldRate = nil
    enqueue(old * Self.recovery, input.target, at: now)
    return true
  }

  /// A cluster's result is there; `accepted` when the target was raised by it. `from`: the settled rate before, where the line had shown a
  /// limit.
  mutating func result(
    _ result: ProbeResult, target: BitRate, from: BitRate? = nil, accepted: Bool, at now: Instant
  ) {
    if growing, accepted {
      growthWait = Self.growthInterval
    }
    growing = false
    if accepted, !result.full { freeAt = now }
    note(result, from: from, accepted: accepted, at: now)
    guard phase == .waiting, result.cluster == lastID, queue.isEmpty else { return }
    // One that has tried all that is worth knowing is the last: its result would ask for the same rate again, without end.
    if result.rate > lastRate * Self.promising, lastRate < most {
      let enough = isStarting ? wish * Self.sufficient : .zero
      enqueue(max(result.rate * Self.further, enough), target, at: now)
    } else {
      phase = .idle
    }
  }

  private mutating func note(_ result: ProbeResult, from: BitRate?, accepted: Bool, at now: Instant) {
    let isSame = raise?.cluster == result.cluster
    if accepted {
      let before = raise?.isAnswered == false ? raisedFrom(at: now) : nil
      raise = from.map { Raise(from: before ?? $0, at: now, cluster: result.cluster, isWhole: result.isWhole) }
    } else if isSame {
      raise?.isWhole = result.isWhole
    } else if result.isWhole {
      raise?.isAnswered = true
    }
  }

  /// Adds a cluster, cut to what is wished. One at or below the target would show nothing.
  private mutating func enqueue(_ rate: BitRate, _ target: BitRate, at now: Instant) {
    let rate = min(rate, most)
    guard rate > target * 1.01, queue.count < Self.mostQueued else {
      if queue.isEmpty { phase = .idle }
      return
    }
    // What a series that is over has raised is not open again because another one begins.
    if phase == .idle, queue.isEmpty, unconfirmed(at: now) == nil { raise?.isAnswered = true }
    lastID = lastID == .max ? 1 : lastID + 1
    lastRate = rate
    lastProbe = now
    phase = .waiting
    queue.append(Probe(id: lastID, rate: rate))
  }
}
