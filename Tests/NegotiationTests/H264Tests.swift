// H264 in every profile and both packetization modes, and the parameter sets that a description brings.

import Negotiation
import RTP
import SDP
import TestSupport
import Testing

@Suite struct H264Tests {
  private func offer(_ formats: [String]) -> String {
    var client = Offerer()
    client.video(
      "1", codecs: formats.enumerated().map { Codec(UInt8(96 + $0), "H264", 90_000, format: FormatParameters($1)) })
    return client.text
  }

  @Test(arguments: [
    ("profile-level-id=4d401f", CodecProfile.h264MainMode0),
    ("profile-level-id=4D001F;packetization-mode=0", .h264MainMode0),
    ("profile-level-id=640028", .h264HighMode0), ("profile-level-id=640c1f;packetization-mode=0", .h264HighMode0),
    ("profile-level-id=42e01f", .h264ConstrainedBaselineMode0), ("", .h264BaselineMode0),
    ("packetization-mode=1;profile-level-id=4d001f", .h264Main),
    ("packetization-mode=1;profile-level-id=64001f", .h264High),
  ]) func everyProfileIsTakenInBothModes(format: String, profile: CodecProfile) throws {
    var negotiation = Server.publish()
    let prepared = try negotiation.take(offer([format]), [both[1]])
    #expect(prepared.added.map { $0.payloads.map(\.codec) } == [[profile]] && prepared.declined.isEmpty)
    #expect(try prepared.parsed().media[0].rtp.codecs.first?.format.text == format)
    // Those who watch are offered the same, under a payload type of its own.
    var subscriber = Server.subscribe()
    try subscriber.add(subscription(1, .video, codecs: [profile]))
    let offered = try SessionDescription.parse(try subscriber.newOffer().sdp)
    let codec = try #require(offered.media.first { $0.type == .video }?.rtp.codecs.first)
    #expect(codec.payloadType == profile.serverPayloadType)
    #expect(codec.format["packetization-mode"] == (profile.aggregates ? "1" : "0"))
  }

  @Test func interleavedModeIsRefused() {
    #expect(
      Server.publish().refusal(offer(["packetization-mode=2;profile-level-id=4d001f"]), [both[1]])?.code
        == .noCommonCodec)
  }

  @Test func noTwoCodecsShareAPayloadType() {
    let types = CodecProfile.allCases.flatMap {
      [$0.serverPayloadType] + [$0.serverRTXPayloadType, $0.serverREDPayloadType].compactMap { $0 }
    }
    #expect(Set(types).count == types.count)
  }

  @Test(
    arguments: [
      ("Z0LgH9oB,aM48gA==", [[0x67, 0x42, 0xe0, 0x1f, 0xda, 0x01], [0x68, 0xce, 0x3c, 0x80]]),
      ("Z0LgH9oB,aM48gA", [[0x67, 0x42, 0xe0, 0x1f, 0xda, 0x01], [0x68, 0xce, 0x3c, 0x80]]),
      ("", []), (",,", []), ("Z0Lg*,aM48gA==", [[0x68, 0xce, 0x3c, 0x80]]), ("====", []),
      ("Z0LgH9oB=Z0LgH9oB,aM48gA==", [[0x68, 0xce, 0x3c, 0x80]]),
      (String(repeating: "A", count: 4_000), []),
    ] as [(String, [[UInt8]])]) func parameterSetsOfADescriptionAreRead(text: String, sets: [[UInt8]]) throws
  {
    var negotiation = Server.publish()
    let format = "packetization-mode=1;profile-level-id=42e01f;sprop-parameter-sets=\(text)"
    let added = try negotiation.take(offer([format]), [both[1]]).added
    #expect(added.map(\.parameterSets) == [sets])
  }
}
