// Decides from the trend whether the line is used too much, against a threshold that adapts: a fixed one would starve beside
// a flow that fills the queue, and would be deaf on a steady line.

import Basics

/// How the line is used.
enum LineUse {
  /// A queue drains.
  case under
  case normal
  /// A queue grows.
  case over
}

/// Compares the trend with an adaptive threshold.
struct OveruseDetector {
  static let gain = 4.0
  /// Differences that count toward confidence in the trend.
  static let mostDeltas = 60
  static let firstThreshold = 12.5
  static let lowestThreshold = 6.0
  static let highestThreshold = 600.0
  /// How fast the threshold follows a larger trend, per millisecond.
  static let up = 0.0087
  /// How fast it follows a smaller one.
  static let down = 0.039
  /// A trend further above the threshold than this is a spike and does not move it.
  static let spike = 15.0
  /// Overuse must last longer than this, in milliseconds.
  static let patience = 10.0

  private(set) var threshold = firstThreshold
  private(set) var use = LineUse.normal
  /// In milliseconds, since the trend rose above the threshold.
  private var overFor = 0.0
  private var isOver = false
  private var overCount = 0
  private var previousTrend = 0.0
  private var lastUpdate: TimeDelta?
  private let adapts: Bool

  /// A detector; `adapts` is off in a control run.
  init(adapts: Bool) { self.adapts = adapts }

  /// Takes the trend after one more difference, whose groups left `sent` apart.
  mutating func update(slope: Double, count: Int, sent: TimeDelta, arrivedAt: TimeDelta) {
    let trend = Double(min(count, Self.mostDeltas)) * slope * Self.gain
    if trend > threshold {
      let elapsed = Double(sent.nanoseconds) * 1e-6
      overFor += isOver ? elapsed : elapsed * 0.5
      isOver = true
      overCount += 1
      if overFor > Self.patience, overCount > 1, slope >= previousTrend {
        overFor = 0
        overCount = 0
        use = .over
      }
    } else {
      forget()
      use = trend < -threshold ? .under : .normal
    }
    previousTrend = slope
    adapt(trend, at: arrivedAt)
  }

  private mutating func forget() {
    overFor = 0
    isOver = false
    overCount = 0
  }

  /// Nothing is known of the trend for a while: the line counts as used normally. The threshold stays.
  mutating func rest() {
    forget()
    previousTrend = 0
    use = .normal
  }

  /// The queue itself shows overuse.
  mutating func alarm() { use = .over }

  private mutating func adapt(_ trend: Double, at now: TimeDelta) {
    let magnitude = trend.magnitude
    let elapsed = min(max(0, Double((now - (lastUpdate ?? now)).nanoseconds) * 1e-6), 100)
    lastUpdate = now
    guard adapts, magnitude <= threshold + Self.spike else { return }
    let speed = magnitude < threshold ? Self.down : Self.up
    threshold += speed * (magnitude - threshold) * elapsed
    threshold = min(max(threshold, Self.lowestThreshold), Self.highestThreshold)
  }
}
