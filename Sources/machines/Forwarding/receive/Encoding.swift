// One received encoding of a track: an ordinary track has one, a simulcast track one a layer. It keeps what the server
// needs toward the publisher: loss, reports, keyframe requests, and the cache that receivers are served from.

import Basics
import RTP

/// Receiving state of one encoding. Owned by one worker.
public struct Encoding: ~Copyable {
  /// The media SSRC, once known from SDP or from a packet's RID or MID.
  public var ssrc: UInt32?
  /// The SSRC of its retransmissions, once known.
  public var rtxSSRC: UInt32?
  /// The simulcast layer's restriction identifier.
  public let rid: String?
  /// Position among the encodings of its track, the lowest first, as far as that is known.
  public var index: Int
  /// Of its pictures, as its newest keyframe says it; nil where that is not known.
  public private(set) var size: PictureSize?
  /// Ticks of the media clock a second.
  public let clockRate: UInt32
  /// The newest packets.
  public var cache: PacketCache
  /// What is missing.
  public var nacks = NackTracker()
  /// Requests to the publisher for a keyframe.
  public var keyframes = KeyframeThrottle()
  /// When the newest keyframe came.
  public internal(set) var keyframeAt = Instant(nanoseconds: .min / 64)
  /// Where the newest keyframe begins.
  var keyframe: NewestKeyframe?
  /// Loss and jitter for receiver reports.
  public var statistics = ReceptionStatistics()
  /// Bytes a second lately: decides which layer is the highest.
  public var rate = RateMeter()
  /// The same for each of its temporal and spatial layers.
  public var layerRates = LayerRates()
  /// The publisher's newest sender report.
  public private(set) var senderReport: SenderReport?
  private var unwrapper = SequenceUnwrapper()
  /// What the publisher's dependency descriptors refer to; nil before the first that says it.
  private var structure: DependencyStructure?
  /// The number of the packet that brought it.
  private var structureSequence = Int64.min
  private var frames = FrameNumbers()
  private var pictures = FrameNumbers(bits: 15)
  private var time = StreamTime()
  /// Added to unwrapped numbers, so that those of one SSRC never meet those of the one before.
  private var base: Int64 = 0
  private var restored = RestoredNumbers()
  /// Parameter sets of H264 that have come, and where they were put in.
  var parameterSets = ParameterSets()
  /// Those that the session description has brought.
  var describedSets = ParameterSets()
  var picture: SetPicture?
  var inserted = InsertedNumbers()
  var lastInsertion = Instant(nanoseconds: .min / 64)
  /// When the newest packet of the media SSRC came.
  private var lastArrival: Instant?
  /// Whether packets have come, and the publisher has not said since that there will be no more.
  public var isFlowing: Bool { lastArrival != nil }
  /// Whether the publisher answers requests for missing packets.
  public let wantsNacks: Bool

  /// A publisher's clock pair (RFC 3550 §6.4.1).
  public struct SenderReport: Sendable {
    /// NTP time, 32.32 fixed point.
    public var ntp: UInt64
    /// The RTP time stamp at that time, as those of packets are kept.
    public var rtp: UInt32
    /// When the report came in.
    public var arrival: Instant
  }

  /// An encoding that has received nothing. Video gets a cache of about two seconds at 1.2 Mbit/s; raise it and
  /// retransmissions reach further back at the cost of memory per track.
  public init(parameters: EncodingParameters, index: Int, kind: MediaKind, clockRate: UInt32, nack: Bool) {
    ssrc = parameters.ssrc
    rtxSSRC = parameters.rtxSSRC
    rid = parameters.rid
    self.index = index
    self.clockRate = clockRate
    wantsNacks = nack
    cache =
      switch kind {
      case .video: PacketCache(byteCapacity: 320 * 1024, packetCapacity: PacketCache.mostPackets)
      case .audio: PacketCache(byteCapacity: 16 * 1024, packetCapacity: 64)
      }
  }

  /// How an arriving packet stands to what came before.
  public enum Acceptance: Sendable, Equatable {
    /// New, with its unwrapped sequence number; `needsKeyframe` when too much was lost before it.
    case new(Int64, needsKeyframe: Bool)
    /// Known already.
    case duplicate
    /// With its unwrapped number: it is here after all, and was restored from a later packet meanwhile.
    case restored(Int64)
  }

  /// How far behind the newest a packet may come that is not asked for.
  static let reorderingWindow: Int64 = 64
  /// Silence of an SSRC after which another one may take its place; two that send at once must not take turns.
  public static let takeOverSilence = TimeDelta.milliseconds(200)

  /// The newest number accepted; −1 before the first. Mutating, though nothing changes: to borrow all of this, the compiler
  /// (6.3) copies it.
  public var newest: Int64 {
    mutating get { unwrapper.newest.map { $0 + base + inserted.count } ?? -1 }
  }

  /// The same number, for callers that only borrow the encoding. The compiler copies the encoding for it, so do not use it for each packet.
  var newestNumber: Int64 { unwrapper.newest.map { $0 + base + inserted.count } ?? -1 }

  /// Whether a packet with this media SSRC may go on for this encoding: where its own has been silent for so long.
  public func admits(ssrc new: UInt32, silent silence: TimeDelta, at now: Instant) -> Bool {
    guard let ssrc, ssrc != new, let lastArrival else { return true }
    return now - lastArrival >= silence
  }

  /// Whether a packet has come since.
  public func hasArrived(since: Instant) -> Bool { lastArrival.map { $0 >= since } ?? false }

  /// Whether any packet was taken of its SSRC.
  public var hasBegun: Bool { unwrapper.newest != nil }

  /// Its SSRC is another encoding's from now on.
  public mutating func moved(from old: UInt32) {
    guard ssrc == old else { return }
    ended()
  }

  /// The stream is sent under `new`. True when it was sent under another SSRC before: then numbers and clock are new too.
  public mutating func follow(ssrc new: UInt32) -> Bool {
    defer { ssrc = new }
    guard ssrc != new else { return false }
    // Of a stream that was not there, or is there no more, nothing could be asked for.
    keyframes.began()
    guard unwrapper.newest != nil else { return false }
    base = ((newest >> 16) + 2) << 16
    (inserted, picture) = (InsertedNumbers(), nil)
    parameterSets = describedSets
    unwrapper = SequenceUnwrapper()
    nacks = nacks.restarted()
    keyframe = nil
    (structure, structureSequence) = (nil, .min)
    frames.restart()
    pictures.restart()
    time.restart()
    statistics = ReceptionStatistics()
    senderReport = nil
    size = nil
    return true
  }

  /// Notes the arrival of a media packet, or of one restored from RTX. Inlined: for each packet that comes, a call is felt.
  @inline(__always)
  public mutating func accept(sequence: UInt16, isRetransmission: Bool, at now: Instant) -> Acceptance {
    let unwrapped = unwrapper.unwrap(sequence) + base
    lastArrival = now
    switch nacks.received(unwrapped, isAnswer: isRetransmission, at: now) {
    case .inOrder: return .new(unwrapped, needsKeyframe: false)
    case .gap:
      // Nobody is asked for it, but it may only be late.
      if !wantsNacks { nacks.forget(before: unwrapped - Self.reorderingWindow) }
      return .new(unwrapped, needsKeyframe: false)
    case .recovered: return .new(unwrapped, needsKeyframe: false)
    case .tooManyMissing: return .new(unwrapped, needsKeyframe: true)
    case .old: return restored.take(unwrapped) ? .restored(unwrapped) : .duplicate
    }
  }

  /// The number under which a packet is kept: behind those that were put before it. Nil for one that is too late for any.
  @inline(__always)
  public func kept(_ unwrapped: Int64) -> Int64? { inserted.kept(unwrapped) }

  /// A packet under the media SSRC came and was dropped unread, since its publisher sends too much: it is not asked for.
  public mutating func dropped(sequence: UInt16) { if wantsNacks { nacks.drop(sequence) } }

  /// Whether a packet is missing whose sound stands in a later one: from now on it counts as come. To its publisher it is lost until it
  /// comes itself.
  public mutating func restore(_ number: Int64, at now: Instant) -> Bool {
    guard nacks.received(number, isAnswer: false, at: now) == .recovered else { return false }
    restored.note(number)
    return true
  }

  /// Gives a new packet the time stamp and, of VP8 or VP9, the picture identifier that it is kept with. Identifiers of 7 bits stay as they
  /// are, since each lies near every other. False where one of the two fits to no other packet's: it is of no use.
  @inline(never)
  public mutating func place(_ packet: inout StoredPacket) -> Bool {
    let begins = packet.info.startsKeyframe
    if let said = packet.info.pictureID, said.isLong {
      guard let kept = pictures.take(said.value, begins: begins) else { return false }
      if kept != said.value { packet.info.renumber(kept) }
    }
    let kept = time.take(
      packet.timestamp, of: packet.sequence, begins: begins, clockRate: clockRate, at: packet.arrival)
    guard let kept else { return false }
    packet.timestamp = kept
    return true
  }

  /// Takes what the dependency descriptor of an AV1 packet says into its facts, as far as it can be read: what names a structure that is
  /// still missing is passed on all the same. False for a descriptor whose frame number fits to nothing: the packet is of no use.
  public mutating func describe(_ packet: inout StoredPacket, _ descriptor: Span<UInt8>) -> Bool {
    guard (3...PacketCache.longestDescriptor).contains(descriptor.count) else { return true }
    guard let number = frames.take(descriptor.uint16(at: 1), begins: packet.info.startsKeyframe) else { return false }
    packet.setDescriptor(length: UInt8(descriptor.count), frameNumber: number)
    guard let found = DependencyDescriptor.parse(descriptor, known: structure) else { return true }
    if let new = found.structure, packet.sequence > structureSequence {
      (structure, structureSequence) = (new, packet.sequence)
      if let size = new.size { self.size = size }
    }
    packet.info.take(found)
    return true
  }

  /// Takes from a packet in the cache that begins a keyframe how large its pictures are.
  @inline(never)
  public mutating func learnSize(from packet: StoredPacket) {
    guard let place = cache.place(of: packet.sequence) else { return }
    if let found = cache.withPayload(at: place, { PictureSize.parse($0, codec: packet.codec) }) { size = found }
  }

  /// The publisher says that this SSRC has ended (BYE). What is missing of it never comes, nobody can be asked for a
  /// keyframe, and another SSRC may take its place at once; should it go on after all, it goes on.
  public mutating func ended() {
    keyframes = KeyframeThrottle()
    nacks.forget(before: .max)
    rate = RateMeter()
    layerRates = LayerRates()
    lastArrival = nil
  }

  /// Takes in the publisher's sender report.
  public mutating func handle(senderReport ntp: UInt64, rtp: UInt32, at now: Instant) {
    senderReport = SenderReport(ntp: ntp, rtp: time.kept(rtp), arrival: now)
    statistics.senderReport(middleNTP: UInt32(truncatingIfNeeded: ntp >> 16), at: now)
  }

  /// A publisher that has sent no report for so long sends none.
  static let reportPatience = TimeDelta.seconds(3)

  /// The time stamp of now, as those of packets are kept, where the publisher sends no reports: by its packets that came earliest. Nil
  /// where it does, or may still.
  public mutating func timestampWithoutReports(at now: Instant) -> UInt32? {
    guard senderReport == nil else { return nil }
    return statistics.timestamp(after: Self.reportPatience, clockRate: clockRate, at: now).map { time.kept($0) }
  }

  /// What to subtract from this encoding's time stamps to get those of a clock common to all layers of the
  /// track; nil before the first sender report.
  public var timestampAlignment: UInt32? {
    guard let report = senderReport else { return nil }
    let seconds = report.ntp >> 32
    let fraction = ((report.ntp & 0xffff_ffff) &* UInt64(clockRate)) >> 32
    let ticks = seconds &* UInt64(clockRate) &+ fraction
    return report.rtp &- UInt32(truncatingIfNeeded: ticks)
  }

  /// When this encoding has something to say to its publisher. Mutating for the same reason.
  public var nextDeadline: Instant {
    mutating get { min(wantsNacks ? nacks.nextDeadline : .distantFuture, keyframes.nextDeadline) }
  }
}

/// Bytes a second over the last full window.
public struct RateMeter: Sendable {
  static let window = TimeDelta.milliseconds(500)
  private var start: Instant?
  private var bytes: Int64 = 0
  private var last: Int64 = 0
  /// The window before the newest full one; 0 when nothing is known of it.
  private var before: Int64 = 0

  /// Nothing counted.
  public init() {}

  /// Counts `count` bytes that came at `now`.
  public mutating func add(_ count: Int, at now: Instant) {
    roll(to: now)
    bytes += Int64(count)
  }

  /// Bytes a second in the newest full window; 0 when nothing has come for longer than two windows.
  public mutating func bytesPerSecond(at now: Instant) -> Int64 {
    roll(to: now)
    return last
  }

  /// The lower one of the two newest full windows, so that a single keyframe does not count; as `bytesPerSecond` where one is known.
  public mutating func steadyBytesPerSecond(at now: Instant) -> Int64 {
    roll(to: now)
    return before > 0 ? min(last, before) : last
  }

  private mutating func roll(to now: Instant) {
    guard let begun = start else {
      start = now
      return
    }
    let elapsed = now - begun
    if elapsed < Self.window { return }
    before = last
    last = elapsed > Self.window * 2 ? 0 : bytes * 1_000_000_000 / max(1, elapsed.nanoseconds)
    bytes = 0
    start = now
  }
}

extension PayloadInfo {
  @inline(never)
  fileprivate mutating func renumber(_ picture: UInt16) {
    pictureID?.value = picture
    dependencies?.number = picture
  }
}
