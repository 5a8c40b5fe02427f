// What is published and subscribed to in the worker's scene, under new names in each round.
import Forwarding
import Media
import RTP

struct WorkerTracks {
  typealias Who = WorkerScene.Who
  private let base: UInt32
  private(set) var producers: [(ProducerKey, Who, ReceiveParameters)] = []
  private(set) var consumers: [(ConsumerKey, ProducerKey, Who, SendParameters)] = []

  static let payloads: [MediaKind: [PayloadMapping]] = [
    .audio: [PayloadMapping(payloadType: 111, codec: .opus, redPayloadType: 63)],
    .video: [
      PayloadMapping(payloadType: 96, codec: .vp8, rtxPayloadType: 97),
      PayloadMapping(payloadType: 98, codec: .vp9Profile0, rtxPayloadType: 99),
      PayloadMapping(payloadType: 102, codec: .h264ConstrainedBaseline, rtxPayloadType: 103),
      PayloadMapping(payloadType: 45, codec: .av1, rtxPayloadType: 46),
    ],
  ]
  static let extensions: HeaderExtensionIDs = {
    var ids = HeaderExtensionIDs()
    (ids.audioLevel, ids.absSendTime, ids.transportSequence, ids.mid) = (1, 2, 3, 4)
    (ids.rid, ids.repairedRid, ids.dependencyDescriptor, ids.videoOrientation) = (10, 11, 12, 13)
    return ids
  }()

  init(round: UInt32) {
    base = 0x1000_0000 &+ round &* 0x100
    let key = UInt64(round) * 32 + 100
    publish(ProducerKey(key), .honest, .audio, [EncodingParameters(ssrc: base)])
    publish(ProducerKey(key + 1), .honest, .video, [EncodingParameters(ssrc: base + 1)])
    publish(ProducerKey(key + 2), .hostile, .audio, [EncodingParameters(ssrc: base + 2)])
    publish(ProducerKey(key + 3), .hostile, .video, [EncodingParameters(ssrc: base + 3, rtxSSRC: base + 4)])
    // Layers that say who they are in header extensions, and a track of which nothing is known but its line.
    publish(ProducerKey(key + 4), .hostile, .video, ["r0", "r1", "r2"].map { EncodingParameters(rid: $0) })
    publish(ProducerKey(key + 5), .hostile, .video, [EncodingParameters()])
    for (index, (producer, who, parameters)) in producers.enumerated() {
      let number = UInt32(index) * 2
      let others: [Who] = who == .honest ? [.listener, .hostile] : [.listener]
      for other in others {
        let first = base + 0x40 + (other == .hostile ? 0x40 : 0) + number
        subscribe(ConsumerKey(key + 10 + UInt64(consumers.count)), producer, other, parameters.kind, first)
      }
    }
  }

  private mutating func publish(_ key: ProducerKey, _ who: Who, _ kind: MediaKind, _ encodings: [EncodingParameters]) {
    producers.append(
      (
        key, who,
        ReceiveParameters(
          mid: "\(producers.count)", kind: kind, payloads: Self.payloads[kind] ?? [], extensions: Self.extensions,
          encodings: encodings, nack: kind == .video)
      ))
  }

  private mutating func subscribe(
    _ key: ConsumerKey, _ producer: ProducerKey, _ who: Who, _ kind: MediaKind, _ ssrc: UInt32
  ) {
    var extensions = Self.extensions
    // The listener says nothing of its line, so nothing is held back for it.
    if who == .listener { (extensions.transportSequence, extensions.absSendTime) = (0, 0) }
    let parameters = SendParameters(
      mid: "s\(key.value)", kind: kind, ssrc: ssrc, rtxSSRC: kind == .video ? ssrc + 1 : nil,
      payloads: Self.payloads[kind] ?? [], extensions: extensions, nack: kind == .video)
    consumers.append((key, producer, who, parameters))
  }

  // MARK: names

  var hostileProducers: [ProducerKey] { producers.filter { $0.1 == .hostile }.map(\.0) }
  /// Subscriptions to what the hostile one publishes, or of theirs.
  var hostileConsumers: [ConsumerKey] {
    let theirs = Set(hostileProducers)
    return consumers.filter { $0.2 == .hostile || theirs.contains($0.1) }.map(\.0)
  }
  /// SSRCs that the hostile one sends on: told ones, others, and with 14 and 15 those of the honest one.
  func sending(_ choice: UInt8) -> UInt32 { base + UInt32((choice &+ 2) & 15) }
  /// SSRCs that RTCP may be about: what the hostile one is sent, what others are, and none.
  func reported(_ choice: UInt8) -> UInt32 { choice & 0x80 != 0 ? 0 : base + UInt32(choice & 0x7f) + 0x40 }
  /// What the listener hears and sees of the honest one.
  var heardAudio: UInt32 { base + 0x40 }
  var seenVideo: UInt32 { base + 0x42 }

  // MARK: what the honest one sends

  func audio(_ number: Int) -> [UInt8] {
    header(payloadType: 111, marker: false, number, step: 960, ssrc: base) + [0x78] + [UInt8](repeating: 7, count: 40)
  }

  /// A VP8 keyframe of one packet with the picture's number (RFC 7741 §4.2).
  func video(_ number: Int) -> [UInt8] {
    let descriptor: [UInt8] = [0x90, 0x80, 0x80 | UInt8(number >> 8 & 0x7f), UInt8(truncatingIfNeeded: number)]
    return header(payloadType: 96, marker: true, number, step: 3_000, ssrc: base + 1) + descriptor + [0x10]
      + [UInt8](repeating: 9, count: 80)
  }

  private func header(payloadType: UInt8, marker: Bool, _ number: Int, step: UInt32, ssrc: UInt32) -> [UInt8] {
    RawPacket.header(
      first: 0x80, second: (marker ? 0x80 : 0) | payloadType, UInt16(truncatingIfNeeded: number),
      UInt32(truncatingIfNeeded: number) &* step, ssrc)
  }
}

/// Packets written byte by byte, so that they may be wrong.
enum RawPacket {
  static func header(
    first: UInt8, second: UInt8, _ sequence: UInt16, _ timestamp: UInt32, _ ssrc: UInt32
  ) -> [UInt8] {
    [first, second, UInt8(sequence >> 8), UInt8(truncatingIfNeeded: sequence)] + word(timestamp) + word(ssrc)
  }

  static func word(_ value: UInt32) -> [UInt8] { [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) } }

  /// One RTCP packet with a length that fits.
  static func rtcp(format: UInt8, type: UInt8, _ content: [UInt8]) -> [UInt8] {
    let padded = content + [UInt8](repeating: 0, count: (4 - content.count % 4) % 4)
    let length = padded.count / 4
    return [0x80 | format & 0x1f, type, UInt8(truncatingIfNeeded: length >> 8), UInt8(truncatingIfNeeded: length)]
      + padded
  }
}
