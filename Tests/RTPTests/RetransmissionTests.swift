import Basics
import RTP
import TestSupport
import Testing

@Suite struct RetransmissionTests {
  @Test func aWrappedPacketComesOutAsItWas() throws {
    var buffer = [UInt8](repeating: 0, count: 200)
    var span = buffer.mutableSpan
    let header = RTPHeader(marker: true, payloadType: 97, sequenceNumber: 9, timestamp: 1_000, ssrc: 2)
    var length = try header.write(into: &span, ids: HeaderExtensionIDs())
    length += try Retransmission.writeOriginalSequenceNumber(65_535, into: &span, at: length)
    for byte in [1, 2, 3] as [UInt8] {
      span[length] = byte
      length += 1
    }
    var packet = Array(buffer[..<length])
    var out = packet.mutableSpan
    let view = try PacketView.parse(out.span)
    #expect(Retransmission.originalSequenceNumber(out.span, view) == 65_535)
    let restored = try Retransmission.unwrap(&out, view, payloadType: 96, ssrc: 1)
    let original = Array(packet[..<restored.payload.upperBound])
    #expect(original == hex("80 e0 ffff 000003e8 00000001 010203"))
    #expect(try PacketView.parse(original.span) == restored)
  }

  @Test func paddingDoesNotCount() throws {
    var packet = hex("a0 61 0009 00000000 00000002 00ff 0a 0003 03")
    packet[16] = 0
    var span = packet.mutableSpan
    let view = try PacketView.parse(span.span).strippingPadding(span.span)
    let restored = try Retransmission.unwrap(&span, view, payloadType: 96, ssrc: 1)
    #expect(Array(packet[..<restored.payload.upperBound]) == hex("80 60 00ff 00000000 00000001 0a"))
  }

  @Test(arguments: [
    "80 61 0009 00000000 00000002", "80 61 0009 00000000 00000002 01", "a0 61 0009 00000000 00000002 000002",
  ])
  func probesRepeatNothing(text: String) throws {
    var packet = hex(text)
    let view = try PacketView.parse(packet.span).strippingPadding(packet.span)
    #expect(Retransmission.originalSequenceNumber(packet.span, view) == nil)
    #expect(throws: RTPError.malformed) {
      var span = packet.mutableSpan
      _ = try Retransmission.unwrap(&span, view, payloadType: 96, ssrc: 1)
    }
  }

  @Test func noRoomForTheNumber() {
    var packet = [UInt8](repeating: 0, count: 13)
    #expect(throws: RTPError.noRoom) {
      var span = packet.mutableSpan
      _ = try Retransmission.writeOriginalSequenceNumber(1, into: &span, at: 12)
    }
  }
}
