// A quantity that changes at given times: the steps of a scenario.

import Basics

/// Steps of a value over virtual time.
public struct Schedule<Value: Sendable>: Sendable {
  /// Start of each step in seconds and its value, in order; the first starts at 0.
  public let steps: [(from: Double, value: Value)]

  /// The same value at all times.
  public init(_ value: Value) { steps = [(0, value)] }
  /// Steps in order of time. Before the first one, its value holds already.
  public init(steps: [(from: Double, value: Value)]) { self.steps = steps }

  /// The value at `now`.
  public func value(at now: Instant) -> Value { steps[index(at: now)].value }

  /// When the value changes after `now`; `distantFuture` when it does not.
  public func nextChange(after now: Instant) -> Instant {
    let next = index(at: now) + 1
    return next < steps.count ? Instant.zero + .seconds(steps[next].from) : .distantFuture
  }

  private func index(at now: Instant) -> Int {
    var index = 0
    while index + 1 < steps.count, now >= Instant.zero + .seconds(steps[index + 1].from) { index += 1 }
    return index
  }
}
