// The delay side of the estimator, put together: groups, trend, overuse, and how long the queue is.
//
//   received packets ─▶ ArrivalGroups ─▶ Trendline ─▶ OveruseDetector ─▶ use
//                   └─▶ one-way delay above the least of the last 30 – 60 s ─▶ queueing
//   while relaxed: the least delay of each feedback ─▶ queueing

import Basics

/// Reads the state of the line from arrivals.
struct DelayEstimator {
  /// After this long without arrivals, on either clock, all starts anew.
  static let timeout = TimeDelta.seconds(2)
  /// A one-way delay that changes by this much at once is a jump of a clock.
  static let jump = TimeDelta.seconds(3)
  /// The least delay is looked for in this long a time, and the one before it. Longer: a clock that drifts looks like a queue.
  static let baseWindow = TimeDelta.seconds(30)
  /// While relaxed, a queue longer than this asks for the trend again …
  static let suspicious = TimeDelta.milliseconds(25)
  /// … and one longer than this, which still grows, is overuse without further proof until the trend is known.
  static let deep = TimeDelta.milliseconds(80)

  private var groups = ArrivalGroups()
  private var trend = Trendline()
  private var detector: OveruseDetector
  private var lastArrival: TimeDelta?
  private var lastDelay = TimeDelta.zero
  private var leastNow = TimeDelta(nanoseconds: .max)
  private var leastBefore = TimeDelta(nanoseconds: .max)
  private var leastSince = Instant.zero
  /// Set while somebody else fills the queue: the least delay of now says nothing of the empty line.
  var keepsBase = false
  /// Since it was relaxed the trend has not seen enough groups to say anything: the queue itself decides.
  private var isCold = false
  /// How much longer than the least the newest packets were under way.
  private(set) var queueing = TimeDelta.zero

  /// An estimator that has seen nothing; `adapts` as in `OveruseDetector`.
  init(adapts: Bool) { detector = OveruseDetector(adapts: adapts) }

  /// How the line is used.
  var use: LineUse { detector.use }
  /// The threshold of the trend, in milliseconds.
  var threshold: Double { detector.threshold }

  /// The trend is left alone from now on: its groups and points would be old when it is needed again.
  mutating func relax() {
    isCold = true
    groups.restart()
    trend.restart()
    detector.rest()
  }

  /// Takes what a feedback said, while relaxed. True when a clock jumped and all starts anew.
  mutating func watch(_ sum: ArrivalSummary) -> Bool {
    let restarts = needsRestart(sum.lastArrived, sum.leastDelay)
    if restarts { restart() }
    lastArrival = max(lastArrival ?? sum.lastArrived, sum.lastArrived)
    lastDelay = sum.leastDelay
    noteDelay(sum.leastDelay, at: sum.sentAt)
    return restarts
  }

  /// While relaxed: the queue is long enough to look at it closely.
  var isSuspicious: Bool { queueing > Self.suspicious }

  /// Call before the arrivals of a feedback, with the first of them. True when a clock jumped and all starts anew.
  mutating func begin(_ packet: ReceivedPacket) -> Bool {
    let restarts = needsRestart(packet.arrivedAt, Self.delay(packet))
    if restarts { restart() }
    return restarts
  }

  /// Takes one arrival, in order of departure.
  @inline(__always)
  mutating func add(_ packet: ReceivedPacket) {
    leastNow = min(leastNow, Self.delay(packet))
    guard let delta = groups.add(sentAt: packet.sentAt, arrivedAt: packet.arrivedAt) else { return }
    trend.add(delta)
    detector.update(slope: trend.slope, count: trend.count, sent: delta.sent, arrivedAt: delta.arrivedAt)
  }

  /// Call after the arrivals of a feedback, with the last of them.
  mutating func end(_ packet: ReceivedPacket) {
    lastArrival = max(lastArrival ?? packet.arrivedAt, packet.arrivedAt)
    lastDelay = Self.delay(packet)
    noteDelay(lastDelay, at: packet.sentAt)
    if trend.count >= Trendline.window { isCold = false }
  }

  /// The zero of the receiver's clock is unknown, so that only differences of this mean something.
  @inline(__always)
  private static func delay(_ packet: ReceivedPacket) -> TimeDelta {
    TimeDelta(nanoseconds: packet.arrivedAt.nanoseconds &- packet.sentAt.nanoseconds)
  }

  private func needsRestart(_ arrival: TimeDelta, _ delay: TimeDelta) -> Bool {
    guard let lastArrival else { return false }
    let step = TimeDelta(nanoseconds: delay.nanoseconds &- lastDelay.nanoseconds)
    return step > Self.jump || step < .zero - Self.jump || arrival - lastArrival > Self.timeout
  }

  private mutating func restart() {
    groups.restart()
    trend.restart()
    lastArrival = nil
    leastNow = TimeDelta(nanoseconds: .max)
    leastBefore = leastNow
  }

  private mutating func noteDelay(_ delay: TimeDelta, at now: Instant) {
    if now - leastSince > Self.baseWindow, !keepsBase {
      leastBefore = leastNow
      leastNow = delay
      leastSince = now
    }
    leastNow = min(leastNow, delay)
    let before = queueing
    queueing = delay - min(leastNow, leastBefore)
    if isCold, queueing > Self.deep, queueing > before { detector.alarm() }
  }
}
