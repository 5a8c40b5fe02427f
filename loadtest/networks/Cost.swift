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

  private let state: State
  private var estimator: BandwidthEstimator
  private var builder = TransportFeedbackBuilder()
  private var random = SplitMix64(seed: 1)
  private var now = Instant.zero + .seconds(1)

  init(_ state: State) {
    self.state = state
    var configuration = BandwidthEstimator.Configuration()
    configuration.wish = .megabits(2.5)
    configuration.start = .megabits(state == .relaxed ? 5 : 3)
    configuration.maximum = configuration.start
    estimator = BandwidthEstimator(configuration)
  }

  /// Sends so many packets, one each 4 ms (2.5 Mbit/s), and prints what they came to.
  mutating func run(packets: Int) {
    var relaxed = 0
    var bytes: [UInt8] = []
    for _ in 0..<packets {
      now += Self.interval
      let number = countedSend()
      if estimator.isRelaxed { relaxed += 1 }
      // Jitter of up to 2 ms, so that the trend has something to do.
      builder.record(number, at: now + .milliseconds(50) + .microseconds(Int(random.next() % 2_000)))
      bytes.removeAll(keepingCapacity: true)
      if builder.poll(at: now + .milliseconds(52), sender: 1, media: 2, into: &bytes) > 0 {
        Self.countedAnswer(bytes.span, &estimator, at: now)
      }
    }
    print("sent \(packets), relaxed at \(relaxed), target \(Int(estimator.target.kilobits)) kbit/s")
  }

  @inline(never)
  private mutating func countedSend() -> UInt16 {
    if now >= estimator.nextDeadline { estimator.poll(at: now) }
    _ = estimator.budget(at: now, waiting: Self.packet)
    return estimator.sent(Self.packet, .video, at: now)
  }

  @inline(never)
  private static func countedAnswer(_ bytes: Span<UInt8>, _ estimator: inout BandwidthEstimator, at now: Instant) {
    var reader = RTCPReader()
    while let packet = try? reader.next(bytes) {
      if case .transportFeedback(let feedback) = packet { estimator.feedback(feedback, bytes, at: now) }
    }
  }
}
