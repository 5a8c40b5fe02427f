// A bad network, made by the participant itself: what it loses, it loses before its socket.

import Basics

/// How a participant's packets fare. Losses hit RTP and RTCP; a blackout hits everything.
public struct Impairments: Sendable, Hashable {
  /// Share of outgoing media packets that are lost, 0 … 1.
  public var sendLoss = 0.0
  /// Share of incoming media packets that are lost, 0 … 1.
  public var receiveLoss = 0.0
  /// How much longer an outgoing media packet may take: each between nothing and this, so that they overtake each other.
  public var jitter = TimeDelta.zero
  /// Nothing goes out and nothing comes in, ICE and DTLS included, while the sockets stay open.
  public var isBlackout = false
  /// How long the participant leaves its sockets alone after each look at them; zero reads at once. What comes
  /// meanwhile waits in the kernel's buffer, or is lost there.
  public var readPause = TimeDelta.zero

  /// A bottleneck with its queue, delay and loss, for all datagrams; nil for none.
  public var line: LineShape?

  /// A perfect network.
  public init() {}
}
