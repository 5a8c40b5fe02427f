// The trend of the one-way delay: a line through the last twenty differences, smoothed. A positive slope means a growing queue.

import Basics

/// Fits a line through the accumulated delay of the newest groups. Sums run along, so that a group takes the same time however many
/// are in the line.
struct Trendline {
  /// Groups in the line. More: steadier, and later to see a fall.
  static let window = 20
  /// How much of the old smoothed delay stays with each group.
  static let smoothing = 0.9
  /// Times are counted from an origin that is moved on after so many milliseconds: squares of long times would round the sums.
  static let longestTime = 30_000.0

  private struct Sums {
    var time = 0.0
    var delay = 0.0
    var squares = 0.0
    var products = 0.0

    mutating func add(_ t: Double, _ d: Double) {
      time += t
      delay += d
      squares += t * t
      products += t * d
    }
    mutating func remove(_ t: Double, _ d: Double) {
      time -= t
      delay -= d
      squares -= t * t
      products -= t * d
    }
  }

  private var times = InlineArray<20, Double>(repeating: 0)
  private var delays = InlineArray<20, Double>(repeating: 0)
  private var sums = Sums()
  private var position = 0
  private var accumulated = 0.0
  private var smoothed = 0.0
  private var origin: TimeDelta?
  /// Differences seen.
  private(set) var count = 0
  /// Milliseconds of delay gained for each millisecond; 0 until the window is full.
  private(set) var slope = 0.0

  /// A line through nothing.
  init() {}

  /// Forgets everything: the receiver's clock jumped, or nothing came for seconds.
  mutating func restart() { self = Trendline() }

  /// Takes one more difference.
  mutating func add(_ delta: GroupDelta) {
    let start = origin ?? delta.arrivedAt
    origin = start
    let time = Self.milliseconds(delta.arrivedAt - start)
    accumulated += Self.milliseconds(delta.arrived - delta.sent)
    smoothed = Self.smoothing * smoothed + (1 - Self.smoothing) * accumulated
    if count >= Self.window { sums.remove(times[position], delays[position]) }
    times[position] = time
    delays[position] = smoothed
    sums.add(time, smoothed)
    position = position + 1 == Self.window ? 0 : position + 1
    count &+= 1
    guard count >= Self.window else { return }
    slope = fit() ?? slope
    if time > Self.longestTime { moveOrigin(to: delta.arrivedAt, by: time) }
  }

  /// Least squares; nil when all points have the same time.
  private func fit() -> Double? {
    let share = 1 / Double(Self.window)
    let below = sums.squares - sums.time * sums.time * share
    // Points in the same millisecond differ by rounding alone.
    guard below > 1e-3 else { return nil }
    return (sums.products - sums.time * sums.delay * share) / below
  }

  private mutating func moveOrigin(to new: TimeDelta, by shift: Double) {
    origin = new
    sums = Sums()
    var index = 0
    while index < Self.window {
      times[index] -= shift
      sums.add(times[index], delays[index])
      index += 1
    }
  }

  private static func milliseconds(_ time: TimeDelta) -> Double { Double(time.nanoseconds) * 1e-6 }
}
