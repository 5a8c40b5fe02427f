// Everything one worker owns, and the way of a packet through it. Sans-IO: datagrams and the time come in, sealed
// datagrams go to a sink, and what the control plane should know collects in `events`.
//
//   receive ─▶ classify ─▶ transport ─▶ unprotect ─┐
//   Forwarder:  encoding (cache, loss) ─▶ each consumer decides ─┐
//   Egress:                                   send queue ─▶ flush ─▶ sink

import Basics
import Crypto
import Forwarding
import ICE
import RTP
import SRTP

/// A worker's state. Born and dead inside the worker's thread function.
public struct WorkerState: ~Copyable {
  /// What does not change while the worker lives.
  public struct Settings: Sendable {
    /// Silence after which a transport counts as lost.
    public var mediaTimeout: TimeDelta = .seconds(10)
    /// How long packets may wait for others to the same receiver.
    public var coalescing = CoalescingWindow()
    /// Time in which a transport should come up, counted from the peer's description or its first check; then it is told
    /// how far it got.
    public var connectTimeout: TimeDelta = .seconds(15)
    /// What a publisher may send for each of its tracks of video, in bits per second; more is dropped. nil: whatever it sends.
    public var videoBitsPerSecond: Int? = 5_000_000
    /// Authentic connectivity checks of a transport that are looked at in a second, on known paths and as many on new ones; nil: all.
    public var checksPerSecond: Int? = ICELiteAgent.checksPerSecond
    /// NTP time at the origin of the worker's clock: since 1900 (RFC 3550 §4). Receivers are told by it when something was captured, so
    /// all workers of a server have one.
    public var timeOrigin = TimeDelta.zero
    /// Addresses that peers may have, whatever their ports; none: any.
    public var sources: [SocketAddress] = []
    /// Which SRTP implementation seals and opens; nil takes the fastest for each profile.
    public var srtpBackend: SRTPBackend?

    /// The defaults of rooms.yaml.
    public init() {}

    /// Whether a peer may come from there.
    func admits(_ source: SocketAddress) -> Bool {
      sources.isEmpty || sources.contains { $0.high == source.high && $0.low == source.low }
    }
  }

  let settings: Settings
  let certificate: Certificate
  /// What packets come from and go to.
  var ends = Ends()
  var directory = Directory()
  /// What is published.
  var tracks = Tracks()
  /// Who is sent what.
  var forwarder = Forwarder()
  /// What is on its way out.
  var egress: Egress
  /// Deadlines of transports.
  var deadlines = DeadlineQueue<TransportID>(minimumCapacity: 512)
  var random: SplitMix64
  /// What is counted here and not by the forwarder or the egress.
  var counted = WorkerCounters()
  /// What is given to all who decide, and what they have said.
  var turn = Turn()
  var rtcp = RTCPWriter()
  var quality = QualityProbe()
  var failedChecks = FailedChecks()

  /// A worker without rooms. `seed` starts the numbering of its streams; it is no secret.
  public init(certificate: Certificate, settings: Settings = Settings(), seed: UInt64) {
    self.settings = settings
    self.certificate = certificate
    egress = Egress(settings.coalescing)
    random = SplitMix64(seed: seed)
  }

  /// Traffic and drops since the start.
  public var counters: WorkerCounters {
    var total = counted
    total.transports = ends.transports.count
    total.producers = tracks.producers.count
    total.consumers = forwarder.consumers.count
    turn.add(to: &total)
    egress.counters.add(to: &total)
    return total
  }

  /// Sends what is due: datagrams of STUN, DTLS and RTCP first, and with the same system calls media, receiver by receiver. `now` is
  /// when the turn began.
  public mutating func flush<Sink: DatagramSink & ~Copyable>(at now: Instant, into sink: inout Sink) {
    begin(at: now)
    egress.flush(&tracks, &forwarder, &ends, into: &sink, &turn)
    followWishes()
  }
}
