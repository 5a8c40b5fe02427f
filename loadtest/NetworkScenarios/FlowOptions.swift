// What a flow of a scenario is like.

import Basics
import Congestion
import NetworkEmulator

/// What a sender has to send.
public enum Source: Sendable {
  /// As much as the estimator says, up to a limit that changes over time.
  case elastic(limit: Schedule<BitRate>)
  /// So much, whatever the estimator says.
  case fixed(Schedule<BitRate>)
  /// The highest of these rates that fits into the estimate, the lowest in any case.
  case layers([BitRate])
  /// A video in layers, as a server sends it: with allocation, keyframes and repeats.
  case simulcast(SimulcastOptions)
}

/// What may happen to feedback on its way, besides what the line does.
public struct FeedbackFaults: Sendable {
  /// Nothing comes through between these times, in seconds.
  public var gone: Range<Double>?
  /// Each so many-th packet comes a second time.
  public var repeatEvery: Int?
  /// Each so many-th packet comes a second time, and minutes late.
  public var lateEvery: Int?
  /// How late, in seconds.
  public var lateBy = 70.0
  /// The receiver's clock runs fast by this share.
  public var drift = 0.0
  /// At this time in seconds the receiver's clock jumps by so many seconds.
  public var jumps: [(at: Double, by: Double)] = []

  /// None.
  public init() {}
}

/// One sender and its receiver.
public struct FlowOptions: Sendable {
  /// Index of the line that carries its packets.
  public var forward = 0
  /// As `forward`, for feedback.
  public var backward = 1
  /// When it begins, in seconds.
  public var start = 0.0
  /// Sends nothing between these times.
  public var pause: Range<Double>?
  /// What it has to send.
  public var source = Source.elastic(limit: Schedule(.unlimited))
  /// Audio of 32 kbit/s beside the video.
  public var hasAudio = true
  /// How its estimator begins.
  public var estimator = BandwidthEstimator.Configuration()
  /// Added to the delay of each way, in milliseconds.
  public var extraDelay = 0.0
  /// What a receiver of simulcast video takes for its round trip, in milliseconds: it asks again after this long.
  public var roundTrip = 120.0
  /// Share of the publisher's packets that never reach the server.
  public var upstreamLoss = 0.0
  /// What happens to its feedback.
  public var faults = FeedbackFaults()

  /// An elastic flow from the start.
  public init() {
    estimator.wish = .megabits(20)
  }
}
