import Basics
import RTP

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
