// The rows of a worker's tables: the forwarding machines together with the handles that tie them to each other.

import Basics
import Congestion
import Forwarding
import RTP

typealias TransportID = SlotMap<Transport>.ID
typealias RoomID = SlotMap<RoomSlot>.ID
typealias ProducerID = SlotMap<ProducerSlot>.ID
typealias EncodingID = SlotMap<EncodingSlot>.ID
typealias ConsumerID = SlotMap<ConsumerSlot>.ID

/// A room as far as a worker knows it.
struct RoomSlot: ~Copyable {
  let key: RoomKey
  var transports = 0
  /// Published tracks.
  var producers = 0
  /// Those of them that are sound.
  var sounds = 0
  var speakers = ActiveSpeakers()
  var speakersScheduled = false
  /// Packets queued for receivers since shares were last judged; counted only while the worker is behind.
  var sent = 0
  var modest = ModestRoom()
}

/// A published track.
struct ProducerSlot: ~Copyable {
  let key: ProducerKey
  let kind: MediaKind
  let transport: TransportID
  let room: RoomID
  /// Payload type → raw value of `CodecProfile`; 0x80 set for its RTX; 0xff unknown.
  var payloads: PayloadTable
  let canonicalName: [UInt8]
  var encodings: [EncodingID] = []
  var consumers: [ConsumerID] = []
  var isMuted = false
  /// When its last mute ended.
  var unmutedAt = Instant.zero
  /// Index of the layer that consumers are to be sent who wish for none: the one with the highest rate.
  var bestLayer = 0
  /// Which layers arrive, by their indices; all before that is known.
  var arriving = UInt8.max
  var layersScheduled = false

  /// The lowest layer that arrives.
  var lowestArriving: Int8 {
    for layer in encodings.indices where arriving & 1 << UInt8(layer) != 0 { return Int8(layer) }
    return 0
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
  let transport: TransportID
  /// Numbers up to this one came, or were missing, while the track was muted: they are not forwarded even when late.
  var mutedUntil = Int64.min
  /// The deadline of this row that counts; others in the queue are stale.
  var scheduled = Instant.distantFuture
}

/// One subscription and what it ties together.
struct ConsumerSlot: ~Copyable {
  /// Bytes at the front that are looked at for each packet, when it is decided and when it is sent.
  static let front = 176

  let destination: Destination
  /// The layer last told to the control plane; −1 before the first packet.
  var toldLayer: Int8 = -1
  /// The layer that the subscriber wishes for; −1 for the best.
  var wishedLayer: Int8 = -1
  /// The highest layer that its line carries.
  var ceiling = Int8.max
  /// Its line carries no layer.
  var isHeld = false
  /// When its line last made it go down, or be held.
  var loweredAt = Instant(nanoseconds: .min / 64)
  /// What its lowest layer needed when it was held.
  var heldRate = BitRate.zero
  /// The subscriber asked for a pause.
  var wishesPause = false
  /// Whether it is about to begin with what is in the cache.
  var replayScheduled = false
  var consumer: Consumer
  let key: ConsumerKey
  var producer: ProducerID
  /// Higher goes first where not everything fits.
  var priority = 0
  /// What is left of its wishes for keyframes: one whose line loses much must not have its publisher send keyframes to all.
  var keyframeWishes = TokenBucket(perSecond: 0.5, burst: 4, now: .zero)
  /// What was sent again lately.
  var repeats = RecentRepeats()

  /// Those of its packets, and of what is sent again.
  var ssrcs: [UInt32] { [consumer.parameters.ssrc, consumer.parameters.rtxSSRC].compactMap { $0 } }
}

/// What each of the 128 payload types stands for.
struct PayloadTable: Sendable {
  private var codecs = InlineArray<128, UInt8>(repeating: 0xff)

  init(_ payloads: [PayloadMapping]) {
    for mapping in payloads {
      codecs[Int(mapping.payloadType & 0x7f)] = mapping.codec.rawValue
      if let rtx = mapping.rtxPayloadType { codecs[Int(rtx & 0x7f)] = mapping.codec.rawValue | 0x80 }
    }
  }

  /// The codec of a payload type, and whether it is its retransmission format.
  func codec(_ payloadType: UInt8) -> (codec: CodecProfile, isRetransmission: Bool)? {
    let value = codecs[Int(payloadType & 0x7f)]
    guard value != 0xff, let codec = CodecProfile(rawValue: value & 0x7f) else { return nil }
    return (codec, value & 0x80 != 0)
  }
}
