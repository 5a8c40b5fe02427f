// The rows of a worker's tables: the forwarding machines together with the handles that tie them to each other.

import Basics
import Congestion
import Forwarding
import RTP

typealias TransportID = SlotMap<Transport>.ID
typealias TapID = SlotMap<Tap>.ID
typealias PipeID = SlotMap<Pipe>.ID
typealias RoomID = SlotMap<RoomSlot>.ID
typealias ProducerID = SlotMap<ProducerSlot>.ID
typealias EncodingID = SlotMap<EncodingSlot>.ID
typealias ConsumerID = SlotMap<ConsumerSlot>.ID
/// What is stored of all tracks, for who seals it.
typealias Encodings = SlotMap<EncodingSlot>
/// How all subscriptions are sent, for who seals what they are sent.
typealias Consumers = SlotMap<ConsumerSlot>

/// A room as far as a worker knows it.
struct RoomSlot: ~Copyable {
  let key: RoomKey
  /// What keeps it: transports of its people, and tracks of it that come over pipes.
  var holders = 0
  /// Published tracks.
  var producers = 0
  /// Those of them that are sound.
  var sounds = 0
  var speakers = ActiveSpeakers()
  var speakersScheduled = false
  var loudest = LoudestVoices()
  /// Packets queued for receivers since shares were last judged; counted only while the worker is behind.
  var sent = 0
  /// Those of them that are sound.
  var sentSound = 0
  var modest = ModestRoom()
}

/// A published track.
struct ProducerSlot: ~Copyable {
  let key: ProducerKey
  let kind: MediaKind
  let source: Source
  var room: RoomID
  /// Which codec each payload type stands for, and in which format.
  var payloads: PayloadTable
  /// `Publisher.key`.
  let publisher: UInt64
  let canonicalName: [UInt8]
  /// The lowest first, as far as that is known.
  var encodings: [EncodingID] = []
  /// The same in the order of SDP.
  var declared: [EncodingID] = []
  var order = LayerOrder()
  var consumers: [ConsumerID] = []
  var isMuted = false
  /// How loud it is; known where a room hears the loudest alone.
  var voice = LoudVoice()
  /// When its last mute ended.
  var unmutedAt = Instant.zero
  /// Index of the layer that consumers are to be sent who wish for none: the one with the highest rate.
  var bestLayer = 0
  /// Which layers arrive, by their indices; all before that is known.
  var arriving = UInt8.max
  var layersScheduled = false
  /// What of it a receiver can be sent, and what that takes.
  var ladder = LayerLadder()
  /// Which layers its publisher is asked for; nil where it cannot be asked.
  var asked: PublisherLayers?

  /// The lowest layer that arrives.
  var lowestArriving: Int8 {
    for layer in encodings.indices where arriving & 1 << UInt8(layer) != 0 { return Int8(layer) }
    return 0
  }

  /// What a receiver of whose line little is free begins with.
  var lowestStep: LayerStep {
    let layer = lowestArriving
    return ladder.steps.first { $0.layer == layer } ?? LayerStep(layer: layer)
  }

  /// Its publisher sends the layers that it is asked for. They must have names: without, it is not known which they are.
  mutating func pauseLayers(of parameters: ReceiveParameters, at now: Instant) {
    guard parameters.encodings.count > 1, parameters.encodings.count <= UInt8.bitWidth,
      parameters.encodings.allSatisfy({ $0.rid != nil })
    else { return }
    asked = PublisherLayers(count: parameters.encodings.count, at: now)
  }

  /// The layer that a consumer wishes for, whether or not it arrives now: one that its publisher has paused can be had again. Of a mirror
  /// it arrives where it does at the source.
  func layerToBeHad(wished: Int8) -> Int8 {
    let now = layer(wished: wished)
    guard let asked, asked.isWaiting else { return now }
    let highest = wished < 0 ? encodings.count - 1 : min(Int(wished), encodings.count - 1)
    for layer in stride(from: highest, to: Int(now), by: -1) where asked.mayCome(layer) {
      return Int8(layer)
    }
    return now
  }

  /// The layer for a consumer that wishes for `layer` (−1: for none).
  func layer(wished layer: Int8) -> Int8 {
    guard layer >= 0 else { return Int8(bestLayer) }
    let wished = min(Int(layer), encodings.count - 1)
    for lower in stride(from: wished, through: 0, by: -1) where arriving & 1 << UInt8(lower) != 0 { return Int8(lower) }
    for higher in stride(from: wished, to: encodings.count, by: 1) where arriving & 1 << UInt8(higher) != 0 {
      return Int8(higher)
    }
    return Int8(wished)
  }
}

/// One encoding and whose it is.
struct EncodingSlot: ~Copyable {
  var encoding: Encoding
  let producer: ProducerID
  let source: Source
  /// Numbers up to this one came, or were missing, while the track was muted: they are not forwarded even when late.
  var mutedUntil = Int64.min
  /// The deadline of this row that counts; others in the queue are stale.
  var scheduled = Instant.distantFuture
  /// What the worst listener lost in the last seconds.
  var listenerLoss = LossMedian()
  /// Taps that get a copy of each packet, and pipes that carry this layer.
  var taps: [TapID] = []
  var pipes: [PipedLayer] = []

  /// Whether there is one of either.
  var isCopied: Bool { !taps.isEmpty || !pipes.isEmpty }

  /// The packets that a newcomer is to be sent; nil where a keyframe must be asked for.
  var newestReplay: ClosedRange<Int64>? { encoding.replay(after: mutedUntil) }
}

/// One subscription and what it ties together.
struct ConsumerSlot: ~Copyable {
  /// Bytes at the front that are looked at for each packet, when it is decided and when it is sent.
  static let front = 176

  let destination: Destination
  /// `toldLayer` of one that has begun, and misses what should come now.
  static let begunBefore: Int8 = -2

  /// The layer last told to the control plane; −1 before the first packet.
  var toldLayer: Int8 = -1
  /// The layer that the subscriber wishes for; −1 for the best.
  var wishedLayer: Int8 = -1
  /// The most that its line carries.
  var ceiling = LayerStep.top
  /// Its line carries no layer.
  var isHeld = false
  /// When its line last made it go down, or be held.
  var loweredAt = Instant(nanoseconds: .min / 64)
  /// What its lowest layer needed when it was held.
  var heldRate = BitRate.zero
  /// The subscriber asked for a pause.
  var wishesPause = false
  /// Its line is dark.
  var isDark = false
  /// Whether it is about to begin with what is in the cache.
  var replayScheduled = false
  /// Whether it waits for a keyframe since its client asked for something, and nothing was charged for that yet.
  var owesKeyframe = false
  var consumer: Consumer
  let key: ConsumerKey
  /// What it is sent; nil for a view that shows nothing.
  var producer: ProducerID?
  /// Higher goes first where not everything fits.
  var priority = 0
  /// What is left of its wishes for keyframes: one whose line loses much must not have its publisher send keyframes to all.
  var keyframeWishes = TokenBucket(perSecond: 0.5, burst: 4, now: .zero)
  /// Since when a wish waits for there to be one left; nil where none does.
  var wishWaits: Instant?
  /// What was sent again lately.
  var repeats = RecentRepeats()
  /// What its receiver reports said of it lately.
  var reportedLoss = LossMedian()
  /// `consumer.bytesSent` when it was looked at last.
  var bytesSeen: UInt32 = 0
  /// Whether its track has brought something.
  var wait = MediaWait()

  /// What it is sent now; nil before the first packet, and where that was another track's.
  var sent: LayerStep? {
    consumer.currentLayer.flatMap { $0 < 0 ? nil : LayerStep(layer: $0, limit: consumer.currentLimit) }
  }

  /// Whether anything speaks against sending it.
  var isStopped: Bool { wishesPause || isHeld || isDark }

  /// Those of its packets, and of what is sent again.
  var ssrcs: [UInt32] { [consumer.parameters.ssrc, consumer.parameters.rtxSSRC].compactMap { $0 } }
}

/// What each of the 128 payload types stands for.
struct PayloadTable: Sendable {
  /// What a payload holds.
  enum Format: UInt8 {
    /// Media and nothing else.
    case plain = 0
    /// Media with earlier packets before it (RFC 2198).
    case redundant = 0x40
    /// A packet again, behind its number (RFC 4588).
    case retransmission = 0x80
  }

  /// Raw values of `CodecProfile` and `Format`; 0xff unknown.
  private var codecs = InlineArray<128, UInt8>(repeating: 0xff)

  init(_ payloads: [PayloadMapping]) {
    for mapping in payloads {
      codecs[Int(mapping.payloadType & 0x7f)] = mapping.codec.rawValue
      if let rtx = mapping.rtxPayloadType { set(rtx, mapping.codec, .retransmission) }
      if let red = mapping.redPayloadType { set(red, mapping.codec, .redundant) }
    }
  }

  private mutating func set(_ payloadType: UInt8, _ codec: CodecProfile, _ format: Format) {
    codecs[Int(payloadType & 0x7f)] = codec.rawValue | format.rawValue
  }

  /// A packet's own sound in a payload that holds earlier ones too; nil for a payload that cannot be read.
  @inline(never)
  func ownSound(_ payload: Range<Int>, in bytes: Span<UInt8>) -> Range<Int>? {
    // Padding alone is a packet without sound.
    if payload.isEmpty { return payload }
    guard let found = RedundantAudio.parse(bytes.extracting(payload)),
      let inside = codec(found.own.payloadType), inside.format == .plain
    else { return nil }
    let start = payload.lowerBound
    return (start + found.own.range.lowerBound)..<(start + found.own.range.upperBound)
  }

  /// The first payload type of a codec in plain packets; nil where there is none.
  func payloadType(of codec: CodecProfile) -> UInt8? {
    codecs.indices.first { codecs[$0] == codec.rawValue }.map(UInt8.init)
  }

  /// The codec of a payload type, and in which format it comes.
  func codec(_ payloadType: UInt8) -> (codec: CodecProfile, format: Format)? {
    let value = codecs[Int(payloadType & 0x7f)]
    guard value != 0xff, let codec = CodecProfile(rawValue: value & 0x3f), let format = Format(rawValue: value & 0xc0)
    else { return nil }
    return (codec, format)
  }
}
