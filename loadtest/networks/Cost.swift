// What the estimator costs a packet, counted by valgrind: docs/congestion.md, "What it costs".

import Basics
import Congestion
import RTP

/// A sender and a receiver 50 ms away, in virtual time. Only the functions whose names begin with `counted` are to be counted.
struct EstimatorCost {
  /// What the estimator is made to think of the line.
  enum State: String, CaseIterable {
    /// The target is twice what is sent and wished.
    case relaxed
    /// The target is little above what is sent, and the pacer works.
    case paced
  }

  private static let packet = ByteCount(1_250)
  private static let interval = TimeDelta.milliseconds(4)

  private let burst: Int
  private var estimator: BandwidthEstimator
  private var builder = TransportFeedbackBuilder()
  private var random = SplitMix64(seed: 1)
  private var now = Instant.zero + .seconds(1)

  /// `burst` packets leave in each turn: 1 is a video of 2.5 Mbit/s, 4 are a room of 10 Mbit/s.
  init(_ state: State, burst: Int) {
    self.burst = max(burst, 1)
    let sent = BitRate(Self.packet, in: Self.interval) * Double(self.burst)
    var configuration = BandwidthEstimator.Configuration()
    configuration.wish = sent
    configuration.start = sent * (state == .relaxed ? 2 : 1.2)
    configuration.maximum = configuration.start
    estimator = BandwidthEstimator(configuration)
  }

  /// Sends so many packets, a burst each 4 ms, and prints what they came to.
  mutating func run(packets: Int) {
    var relaxed = 0
    var bytes: [UInt8] = []
    let turns = packets / burst
    for _ in 0..<turns {
      now += Self.interval
      let first = estimator.nextNumber
      countedTurn()
      if estimator.isRelaxed { relaxed += 1 }
      // Jitter of up to 2 ms, so that the trend has something to do. Packets of a burst arrive 300 µs apart.
      var arrival = now + .milliseconds(50) + .microseconds(Int(random.next() % 2_000))
      for index in 0..<burst {
        builder.record(first &+ UInt16(truncatingIfNeeded: index), at: arrival)
        arrival += .microseconds(300)
      }
      bytes.removeAll(keepingCapacity: true)
      if builder.poll(at: now + .milliseconds(54), sender: 1, media: 2, into: &bytes) > 0 {
        Self.countedAnswer(bytes.span, &estimator, at: now)
      }
    }
    print(
      "sent \(turns * burst), relaxed in \(relaxed) of \(turns) turns, target \(Int(estimator.target.kilobits)) kbit/s")
  }

  @inline(never)
  private mutating func countedTurn() {
    if now >= estimator.nextDeadline { estimator.poll(at: now) }
    for _ in 0..<burst {
      // A packet may overdraw the budget; here each of them does.
      _ = estimator.budget(at: now, waiting: Self.packet)
      _ = estimator.sent(Self.packet, .video, at: now)
    }
  }

  @inline(never)
  private static func countedAnswer(_ bytes: Span<UInt8>, _ estimator: inout BandwidthEstimator, at now: Instant) {
    var reader = RTCPReader()
    while let packet = try? reader.next(bytes) {
      if case .transportFeedback(let feedback) = packet { estimator.feedback(feedback, bytes, at: now) }
    }
  }
}
