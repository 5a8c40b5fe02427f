// A competing flow: a TCP sender with CUBIC (RFC 9438) that always has something to send. Only what matters beside others is there:
// slow start, the cubic window, one fall for each round of loss, and a retransmission time-out.

import Basics

/// The sender's side. Acknowledgements come in; segments go out while the window allows it.
public struct CubicFlow: Sendable {
  static let factor = 0.4
  static let decrease = 0.7
  static let firstWindow = 10.0
  static let leastTimeout = TimeDelta.milliseconds(300)
  /// Bytes of a segment on the wire.
  public static let segment = 1_500

  private var window = firstWindow
  private var threshold = Double.infinity
  private var windowAtLoss = 0.0
  private var epoch: Instant?
  private var next = 0
  private var acknowledged = 0
  private var roundTrip = TimeDelta.milliseconds(100)
  private var recoverAfter = 0
  private var lastProgress = Instant.zero
  private var underWay: [Int: Instant] = [:]

  /// A connection that was just made.
  public init() {}

  /// Segments that may leave now.
  public var allowance: Int { max(0, Int(window) - underWay.count) }
  /// When the time-out strikes.
  public var timeout: Instant {
    underWay.isEmpty ? .distantFuture : lastProgress + max(roundTrip * 3, Self.leastTimeout)
  }

  /// A segment leaves now; returns its number.
  public mutating func sent(at now: Instant) -> Int {
    if underWay.isEmpty { lastProgress = now }
    underWay[next] = now
    next += 1
    return next - 1
  }

  /// The segment `number` was acknowledged. Those sent three or more before it and still under way are lost.
  public mutating func acknowledge(_ number: Int, at now: Instant) {
    guard let sentAt = underWay.removeValue(forKey: number) else { return }
    lastProgress = now
    roundTrip = (roundTrip * 7 + (now - sentAt)) / 8
    acknowledged = max(acknowledged, number)
    let lost = underWay.keys.filter { $0 + 3 <= number }
    for segment in lost { underWay[segment] = nil }
    if let first = lost.min(), first >= recoverAfter { fall(at: now) } else { grow(at: now) }
  }

  /// Nothing was acknowledged for too long.
  public mutating func poll(at now: Instant) {
    guard now >= timeout else { return }
    underWay.removeAll()
    threshold = max(window / 2, 2)
    window = 1
    epoch = nil
    lastProgress = now
  }

  private mutating func fall(at now: Instant) {
    windowAtLoss = window
    window = max(window * Self.decrease, 2)
    threshold = window
    epoch = now
    recoverAfter = next
  }

  private mutating func grow(at now: Instant) {
    guard window >= threshold, let epoch else {
      window += 1
      if window >= threshold, self.epoch == nil { self.epoch = now }
      return
    }
    let k = cubeRoot(windowAtLoss * (1 - Self.decrease) / Self.factor)
    let t = (now - epoch).seconds + roundTrip.seconds - k
    let wished = Self.factor * t * t * t + windowAtLoss
    // Never slower than Reno would be (RFC 9438 §4.3).
    window += max((wished - window) / window, 0.5 / window)
  }

  /// Newton's method; the standard library has no cube root.
  private func cubeRoot(_ x: Double) -> Double {
    guard x > 0 else { return 0 }
    var root = max(x / 3, 1)
    for _ in 0..<40 { root -= (root * root * root - x) / (3 * root * root) }
    return root
  }
}
