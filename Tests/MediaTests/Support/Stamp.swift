// Payloads that say what they are, so that a receiver can tell whose packet it got and what should come next.

import Basics
import RTP

/// What every payload carries behind its codec's descriptor.
struct Stamp: Equatable {
  static let length = 28
  var producer: UInt64 = 0
  var capture: Int64 = 0
  var frame: UInt32 = 0
  var layer: UInt8 = 0
  /// Position in the frame, and packets of the frame.
  var index: UInt8 = 0
  var count: UInt8 = 1
  var isKeyframe = true

  func append(to payload: inout [UInt8]) {
    for shift in stride(from: 56, through: 0, by: -8) { payload.append(UInt8(truncatingIfNeeded: producer >> shift)) }
    for shift in stride(from: 56, through: 0, by: -8) { payload.append(UInt8(truncatingIfNeeded: capture >> shift)) }
    for shift in stride(from: 24, through: 0, by: -8) { payload.append(UInt8(truncatingIfNeeded: frame >> shift)) }
    payload += [layer, index, count, isKeyframe ? 1 : 0]
    payload += [0x52, 0x6f, 0x6f, 0x73]
  }

  init(producer: UInt64, capture: Instant, frame: UInt32, layer: UInt8) {
    self.producer = producer
    self.capture = capture.nanoseconds
    self.frame = frame
    self.layer = layer
  }

  init?(_ payload: ArraySlice<UInt8>) {
    guard payload.count >= Self.length,
      payload[(payload.startIndex + 24)..<(payload.startIndex + 28)] == [0x52, 0x6f, 0x6f, 0x73]
    else { return nil }
    let bytes = Array(payload)
    func number(_ range: Range<Int>) -> UInt64 { range.reduce(0) { $0 << 8 | UInt64(bytes[$1]) } }
    producer = number(0..<8)
    capture = Int64(bitPattern: number(8..<16))
    frame = UInt32(number(16..<20))
    (layer, index, count, isKeyframe) = (bytes[20], bytes[21], bytes[22], bytes[23] == 1)
  }
}

/// Which temporal layer a frame is of, and whether the layer may be taken up with it.
struct TemporalPlace {
  var layer: UInt8 = 0
  var isSync = false

  /// The base layer, without any above it.
  init() {}

  /// Three layers, as libwebrtc's encoder for VP8 begins each four pictures.
  init(position: Int) { (layer, isSync) = [(0, false), (2, true), (1, true), (2, false)][position % 4] }
}

/// Real payload descriptors around a stamp.
enum TestPayload {
  /// What a payload holds behind its stamp.
  private static let filling = (0..<65_536).map { UInt8(truncatingIfNeeded: $0) }

  /// Where the stamp begins.
  static func stampOffset(_ codec: CodecProfile) -> Int {
    switch codec {
    case .opus: 1
    case .vp8: 16
    case .av1: 2
    default: 4
    }
  }

  /// A payload of at least `size` bytes. VP8: 15-bit picture identifier, TL0PICIDX and temporal layer; H264: FU-A, and
  /// keyframes begin with several units, where `hasSets` says so with parameter sets; in mode 0 one unit, never with sets.
  static func make(
    _ codec: CodecProfile, _ stamp: Stamp, pictureID: UInt16, tl0: UInt8, time: TemporalPlace = TemporalPlace(),
    size: Int, width: UInt16 = 0, hasSets: Bool = true, setsApart: Bool = false
  ) -> [UInt8] {
    let (first, last) = (stamp.index == 0, stamp.index + 1 == stamp.count)
    var payload: [UInt8]
    switch codec {
    case .opus: payload = [0x78]
    case .vp8:
      payload = [
        0x80 | (first ? 0x10 : 0), 0xe0, 0x80 | UInt8(pictureID >> 8 & 0x7f), UInt8(truncatingIfNeeded: pictureID),
      ]
      payload += [tl0, time.layer << 6 | (time.isSync ? 0x20 : 0), stamp.isKeyframe ? 0x10 : 0x11]
      // A frame header that says how large the picture is, where that is to be known.
      let height = width / 16 * 9
      payload += width > 0 && stamp.isKeyframe ? [0, 0, 0x9d, 0x01, 0x2a] : [0, 0, 0, 0, 0]
      payload += [width, height].flatMap { [UInt8(truncatingIfNeeded: $0), UInt8($0 >> 8)] }
    case .av1:
      // Aggregation header, of one element without a length, and an OBU of a frame.
      payload = [0x10 | (first ? 0 : 0x80) | (last ? 0 : 0x40) | (first && stamp.isKeyframe ? 0x08 : 0), 0x30]
    case .h264MainMode0:
      // Single NAL units, each of them a slice; later ones do not begin at macroblock 0.
      payload = [stamp.isKeyframe ? 0x65 : 0x41, first ? (stamp.isKeyframe ? 0x88 : 0x9a) : 0x43, 0, 0]
    default:
      if first && stamp.isKeyframe {
        let sets = hasSets ? [width > 0 ? sequenceSet(width: width) : sequenceSet, pictureSet] : []
        return h264Keyframe(stamp, size: size, sets: sets, hasSlice: !setsApart)
      }
      let first = first || setsApart && stamp.isKeyframe && stamp.index == 1
      payload = [0x7c, (first ? 0x80 : 0) | (last ? 0x40 : 0) | (stamp.isKeyframe ? 5 : 1), 0x9a, 0]
    }
    stamp.append(to: &payload)
    if payload.count < size { payload += filling[payload.count..<size] }
    return payload
  }
}

extension TestPayload {
  static let sequenceSet: [UInt8] = [0x67, 0x42, 0xe0, 0x1f, 0xda, 0x01]
  static let pictureSet: [UInt8] = [0x68, 0xce, 0x3c, 0x80]

  /// One of baseline, of pictures of 16 : 9 in whole macroblocks (ITU-T H.264 §7.3.2.1.1).
  static func sequenceSet(width: UInt16) -> [UInt8] {
    func code(_ value: UInt16) -> String {
      let digits = String(value + 1, radix: 2)
      return String(repeating: "0", count: digits.count - 1) + digits
    }
    let bits = "110110100" + code(width / 16 - 1) + code(width * 9 / 256 - 1) + "11001"
    let padded = bits + String(repeating: "0", count: (8 - bits.count % 8) % 8)
    let bytes = stride(from: 0, to: padded.count, by: 8).map { UInt8(padded.dropFirst($0).prefix(8), radix: 2) ?? 0 }
    return [0x67, 0x42, 0xc0, 0x1f] + bytes
  }

  /// Puts a byte where encryption from end to end would, which leaves the headers of NAL units in the clear: behind that of FU-A, and of
  /// each unit of STAP-A but the one with the stamp.
  static func garble(_ payload: inout [UInt8], _ byte: UInt8) {
    if payload[0] & 0x1f == 28 { payload[2] = byte }
    guard payload[0] & 0x1f == 24 else { return }
    var at = 1
    while at + 3 < payload.count {
      let size = Int(payload[at]) << 8 | Int(payload[at + 1])
      if payload[at + 2] & 0x1f != 6 { payload[at + 3] = byte }
      at += 2 + size
    }
  }

  /// STAP-A: the stamp as supplementary information, parameter sets, and the first slice.
  private static func h264Keyframe(_ stamp: Stamp, size: Int, sets: [[UInt8]], hasSlice: Bool) -> [UInt8] {
    var information: [UInt8] = [0x06]
    stamp.append(to: &information)
    var payload: [UInt8] = [0x78]
    for unit in [information] + sets {
      payload += [UInt8(unit.count >> 8), UInt8(truncatingIfNeeded: unit.count)] + unit
    }
    if !hasSlice { return payload }
    let slice = [0x65, 0x88] + [UInt8](repeating: 0x5a, count: max(size - payload.count - 4, 1))
    return payload + [UInt8(slice.count >> 8), UInt8(truncatingIfNeeded: slice.count)] + slice
  }
}

/// Dependency descriptors as publishers of AV1 write them (AV1 RTP payload format 1.0, appendix A.8).
enum Descriptor {
  /// The structure with the keyframe: one layer, of which a frame refers to nothing or to the one before. Zeros may follow, and
  /// do, so that it is longer than an element of the one-byte form.
  private static let structure: [UInt8] =
    [0b1000_0000, 0b0000_0000, 0b0001_1101, 0b1010_0000] + [UInt8](repeating: 0, count: 14)

  static func make(_ stamp: Stamp) -> [UInt8] {
    let (first, last) = (stamp.index == 0, stamp.index + 1 == stamp.count)
    // Close to the wrap, as all numbers of the tests.
    let number = 0xffe0 &+ UInt16(truncatingIfNeeded: stamp.frame)
    let template: UInt8 = stamp.isKeyframe ? 0 : 1
    let head = [
      (first ? 0x80 : 0) | (last ? 0x40 : 0) | template, UInt8(number >> 8), UInt8(truncatingIfNeeded: number),
    ]
    return head + (first && stamp.isKeyframe ? structure : [])
  }
}

/// Redundant sound as publishers of the tests write it (RFC 2198 §3).
enum RED {
  static func header(payloadType: UInt8 = 111, age: UInt32, length: Int) -> [UInt8] {
    let fields = age << 10 | UInt32(length)
    return [0x80 | payloadType] + [16, 8, 0].map { UInt8(truncatingIfNeeded: fields >> $0) }
  }
}

/// What publishers and subscribers of the tests agree on; different on both sides, so that nothing fits by accident.
enum Agreed {
  static let publisher: [PayloadMapping] = [
    PayloadMapping(payloadType: 111, codec: .opus, redPayloadType: redPayloadType),
    PayloadMapping(payloadType: 96, codec: .vp8, rtxPayloadType: 97),
    PayloadMapping(payloadType: 102, codec: .h264ConstrainedBaseline, rtxPayloadType: 103),
    PayloadMapping(payloadType: 45, codec: .av1, rtxPayloadType: 46),
    PayloadMapping(payloadType: 116, codec: .h264MainMode0, rtxPayloadType: 117),
  ]
  static let subscriber: [PayloadMapping] = [
    PayloadMapping(payloadType: 109, codec: .opus), PayloadMapping(payloadType: 100, codec: .vp8, rtxPayloadType: 101),
    PayloadMapping(payloadType: 104, codec: .h264ConstrainedBaseline, rtxPayloadType: 105),
    PayloadMapping(payloadType: 43, codec: .av1, rtxPayloadType: 44),
    PayloadMapping(payloadType: 118, codec: .h264MainMode0, rtxPayloadType: 119),
  ]

  static let redPayloadType: UInt8 = 63
  /// That of a subscriber.
  static let otherREDPayloadType: UInt8 = 62

  static func payloads(_ all: [PayloadMapping], _ kind: MediaKind) -> [PayloadMapping] {
    all.filter { ($0.codec == .opus) == (kind == .audio) }
  }

  static func payloadType(_ codec: CodecProfile) -> UInt8 { publisher.first { $0.codec == codec }?.payloadType ?? 0 }
  static func rtxPayloadType(_ codec: CodecProfile) -> UInt8? { publisher.first { $0.codec == codec }?.rtxPayloadType }

  static let publisherExtensions: HeaderExtensionIDs = {
    var ids = HeaderExtensionIDs()
    (ids.audioLevel, ids.absSendTime, ids.transportSequence, ids.mid) = (1, 2, 3, 4)
    (ids.rid, ids.repairedRid, ids.videoOrientation, ids.dependencyDescriptor) = (10, 11, 13, 12)
    return ids
  }()
  static let subscriberExtensions: HeaderExtensionIDs = {
    var ids = HeaderExtensionIDs()
    (ids.audioLevel, ids.absSendTime, ids.transportSequence, ids.mid, ids.videoOrientation) = (6, 5, 7, 9, 8)
    ids.dependencyDescriptor = 3
    return ids
  }()
}
