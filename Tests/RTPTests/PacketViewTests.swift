import Basics
import RTP
import TestSupport
import Testing

@Suite struct PacketViewTests {
  static let plain = hex("80 e0 1234 00010203 deadbeef 0102030405")
  /// Two CSRCs, one word of one-byte extension, padding of 3.
  static let full = hex("b2 6f ffff 80000000 00000001 0000000a 0000000b bede0001 10aa0000 c0ffee 000003")

  @Test func readsAPlainHeader() throws {
    let view = try PacketView.parse(Self.plain.span)
    #expect(view.marker)
    #expect(view.payloadType == 96)
    #expect(view.sequenceNumber == 0x1234)
    #expect(view.timestamp == 0x0001_0203)
    #expect(view.ssrc == 0xdead_beef)
    #expect(view.csrcCount == 0)
    #expect(!view.hasExtension && !view.hasPadding)
    #expect(view.payload == 12..<17)
  }

  @Test func readsCSRCsExtensionAndPadding() throws {
    let view = try PacketView.parse(Self.full.span)
    #expect(!view.marker)
    #expect(view.payloadType == 111)
    #expect(view.csrcCount == 2)
    #expect(view.extensionProfile == 0xbede)
    #expect(view.extensionOffset == 24)
    #expect(view.extensionLength == 4)
    #expect(view.payload == 28..<34)
    let stripped = try view.strippingPadding(Self.full.span)
    #expect(stripped.payload == 28..<31)
    #expect(!stripped.hasPadding)
    #expect(try stripped.strippingPadding(Self.full.span) == stripped)
  }

  @Test func everyTruncationOfTheHeaderIsRefused() throws {
    for length in 0..<28 {
      #expect(throws: RTPError.truncated) { try PacketView.parse(Self.full.span.extracting(first: length)) }
    }
    #expect(try PacketView.parse(Self.full.span.extracting(first: 28)).payloadLength == 0)
  }

  @Test(arguments: [0x00, 0x40, 0xc0] as [UInt8])
  func otherVersionsAreRefused(bits: UInt8) {
    var packet = Self.plain
    packet[0] = bits | packet[0] & 0x3f
    #expect(throws: RTPError.wrongVersion) { try PacketView.parse(packet.span) }
  }

  @Test(arguments: [0, 7, 255] as [UInt8])
  func impossiblePaddingIsRefused(count: UInt8) throws {
    var packet = Self.full
    packet[packet.count - 1] = count
    let view = try PacketView.parse(packet.span)
    #expect(throws: RTPError.badPadding) { try view.strippingPadding(packet.span) }
  }

  @Test func aPacketMayBePaddingAlone() throws {
    let packet = hex("a0 60 0001 00000000 00000001 00000004")
    #expect(try PacketView.parse(packet.span).strippingPadding(packet.span).payloadLength == 0)
    let empty = hex("a0 60 0001 00000000 00000001")
    let view = try PacketView.parse(empty.span)
    #expect(throws: RTPError.badPadding) { try view.strippingPadding(empty.span) }
  }

  @Test func followsTheLengthAfterUnsealing() throws {
    let view = try PacketView.parse(Self.plain.span)
    #expect(try view.withPacketLength(14).payload == 12..<14)
    #expect(throws: RTPError.truncated) { try view.withPacketLength(11) }
  }

  @Test(
    arguments: [
      ([0x00, 0x01], .stun), ([0x03, 0], .stun), ([0x04, 0], .unknown), ([19, 0], .unknown), ([20, 0xfe], .dtls),
      ([63, 0], .dtls), ([64, 0], .turnChannel), ([79, 0], .turnChannel), ([80, 0], .unknown), ([127, 0], .unknown),
      ([0x80, 0x60], .rtp), ([0x80, 191], .rtp), ([0x80, 192], .rtcp), ([0x80, 200], .rtcp), ([0x90, 223], .rtcp),
      ([0x80, 224], .rtp), ([0xbf, 0xe0], .rtp), ([192, 200], .unknown), ([0x80], .unknown), ([], .unknown),
    ] as [([UInt8], PacketClass)])
  func datagramsAreTakenApart(bytes: [UInt8], expected: PacketClass) {
    #expect(PacketClass.classify(bytes.span) == expected)
    if bytes.count == 2, expected == .rtp || expected == .rtcp { #expect(isRTCP(bytes.span) == (expected == .rtcp)) }
  }
}
