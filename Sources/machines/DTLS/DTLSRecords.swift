// The outside of DTLS 1.2 records (RFC 6347 §4.1): enough to keep from OpenSSL what no peer of ours sends.
//
//   type 1 | version 2 | epoch 2 | sequence number 6 | length 2 | fragment

enum DTLSRecords {
  static let headerLength = 13
  /// An encrypted record of our cipher suites holds at least a nonce of 8 bytes and a tag of 16 (RFC 5288). OpenSSL 3.0 ends
  /// the connection over a shorter one instead of dropping it, so that anybody could end it with one forged datagram.
  static let shortestEncrypted = 24

  /// Whether a datagram is nothing but whole records of DTLS 1.0 or 1.2 that could be genuine.
  static func arePlausible(_ datagram: Span<UInt8>) -> Bool {
    var start = 0
    while start < datagram.count {
      guard start + headerLength <= datagram.count, (20...25).contains(datagram[start]), datagram[start + 1] == 0xfe
      else { return false }
      let length = Int(datagram[start + 11]) << 8 | Int(datagram[start + 12])
      let isEncrypted = datagram[start + 3] != 0 || datagram[start + 4] != 0
      guard length >= (isEncrypted ? shortestEncrypted : 1) else { return false }
      start += headerLength + length
    }
    return start == datagram.count && start > 0
  }

  private static let alert: UInt8 = 21
  private static let handshake: UInt8 = 22
  private static let data: UInt8 = 23

  /// Whether one of the records can mean anything once the handshake is done: it is encrypted, of a type that OpenSSL heeds then, and long
  /// enough for that. For datagrams that are plausible.
  static func mayMatter(_ datagram: Span<UInt8>) -> Bool {
    var start = 0
    while start + headerLength <= datagram.count {
      let length = Int(datagram[start + 11]) << 8 | Int(datagram[start + 12])
      if datagram[start + 3] != 0 || datagram[start + 4] != 0 {
        switch datagram[start] {
        case alert: return true
        case handshake: if length >= shortestEncrypted + 12 { return true }
        case data: if length > shortestEncrypted { return true }
        default: break
        }
      }
      start += headerLength + length
    }
    return false
  }

  /// Whether a datagram is an encrypted alert and nothing else: close_notify as a rule. For datagrams that are plausible.
  static func isAlert(_ datagram: Span<UInt8>) -> Bool {
    datagram.count == headerLength + shortestEncrypted + 2 && datagram[0] == alert
      && (datagram[3] != 0 || datagram[4] != 0)
  }

  /// The description number of the first alert that is not encrypted; nil where there is none. For datagrams that are plausible.
  static func plainAlert(_ datagram: Span<UInt8>) -> UInt8? {
    var start = 0
    while start + headerLength < datagram.count {
      let length = Int(datagram[start + 11]) << 8 | Int(datagram[start + 12])
      if datagram[start] == alert, datagram[start + 3] == 0, datagram[start + 4] == 0 {
        return length > 1 && start + headerLength + 1 < datagram.count ? datagram[start + headerLength + 1] : 0
      }
      start += headerLength + length
    }
    return nil
  }
}
