// The trend of the one-way delay: a line through the last twenty differences, smoothed. A positive slope means a growing queue.

import Basics

/// Fits a line through the accumulated delay of the newest groups.
struct Trendline {
  /// Groups in the line. More: steadier, and later to see a fall.
  static let window = 20
  /// How much of the old smoothed delay stays with each group.
  static let smoothing = 0.9

  private var times = Array(repeating: 0.0, count: window)
  private var delays = Array(repeating: 0.0, count: window)
  private var accumulated = 0.0
  private var smoothed = 0.0
  private var firstArrival: TimeDelta?
  /// Differences seen.
  private(set) var count = 0
  /// Milliseconds of delay gained for each millisecond; 0 until the window is full.
  private(set) var slope = 0.0

  /// A line through nothing.
  init() {}

  /// Forgets everything: the receiver's clock jumped, or nothing came for seconds.
  mutating func restart() {
    accumulated = 0
    smoothed = 0
    firstArrival = nil
    count = 0
    slope = 0
  }

  /// Takes one more difference.
  mutating func add(_ delta: GroupDelta) {
    let gained = (delta.arrived - delta.sent).seconds * 1e3
    let origin = firstArrival ?? delta.arrivedAt
    firstArrival = origin
    accumulated += gained
    smoothed = Self.smoothing * smoothed + (1 - Self.smoothing) * accumulated
    times[count % Self.window] = (delta.arrivedAt - origin).seconds * 1e3
    delays[count % Self.window] = smoothed
    count += 1
    if count >= Self.window { slope = fit() ?? slope }
  }

  /// Least squares; nil when all points have the same time.
  private func fit() -> Double? {
    var meanTime = 0.0
    var meanDelay = 0.0
    var index = 0
    while index < Self.window {
      meanTime += times[index]
      meanDelay += delays[index]
      index += 1
    }
    meanTime /= Double(Self.window)
    meanDelay /= Double(Self.window)
    var above = 0.0
    var below = 0.0
    index = 0
    while index < Self.window {
      above += (times[index] - meanTime) * (delays[index] - meanDelay)
      below += (times[index] - meanTime) * (times[index] - meanTime)
      index += 1
    }
    return below > 0 ? above / below : nil
  }
}
