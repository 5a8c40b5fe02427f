import Basics
import RTP
import TestSupport
import Testing

/// Nothing that comes from the network may trap a reader.
@Suite struct GarbageTests {
  @Test func randomBytesNeverTrap() {
    var random = SplitMix64(seed: 1)
    var sum = 0
    for round in 0..<100_000 {
      var bytes = random.bytes(Int(random.next() % 48))
      // Half of them get past the first check.
      if round & 1 == 0, bytes.count > 3 {
        bytes[0] = bytes[0] & 0x3f | 0x80
        bytes[2] = 0
        bytes[3] = UInt8(bytes.count / 4) &- 1
        bytes[1] = round & 2 == 0 ? 200 + bytes[1] % 8 : bytes[1]
      }
      sum &+= ReadEverything.packet(bytes.span) &+ ReadEverything.compound(bytes.span)
      for codec in CodecProfile.allCases { sum &+= ReadEverything.payload(bytes.span, codec) }
    }
    #expect(sum != 0)
  }

  @Test func everyTruncationAndBitFlipOfGoodPacketsIsSurvived() {
    var sum = 0
    for good in Self.seeds() {
      for length in 0...good.count { sum &+= Self.exercise(Array(good[..<length])) }
      for bit in 0..<(good.count * 8) {
        var bytes = good
        bytes[bit / 8] ^= 1 << UInt8(bit % 8)
        sum &+= Self.exercise(bytes)
      }
    }
    #expect(sum != 0)
  }

  @Test func everyTruncationOfACompoundIsAnErrorOrACutCompound() throws {
    for good in Self.seeds().dropFirst(3) {
      let whole = try walk(good).count
      for length in 1..<good.count {
        if let packets = try? walk(Array(good[..<length])) { #expect(packets.count < whole) }
      }
    }
  }

  static func exercise(_ bytes: [UInt8]) -> Int {
    ReadEverything.packet(bytes.span) &+ ReadEverything.compound(bytes.span)
  }

  static func seeds() -> [[UInt8]] {
    var compound: [UInt8] = []
    let block = RTCPTests.block
    RTCPBuilder.appendSenderReport(
      to: &compound, ssrc: 1, ntp: NTPTime(value: 1), rtpTimestamp: 2, packetCount: 3, octetCount: 4,
      blocks: [block, block].span)
    RTCPBuilder.appendSourceDescription(to: &compound, ssrc: 1, cname: Array("name".utf8).span)
    RTCPBuilder.appendNACK(to: &compound, sender: 1, media: 2, numbers: [1, 2, 30].span)
    RTCPBuilder.appendBandwidthEstimate(to: &compound, sender: 1, bitrate: 1_000_000, sources: [1].span)
    RTCPBuilder.appendFullIntraRequest(to: &compound, sender: 1, media: 2, number: 3)
    RTCPBuilder.appendBye(to: &compound, sources: [1, 2].span)
    return [
      PacketViewTests.full, HeaderExtensionTests.packet("bede 0003 10aa 21bbcc 0000 33dddddddd 00"),
      HeaderExtensionTests.packet("1000 0003 0100 0201aa 00 0304bbbbbbbb 00"), compound,
      TransportFeedbackTests.handmade,
    ]
  }
}
