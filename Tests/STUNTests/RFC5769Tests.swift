import Basics
import STUN
import TestSupport
import Testing

/// The test vectors of RFC 5769.
@Suite struct RFC5769Tests {
  static let password = Array("VOkJxbRl1RmTxUk/WvJxBt".utf8)
  static let request = hex(
    """
    00010058 2112a442 b7e7a701bc34d686fa87dfae
    80220010 5354554e207465737420636c69656e74
    00240004 6e0001ff
    80290008 932ff9b151263b36
    00060009 6576746a3a68367659 202020
    00080014 9aeaa70cbfd8cb56781ef2b5b2d3f249c1b571a2
    80280004 e57a3bcf
    """)
  static let response4 = hex(
    """
    0101003c 2112a442 b7e7a701bc34d686fa87dfae
    8022000b 7465737420766563746f72 20
    00200008 0001a147e112a643
    00080014 2b91f599fd9e90c38c7489f92af9ba53f06be7d7
    80280004 c07d4c96
    """)
  static let response6 = hex(
    """
    01010048 2112a442 b7e7a701bc34d686fa87dfae
    8022000b 7465737420766563746f72 20
    00200014 0002a1470113a9faa5d3f179bc25f4b5bed2b9d9
    00080014 a382954e4be67bf11784c97c8292c275bfe3ed41
    80280004 c8fb0b4c
    """)
  static let longTerm = hex(
    """
    00010060 2112a442 78ad3433c6ad72c029da412e
    00060012 e3839ee38388e383aae38383e382afe382b9 0000
    0015001c 662f2f3439396b39353464364f4c33346f4c39465354767936347341
    0014000b 6578616d706c652e6f7267 00
    00080014 f67024656dd64a3e02b8e0712e85c9a28ca89666
    """)

  @Test func sampleRequest() throws {
    let view = try MessageView.parse(Self.request.span)
    #expect(view.type == MessageType(binding: .request))
    #expect(view.type.messageClass == .request && view.type.method == MessageType.binding)
    #expect(view.transactionID == TransactionID(high: 0xb7e7_a701, low: 0xbc34_d686_fa87_dfae))
    #expect(view.priority == 0x6e00_01ff)
    #expect(view.iceControlled == 0x932f_f9b1_5126_3b36)
    #expect(view.iceControlling == nil && !view.useCandidate)
    #expect(view.username.map { String(decoding: Self.request[$0], as: UTF8.self) } == "evtj:h6vY")
    #expect(view.unknown.count == 0)
    #expect(try fingerprintHolds(Self.request))
    #expect(try integrityHolds(Self.request, key: Self.password))
  }

  @Test func sampleIPv4Response() throws {
    let view = try MessageView.parse(Self.response4.span)
    #expect(view.type == MessageType(binding: .success))
    #expect(view.mappedAddress == SocketAddress(host: "192.0.2.1", port: 32853))
    #expect(try fingerprintHolds(Self.response4))
    #expect(try integrityHolds(Self.response4, key: Self.password))
  }

  @Test func sampleIPv6Response() throws {
    let view = try MessageView.parse(Self.response6.span)
    #expect(view.mappedAddress == SocketAddress(host: "2001:db8:1234:5678:11:2233:4455:6677", port: 32853))
    #expect(try fingerprintHolds(Self.response6))
    #expect(try integrityHolds(Self.response6, key: Self.password))
  }

  /// The key is MD5 of "マトリックス:example.org:TheMatrIX" (RFC 8489 §9.2.2), which nothing here needs to compute.
  @Test func sampleLongTermRequest() throws {
    let view = try MessageView.parse(Self.longTerm.span)
    func text(_ range: Range<Int>?) -> String? { range.map { String(decoding: Self.longTerm[$0], as: UTF8.self) } }
    #expect(text(view.username) == "マトリックス")
    #expect(text(view.realm) == "example.org")
    #expect(text(view.nonce) == "f//499k954d6OL34oL9FSTvy64sA")
    #expect(view.fingerprintOffset == nil)
    #expect(try !fingerprintHolds(Self.longTerm))
    #expect(try integrityHolds(Self.longTerm, key: hex("e8ca7ad59d5eb0518e312911d2dab2a9")))
  }

  @Test func ourIPv6ResponseIsTheirsByteForByte() throws {
    // SOFTWARE is padded with spaces there and with zeroes here, so only what lies before it may differ in the tag.
    let built = try message(.success) { (writer, buffer) throws(STUNError) in
      try writer.appendMappedAddress(
        SocketAddress(high: 0x2001_0db8_1234_5678, low: 0x0011_2233_4455_6677, port: 32853), to: &buffer)
    }
    #expect(Array(built[20...]) == Array(Self.response6[36..<60]))
  }

  @Test(arguments: [request, response4, response6])
  func everyFlippedBitIsNoticed(vector: [UInt8]) throws {
    for bit in 0..<(vector.count * 8) {
      var bytes = vector
      bytes[bit / 8] ^= 1 << UInt8(bit % 8)
      guard (try? MessageView.parse(bytes.span)) != nil else { continue }
      #expect(try !fingerprintHolds(bytes))
      let isCovered = bit / 8 < vector.count - 8
      if isCovered { #expect(try !integrityHolds(bytes, key: Self.password)) }
    }
  }

  @Test(arguments: [request, response4, response6, longTerm])
  func everyTruncationIsRefused(vector: [UInt8]) {
    for length in 0..<vector.count {
      #expect(throws: STUNError.self) { try MessageView.parse(vector.span.extracting(first: length)) }
    }
    #expect(throws: STUNError.wrongLength) { try MessageView.parse((vector + [0, 0, 0, 0]).span) }
  }

  @Test func anotherPasswordDoesNotHold() throws {
    #expect(try !integrityHolds(Self.request, key: Array("VOkJxbRl1RmTxUk/WvJxBT".utf8)))
  }
}
