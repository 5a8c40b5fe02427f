// Cuts a ClientHello into two handshake fragments, each in a datagram of its own (RFC 6347 §4.2.3), as browsers with large
// key shares do. Only unencrypted records are touched, so no MAC is broken; the transcript is that of the whole message.
//
//   record: type 1 | version 2 | epoch 2 | sequence 6 | length 2      handshake: type 1 | length 3 | number 2 | from 3 | count 3

import Basics

struct SplitClientHello {
  private static let recordHeader = 13
  private static let messageHeader = 12
  private static let handshake: UInt8 = 22
  private static let clientHello: UInt8 = 1

  /// Number of the next unencrypted record: a cut adds one, so all are numbered anew.
  private var nextRecord: UInt64 = 0

  /// The datagrams to send instead of `datagram`.
  mutating func transform(_ datagram: [UInt8]) -> [[UInt8]] {
    guard isWholeClientHello(datagram) else { return [renumbered(datagram)] }
    let body = datagram[(Self.recordHeader + Self.messageHeader)...]
    let cut = body.startIndex + body.count / 2
    return [fragment(of: datagram, body[..<cut], from: 0), fragment(of: datagram, body[cut...], from: body.count / 2)]
  }

  private func isWholeClientHello(_ datagram: [UInt8]) -> Bool {
    datagram.count > Self.recordHeader + Self.messageHeader + 1 && datagram[0] == Self.handshake
      && datagram[13] == Self.clientHello && datagram[3] == 0 && datagram[4] == 0
      && datagram.count == Self.recordHeader + Int(datagram[11]) << 8 + Int(datagram[12])
      && datagram[14..<17] == datagram[22..<25]
  }

  private mutating func fragment(of datagram: [UInt8], _ body: ArraySlice<UInt8>, from: Int) -> [UInt8] {
    var result = Array(datagram[..<19])
    result.append(bigEndian24: UInt32(from))
    result.append(bigEndian24: UInt32(body.count))
    result += body
    let length = result.count - Self.recordHeader
    result[11] = UInt8(length >> 8 & 0xff)
    result[12] = UInt8(length & 0xff)
    return renumbered(result)
  }

  private mutating func renumbered(_ datagram: [UInt8]) -> [UInt8] {
    var result = datagram
    var start = 0
    while start + Self.recordHeader <= result.count {
      let end = start + Self.recordHeader + Int(result[start + 11]) << 8 + Int(result[start + 12])
      if result[start + 3] == 0, result[start + 4] == 0 {
        for byte in 0..<6 { result[start + 5 + byte] = UInt8(nextRecord >> UInt64(8 * (5 - byte)) & 0xff) }
        nextRecord += 1
      }
      start = end
    }
    return result
  }
}
