import Basics
import RTP

/// Bytes from hexadecimal digits; everything else between them is passed over.
func hex(_ text: String) -> [UInt8] {
  let digits = text.compactMap(\.hexDigitValue)
  return stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
}

/// A seeded generator: the same garbage in every run.
struct Seeded: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var z = state
    z = (z ^ z >> 30) &* 0xbf58_476d_1ce4_e5b9
    z = (z ^ z >> 27) &* 0x94d0_49bb_1331_11eb
    return z ^ z >> 31
  }

  mutating func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8(truncatingIfNeeded: next()) } }
}

extension Array where Element == UInt8 {
  func text(_ range: Range<Int>?) -> String? { range.map { String(decoding: self[$0], as: UTF8.self) } }
}

/// Every packet of a compound, or the error that ended the walk.
func walk(_ bytes: [UInt8]) throws(RTPError) -> [RTCPPacket] {
  var reader = RTCPReader()
  var packets: [RTCPPacket] = []
  while let packet = try reader.next(bytes.span) { packets.append(packet) }
  return packets
}
