// The rate by loss, after the second version in libwebrtc: some loss is there at any rate (inherent), the rest comes from sending
// more than the line carries. The pair (rate, inherent loss) that explains the last seconds best wins.
//
//   results ─▶ observations of ≥ 250 ms ─▶ candidates for the rate ─▶ inherent loss of each by Newton's method ─▶ most likely one

import Basics

/// Packets of at least 250 ms and what became of them.
private struct Observation {
  var packets = 0.0
  var lost = 0.0
  /// In kbit/s.
  var sendingRate = 0.0
}

/// Keeps fifteen observations and the rate that explains them.
struct LossEstimator {
  /// Observations kept: four seconds.
  static let window = 15
  static let shortest = TimeDelta.milliseconds(250)
  /// Weight of an observation, compared with the one after it.
  static let fading = 0.9
  static let lowestInherent = 0.001
  static let highestInherent = 0.05
  /// Raises the highest inherent loss on thin lines: 100 kbit/s ÷ bandwidth.
  static let balance = 100.0
  static let factors = [1.02, 1.0, 0.95]
  /// Prefers the higher of two rates that explain the loss equally well.
  static let preference = 0.02
  static let preferencePerKilobit = 0.0002
  /// A lower rate must explain the loss better by this much, in nats: chance alone is no reason to fall.
  static let margin = 1.0
  /// Loss up to this multiple of the inherent one is explained by it: the two meet only in the limit.
  static let explained = 1.1
  static let firstHold = TimeDelta.milliseconds(300)
  /// libwebrtc goes up to 60 s; then a fall by chance costs a minute.
  static let longestHold = TimeDelta.seconds(8)
  /// While loss limits, the rate stays below this multiple of what arrives.
  static let ceiling = 1.3

  private var observations = Array(repeating: Observation(), count: window)
  private var weights: [Double]
  private var count = 0
  /// Observations without loss since the last one with it.
  private var lossless = 0
  private var fresh = false
  private var partial = Observation()
  private var partialSize = ByteCount.zero
  private var partialSince: Instant?
  /// The rate by loss in kbit/s; nil while loss does not limit.
  private var rate: Double?
  /// In kbit/s; what the loss of the moment leaves.
  private var instant = Double.infinity
  private(set) var inherent = 0.01
  private var holdUntil = Instant.zero
  private var hold = firstHold
  private let separates: Bool
  private let minimum: BitRate

  /// An estimator; `separatesInherent` is off in a control run, and all loss counts as congestion.
  init(minimum: BitRate, separatesInherent: Bool) {
    self.minimum = minimum
    separates = separatesInherent
    weights = Array(repeating: 1, count: Self.window)
    for index in 1..<Self.window { weights[index] = weights[index - 1] * Self.fading }
  }

  /// The target by loss; `unlimited` while loss does not limit.
  var target: BitRate {
    let least = min(rate ?? .infinity, instant)
    return least < .infinity ? max(minimum, .kilobits(least)) : .unlimited
  }

  /// Adds what a feedback said. `sent` is when the newest packet of it left.
  mutating func add(received: Int, lost: Int, size: ByteCount, sent: Instant) {
    let since = partialSince ?? sent
    partialSince = since
    partial.packets += Double(received + lost)
    partial.lost += Double(lost)
    partialSize += size
    guard sent - since >= Self.shortest else { return }
    partial.sendingRate = BitRate(partialSize, in: sent - since).kilobits
    partial.lost = min(max(partial.lost, 0), partial.packets)
    observations[count % Self.window] = partial
    count += 1
    lossless = partial.lost > 0 ? 0 : lossless &+ 1
    partial = Observation()
    partialSize = .zero
    partialSince = sent
    fresh = true
  }

  /// Chooses the rate anew when an observation was completed since.
  mutating func update(delayBased: BitRate, acknowledged: BitRate?, at now: Instant) {
    guard fresh else { return }
    fresh = false
    let ceiling = delayBased.kilobits
    let current = min(rate ?? ceiling, ceiling)
    if rate == nil, separates, averageLoss == 0 {
      // Nothing was lost for seconds: all candidates explain that equally well, and the highest wins.
      inherent = Self.lowestInherent
      instant = .infinity
      return
    }
    guard separates else { return withoutInherent(current, ceiling) }
    let loss = averageLoss
    // Newton's method doubles at most what is far too small: from the least inherent loss it would not get there.
    inherent = max(inherent, min(loss, Self.highestInherent) / 2)
    var best = (rate: current, inherent: inherent, score: -Double.infinity)
    // Not `for`: over an array it allocates in a build that is not optimised.
    var index = 0
    while index < Self.factors.count {
      consider(current * Self.factors[index], &best, against: current)
      index += 1
    }
    if let acknowledged, acknowledged.kilobits < current {
      consider(acknowledged.kilobits * 0.95, &best, against: current)
    }
    if ceiling > current { consider(ceiling, &best, against: current) }
    inherent = best.inherent
    settle(best.rate, current: current, ceiling: ceiling, loss: loss, acknowledged: acknowledged, at: now)
  }

  /// A probe of this rate arrived: the loss seen so far is not for want of bandwidth below it.
  mutating func probed(_ result: BitRate) {
    guard let rate, result.kilobits > rate else { return }
    self.rate = result.kilobits
  }

  private mutating func settle(
    _ chosen: Double, current: Double, ceiling: Double, loss: Double, acknowledged: BitRate?, at now: Instant
  ) {
    var next = chosen
    if next > current {
      // More is not tried while more is lost than the line loses anyway, nor soon after a fall.
      if loss > inherent * Self.explained || now < holdUntil { next = current }
      if rate != nil, let acknowledged { next = min(next, max(current, acknowledged.kilobits * Self.ceiling)) }
    }
    instant = instantLimit(loss)
    if next < current * 0.99 {
      holdUntil = now + hold
      hold = min(hold * 2, Self.longestHold)
    }
    if next >= ceiling {
      rate = nil
      if now > holdUntil { hold = Self.firstHold }
    } else {
      rate = max(next, minimum.kilobits)
    }
  }

  /// The control: each loss above 2 % is answered with less, as TCP would.
  private mutating func withoutInherent(_ current: Double, _ ceiling: Double) {
    let loss = averageLoss
    let next = loss > 0.005 ? current * (1 - loss / 2) : current * 1.02
    rate = next >= ceiling ? nil : max(next, minimum.kilobits)
  }

  private func weighted(_ body: (Observation) -> Double) -> Double {
    var sum = 0.0
    var age = 0
    while age < min(count, Self.window) {
      sum += weights[age] * body(observations[(count - 1 - age) % Self.window])
      age += 1
    }
    return sum
  }

  /// What was lost of the last four seconds' packets, the newest of them weighing most.
  var averageLoss: Double {
    guard lossless < Self.window else { return 0 }
    let packets = weighted { $0.packets }
    return packets > 0 ? weighted { $0.lost } / packets : 0
  }

  /// Loss far above what a line loses by itself leaves only this much, whatever the past says.
  private func instantLimit(_ loss: Double) -> Double {
    let excess = loss - Self.highestInherent
    return excess > 0 ? max(75 / excess, minimum.kilobits) : .infinity
  }

  private func consider(
    _ rate: Double, _ best: inout (rate: Double, inherent: Double, score: Double), against current: Double
  ) {
    let inherent = likelyInherent(rate)
    let score = likelihood(rate, inherent) - (rate < current ? Self.margin : 0)
    if score > best.score { best = (rate, inherent, score) }
  }

  /// Loss that a line of `rate` shows at a sending rate.
  private func probability(_ inherent: Double, _ rate: Double, _ sending: Double) -> Double {
    let excess = sending > rate && sending > 0 ? (sending - rate) / sending : 0
    return min(max(inherent + (1 - inherent) * excess, 1e-6), 1 - 1e-6)
  }

  /// Three steps of Newton's method on the likelihood's slope, then cut to the bounds.
  private func likelyInherent(_ rate: Double) -> Double {
    var value = inherent
    let highest = Self.highestInherent + Self.balance / max(rate, 1)
    var steps = 0
    while steps < 3 {
      steps += 1
      let (slope, bend) = slopeAndBend(value, rate)
      if bend < 0 { value -= slope / bend }
      value = min(max(value, Self.lowestInherent), min(highest, 0.9))
    }
    return value
  }

  /// First and second derivative of the likelihood by inherent loss.
  private func slopeAndBend(_ inherent: Double, _ rate: Double) -> (Double, Double) {
    let slope = weighted { observation in
      let p = probability(inherent, rate, observation.sendingRate)
      return observation.lost / p - (observation.packets - observation.lost) / (1 - p)
    }
    let bend = weighted { observation in
      let p = probability(inherent, rate, observation.sendingRate)
      return -observation.lost / (p * p) - (observation.packets - observation.lost) / ((1 - p) * (1 - p))
    }
    return (slope, bend)
  }

  private func likelihood(_ rate: Double, _ inherent: Double) -> Double {
    let bias = Self.preferencePerKilobit * rate + Self.preference * naturalLogarithm(1 + rate)
    return weighted { observation in
      let p = probability(inherent, rate, observation.sendingRate)
      let arrived = observation.packets - observation.lost
      return observation.lost * naturalLogarithm(p) + arrived * naturalLogarithm(1 - p) + bias * 0.1
        * observation.packets
    }
  }
}
