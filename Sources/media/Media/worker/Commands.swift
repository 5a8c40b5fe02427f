// What the control plane tells a worker, and what a worker tells back. Both are one-way values: keys are made by the
// control plane and never reused, so nothing waits for an answer.

import Basics
import Crypto
import Forwarding
import ICE
import RTP

/// Names a transport; made by the control plane.
public struct TransportKey: Hashable, Sendable {
  /// Unique for the life of the process.
  public let value: UInt64
  /// The key `value`.
  public init(_ value: UInt64) { self.value = value }
}

/// Names a producer (a published track).
public struct ProducerKey: Hashable, Sendable {
  /// Unique for the life of the process.
  public let value: UInt64
  /// The key `value`.
  public init(_ value: UInt64) { self.value = value }
}

/// Names a consumer (a subscription).
public struct ConsumerKey: Hashable, Sendable {
  /// Unique for the life of the process.
  public let value: UInt64
  /// The key `value`.
  public init(_ value: UInt64) { self.value = value }
}

/// Names a room on a worker.
public struct RoomKey: Hashable, Sendable {
  /// Unique for the life of the process.
  public let value: UInt64
  /// The key `value`.
  public init(_ value: UInt64) { self.value = value }
}

/// Whose a track is: one participant, whatever tracks and connections they have. Of several tracks of sound only one counts where room is
/// scarce.
public struct Publisher: Hashable, Sendable {
  /// Unique for the life of the process.
  public let key: UInt64
  /// By what receivers tell whose streams belong together (RFC 3550 §6.5.1).
  public let canonicalName: String
  /// The publisher of this key.
  public init(_ key: UInt64, canonicalName: String) { (self.key, self.canonicalName) = (key, canonicalName) }
}

/// What the peer's SDP says about its transport.
public struct RemoteTransport: Sendable, Equatable {
  /// The peer's ICE credentials.
  public var credentials: ICECredentials
  /// Digests of which the peer's certificate must match one of a hash function that we know.
  public var fingerprints: [CertificateFingerprint]
  /// Which end of the handshake the server is.
  public var role: DTLSRole
  /// Whether it may nominate paths that it does not mean to use (`ICELiteAgent.setRemote`).
  public var nominatesAll: Bool

  /// All of it.
  public init(
    credentials: ICECredentials, fingerprints: [CertificateFingerprint], role: DTLSRole, nominatesAll: Bool = false
  ) {
    self.credentials = credentials
    self.fingerprints = fingerprints
    self.role = role
    self.nominatesAll = nominatesAll
  }
}

/// Names a question of the control plane.
public struct QuestionKey: Hashable, Sendable {
  /// Unique for the life of the process.
  public let value: UInt64
  /// The key `value`.
  public init(_ value: UInt64) { self.value = value }
}

/// What the control plane tells a worker. A command that names something unknown is counted and ignored: it has
/// crossed with the thing's end.
public enum WorkerCommand: Sendable {
  /// A new transport of a seat in `room`, waiting for STUN checks to `credentials`. `loudest`: how many others everybody in the room
  /// hears at once; nil for all.
  case openTransport(TransportKey, room: RoomKey, credentials: ICECredentials, loudest: Int? = nil)
  /// A transport is of another room from now on, and its tracks with it. Its mirrors on
  /// other workers stay where they are. `loudest` as with `openTransport`.
  case moveTransport(TransportKey, room: RoomKey, loudest: Int? = nil)
  /// The peer's side, from its offer or answer; again after an ICE restart.
  case setRemote(TransportKey, RemoteTransport)
  /// New local credentials (RFC 8445 §9); the old ones go on until the peer uses the new ones.
  case restartICE(TransportKey, credentials: ICECredentials)
  /// Has `WorkerEvent.silence` told of these transports together, once.
  case askSilence(QuestionKey, [TransportKey])
  /// Ends a transport with a DTLS close_notify, and all producers and consumers on it.
  case closeTransport(TransportKey)
  /// A track of `publisher` that arrives on a transport. `pausesLayers` says that they do what `WorkerEvent.producerLayers` tells.
  case addProducer(
    ProducerKey, transport: TransportKey, parameters: ReceiveParameters, publisher: Publisher,
    pausesLayers: Bool = false)
  /// New payload types or header extensions of a track that goes on.
  case updateProducer(ProducerKey, parameters: ReceiveParameters)
  /// Ends a track and all its consumers.
  case removeProducer(ProducerKey)
  /// Stops a track at the server or lets it go on with a keyframe.
  case setMuted(ProducerKey, Bool)
  /// A subscription to a producer on a transport of the same worker, or to nothing yet; `layer` as with `setLayer`, `priority` as
  /// with `setPriority`.
  case addConsumer(
    ConsumerKey, producer: ProducerKey?, transport: TransportKey, parameters: SendParameters, paused: Bool,
    layer: Int? = nil, priority: Int = 0)
  /// Which simulcast layer a subscription is to be sent, counted from 0 for the lowest; nil for the best that arrives. While
  /// that layer does not arrive, it is the next lower one, or else the next higher one.
  case setLayer(ConsumerKey, Int?)
  /// Which of a receiver's subscriptions matters more where not all fit: higher goes first.
  case setPriority(ConsumerKey, Int)
  /// What the subscriber agreed to in a later answer: other payload types or header extensions, the same SSRC.
  case updateConsumer(ConsumerKey, parameters: SendParameters)
  /// Ends a subscription.
  case removeConsumer(ConsumerKey)
  /// Stops a subscription or lets it go on.
  case setPaused(ConsumerKey, Bool)
  /// Exchanges the streams behind two consumers of one kind without touching either receiver.
  case swap(ConsumerKey, ConsumerKey)
  /// Begins to copy what comes of a track for `WorkerState.drainTaps(into:)`. It goes on until the tap is closed, and is silent where the
  /// track is muted or has ended. The track is one that a publisher sends to this worker: a mirror has no taps.
  case openTap(TapKey, ProducerKey)
  /// Ends a tap, with what waits for its sink.
  case closeTap(TapKey)
  /// One end of a pipe to another worker, where `WorkerState.drainPipe(_:into:)` finds what crosses.
  case openPipe(PipeKey)
  /// Ends a pipe, with all tracks that it brings.
  case closePipe(PipeKey)
  /// A track that another worker has is brought over a pipe to a room that has somebody in it, under the same key. `parameters` as there,
  /// with `nack`, and with eight encodings at most; what crosses says itself what it is. It ends with `removeProducer`.
  case addMirror(ProducerKey, pipe: PipeKey, room: RoomKey, parameters: ReceiveParameters, publisher: Publisher)
  /// A consumer is sent another producer of its kind from now on, or nothing: its stream goes on with a keyframe of the new one.
  /// `layer` as with `setLayer`, `priority` as with `setPriority`.
  case show(ConsumerKey, ProducerKey?, layer: Int? = nil, priority: Int = 0)
}

/// Why a transport is of no use.
public enum TransportFailure: Sendable, Hashable {
  /// The DTLS handshake failed; the text is for people.
  case handshake(String)
  /// The certificate is not the one that the SDP promised.
  case fingerprintMismatch
  /// The peer closed the DTLS association, or ended it by an alert when it was up.
  case closedByPeer
  /// It has not come up within the connect timeout, and this is how far it got. It may still.
  case tooSlow(TransportProgress)
}

/// How far a transport has come that is not up.
public enum TransportProgress: Sendable, Hashable {
  /// No authentic check has arrived.
  case unheard
  /// Checks have arrived, and none has nominated a path.
  case checked
  /// There is a path, and the DTLS handshake is not done.
  case nominated
  /// The handshake is done as far as can be: the peer's session description is missing.
  case undescribed
}

/// What a worker tells the control plane.
public enum WorkerEvent: Sendable {
  /// DTLS is done and the fingerprint is right: media can flow.
  case transportConnected(TransportKey)
  /// The transport will not come up, or has ended.
  case transportFailed(TransportKey, TransportFailure)
  /// No ICE consent for the media timeout (RFC 7675).
  case transportLost(TransportKey)
  /// Consent is back after `transportLost`.
  case transportRecovered(TransportKey)
  /// For how long nothing authentic has come on the transports that were asked about; nil where nothing ever has. No longer than it is
  /// so: what comes soon after something else is not noted (`Transport.isQuiet`).
  case silence(QuestionKey, TimeDelta?)
  /// The peer has sent packets of this stream for five seconds, and they find no track. Said once, until `streamsFound`.
  case streamStrays(TransportKey, StrayStreamReport)
  /// What was sent in vain has found its track.
  case streamsFound(TransportKey)
  /// The first packet of a producer went out to a subscription, for video the start of a keyframe; `timestamp` is its RTP time stamp as
  /// it was sent. Comes again when the subscription is sent another producer.
  case consumerStarted(ConsumerKey, ProducerKey, timestamp: UInt32)
  /// The subscription is now sent another simulcast layer, counted from 0 for the lowest; or what it is sent has turned out to be
  /// another. `encoding` is its place in SDP.
  case consumerLayer(ConsumerKey, layer: Int, encoding: Int)
  /// The subscription is held back, since the receiver's line does not carry it; or goes on.
  case consumerPaused(ConsumerKey, Bool)
  /// For the connect timeout nothing of this producer has come that the subscription could be sent, though it is neither muted nor held
  /// back; nil: it has come, or the producer is muted.
  case consumerMisses(ConsumerKey, ProducerKey, MissingMedia?)
  /// The peer sends more of this than it may, in bits per second of all its tracks together, and what is too much is dropped. Said once
  /// a minute.
  case transportExceeds(TransportKey, IntakeClass, bitsPerSecond: Int)
  /// Which simulcast layers of a track somebody needs, or soon may, counted from 0 for the lowest: its publisher is to send these.
  /// `encodings` are their places in SDP.
  case producerLayers(ProducerKey, active: [Int], encodings: [Int])
  /// How the connections of some rooms did in the last two seconds.
  case quality([TransportQuality])
  /// The share of a CPU that the worker of this number used in the last second.
  case load(worker: Int, percent: Double)
  /// Who speaks in a room, loudest first, each publisher once.
  case activeSpeakers(RoomKey, [ActiveSpeakers.Speaker])
}
