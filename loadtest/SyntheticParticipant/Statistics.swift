// What a participant has seen and sent, as values that a test or a report reads.

import Basics
import RoostProtocol

/// A participant's counts at one moment.
public struct ParticipantStatistics: Sendable {
  /// The publish connection.
  public var publish = ConnectionStatistics()
  /// The subscribe connection.
  public var subscribe = ConnectionStatistics()
  /// What is sent, one entry an encoding.
  public var sent: [SendStatistics] = []
  /// What is received, one entry a subscription, ended ones included.
  public var received: [ReceiveStatistics] = []
  /// One-way delay of sound, first transmissions only.
  public var audioLatency = LatencyHistogram()
  /// One-way delay of pictures, first transmissions only.
  public var videoLatency = LatencyHistogram()

  /// Nothing yet.
  public init() {}
}

/// Sums over all connections of a driver, cheap enough to ask for every second. Streams of other clients, whose packets carry
/// no stamps, are in none of those about media.
public struct DriverTotals: Sendable {
  /// Datagrams taken from sockets.
  public var datagramsReceived: UInt64 = 0
  /// Datagrams given to sockets.
  public var datagramsSent: UInt64 = 0
  /// Media packets sent for the first time.
  public var mediaSent: UInt64 = 0
  /// Media packets received, each counted once.
  public var mediaReceived: UInt64 = 0
  /// Of these, packets that came only because they were asked for.
  public var repaired: UInt64 = 0
  /// Media packets that should have been received so far.
  public var expected: UInt64 = 0
  /// Packets given up.
  public var lost: UInt64 = 0
  /// Subscriptions of which something has come.
  public var streamsSeen = 0
  /// How much later than planned frames were sent.
  public var lateness = LatencyHistogram()
  /// How long datagrams waited at least until their thread came to read them, other sockets having been first.
  public var readDelay = LatencyHistogram()
  /// One-way delays of first transmissions, sound and pictures.
  public var latency = LatencyHistogram()
  /// CPU time of each thread.
  public var threadTimes: [TimeDelta] = []

  /// Nothing yet.
  public init() {}

  mutating func add(_ other: DriverTotals) {
    datagramsReceived += other.datagramsReceived
    datagramsSent += other.datagramsSent
    mediaSent += other.mediaSent
    mediaReceived += other.mediaReceived
    repaired += other.repaired
    expected += other.expected
    lost += other.lost
    streamsSeen += other.streamsSeen
    lateness.merge(other.lateness)
    readDelay.merge(other.readDelay)
    latency.merge(other.latency)
    threadTimes += other.threadTimes
  }
}

/// One transport's counts.
public struct ConnectionStatistics: Sendable, Hashable {
  /// Where it stands.
  public var state = ConnectionState.idle
  /// When keys were there; nil before.
  public var connectedAt: Instant?
  /// Consent checks that the server has answered.
  public var consents: UInt64 = 0
  /// Datagrams taken from the socket.
  public var datagramsReceived: UInt64 = 0
  /// Datagrams given to the socket.
  public var datagramsSent: UInt64 = 0
  /// Datagrams that the socket would not take, or that the participant's own bad network lost.
  public var datagramsNotSent: UInt64 = 0
  /// SRTP and SRTCP that libsrtp2 would not open: forged, replayed or wrongly sealed.
  public var unopened: UInt64 = 0
  /// Opened packets of an SSRC that no offer declared.
  public var unknownSSRC: UInt64 = 0
  /// Media packets that came before there were keys.
  public var early: UInt64 = 0
  /// Transport-wide feedback packets received.
  public var transportFeedback: UInt64 = 0
  /// Generic NACK packets received.
  public var nacks: UInt64 = 0
  /// Keyframe requests received, PLI and FIR.
  public var keyframeRequests: UInt64 = 0
  /// What the participant says that its line carries, in bits per second; nil where it says nothing.
  public var ownEstimate: Double?

  /// Nothing yet.
  public init() {}
}

/// Where a transport stands.
public enum ConnectionState: Sendable, Hashable {
  /// Not started.
  case idle
  /// ICE looks for a path.
  case checking
  /// DTLS is at work.
  case handshaking
  /// Media may flow.
  case connected
  /// Over, for this reason.
  case failed(String)
}

/// One encoding that is sent.
public struct SendStatistics: Sendable, Hashable {
  /// The track's label.
  public var label: String
  /// The track, once the server has named it.
  public var trackId: String?
  /// Audio or video.
  public var kind: TrackKind
  /// The layer's name.
  public var rid: String?
  /// Its SSRC.
  public var ssrc: UInt32
  /// Packets sent for the first time.
  public var packets: UInt64 = 0
  /// Payload bytes of these.
  public var bytes: UInt64 = 0
  /// Packets sent again.
  public var retransmissions: UInt64 = 0
  /// Packets asked for that are no longer known.
  public var unanswered: UInt64 = 0
  /// Frames sent.
  public var frames: UInt64 = 0
  /// Keyframes among them.
  public var keyframes: UInt64 = 0
}

/// One subscription.
public struct ReceiveStatistics: Sendable, Hashable {
  /// The subscription.
  public var subscriptionId: String
  /// The track it carries.
  public var trackId: String
  /// Who publishes it.
  public var participantId: String
  /// The user behind that, once the room's state has said it.
  public var user: String?
  /// Audio or video.
  public var kind: TrackKind
  /// The SSRC on the wire.
  public var ssrc: UInt32
  /// Whether the last offer still has it.
  public var isActive = true

  /// Media packets, each counted once, however it came.
  public var packets: UInt64 = 0
  /// Packets that were counted by their headers and not opened.
  public var glanced: UInt64 = 0
  /// Payload bytes of these.
  public var bytes: UInt64 = 0
  /// Packets that should have come, by the senders' own count: from the first one that came to the latest, without what
  /// was sent during a mute or in layers that were not shown. A server that renumbers cannot hide a loss from it.
  public var expected: UInt64 = 0
  /// The sender's count in the latest stamp.
  public var lastOrdinal: UInt32 = 0
  /// Packets that came only because they were asked for.
  public var repaired: UInt64 = 0
  /// Packets that came behind a later one, without having been asked for.
  public var reordered: UInt64 = 0
  /// Packets that came twice without having been asked for.
  public var duplicates: UInt64 = 0
  /// Packets that were asked for and came although the original came too.
  public var spurious: UInt64 = 0
  /// Packets given up.
  public var lost: UInt64 = 0
  /// Packets missing now, not yet given up.
  public var missing = 0
  /// Packets without a stamp: another kind of client's.
  public var unstamped: UInt64 = 0
  /// Packets whose stamp names another track than signalling does.
  public var wrongStream: UInt64 = 0
  /// The track that the latest stamp names (`PayloadStamp.identity`): what is shown, whatever signalling says.
  public var shownIdentity: UInt64?
  /// Packets that are not as long as they were made.
  public var damaged: UInt64 = 0
  /// Time stamps that went back, or stood still between two frames.
  public var timestampErrors: UInt64 = 0
  /// Frames that are missing although the sequence numbers show no gap, outside a mute.
  public var unmarkedGaps: UInt64 = 0
  /// Gaps of frames as a mute or a change of layer makes them: video goes on with a keyframe.
  public var resumptions: UInt64 = 0
  /// Whole frames.
  public var frames: UInt64 = 0
  /// Whole keyframes among them.
  public var keyframes: UInt64 = 0
  /// Pictures that came so late that a viewer sees a freeze: after three times the usual interval, and 150 ms more than it.
  public var freezes: UInt64 = 0
  /// What was found in decoded frames, where somebody looks at them.
  public var inspection = InspectorFindings()
  /// Frames with packets missing that the sequence numbers do account for.
  public var brokenFrames: UInt64 = 0
  /// Frames with packets missing, or mixed up, that the sequence numbers do not account for.
  public var malformedFrames: UInt64 = 0
  /// Whether the first packet did not start a keyframe; for video only.
  public var startedWithoutKeyframe = false
  /// NACK packets sent.
  public var nacksSent: UInt64 = 0
  /// Picture loss indications sent.
  public var keyframeRequestsSent: UInt64 = 0
  /// Sender reports received.
  public var senderReports: UInt64 = 0
  /// The stamp's frame number of the latest whole frame.
  public var lastFrame: UInt32?
  /// The simulcast layer of the latest frame.
  public var layer: UInt8 = 0
  /// When the first packet came.
  public var firstPacketAt: Instant?
  /// When the first whole frame was there.
  public var firstFrameAt: Instant?
  /// The longest time between two media packets.
  public var longestGap = TimeDelta.zero
  /// When the latest media packet came.
  public var lastPacketAt: Instant?

  /// A subscription of which nothing has come.
  public init(
    subscriptionId: String, trackId: String, participantId: String, user: String?, kind: TrackKind, ssrc: UInt32
  ) {
    self.subscriptionId = subscriptionId
    self.trackId = trackId
    self.participantId = participantId
    self.user = user
    self.kind = kind
    self.ssrc = ssrc
  }

  /// Whether nothing is wrong with the stream: right identity, no gap, no repetition, whole frames.
  public var isClean: Bool {
    lost == 0 && missing == 0 && duplicates == 0 && wrongStream == 0 && damaged == 0 && timestampErrors == 0
      && unmarkedGaps == 0 && malformedFrames == 0 && brokenFrames == 0 && !startedWithoutKeyframe
  }
}
