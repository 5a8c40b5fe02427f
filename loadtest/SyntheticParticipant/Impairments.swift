// A bad network, made by the participant itself: what it loses, it loses before its socket.

import Basics

/// How a participant's packets fare. Losses hit RTP and RTCP; a blackout hits everything.
public struct Impairments: Sendable, Hashable {
  /// Share of outgoing media packets that are lost, 0 … 1.
  public var sendLoss = 0.0
  /// Share of incoming media packets that are lost, 0 … 1.
  public var receiveLoss = 0.0
  /// Nothing goes out and nothing comes in, ICE and DTLS included, while the sockets stay open.
  public var isBlackout = false
  /// How long the participant leaves its sockets alone after each look at them; zero reads at once. What comes
  /// meanwhile waits in the kernel's buffer, or is lost there.
  public var readPause = TimeDelta.zero

  /// A perfect network.
  public init() {}
}

/// A coin with a seed.
struct LossyLink {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  /// True for about `ratio` of the calls.
  mutating func loses(_ ratio: Double) -> Bool {
    guard ratio > 0 else { return false }
    return Double(next() >> 11) / Double(1 << 53) < ratio
  }

  /// SplitMix64.
  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var z = state
    z = (z ^ z >> 30) &* 0xbf58_476d_1ce4_e5b9
    z = (z ^ z >> 27) &* 0x94d0_49bb_1331_11eb
    return z ^ z >> 31
  }
}

extension LossyLink: RandomNumberGenerator {}
