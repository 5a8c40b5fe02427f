// Everything one worker owns, and the way of a packet through it. Sans-IO: datagrams and the time come in, sealed
// datagrams go to a sink, and what the control plane should know collects in `events`.
//
//   receive ─▶ classify ─▶ transport ─▶ unprotect ─▶ encoding (cache, loss) ─▶ each consumer decides ─▶ send queue ─▶ flush

import Basics
import Crypto
import Forwarding
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
    /// The share of a CPU, in percent, above which the worker has no room for newcomers.
    public var fullAbove = LoadMeter.fullAbove
    /// Which SRTP implementation seals and opens; nil takes the fastest for each profile.
    public var srtpBackend: SRTPBackend?

    /// The defaults of rooms.yaml.
    public init() {}
  }

  let settings: Settings
  let certificate: Certificate
  var transports = SlotMap<Transport>(minimumCapacity: 64)
  var rooms = SlotMap<RoomSlot>(minimumCapacity: 16)
  var producers = SlotMap<ProducerSlot>(minimumCapacity: 64)
  var encodings = SlotMap<EncodingSlot>(minimumCapacity: 64)
  var consumers = SlotMap<ConsumerSlot>(minimumCapacity: 256)
  var directory = Directory()
  var queue = SendQueue()
  var segments = SegmentBuffer()
  var control = ControlQueue()
  var coalescing: Coalescing
  /// When the last turn began.
  var turned = Instant.zero
  var shares = RoomShares()
  var deadlines = DeadlineQueue<Deadline>()
  var random: SplitMix64
  /// Traffic and drops since the start.
  public internal(set) var counters = WorkerCounters()
  /// What the control plane has not been told yet.
  var events: [WorkerEvent] = []
  /// Scratch space for RTCP being built, and for the numbers of missing packets.
  var rtcp: [UInt8] = []
  var missing: [UInt16] = []

  /// A worker without rooms. `seed` starts the numbering of its streams; it is no secret.
  public init(certificate: Certificate, settings: Settings = Settings(), seed: UInt64) {
    self.settings = settings
    self.certificate = certificate
    coalescing = Coalescing(settings.coalescing)
    random = SplitMix64(seed: seed)
    rtcp.reserveCapacity(2_048)
    missing.reserveCapacity(256)
  }

  /// Takes what has happened since the last call.
  public mutating func takeEvents() -> [WorkerEvent] {
    if events.isEmpty { return [] }
    defer { events.removeAll(keepingCapacity: true) }
    return events
  }
}
