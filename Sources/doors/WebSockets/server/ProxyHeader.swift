// What a proxy says of its client before anything else of a connection: the PROXY protocol, versions 1 and 2 (HAProxy's
// proxy-protocol.txt, sections 2.1 and 2.2). Pure.
//
//   PROXY TCP4 192.0.2.1 198.51.100.1 50000 443 CR LF
//   signature (12) · version and command (1) · family (1) · length (2) · addresses and more
import Basics

/// Reads the header of one connection, and no byte behind it.
package struct ProxyHeader: Sendable {
  /// Whom it names.
  package enum Source: Equatable, Sendable {
    /// The proxy itself, which looks whether the server is there.
    case proxy
    /// Somebody whom it cannot name.
    case unknown
    case client(SocketAddress)
  }

  /// It is no such header.
  package struct Malformed: Error, Equatable {}

  /// Bytes of a header of version 2, with what a proxy says besides of TLS. Raise it, and each connection may take so much more before
  /// anything is known of it.
  package static let mostBytes = 1024
  /// Bytes of a line of version 1, as the document says.
  private static let lineBytes = 107
  private static let signature: [UInt8] = [13, 10, 13, 10, 0, 13, 10, 0x51, 0x55, 0x49, 0x54, 10]
  private static let firstWord = Array("PROXY ".utf8)

  private var bytes: [UInt8] = []
  /// Whom it names, once it is whole.
  package private(set) var source: Source?

  /// A connection of which nothing was read.
  package init() {}

  private var isLine: Bool { bytes.starts(with: Self.firstWord) }

  /// How many bytes to look at next; 0 when it is whole.
  package var wanted: Int {
    if source != nil { return 0 }
    if bytes.count < Self.signature.count { return Self.signature.count - bytes.count }
    if isLine { return Self.lineBytes - bytes.count }
    return (bytes.count < 16 ? 16 : 16 + length) - bytes.count
  }

  /// Looks at what has come: at most `wanted` bytes.
  /// - Returns: how many of them are the header's.
  package mutating func take(_ piece: some Collection<UInt8>) throws(Malformed) -> Int {
    var taken = 0
    for byte in piece {
      bytes.append(byte)
      taken += 1
      if isLine, byte == 10 {
        source = try Self.line(bytes)
        return taken
      }
    }
    try check()
    return taken
  }

  /// The length that version 2 says.
  private var length: Int { Int(bytes[14]) << 8 | Int(bytes[15]) }

  private mutating func check() throws(Malformed) {
    if isLine {
      guard bytes.count < Self.lineBytes else { throw Malformed() }
      return
    }
    let known = min(bytes.count, Self.signature.count)
    let isBeginning =
      Self.firstWord.starts(with: bytes) || bytes.prefix(known).elementsEqual(Self.signature.prefix(known))
    guard isBeginning else { throw Malformed() }
    guard bytes.count >= 16 else { return }
    guard length <= Self.mostBytes - 16 else { throw Malformed() }
    if bytes.count == 16 + length { source = try Self.block(bytes) }
  }

  // MARK: Version 1

  private static func line(_ bytes: [UInt8]) throws(Malformed) -> Source {
    guard bytes.count >= 2, bytes[bytes.count - 2] == 13 else { throw Malformed() }
    let text = String(decoding: bytes.dropLast(2), as: UTF8.self)
    let words = text.split(separator: " ", omittingEmptySubsequences: false)
    // What follows is to be ignored.
    if words.count >= 2, words[1] == "UNKNOWN" { return .unknown }
    guard words.count == 6, ["TCP4", "TCP6"].contains(words[1]), let port = Self.port(words[4]),
      Self.port(words[5]) != nil,
      let client = SocketAddress(host: String(words[2]), port: port),
      let server = SocketAddress(host: String(words[3]), port: 0)
    else { throw Malformed() }
    // An IPv4 address may be written as one of IPv6, which is the same here.
    guard words[1] == "TCP6" ? words[2].contains(":") && words[3].contains(":") : client.isIPv4 && server.isIPv4 else {
      throw Malformed()
    }
    return .client(client)
  }

  /// Nil for what is no port in decimal digits.
  static func port(_ text: some StringProtocol) -> UInt16? {
    guard (1...5).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    return UInt16(text)
  }

  // MARK: Version 2

  private static func block(_ bytes: [UInt8]) throws(Malformed) -> Source {
    switch bytes[12] {
    case 0x20: return .proxy
    case 0x21: break
    default: throw Malformed()
    }
    switch bytes[13] {
    // TCP over IPv4: two addresses, two ports.
    case 0x11:
      guard bytes.count >= 16 + 12 else { throw Malformed() }
      return .client(SocketAddress(v4: UInt32(number(bytes[16..<20])), port: UInt16(number(bytes[24..<26]))))
    case 0x21:
      guard bytes.count >= 16 + 36 else { throw Malformed() }
      return .client(
        SocketAddress(
          high: number(bytes[16..<24]), low: number(bytes[24..<32]), port: UInt16(number(bytes[48..<50]))))
    default: return .unknown
    }
  }

  /// At most eight bytes in network order.
  private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
}
