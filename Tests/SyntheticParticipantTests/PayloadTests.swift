// Payloads are what their codec says, and the stamp comes back as it was written.

import Basics
import RTP
import RoostProtocol
import Testing

@testable import SyntheticParticipant

@Suite struct PayloadTests {
  private func record(packet: UInt16, isKeyframe: Bool, length: UInt16 = 200) -> PacketRecord {
    PacketRecord(
      sequence: 7, timestamp: 3_000,
      stamp: PayloadStamp(
        identity: 0x0123_4567_89ab_cdef, sentAt: Instant(nanoseconds: 123_456_789_012), frame: 99, packet: packet,
        packets: 3, payloadLength: length, layer: 2, isKeyframe: isKeyframe),
      marker: packet == 2, picture: 0x1234, transportSequence: 1, absSendTime: 2)
  }

  @Test(arguments: [(UInt16(0), true), (0, false), (1, true), (2, false)])
  func picturesAreVP8(_ packet: UInt16, _ isKeyframe: Bool) throws {
    let record = record(packet: packet, isKeyframe: isKeyframe)
    var bytes = [UInt8](repeating: 0, count: 300)
    var span = bytes.mutableSpan
    let length = PayloadWriter.write(
      record, kind: .video, layer: VideoLayer(width: 320, height: 180), into: &span, at: 40)
    #expect(length == 200)
    let payload = bytes.span.extracting(40..<240)
    let parsed = PayloadInfo.parse(payload, codec: .vp8, marker: record.marker)
    let stamp = PayloadStamp(payload, at: PayloadStamp.videoOffset)
    let info = try #require(parsed)
    #expect(info.startsFrame == (packet == 0))
    #expect(info.startsKeyframe == (packet == 0 && isKeyframe))
    #expect(info.endsFrame == (packet == 2))
    #expect(info.pictureID?.value == 0x1234 && info.pictureID?.isLong == true)
    #expect(stamp == record.stamp)
    if packet == 0 && isKeyframe {
      #expect(Array(bytes[47..<54]) == [0x9d, 0x01, 0x2a, 0x40, 0x01, 0xb4, 0x00])
    }
    #expect(bytes[240] == 0)
  }

  @Test func soundsAreOpus() throws {
    let record = record(packet: 0, isKeyframe: false, length: 80)
    var bytes = [UInt8](repeating: 0, count: 100)
    var span = bytes.mutableSpan
    let length = PayloadWriter.write(record, kind: .audio, layer: nil, into: &span, at: 4)
    #expect(length == 80)
    let payload = bytes.span.extracting(4..<84)
    let parsed = PayloadInfo.parse(payload, codec: .opus, marker: false)
    let stamp = PayloadStamp(payload, at: PayloadStamp.audioOffset)
    let info = try #require(parsed)
    #expect(!info.isDTX)
    #expect(stamp == record.stamp)
  }

  @Test func whatHasNoStampGivesNone() {
    let bytes = [UInt8](repeating: 0x52, count: 64)
    for offset in [1, 60, 64, -1] {
      let stamp = PayloadStamp(bytes.span, at: offset)
      #expect(stamp == nil)
    }
  }
}
