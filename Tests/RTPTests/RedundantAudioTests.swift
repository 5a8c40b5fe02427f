import RTP
import Testing

private func read(_ bytes: [UInt8]) -> RedundantAudio? { RedundantAudio.parse(bytes.span) }

private func duration(_ bytes: [UInt8]) -> UInt32? { OpusPacket.duration(bytes.span) }

extension [UInt8] {
  /// Headers of so many empty blocks, 960 ticks old.
  fileprivate init(emptyBlocks count: Int) {
    self = []
    for _ in 0..<count { self += [0xef, 0x0f, 0x00, 0x00] }
  }
}

@Suite struct RedundantAudioTests {
  /// Headers of RFC 2198 §3 by hand: 960 ticks are 0x3c0, so age and length are 0x0f0000 | length.
  private static let two: [UInt8] = [
    0xef, 0x1e, 0x00, 0x02, 0xef, 0x0f, 0x00, 0x03, 0x6f, 0xa1, 0xa2, 0xb1, 0xb2, 0xb3, 0xc1,
  ]

  @Test func readsBlocksTheOldestFirst() throws {
    let found = try #require(read(Self.two))
    #expect(found.count == 2)
    #expect(found.earlier(0) == RedundantAudio.Block(payloadType: 111, age: 1_920, range: 9..<11))
    #expect(found.earlier(1) == RedundantAudio.Block(payloadType: 111, age: 960, range: 11..<14))
    #expect(found.own == RedundantAudio.Block(payloadType: 111, age: 0, range: 14..<15))
    let alone = try #require(read([0x6f, 0xc1]))
    #expect(alone.count == 0 && alone.own.range == 1..<2)
  }

  struct Hostile: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let bytes: [UInt8]
  }

  @Test(arguments: [
    Hostile(testDescription: "nothing", bytes: []),
    Hostile(testDescription: "a header and no sound", bytes: [0x6f]),
    Hostile(testDescription: "a header that is cut", bytes: [0xef, 0x0f, 0x00]),
    Hostile(testDescription: "a block beyond the end", bytes: [0xef, 0x0f, 0x00, 0x03, 0x6f, 1, 2]),
    Hostile(testDescription: "no byte left for the packet's own", bytes: [0xef, 0x0f, 0x00, 0x02, 0x6f, 1, 2]),
    Hostile(testDescription: "the longest block", bytes: [0xef, 0xff, 0xff, 0xff, 0x6f, 1, 2, 3]),
    Hostile(testDescription: "marked to go on, to the end", bytes: [UInt8](repeating: 0xff, count: 1_200)),
    Hostile(
      testDescription: "nine earlier blocks",
      bytes: [UInt8](emptyBlocks: 9) + [0x6f, 1]),
  ]) func whatCannotBeReadIsNothing(_ row: Hostile) { #expect(read(row.bytes) == nil) }

  @Test func eightEarlierBlocksAreRead() throws {
    let bytes = [UInt8](emptyBlocks: 8) + [0x6f, 1]
    #expect(try #require(read(bytes)).count == 8)
  }

  @Test(arguments: [
    (UInt32(0), 0, true), (960, 77, true), (0x3fff, 0x3ff, true), (0x4000, 1, false), (1, 0x400, false),
  ])
  func headersAreWrittenWithinTheirBounds(_ age: UInt32, _ length: Int, _ fits: Bool) throws {
    var bytes = [UInt8](repeating: 0, count: 6)
    let written = bytes.withUnsafeMutableBytes {
      RedundantAudio.writeHeader(payloadType: 111, age: age, length: length, into: $0, at: 1)
    }
    #expect(written == fits)
    guard fits else { return #expect(bytes == [0, 0, 0, 0, 0, 0]) }
    let payload = Array(bytes[1...4]) + [0x6f] + [UInt8](repeating: 9, count: length + 1)
    let block = try #require(read(payload)).earlier(0)
    #expect(block == RedundantAudio.Block(payloadType: 111, age: age, range: 5..<(5 + length)))
  }

  @Test func aHeaderNeedsItsRoom() {
    var bytes = [UInt8](repeating: 7, count: 6)
    let written = bytes.withUnsafeMutableBytes {
      RedundantAudio.writeHeader(payloadType: 111, age: 1, length: 1, into: $0, at: 3)
    }
    #expect(!written && bytes == [7, 7, 7, 7, 7, 7])
  }
}

@Suite struct OpusPacketTests {
  /// RFC 6716 table 2, and codes 0 to 3 of §3.2.
  @Test(
    arguments: [
      ([0x00], 480), ([0x08], 960), ([0x10], 1_920), ([0x18], 2_880), ([0x60], 480), ([0x68], 960), ([0x70], 480),
      ([0x78], 960), ([0x80], 120), ([0x88], 240), ([0x90], 480), ([0x98], 960), ([0xf8], 960), ([0xf9, 1], 1_920),
      ([0xfa, 1], 1_920), ([0xfb, 3], 2_880), ([0xfb, 0xc6], 5_760), ([0x1b, 2], 5_760),
    ] as [([UInt8], UInt32)])
  func saysHowLongItIs(_ bytes: [UInt8], _ ticks: UInt32) { #expect(duration(bytes) == ticks) }

  @Test(arguments: [[], [0xfb], [0xfb, 0], [0xfb, 7], [0x1b, 3], [0xff, 0xff]] as [[UInt8]])
  func whatBreaksTheFormatSaysNothing(_ bytes: [UInt8]) { #expect(duration(bytes) == nil) }
}
