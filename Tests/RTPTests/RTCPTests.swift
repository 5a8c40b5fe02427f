import Basics
import RTP
import TestSupport
import Testing

@Suite struct RTCPTests {
  static let block = ReportBlock(
    ssrc: 7, fractionLost: 64, cumulativeLost: -2, highestSequence: 0x0001_fffe, jitter: 99, lastReport: 0x1234_5678,
    delay: 65_536)

  @Test func aSenderReportGoesRound() throws {
    var bytes: [UInt8] = []
    RTCPBuilder.appendSenderReport(
      to: &bytes, ssrc: 0xaabb_ccdd, ntp: NTPTime(value: 0x0102_0304_0506_0708), rtpTimestamp: 0xffff_ffff,
      packetCount: 10, octetCount: 2_000, blocks: [Self.block].span)
    #expect(bytes.count == 52)
    #expect(Array(bytes[..<8]) == hex("81 c8 000c aabbccdd"))
    guard case .senderReport(let report) = try #require(try walk(bytes).first) else {
      Issue.record("not a sender report")
      return
    }
    #expect(report.ssrc == 0xaabb_ccdd && report.ntp.value == 0x0102_0304_0506_0708)
    #expect(report.ntp.middle == 0x0304_0506)
    #expect(report.rtpTimestamp == .max && report.packetCount == 10 && report.octetCount == 2_000)
    #expect(report.blocks.count == 1 && report.blocks.block(0, bytes.span) == Self.block)
    #expect(report.blocks.block(1, bytes.span) == nil && report.blocks.block(-1, bytes.span) == nil)
  }

  @Test(arguments: [0, 1, 31, 32, 62, 63])
  func longReportsAreSplit(count: Int) throws {
    let blocks = (0..<count).map { index in
      var block = Self.block
      block.ssrc = UInt32(index)
      return block
    }
    var bytes: [UInt8] = []
    RTCPBuilder.appendReceiverReport(to: &bytes, ssrc: 1, blocks: blocks.span)
    RTCPBuilder.appendSenderReport(
      to: &bytes, ssrc: 2, ntp: NTPTime(value: 0), rtpTimestamp: 0, packetCount: 0, octetCount: 0, blocks: blocks.span)
    var seen: [UInt32: [UInt32]] = [1: [], 2: []]
    for packet in try walk(bytes) {
      switch packet {
      case .senderReport(let report):
        for index in 0..<report.blocks.count {
          if let block = report.blocks.block(index, bytes.span) { seen[report.ssrc]?.append(block.ssrc) }
        }
      case .receiverReport(let report):
        for index in 0..<report.blocks.count {
          if let block = report.blocks.block(index, bytes.span) { seen[report.ssrc]?.append(block.ssrc) }
        }
      default: Issue.record("unexpected \(packet)")
      }
    }
    #expect(seen[1] == blocks.map(\.ssrc))
    #expect(seen[2] == blocks.map(\.ssrc))
  }

  @Test(arguments: [
    (Int32.max, Int32(0x7f_ffff)), (Int32.min, Int32(-0x80_0000)), (-1, -1), (0, 0), (0x7f_ffff, 0x7f_ffff),
  ])
  func lossIsClampedToTwentyFourBits(lost: Int32, read: Int32) throws {
    var block = Self.block
    block.cumulativeLost = lost
    var bytes: [UInt8] = []
    RTCPBuilder.appendReceiverReport(to: &bytes, ssrc: 1, blocks: [block].span)
    guard case .receiverReport(let report) = try #require(try walk(bytes).first) else { return #expect(Bool(false)) }
    #expect(report.blocks.block(0, bytes.span)?.cumulativeLost == read)
    #expect(report.blocks.block(0, bytes.span)?.fractionLost == 64)
  }

  @Test(arguments: ["", "a", "ab", "abc", "roost-cname@host"])
  func namesAndFarewellsGoRound(name: String) throws {
    var bytes: [UInt8] = []
    RTCPBuilder.appendSourceDescription(to: &bytes, ssrc: 9, cname: Array(name.utf8).span)
    RTCPBuilder.appendBye(to: &bytes, sources: [3, 4].span)
    let packets = try walk(bytes)
    #expect(bytes.count % 4 == 0 && packets.count == 2)
    guard case .sourceDescription(let description) = packets[0], case .bye(let bye) = packets[1] else {
      return #expect(Bool(false))
    }
    #expect(description.ssrc == 9 && description.count == 1)
    #expect(bytes.text(description.cname) == name)
    #expect(bye.count == 2 && bye.ssrc(0, bytes.span) == 3 && bye.ssrc(1, bytes.span) == 4)
    #expect(bye.ssrc(2, bytes.span) == nil)
  }

  @Test func theCanonicalNameIsFoundBehindOtherItems() throws {
    let bytes = hex("81 ca 0004 00000001 02 02 6161 01 03 627262 00 00 00")
    guard case .sourceDescription(let description) = try #require(try walk(bytes).first) else {
      return #expect(Bool(false))
    }
    #expect(bytes.text(description.cname) == "brb")
  }

  @Test(
    arguments: [
      ([5], [(5, 0)]), ([5, 6, 21], [(5, 0x8001)]), ([5, 22], [(5, 0), (22, 0)]),
      ([65_534, 65_535, 0, 15], [(65_534, 0x8003 & 0x0003), (15, 0)]),
      ([10, 11, 12, 26, 27, 40], [(10, 0x8003), (27, 0x1000)]), ([], []),
    ] as [([UInt16], [(UInt16, UInt16)])])
  func lossesArePackedIntoMasks(numbers: [UInt16], items: [(UInt16, UInt16)]) throws {
    var bytes: [UInt8] = []
    RTCPBuilder.appendNACK(to: &bytes, sender: 1, media: 2, numbers: numbers.span)
    guard let packet = try walk(bytes).first else { return #expect(numbers.isEmpty && bytes.isEmpty) }
    guard case .nack(let nack) = packet else { return #expect(Bool(false)) }
    #expect(nack.sender == 1 && nack.media == 2 && nack.count == items.count)
    for (index, item) in items.enumerated() { #expect(nack.item(index, bytes.span) ?? (0, 0) == item) }
    #expect(nack.item(items.count, bytes.span) == nil)
    var read: [UInt16] = []
    nack.forEachSequenceNumber(bytes.span) { read.append($0) }
    #expect(read == numbers)
  }

  @Test func randomLossesGoRound() throws {
    var random = SplitMix64(seed: 4)
    for _ in 0..<300 {
      var number = UInt16.random(in: 0 ... .max, using: &random)
      let numbers = (0..<Int.random(in: 1...200, using: &random)).map { _ in
        number &+= UInt16.random(in: 1...20, using: &random)
        return number
      }
      var bytes: [UInt8] = []
      RTCPBuilder.appendNACK(to: &bytes, sender: 1, media: 2, numbers: numbers.span)
      guard case .nack(let nack) = try #require(try walk(bytes).first) else { return #expect(Bool(false)) }
      var read: [UInt16] = []
      nack.forEachSequenceNumber(bytes.span) { read.append($0) }
      #expect(read == numbers)
    }
  }

  @Test func keyframeRequestsGoRound() throws {
    var bytes: [UInt8] = []
    RTCPBuilder.appendPictureLoss(to: &bytes, sender: 1, media: 2)
    RTCPBuilder.appendFullIntraRequest(to: &bytes, sender: 1, media: 0xffff_ffff, number: 200)
    #expect(bytes == hex("81ce0002 00000001 00000002 84ce0004 00000001 00000000 ffffffff c8000000"))
    let packets = try walk(bytes)
    #expect(packets.first == .pictureLoss(sender: 1, media: 2))
    guard case .fullIntraRequest(let fir) = packets[1] else { return #expect(Bool(false)) }
    #expect(fir.count == 1 && fir.sender == 1)
    #expect(fir.request(0, bytes.span)?.ssrc == .max && fir.request(0, bytes.span)?.number == 200)
    #expect(fir.request(1, bytes.span) == nil)
  }

  /// Bitrates and what 18 significant bits leave of them.
  @Test(
    arguments: [
      (0, 0), (1, 1), (262_143, 262_143), (262_144, 262_144), (262_145, 262_144), (3_000_000, 2_999_984 + 16),
      (UInt64.max, 0xffff_c000_0000_0000),
    ] as [(UInt64, UInt64)])
  func estimatesGoRound(bitrate: UInt64, read: UInt64) throws {
    var bytes: [UInt8] = []
    RTCPBuilder.appendBandwidthEstimate(to: &bytes, sender: 5, bitrate: bitrate, sources: [8, 9].span)
    guard case .bandwidthEstimate(let estimate) = try #require(try walk(bytes).first) else {
      return #expect(Bool(false))
    }
    #expect(estimate.bitrate == read && estimate.sender == 5 && estimate.count == 2)
    #expect(estimate.ssrc(1, bytes.span) == 9 && estimate.ssrc(2, bytes.span) == nil)
  }

  @Test func anEstimateBeyondSixtyFourBitsSaturates() throws {
    let bytes = hex("8fce0004 00000001 00000000 52454d42 00 ffffff")
    guard case .bandwidthEstimate(let estimate) = try #require(try walk(bytes).first) else {
      return #expect(Bool(false))
    }
    #expect(estimate.bitrate == .max)
  }

  /// Compounds and what the walk makes of them: names of what is read, then of the error that ends it.
  @Test(arguments: [
    ("80c90001 00000001 81ce0002 00000001 00000002", ["rr", "pli"]),
    ("81ce0002 00000001 00000002", ["pli"]),  // Reduced size, RFC 5506.
    ("80cf0001 00000001 80cc0002 00000001 41424344 80cd0002 00000001 00000002 80d30000", ["xr", "app", "?", "?"]),
    ("8fce0002 00000001 00000000", ["?"]), ("8fce0004 00000001 00000000 51454d42 00000000", ["?"]),
    ("a0c90002 00000001 00000004", ["rr"]), ("a0c90002 00000001 00000003", ["rr"]),
    ("a0c90002 00000001 00000000", ["badPadding"]), ("a0c90002 00000001 00000009", ["badPadding"]),
    ("a0c90001 00000008", ["badPadding"]), ("a0c90000", ["badPadding"]),
    ("a0c90002 00000001 00000004 80c90001 00000001", ["rr", "rr"]),
    ("a0c90002 00000001 00000000 80c90001 00000001", ["badPadding", "rr"]),
    ("80c90002 00000001", ["truncated"]), ("80c9", ["truncated"]), ("40c90001 00000001", ["wrongVersion"]),
    ("81c90001 00000001 81ce0002 00000001 00000002", ["malformed", "pli"]),
    ("80c80005 00000000 00000000 00000000 00000000 00000000", ["malformed"]),
    ("81cd0002 00000001 00000002", ["malformed"]), ("84ce0002 00000001 00000002", ["malformed"]),
    ("81ca0002 00000001 01050000", ["malformed"]), ("82cb0001 00000001", ["malformed"]),
    ("80ca0000", ["sdes"]), ("80cb0000", ["bye"]), ("81ca0001 00000001", ["sdes"]),
    ("8fce0004 00000001 00000000 52454d42 01000000", ["malformed"]),
  ])
  func compoundsAreWalked(text: String, expected: [String]) {
    let bytes = hex(text)
    var reader = RTCPReader()
    var seen: [String] = []
    while true {
      do throws(RTPError) {
        guard let packet = try reader.next(bytes.span) else { break }
        seen.append(Self.name(packet))
      } catch {
        seen.append("\(error)")
      }
    }
    #expect(seen == expected)
  }

  static func name(_ packet: RTCPPacket) -> String {
    switch packet {
    case .senderReport: "sr"
    case .receiverReport: "rr"
    case .sourceDescription: "sdes"
    case .bye: "bye"
    case .application: "app"
    case .nack: "nack"
    case .transportFeedback: "twcc"
    case .pictureLoss: "pli"
    case .fullIntraRequest: "fir"
    case .bandwidthEstimate: "remb"
    case .extendedReport: "xr"
    case .unknown: "?"
    }
  }
}
