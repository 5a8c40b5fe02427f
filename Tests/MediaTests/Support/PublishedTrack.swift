// The sending half of a virtual peer: frames by the clock, keyframes on request, lost packets again on RTX.

import Basics
import Media
import RTP

/// What the sender knows of a packet that the network carries sealed.
struct SentPacket {
  var stamp: Stamp?
  var isRetransmission = false
  var transportSequence: UInt16?
}

/// One packet before sealing.
struct PlainPacket {
  var header: RTPHeader
  var ids: HeaderExtensionIDs
  var body: [UInt8]
  var sent: SentPacket
  /// Its dependency descriptor.
  var descriptor: [UInt8] = []
}

/// One encoding of a published track.
struct SendLayer {
  var rid: String?
  var ssrc: UInt32
  var rtxSSRC: UInt32?
  var packetsPerFrame: Int
  var packetSize: Int
  var isActive = true
  /// Pixels of a line of its pictures, as keyframes say it; 0 for one that does not say.
  var width: UInt16 = 0
  /// Packets that a keyframe has more than other frames.
  var keyframeExtra = 2
  /// Packets that a picture of the base layer of time has more than others.
  var baseExtra = 0
  var sequence: UInt16
  var rtxSequence: UInt16
  var timestampOffset: UInt32
  var pictureID: UInt16
  var tl0: UInt8
  var frame: UInt32 = 0
  var wantsKeyframe = true
  var keyframes = 0
  var packets: UInt32 = 0
  var bytes: UInt32 = 0
  /// Keyframe requests that arrived.
  var requests = 0
  /// Frames since the last keyframe.
  var sinceKeyframe = 0
  fileprivate var history: [UInt16: PlainPacket] = [:]

  init(rid: String?, ssrc: UInt32, rtxSSRC: UInt32?, packetsPerFrame: Int, packetSize: Int, _ dice: inout SplitMix64) {
    (self.rid, self.ssrc, self.rtxSSRC) = (rid, ssrc, rtxSSRC)
    (self.packetsPerFrame, self.packetSize) = (packetsPerFrame, packetSize)
    // Close to the wrap, so that every test crosses it.
    sequence = 0xffff &- UInt16(dice.next() % 40)
    rtxSequence = UInt16(truncatingIfNeeded: dice.next())
    timestampOffset = 0xffff_ffff &- UInt32(dice.next() % 200_000)
    pictureID = 0x7fff - UInt16(dice.next() % 20)
    tl0 = UInt8(truncatingIfNeeded: dice.next())
  }
}

/// A track that a peer publishes.
struct PublishedTrack {
  let key: ProducerKey
  let kind: MediaKind
  let mid: String
  var codec: CodecProfile
  var layers: [SendLayer]
  /// RFC 6464 level of its packets, for audio.
  var level: UInt8 = 30
  /// How many earlier packets each packet of sound carries (RFC 2198).
  var redundancy = 0
  var isSending = true
  /// Answers requests for missing packets.
  var repairs = true
  /// VP8: of four pictures, one or two can be decoded without the others (L1T3).
  var hasTemporalLayers = false
  /// H264: parameter sets come with each keyframe.
  var sendsSets = true
  /// H264: in a packet of their own, and the first slice in the next.
  var setsApart = false
  /// Answers keyframe requests.
  var obeysKeyframeRequests = true
  /// MID and RID go on this many packets of a stream (browsers stop when the stream is known).
  var taggedPackets: UInt32 = 50
  /// Whether a MID is among the tags.
  var tagsMid = true
  /// Stands for the first byte of each payload, as encryption from end to end would put one there.
  var garbled: UInt8?
  /// H264: stands for the first byte behind the header of each NAL unit, which is left in the clear.
  var garbledUnits: UInt8?
  /// Whether its AV1 comes with dependency descriptors.
  var describes = true
  /// Sent instead of its codec's.
  var payloadType: UInt8?
  var next = Instant.distantFuture

  var interval: TimeDelta { kind == .audio ? .milliseconds(20) : .milliseconds(33) }

  /// The packets of all layers that are due.
  mutating func due(at now: Instant) -> [PlainPacket] {
    guard next <= now else { return [] }
    next = now + interval
    guard isSending else { return [] }
    var result: [PlainPacket] = []
    for index in layers.indices where layers[index].isActive { result += frame(index, at: now) }
    return result
  }

  private mutating func frame(_ index: Int, at now: Instant) -> [PlainPacket] {
    let isKeyframe = kind == .audio || layers[index].wantsKeyframe
    layers[index].wantsKeyframe = false
    if isKeyframe { layers[index].keyframes += 1 }
    layers[index].frame += 1
    layers[index].pictureID = (layers[index].pictureID + 1) & 0x7fff
    layers[index].sinceKeyframe = isKeyframe ? 0 : layers[index].sinceKeyframe + 1
    let time = hasTemporalLayers ? TemporalPlace(position: layers[index].sinceKeyframe) : TemporalPlace()
    if time.layer == 0 { layers[index].tl0 &+= 1 }
    let count = kind == .audio ? 1 : layers[index].packetsPerFrame + extra(layers[index], isKeyframe, time)
    var stamp = Stamp(producer: key.value, capture: now, frame: layers[index].frame, layer: UInt8(index))
    stamp.count = UInt8(count)
    stamp.isKeyframe = isKeyframe
    return (0..<count).map {
      stamp.index = UInt8($0)
      return packet(index, stamp, time, at: now)
    }
  }

  private func extra(_ layer: SendLayer, _ isKeyframe: Bool, _ time: TemporalPlace) -> Int {
    isKeyframe ? layer.keyframeExtra : hasTemporalLayers && time.layer == 0 ? layer.baseExtra : 0
  }

  private mutating func packet(_ index: Int, _ stamp: Stamp, _ time: TemporalPlace, at now: Instant) -> PlainPacket {
    var header = RTPHeader(
      marker: kind == .video && stamp.index + 1 == stamp.count, payloadType: payloadType ?? Agreed.payloadType(codec),
      sequenceNumber: layers[index].sequence, timestamp: timestamp(index, at: now), ssrc: layers[index].ssrc)
    tag(&header, index)
    if kind == .audio { header.extensions.audioLevel = AudioLevel(level: level, voice: level < 60) }
    let size = stamp.index + 1 == stamp.count ? layers[index].packetSize - 50 : layers[index].packetSize
    let body = TestPayload.make(
      codec, stamp, pictureID: layers[index].pictureID, tl0: layers[index].tl0, time: time, size: size,
      width: layers[index].width, hasSets: sendsSets, setsApart: setsApart)
    var plain = PlainPacket(header: header, ids: Agreed.publisherExtensions, body: body, sent: SentPacket(stamp: stamp))
    if codec == .av1 && describes { plain.descriptor = Descriptor.make(stamp) }
    if let garbled { plain.body[0] = garbled }
    if let garbledUnits { TestPayload.garble(&plain.body, garbledUnits) }
    layers[index].history[layers[index].sequence] = plain
    if redundancy > 0 { addRedundancy(to: &plain, index) }
    layers[index].history[layers[index].sequence &- 600] = nil
    layers[index].sequence &+= 1
    layers[index].packets &+= 1
    layers[index].bytes &+= UInt32(body.count)
    return plain
  }

  private func addRedundancy(to plain: inout PlainPacket, _ index: Int) {
    var (headers, blocks): ([UInt8], [UInt8]) = ([], [])
    for distance in stride(from: redundancy, to: 0, by: -1) {
      guard let earlier = layers[index].history[plain.header.sequenceNumber &- UInt16(distance)] else { continue }
      headers += RED.header(age: plain.header.timestamp &- earlier.header.timestamp, length: earlier.body.count)
      blocks += earlier.body
    }
    plain.header.payloadType = Agreed.redPayloadType
    plain.body = headers + [Agreed.payloadType(.opus)] + blocks + plain.body
  }

  private func tag(_ header: inout RTPHeader, _ index: Int) {
    guard layers[index].packets < taggedPackets else { return }
    header.extensions.mid = tagsMid ? ExtensionTag(mid) : nil
    if let rid = layers[index].rid { header.extensions.rid = ExtensionTag(rid) }
  }

  /// The RTP clock of a layer: the capture time, so that every receiver can tell whether time stamps are right.
  func timestamp(_ index: Int, at now: Instant) -> UInt32 {
    let ticks = now.nanoseconds / 1_000 * Int64(kind == .audio ? 48_000 : 90_000) / 1_000_000
    return layers[index].timestampOffset &+ UInt32(truncatingIfNeeded: ticks)
  }

  /// A packet again, on the RTX stream (RFC 4588); nil when it is forgotten or there is no such stream.
  mutating func again(_ sequence: UInt16, layer index: Int) -> PlainPacket? {
    guard repairs, var plain = layers[index].history[sequence], let ssrc = layers[index].rtxSSRC,
      let payloadType = Agreed.rtxPayloadType(codec)
    else { return nil }
    plain.body = [UInt8(sequence >> 8), UInt8(truncatingIfNeeded: sequence)] + plain.body
    layers[index].rtxSequence &+= 1
    plain.header.ssrc = ssrc
    plain.header.payloadType = payloadType
    plain.header.sequenceNumber = layers[index].rtxSequence
    plain.header.extensions.mid = taggedPackets > 0 ? ExtensionTag(mid) : nil
    // The repaired stream's RID has an identifier of its own.
    plain.header.extensions.rid = taggedPackets > 0 ? layers[index].rid.flatMap { ExtensionTag($0) } : nil
    plain.ids.rid = plain.ids.repairedRid
    plain.sent.isRetransmission = true
    return plain
  }

  /// The peer restarts its sender: another SSRC with numbers of its own.
  mutating func restart(_ index: Int, ssrc: UInt32, _ dice: inout SplitMix64) {
    let old = layers[index]
    layers[index] = SendLayer(
      rid: old.rid, ssrc: ssrc, rtxSSRC: old.rtxSSRC.map { $0 &+ 0x100 }, packetsPerFrame: old.packetsPerFrame,
      packetSize: old.packetSize, &dice)
    layers[index].sequence = old.sequence &+ 0x9000
    layers[index].frame = old.frame + 1_000
  }

  mutating func keyframeRequested(_ ssrc: UInt32) {
    for index in layers.indices where layers[index].ssrc == ssrc {
      layers[index].requests += 1
      if obeysKeyframeRequests { layers[index].wantsKeyframe = true }
    }
  }
}
