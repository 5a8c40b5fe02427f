// One subscription's stream: whatever layer, mute or codec change happens upstream, its receiver sees one SSRC with
// sequence numbers and time stamps that only ever go on.
//
//   decide ─▶ paused? begins? ─▶ LayerGate: which layers ─▶ SequenceMap: under which number ─▶ Rewrite
//
// A stream that is sent whole goes straight from the first question to its number.

import Basics
import RTP

/// The forwarding state of one subscription. Plain values only, so that a decision is a few integer operations.
public struct Consumer: Sendable {
  // What each packet needs comes first and lies together.
  private var payloadTypes = InlineArray<16, UInt8>(repeating: 0xff)
  private var conditions: Conditions = .needsStart
  /// The simulcast layer that is to be sent as soon as it has a keyframe.
  public var target: Int8 = 0
  private var rtxSequence: UInt16
  /// Packets sent, for sender reports; wraps.
  public private(set) var packetsSent: UInt32 = 0
  /// Payload bytes sent, for sender reports; wraps.
  public private(set) var bytesSent: UInt32 = 0
  private var credit = Self.firstCredit
  /// The SSRC that its packets are sent under.
  public let ssrc: UInt32
  /// What the headers of its packets have in common.
  public private(set) var header: HeaderTemplate
  /// Begins with what each packet needs.
  private(set) var map: SequenceMap
  private var gate = LayerGate()
  /// What was agreed on with the subscriber.
  public private(set) var parameters: SendParameters
  private var rtxPayloadTypes = InlineArray<16, UInt8>(repeating: 0xff)
  /// Sender reports since the stream began, at most `earlyReports`.
  private var reports: UInt8 = 0
  /// Earlier packets that each packet of sound carries.
  private var redundancy = 0
  /// That of redundant sound; nil where it was not agreed on.
  private var redPayloadType: UInt8?

  /// What keeps a packet from the short way.
  private struct Conditions: OptionSet {
    let rawValue: UInt8
    /// The subscriber asked for a pause.
    static let paused = Conditions(rawValue: 1)
    /// What is sent next must begin a stream.
    static let needsStart = Conditions(rawValue: 2)
    /// Not all layers of the encoding are sent, or lately were not.
    static let thinned = Conditions(rawValue: 4)
    /// Packets come from the cache.
    static let replaying = Conditions(rawValue: 8)
    /// Earlier packets go along with each.
    static let redundant = Conditions(rawValue: 16)
    /// It is AV1: the numbers of its frames are noted.
    static let framed = Conditions(rawValue: 32)
  }

  /// Retransmissions that a receiver may ask for before it was sent anything worth it.
  static let firstCredit: Int32 = 64
  /// Every packet sent earns one retransmission, up to this many. It bounds what a receiver can make the server send by
  /// asking for the same again and again; raise it and a burst may be larger.
  static let mostCredit: Int32 = 512

  /// Packets left out that are passed on as a gap: as many as a cache holds. Beyond it nobody can fill it, and the stream begins anew.
  /// Raise it and a publisher that leaves numbers out may take a receiver who loses fewer packets past half of the sixteen bits: it would
  /// decrypt nothing of the stream any more, of later publishers either (RFC 3711 §3.3.1). Lower it and a publisher is not seen at all of
  /// which `PublisherBounds` cuts some hundreds of packets from each picture.
  static let widestGap = PacketCache.mostPackets
  /// How far a number lies behind the last at most.
  private static let widestStep = Int64(widestGap) + 1

  /// Numbers behind the newest from which on sealing takes one for used (RFC 3711 §3.3.2). Publishers' answers to NACKs come
  /// as late where a round trip takes long or the machine is busy.
  static let oldest: Int64 = 128

  /// Sender reports after which a receiver knows a stream's clock.
  static let earlyReports: UInt8 = 3

  /// A consumer that has sent nothing; `seed` gives the random start of its numbering (RFC 3550 §5.1).
  public init(parameters: SendParameters, seed: UInt64) {
    self.parameters = parameters
    ssrc = parameters.ssrc
    header = HeaderTemplate(mid: ExtensionTag(parameters.mid), ids: parameters.extensions)
    map = SequenceMap(last: Int64(seed & 0x7fff), timestamp: UInt32(truncatingIfNeeded: seed >> 16))
    // Both in the lower half: a receiver that misses the first packets before a wrap would guess the wrong rollover
    // counter, and open nothing of that stream any more (RFC 3711 §3.3.1).
    rtxSequence = UInt16(truncatingIfNeeded: seed >> 48) & 0x7fff
    take(parameters.payloads)
  }

  private mutating func take(_ payloads: [PayloadMapping]) {
    for index in payloadTypes.indices { (payloadTypes[index], rtxPayloadTypes[index]) = (0xff, 0xff) }
    for mapping in payloads {
      payloadTypes[Int(mapping.codec.rawValue)] = mapping.payloadType
      rtxPayloadTypes[Int(mapping.codec.rawValue)] = mapping.rtxPayloadType ?? 0xff
    }
    redPayloadType = payloads.first { $0.codec == .opus }?.redPayloadType
    setRedundancy(redundancy)
  }

  // MARK: what is wished

  /// Takes what the subscriber agreed to in a later answer. SSRC, numbers and clock go on; under other payload types the
  /// stream starts anew, at a keyframe, as a decoder does. False, and no change, for another SSRC: numbers of one must
  /// never go on under another.
  public mutating func update(_ new: SendParameters) -> Bool {
    guard new.ssrc == ssrc, new.kind == parameters.kind else { return false }
    if new.payloads != parameters.payloads {
      take(new.payloads)
      conditions.insert(.needsStart)
    }
    parameters = new
    header = HeaderTemplate(mid: ExtensionTag(new.mid), ids: new.extensions)
    return true
  }

  /// The subscriber asked for a pause.
  public var isPaused: Bool { conditions.contains(.paused) }

  /// The layer being sent; nil before the first packet.
  public var currentLayer: Int8? { map.currentLayer }

  /// Whether a keyframe of `target` is what this consumer waits for.
  public var awaitsKeyframe: Bool {
    guard parameters.kind == .video && !isPaused else { return false }
    return conditions.contains(.needsStart) || currentLayer != target || gate.awaitsKeyframe
  }

  /// Whether what is sent next must begin a stream.
  public var needsStart: Bool { conditions.contains(.needsStart) }

  /// Whether it is sent nothing of `target` yet, and would be with the next packet that begins a stream.
  public var awaitsBeginning: Bool {
    parameters.kind == .video && !isPaused && (conditions.contains(.needsStart) || currentLayer != target)
  }

  /// Whether a part of the encoding is left out, or was until now.
  public var isThinned: Bool { conditions.contains(.thinned) }

  /// Whether it goes on, and layers that it is to be sent as well can begin at a keyframe only.
  public var awaitsLayers: Bool {
    conditions.isDisjoint(with: [.needsStart, .paused]) && currentLayer == target && gate.awaitsKeyframe
  }

  /// Up to which spatial and temporal layer of the encoding is to be sent. Down at the next picture, up as soon as it can be
  /// decoded; `currentLimit` says how far that is.
  public var limit: LayerLimit {
    get { gate.target }
    set {
      gate.aim(at: newValue, picture: map.newestTimestamp)
      if gate.isThinning { conditions.insert(.thinned) }
    }
  }

  /// Up to which spatial and temporal layer of the encoding is sent now.
  public var currentLimit: LayerLimit { gate.current }

  /// How many earlier packets each packet of sound is to carry from now on; none where the subscriber does not take them.
  public mutating func setRedundancy(_ earlier: Int) {
    redundancy = min(max(earlier, 0), Redundancy.most)
    if redundancy > 0 && redPayloadType != nil {
      conditions.insert(.redundant)
    } else {
      conditions.remove(.redundant)
    }
  }

  /// Lets earlier packets go along with one that `decide` has asked it of, as many as there are and fit. Nothing from before the stream
  /// began, so nothing that was said into a mute or a pause. Returns the bytes of payload that are sent.
  public mutating func addRedundancy(
    to rewrite: inout Rewrite, of packet: StoredPacket, from cache: borrowing PacketCache
  ) -> UInt16 {
    let wanted = rewrite.changes.earlierPackets
    rewrite.changes.subtract(.redundancy(3))
    // A packet that comes late went along with those behind it.
    guard let redPayloadType, UInt16(truncatingIfNeeded: map.highest) == rewrite.sequence else { return packet.length }
    let plan = cache.redundancy(before: packet, since: map.segments[0].firstIn, most: wanted)
    guard plan.count > 0 else { return packet.length }
    rewrite.changes.insert(.redundancy(plan.count))
    rewrite.payloadType = redPayloadType
    bytesSent &+= UInt32(plan.length - packet.length)
    return plan.length
  }

  /// The payload type of a codec; 0xff where it was not agreed on.
  public func payloadType(of codec: CodecProfile) -> UInt8 { payloadTypes[Int(codec.rawValue)] }

  /// Stops or goes on at the subscriber's wish. Going on starts with a keyframe.
  public mutating func setPaused(_ paused: Bool) {
    if isPaused && !paused { conditions.insert(.needsStart) }
    if paused { conditions.insert(.paused) } else { conditions.remove(.paused) }
  }

  /// The producer's stream was interrupted (mute): what comes next starts anew, without a gap in the numbering.
  public mutating func interrupt() { conditions.insert(.needsStart) }

  /// Another producer's stream is to follow on this one's: nothing of the old numbering can be asked for again.
  public mutating func changeStream(target: Int8) {
    map.changeStream()
    self.target = target
    conditions.insert(.needsStart)
  }

  /// The layers of its producer have changed places: `places` has the new one of each. What is sent stays the same.
  public mutating func relabel(_ places: InlineArray<8, Int8>) {
    if places.indices.contains(Int(target)), places[Int(target)] >= 0 { target = places[Int(target)] }
    map.relabel(places)
  }

  /// Whether the receiver needs a sender report soon: of a stream that has just begun, or begun anew, it does not know how its clock
  /// stands to others.
  public var wantsReport: Bool { reports < Self.earlyReports }

  /// A sender report about the stream leaves.
  public mutating func countReport() { reports = min(reports + 1, Self.earlyReports) }

  /// The number of the newest packet; nil before the first.
  public var newestNumber: UInt16? { packetsSent == 0 ? nil : UInt16(truncatingIfNeeded: map.highest) }

  /// What was decided to be sent from outgoing number `sequence` on never leaves: the numbering goes on with `sequence`, and video at
  /// a keyframe. The caller must know that nothing with this number or a newer one has left, for no number may be sealed twice (RFC
  /// 3711 §9.1). So a packet that came late, and waits while newer ones have left, is not the one to name.
  ///
  /// `first` is the packet that waited under `sequence`, as the cache has it. With it picture identifiers go on without a gap.
  /// Without it they go on behind those withdrawn, which decoders take at a keyframe. `packets` and `bytes` (of payload) are what
  /// sender reports no longer count. Changes nothing, and says false, where `sequence` was never given out.
  @discardableResult
  public mutating func withdraw(
    _ sequence: UInt16, first: StoredPacket? = nil, packets: UInt32 = 0, bytes: UInt32 = 0
  ) -> Bool {
    guard map.withdraw(sequence, first: first) else { return false }
    conditions.insert(.needsStart)
    packetsSent &-= packets
    bytesSent &-= bytes
    credit = max(credit - Int32(clamping: packets), 0)
    return true
  }

  // MARK: deciding

  /// Decides about one packet of layer `layer`. `alignment` is `Encoding.timestampAlignment` of that layer.
  public mutating func decide(_ packet: StoredPacket, layer: Int8, alignment: UInt32?) -> Decision {
    let payloadType = payloadTypes[Int(packet.codec.rawValue)]
    if !conditions.isEmpty || payloadType == 0xff || map.segments[0].layer != layer {
      return decideSpecially(packet, layer: layer, alignment: alignment, payloadType: payloadType)
    }
    return decideStraight(packet, layer: layer, alignment: alignment, payloadType: payloadType, isReplayed: false)
  }

  /// Where the stream is paused, begins, or is thinned.
  @inline(never)
  private mutating func decideSpecially(
    _ packet: StoredPacket, layer: Int8, alignment: UInt32?, payloadType: UInt8
  ) -> Decision {
    if isPaused { return .drop(.paused) }
    if payloadType == 0xff {
      // What is passed over must leave no hole in the numbering, nor anything to refer to.
      if currentLayer == layer { conditions.insert(.needsStart) }
      return .drop(.codecNotAccepted)
    }
    if conditions.contains(.needsStart) || map.segments[0].layer != layer {
      if let reason = start(packet, layer: layer, alignment: alignment) { return .drop(reason) }
    }
    if conditions.contains(.replaying) && !map.isReplayed(packet.sequence) { conditions.remove(.replaying) }
    let decision =
      conditions.contains(.thinned)
      ? decideThinned(packet, layer: layer, alignment: alignment, payloadType: payloadType)
      : decideStraight(
        packet, layer: layer, alignment: alignment, payloadType: payloadType,
        isReplayed: conditions.contains(.replaying))
    guard case .forward(var rewrite) = decision else { return decision }
    if conditions.contains(.framed) { map.noteFrame(packet, moved: rewrite.pictureIDDelta) }
    if conditions.contains(.redundant) { rewrite.changes.insert(.redundancy(redundancy)) }
    return .forward(rewrite)
  }

  /// Whether dependency descriptors may go along with its packets: where the numbers of frames are noted.
  public var sendsDescriptors: Bool { conditions.contains(.framed) }

  @inline(__always)
  private mutating func decideStraight(
    _ packet: StoredPacket, layer: Int8, alignment: UInt32?, payloadType: UInt8, isReplayed: Bool
  ) -> Decision {
    if packet.sequence < map.segments[0].firstIn { return .drop(.beforeStart) }
    map.note(alignment: alignment)
    let out = map.next(packet.sequence)
    if out - map.highest > Self.widestStep {
      return beginAnew(packet, layer: layer, alignment: alignment, payloadType: payloadType)
    }
    if map.highest - out >= Self.oldest { return .repair(rewriteAgain(packet, segment: 0)) }
    let timestamp =
      isReplayed ? map.timestamp(of: packet, segment: 0) : packet.timestamp &+ map.segments[0].timestampOffset
    return .forward(send(packet, to: out, timestamp: timestamp, payloadType: payloadType))
  }

  /// So much is missing before a packet that nobody waits for it.
  @inline(never)
  private mutating func beginAnew(
    _ packet: StoredPacket, layer: Int8, alignment: UInt32?, payloadType: UInt8
  ) -> Decision {
    conditions.insert(.needsStart)
    if let reason = start(packet, layer: layer, alignment: alignment) { return .drop(reason) }
    return decideSpecially(packet, layer: layer, alignment: alignment, payloadType: payloadType)
  }

  /// Begins the stream, or begins it anew, with a packet that may be its first; why not where it may not.
  @inline(never)
  private mutating func start(_ packet: StoredPacket, layer: Int8, alignment: UInt32?) -> DropReason? {
    guard layer == target else { return .otherLayer }
    if parameters.kind == .video && !packet.info.startsKeyframe { return .awaitingKeyframe }
    guard map.isUnsent(packet, layer: layer) else { return .beforeStart }
    map.begin(packet, layer: layer, alignment: alignment, clock: clock)
    started(with: packet)
    return nil
  }

  private mutating func started(with packet: StoredPacket) {
    conditions.subtract([.needsStart, .replaying])
    gate.restart(with: packet.info)
    if gate.isThinning { conditions.insert(.thinned) }
    if packet.codec == .av1 { conditions.insert(.framed) } else { conditions.remove(.framed) }
    reports = 0
  }

  /// Ticks of the media clock a millisecond.
  private var clock: Int64 { parameters.kind == .video ? 90 : 48 }

  /// Whether its stream may begin with packets from the cache: it waits for a keyframe and is sent no other layer meanwhile.
  public var mayReplay: Bool {
    parameters.kind == .video && conditions.contains(.needsStart) && !isPaused && map.mayReplay(target)
  }

  /// The stream begins with `first`, of a keyframe, and what follows it up to `newest`: `decide` is called with each of these packets
  /// next, in their order. Their time stamps lie close together and end at that of `newest`, so that the receiver shows them at once
  /// and stays behind nothing. False, and no change, where the stream cannot begin so.
  public mutating func beginReplay(
    from first: StoredPacket, to newest: StoredPacket, layer: Int8, alignment: UInt32?
  ) -> Bool {
    guard mayReplay, layer == target, first.info.startsKeyframe,
      payloadTypes[Int(first.codec.rawValue)] != 0xff, map.isUnsent(first, layer: layer),
      map.beginReplay(from: first, to: newest, layer: layer, alignment: alignment, clock: clock)
    else { return false }
    started(with: first)
    conditions.insert(.replaying)
    return true
  }

  /// Whether the stream of now began with this packet.
  public func began(with sequence: Int64) -> Bool { map.began(with: sequence) }

  @inline(__always)
  private mutating func send(
    _ packet: StoredPacket, to out: Int64, timestamp: UInt32, payloadType: UInt8
  ) -> Rewrite {
    let delta = map.segments[0].pictureIDDelta
    map.advance(packet, to: out, timestamp: timestamp, pictureIDDelta: delta)
    count(packet.length)
    return Rewrite(
      sequence: UInt16(truncatingIfNeeded: out), timestamp: timestamp, payloadType: payloadType,
      pictureIDDelta: delta, tl0Delta: map.segments[0].tl0Delta)
  }

  @inline(__always)
  private mutating func count(_ bytes: UInt16) {
    packetsSent &+= 1
    credit = min(credit + 1, Self.mostCredit)
    bytesSent &+= UInt32(bytes)
  }

  // MARK: leaving layers out

  private mutating func decideThinned(
    _ packet: StoredPacket, layer: Int8, alignment: UInt32?, payloadType: UInt8
  ) -> Decision {
    if packet.sequence < map.segments[0].firstIn { return .drop(.beforeStart) }
    map.note(alignment: alignment)
    switch map.place(of: packet.sequence) {
    case .leftOut: return .drop(.upperLayer)
    case .given(let out, let entry): return sendLate(packet, to: out, entry)
    case .new: break
    }
    if map.next(packet.sequence) - map.highest > Self.widestStep {
      return beginAnew(packet, layer: layer, alignment: alignment, payloadType: payloadType)
    }
    let before = gate.current
    let isSent = gate.admits(packet)
    if !isSent || before != .all || gate.current != .all { map.startRecording() }
    map.giveNumbersToMissing(before: packet.sequence, before)
    guard isSent else {
      map.leaveOut(packet, closesPictures: packet.codec.closesPictureIDs)
      return .drop(.upperLayer)
    }
    let out = map.giveNumber(to: packet.sequence, gate.current)
    let timestamp = map.timestamp(of: packet, segment: 0)
    var rewrite = send(packet, to: out, timestamp: timestamp, payloadType: payloadType)
    rewrite.changes = changes(of: packet, gate.current)
    endThinning()
    return .forward(rewrite)
  }

  /// A packet whose number was given out when it was missing.
  private mutating func sendLate(_ packet: StoredPacket, to out: Int64, _ entry: SentNumbers.Entry) -> Decision {
    let again = rewriteAgain(packet, segment: 0)
    if map.highest - out >= Self.oldest { return .repair(again) }
    map.advance(packet, to: out, timestamp: again.timestamp, pictureIDDelta: entry.pictureIDDelta)
    count(again.length(of: packet))
    return .forward(again)
  }

  /// Where nothing was left out for a while, packets go the short way again.
  private mutating func endThinning() {
    guard !gate.isThinning else { return }
    map.stopRecordingWhereStraight()
    if !map.isRecording { conditions.remove(.thinned) }
  }

  /// What changes of a packet besides its numbers where layers up to `limit` are sent.
  private func changes(of packet: StoredPacket, _ limit: LayerLimit) -> Rewrite.Changes {
    let info = packet.info
    if !limit.includes(spatial: info.spatialLayer, temporal: info.temporalLayer) { return .emptiesPayload }
    return info.endsFrame && info.spatialLayer == limit.spatial ? .setsMarker : []
  }

  // MARK: sending again

  /// Where the packet that was sent under `sequence` came from, and how to rewrite it again.
  public func original(of sequence: UInt16) -> (layer: Int8, sequence: Int64, segment: Int)? {
    map.original(of: sequence)
  }

  /// The rewrite for sending `packet` again, as `original(of:)` found it.
  public func rewriteAgain(_ packet: StoredPacket, segment index: Int) -> Rewrite {
    let segment = map.segments[index]
    let given = map.given(packet.sequence, segment: index)
    return Rewrite(
      sequence: UInt16(truncatingIfNeeded: given.out), timestamp: map.timestamp(of: packet, segment: index),
      payloadType: payloadTypes[Int(packet.codec.rawValue)], changes: changes(of: packet, given.entry.limit),
      pictureIDDelta: given.entry.pictureIDDelta, tl0Delta: segment.tl0Delta)
  }

  /// Whether this receiver has earned a retransmission.
  public var hasCredit: Bool { credit > 0 }

  /// Takes one of the retransmissions that this receiver has earned; false when there is none left.
  @discardableResult
  public mutating func spendCredit() -> Bool {
    guard hasCredit else { return false }
    credit -= 1
    return true
  }

  /// The payload type and next sequence number for a retransmission of `codec` on the RTX stream (RFC 4588); nil where
  /// RTX was not agreed on.
  public mutating func nextRetransmission(_ codec: CodecProfile) -> (
    ssrc: UInt32, payloadType: UInt8, sequence: UInt16
  )? {
    let payloadType = rtxPayloadTypes[Int(codec.rawValue)]
    guard payloadType != 0xff, let ssrc = parameters.rtxSSRC else { return nil }
    rtxSequence &+= 1
    return (ssrc, payloadType, rtxSequence)
  }

  /// What the header of a packet of nothing but padding says on the RTX stream; nil where RTX was not agreed on. Such packets need no
  /// media to repeat.
  public mutating func nextPadding() -> (ssrc: UInt32, payloadType: UInt8, sequence: UInt16, timestamp: UInt32)? {
    guard let mapping = parameters.payloads.first(where: { $0.rtxPayloadType != nil }),
      let next = nextRetransmission(mapping.codec)
    else { return nil }
    return (next.ssrc, next.payloadType, next.sequence, map.sentTimestamp)
  }

  /// The RTP time stamp of this stream that belongs to the publisher's `rtp`; nil while nothing is sent or another
  /// layer is.
  public func outgoingTimestamp(of rtp: UInt32, layer: Int8) -> UInt32? {
    guard currentLayer == layer else { return nil }
    return rtp &+ map.segments[0].timestampOffset
  }
}
