// How receivers' lines are, for metrics: bounded in size, however many receivers there are.

import Basics
import Congestion

/// The lines of a worker's receivers, those that are sent video.
public struct LineReport: Sendable {
  /// Upper bounds of `byEstimate` in kbit/s; one more count is for what is above.
  public static let estimateBounds: [Int] = [100, 300, 600, 1_000, 2_500, 5_000, 10_000, 25_000]
  /// Upper bounds of `byRoundTrip` in milliseconds; one more count is for what is above.
  public static let roundTripBounds: [Int] = [25, 50, 100, 200, 400, 800]

  /// Lines that are measured.
  public internal(set) var measured = 0
  /// Those whose budget holds video back, or may.
  public internal(set) var paced = 0
  /// Lines whose sound carries redundancy.
  public internal(set) var protected = 0
  /// Videos that are held back, since their receivers' lines do not carry them.
  public internal(set) var pausedSubscriptions = 0
  /// Measured lines by what they are estimated to carry.
  public internal(set) var byEstimate = [Int](repeating: 0, count: estimateBounds.count + 1)
  /// Measured lines by their round trips.
  public internal(set) var byRoundTrip = [Int](repeating: 0, count: roundTripBounds.count + 1)

  /// No line.
  public init() {}

  mutating func add(_ transport: inout Transport) {
    if transport.earlierPackets > 0 { protected += 1 }
    guard let target = transport.downlink?.estimator.target else { return }
    measured += 1
    if transport.line.isPaced { paced += 1 }
    Self.count(Int(target.kilobits), Self.estimateBounds, &byEstimate)
    Self.count(Int(transport.roundTrip.milliseconds), Self.roundTripBounds, &byRoundTrip)
  }

  private static func count(_ value: Int, _ bounds: [Int], _ counts: inout [Int]) {
    counts[bounds.firstIndex { value <= $0 } ?? bounds.count] += 1
  }
}

extension WorkerState {
  /// How receivers' lines are now. Looks at each of them.
  public var lines: LineReport {
    mutating get {
      var report = LineReport()
      ends.transports.forEach { _, transport in report.add(&transport) }
      forwarder.consumers.forEach { _, slot in if slot.isHeld { report.pausedSubscriptions += 1 } }
      return report
    }
  }
}
