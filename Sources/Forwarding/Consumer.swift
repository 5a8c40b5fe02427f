// One subscription's stream: whatever layer, mute or codec change happens upstream, its receiver sees one SSRC with
// sequence numbers and time stamps that only ever go on.
//
//   publisher's numbering      segment (offset, since when)       receiver's numbering
//   layer l: 100 101 102 ──────── + 900 ────────────────────────▶ 1000 1001 1002
//   layer h:          7000 7001 ─ − 5997 ───────────────────────▶           1003 1004
//
// The last few segments are kept so that a NACK for an older number still finds the packet it meant.

import Basics
import RTP

/// How one packet's header and VP8 descriptor change on the way to one receiver.
public struct Rewrite: Sendable, Equatable {
  /// Sequence number to send.
  public var sequence: UInt16
  /// Time stamp to send.
  public var timestamp: UInt32
  /// Payload type to send.
  public var payloadType: UInt8
  /// Added to the VP8 picture identifier.
  public var pictureIDDelta: UInt16
  /// Added to VP8's TL0PICIDX.
  public var tl0Delta: UInt8
}

/// What a consumer does with a packet.
public enum Decision: Sendable, Equatable {
  case forward(Rewrite)
  /// As a retransmission (RFC 4588): so much was sent behind it that its own number can no longer be used.
  case repair(Rewrite)
  case drop(DropReason)
}

/// The forwarding state of one subscription. Plain values only, so that a decision is a few integer operations.
public struct Consumer: Sendable {
  // What each packet needs comes first and lies together.
  private var payloadTypes = InlineArray<16, UInt8>(repeating: 0xff)
  /// The subscriber asked for a pause.
  public private(set) var isPaused = false
  private var needsStart = true
  /// The layer that is to be sent as soon as it has a keyframe.
  public var target: Int8 = 0
  private var lastTL0: UInt8 = 0
  private var lastPictureID: UInt16 = 0
  private var rtxSequence: UInt16
  /// Packets sent, for sender reports; wraps.
  public private(set) var packetsSent: UInt32 = 0
  /// Payload bytes sent, for sender reports; wraps.
  public private(set) var bytesSent: UInt32 = 0
  private var lastTimestamp: UInt32
  private var credit = Self.firstCredit
  private var highest: Int64
  private var lastArrival: Instant = .zero
  private var segmentCount: UInt8 = 0
  /// The SSRC that its packets are sent under.
  public let ssrc: UInt32
  /// What the headers of its packets have in common.
  public private(set) var header: HeaderTemplate
  /// The first is the current one, and the last that each packet needs.
  private(set) var segments = InlineArray<4, Segment>(repeating: Segment())
  /// What was agreed on with the subscriber.
  public private(set) var parameters: SendParameters
  private var rtxPayloadTypes = InlineArray<16, UInt8>(repeating: 0xff)
  /// Sender reports since the stream began, at most `earlyReports`.
  private var reports: UInt8 = 0

  struct Segment: Sendable {
    /// Stands for the layers of a producer that this consumer no longer follows.
    static let foreign: Int8 = -2
    /// Segments that are kept.
    static let most: UInt8 = 4
    var layer: Int8 = -1
    var firstIn: Int64 = 0
    var firstOut: Int64 = 0
    var timestampOffset: UInt32 = 0
    var alignment: UInt32?
    var pictureIDDelta: UInt16 = 0
    var tl0Delta: UInt8 = 0
  }

  /// Retransmissions that a receiver may ask for before it was sent anything worth it.
  static let firstCredit: Int32 = 64
  /// Every packet sent earns one retransmission, up to this many. It bounds what a receiver can make the server send by
  /// asking for the same again and again; raise it and a burst may be larger.
  static let mostCredit: Int32 = 512

  /// Numbers left out that are passed on as a gap, which somebody may still fill; beyond it the stream begins anew. A quarter of the
  /// sixteen bits: beyond half of them receivers, and our own sealing, take what comes for old (RFC 3711 §3.3.1).
  static let widestGap: Int64 = 0x3fff

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
    highest = Int64(seed & 0x7fff)
    lastTimestamp = UInt32(truncatingIfNeeded: seed >> 16)
    // Both in the lower half: a receiver that misses the first packets before a wrap would guess the wrong rollover
    // counter, and open nothing of that stream any more (RFC 3711 §3.3.1).
    rtxSequence = UInt16(truncatingIfNeeded: seed >> 48) & 0x7fff
    map(parameters.payloads)
  }

  private mutating func map(_ payloads: [PayloadMapping]) {
    for index in payloadTypes.indices { (payloadTypes[index], rtxPayloadTypes[index]) = (0xff, 0xff) }
    for mapping in payloads {
      payloadTypes[Int(mapping.codec.rawValue)] = mapping.payloadType
      rtxPayloadTypes[Int(mapping.codec.rawValue)] = mapping.rtxPayloadType ?? 0xff
    }
  }

  /// Takes what the subscriber agreed to in a later answer. SSRC, numbers and clock go on; under other payload types the
  /// stream starts anew, at a keyframe, as a decoder does. False, and no change, for another SSRC: numbers of one must
  /// never go on under another.
  public mutating func update(_ new: SendParameters) -> Bool {
    guard new.ssrc == ssrc, new.kind == parameters.kind else { return false }
    if new.payloads != parameters.payloads {
      map(new.payloads)
      needsStart = true
    }
    parameters = new
    header = HeaderTemplate(mid: ExtensionTag(new.mid), ids: new.extensions)
    return true
  }

  /// The layer being sent; nil before the first packet.
  public var currentLayer: Int8? { segmentCount == 0 ? nil : segments[0].layer }

  /// Whether a keyframe of `target` is what this consumer waits for.
  public var awaitsKeyframe: Bool {
    parameters.kind == .video && !isPaused && (needsStart || currentLayer != target)
  }

  /// Stops or goes on at the subscriber's wish. Going on starts with a keyframe.
  public mutating func setPaused(_ paused: Bool) {
    if isPaused && !paused { needsStart = true }
    isPaused = paused
  }

  /// The producer's stream was interrupted (mute): what comes next starts anew, without a gap in the numbering.
  public mutating func interrupt() { needsStart = true }

  /// Another producer's stream is to follow on this one's: nothing of the old numbering can be asked for again.
  public mutating func changeSource(target: Int8) {
    for index in 0..<Int(segmentCount) {
      segments[index].layer = Segment.foreign
      segments[index].alignment = nil
    }
    self.target = target
    needsStart = true
  }

  /// Whether the receiver needs a sender report soon: of a stream that has just begun, or begun anew, he does not know how its clock
  /// stands to others.
  public var wantsReport: Bool { reports < Self.earlyReports }

  /// A sender report about the stream leaves.
  public mutating func countReport() { reports = min(reports + 1, Self.earlyReports) }

  /// The number of the newest packet; nil before the first.
  public var newestNumber: UInt16? { packetsSent == 0 ? nil : UInt16(truncatingIfNeeded: highest) }

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
    let out = outgoing(sequence)
    guard segmentCount > 0, out <= highest else { return false }
    // Of what was sent before the oldest segment that is kept, nothing more is known.
    let isKnown = segments[Int(segmentCount) - 1].firstOut <= out
    guard isKnown || segmentCount == Segment.most else { return false }
    if let first, let segment = segmentIndex(of: out) { rewind(before: first, segments[segment]) }
    while segmentCount > 0 && segments[0].firstOut >= out {
      for index in 1..<Int(Segment.most) { segments[index - 1] = segments[index] }
      segmentCount -= 1
    }
    if segmentCount == 0 {
      segments[0] = Segment(layer: Segment.foreign, firstOut: out)
      segmentCount = 1
    }
    highest = out - 1
    needsStart = true
    packetsSent &-= packets
    bytesSent &-= bytes
    credit = max(credit - Int32(clamping: packets), 0)
    return true
  }

  /// Picture identifiers go on as if `packet` had not been sent; where only the beginning of its frame was, behind that frame.
  private mutating func rewind(before packet: StoredPacket, _ segment: Segment) {
    let opens = packet.info.startsFrame && packet.info.spatialLayer == 0
    if let picture = packet.info.pictureID {
      lastPictureID = picture.value &+ segment.pictureIDDelta &- (opens ? 1 : 0)
    }
    if let tl0 = packet.info.tl0PictureIndex {
      lastTL0 = tl0.value &+ segment.tl0Delta &- (opens && packet.info.temporalLayer == 0 ? 1 : 0)
    }
  }

  /// Decides about one packet of layer `layer`. `alignment` is `Encoding.timestampAlignment` of that layer.
  public mutating func decide(_ packet: StoredPacket, layer: Int8, alignment: UInt32?) -> Decision {
    if isPaused { return .drop(.paused) }
    let payloadType = payloadTypes[Int(packet.codec.rawValue)]
    if payloadType == 0xff {
      // What is passed over must leave no hole in the numbering, nor anything to refer to.
      if currentLayer == layer { needsStart = true }
      return .drop(.codecNotAccepted)
    }
    if needsStart || segments[0].layer != layer {
      if let reason = start(packet, layer: layer, alignment: alignment) { return .drop(reason) }
    }
    if packet.sequence < segments[0].firstIn { return .drop(.beforeStart) }
    if segments[0].alignment == nil { segments[0].alignment = alignment }
    var out = packet.sequence - segments[0].firstIn + segments[0].firstOut
    if out - highest > Self.widestGap {
      needsStart = true
      if let reason = start(packet, layer: layer, alignment: alignment) { return .drop(reason) }
      out = segments[0].firstOut
    }
    if highest - out >= Self.oldest { return .repair(rewriteAgain(packet, segment: 0)) }
    return .forward(advance(packet, to: out, payloadType: payloadType))
  }

  /// Begins the stream, or begins it anew, with a packet that may be its first; why not where it may not.
  @inline(never)
  private mutating func start(_ packet: StoredPacket, layer: Int8, alignment: UInt32?) -> DropReason? {
    guard layer == target else { return .otherLayer }
    if parameters.kind == .video && !packet.info.startsKeyframe { return .awaitingKeyframe }
    guard isUnsent(packet, layer: layer) else { return .beforeStart }
    begin(packet, layer: layer, alignment: alignment)
    return nil
  }

  /// Whether the stream of now began with this packet.
  public func began(with sequence: Int64) -> Bool { segmentCount > 0 && segments[0].firstIn == sequence }

  @inline(__always)
  private mutating func advance(_ packet: StoredPacket, to out: Int64, payloadType: UInt8) -> Rewrite {
    let segment = segments[0]
    let timestamp = packet.timestamp &+ segment.timestampOffset
    if out > highest || packetsSent == 0 {
      highest = max(out, highest)
      lastTimestamp = timestamp
      lastArrival = packet.arrival
      if let picture = packet.info.pictureID { lastPictureID = picture.value &+ segment.pictureIDDelta }
      if let tl0 = packet.info.tl0PictureIndex { lastTL0 = tl0.value &+ segment.tl0Delta }
    }
    packetsSent &+= 1
    credit = min(credit + 1, Self.mostCredit)
    bytesSent &+= UInt32(packet.length)
    return Rewrite(
      sequence: UInt16(truncatingIfNeeded: out), timestamp: timestamp, payloadType: payloadType,
      pictureIDDelta: segment.pictureIDDelta, tl0Delta: segment.tl0Delta)
  }

  /// Whether a packet comes after all that was sent of its layer. A keyframe may come late, but what its receiver has must not be sent
  /// to him again from there on: a publisher could have that done as often as he likes.
  private func isUnsent(_ packet: StoredPacket, layer: Int8) -> Bool {
    for index in 0..<Int(segmentCount) where segments[index].layer == layer {
      let lastOut = index == 0 ? highest : segments[index - 1].firstOut - 1
      return packet.sequence - segments[index].firstIn + segments[index].firstOut > lastOut
    }
    return true
  }

  /// Opens a segment: the next number out belongs to `packet`.
  private mutating func begin(_ packet: StoredPacket, layer: Int8, alignment: UInt32?) {
    var segment = Segment(layer: layer, firstIn: packet.sequence, firstOut: highest + 1, alignment: alignment)
    segment.timestampOffset = timestampOffset(for: packet, layer: layer, alignment: alignment)
    if segmentCount > 0 {
      if let picture = packet.info.pictureID { segment.pictureIDDelta = lastPictureID &+ 1 &- picture.value }
      if let tl0 = packet.info.tl0PictureIndex { segment.tl0Delta = lastTL0 &+ 1 &- tl0.value }
    }
    for index in stride(from: Int(Segment.most) - 1, to: 0, by: -1) { segments[index] = segments[index - 1] }
    segments[0] = segment
    segmentCount = min(segmentCount + 1, Segment.most)
    needsStart = false
    reports = 0
  }

  private func timestampOffset(for packet: StoredPacket, layer: Int8, alignment: UInt32?) -> UInt32 {
    guard segmentCount > 0 else { return lastTimestamp &- packet.timestamp }
    let old = segments[0]
    // After a mute the publisher's clock has gone on, so the old offset still holds.
    if old.layer == layer { return old.timestampOffset }
    let clock = Int64(parameters.kind == .video ? 90 : 48)
    let elapsed = (packet.arrival - lastArrival).microseconds * clock / 1_000
    if let alignment, let oldAlignment = old.alignment {
      let offset = old.timestampOffset &+ oldAlignment &- alignment
      // Sender reports put both layers on one clock; believe them unless they contradict the arrival by over a second.
      let step = Int64(Int32(bitPattern: packet.timestamp &+ offset &- lastTimestamp))
      if step > 0 && abs(step - elapsed) < clock * 1_000 { return offset }
    }
    let step = UInt32(truncatingIfNeeded: max(1, min(elapsed, clock * 60_000)))
    return lastTimestamp &+ step &- packet.timestamp
  }

  /// Where the packet that was sent under `sequence` came from, and how to rewrite it again.
  public func original(of sequence: UInt16) -> (layer: Int8, sequence: Int64, segment: Int)? {
    let out = outgoing(sequence)
    guard out <= highest, let index = segmentIndex(of: out) else { return nil }
    let segment = segments[index]
    guard segment.layer >= 0 else { return nil }
    return (segment.layer, out - segment.firstOut + segment.firstIn, index)
  }

  /// The unwrapped outgoing number that is nearest to the newest.
  private func outgoing(_ sequence: UInt16) -> Int64 {
    highest + Int64(sequence.distance(from: UInt16(truncatingIfNeeded: highest)))
  }

  /// The segment that an outgoing number is of; nil where it is older than all that are kept.
  private func segmentIndex(of out: Int64) -> Int? {
    for index in 0..<Int(segmentCount) where segments[index].firstOut <= out { return index }
    return nil
  }

  /// The rewrite for sending `packet` again, as `original(of:)` found it.
  public func rewriteAgain(_ packet: StoredPacket, segment index: Int) -> Rewrite {
    let segment = segments[index]
    return Rewrite(
      sequence: UInt16(truncatingIfNeeded: packet.sequence - segment.firstIn + segment.firstOut),
      timestamp: packet.timestamp &+ segment.timestampOffset, payloadType: payloadTypes[Int(packet.codec.rawValue)],
      pictureIDDelta: segment.pictureIDDelta, tl0Delta: segment.tl0Delta)
  }

  /// Takes one of the retransmissions that this receiver has earned; false when there is none left.
  public mutating func spendCredit() -> Bool {
    guard credit > 0 else { return false }
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

  /// The RTP time stamp of this stream that belongs to the publisher's `rtp`; nil while nothing is sent or another
  /// layer is.
  public func outgoingTimestamp(of rtp: UInt32, layer: Int8) -> UInt32? {
    guard segmentCount > 0, segments[0].layer == layer else { return nil }
    return rtp &+ segments[0].timestampOffset
  }
}
