// Packets that were decided to be sent and then never left, for their receiver was too slow.

import Basics
import RTP
import Testing

@testable import Forwarding

@Suite struct WithdrawTests {
  struct Row: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// From the first number given out (0) and the next one (6).
    let sequence: Int
    let isTaken: Bool
  }

  /// Six packets are sent, 0 … 5.
  static let rows = [
    Row(testDescription: "the newest", sequence: 5, isTaken: true),
    Row(testDescription: "some", sequence: 2, isTaken: true),
    Row(testDescription: "all", sequence: 0, isTaken: true),
    Row(testDescription: "a number not given out yet", sequence: 6, isTaken: false),
    Row(testDescription: "far ahead", sequence: 20_000, isTaken: false),
    Row(testDescription: "before the first", sequence: -1, isTaken: false),
    Row(testDescription: "far behind", sequence: -20_000, isTaken: false),
  ]

  @Test(arguments: rows, [7, 0x7ffd, 0xffff] as [UInt64]) func theNumberingGoesOnWhereItWas(
    row: Row, seed: UInt64
  ) throws {
    let consumer = videoConsumer(seed: seed)
    let sent = try (0..<6).map { try consumer.send(100 + $0, key: $0 == 0) }
    let first = try #require(sent.first).sequence
    let named = first &+ UInt16(truncatingIfNeeded: row.sequence)
    #expect(consumer.withdraw(named, packets: 1, bytes: 100) == row.isTaken)
    guard row.isTaken else {
      #expect(!consumer.awaitsKeyframe && consumer.value.packetsSent == 6)
      let next = try consumer.send(106)
      #expect(next.sequence == first &+ 6, "nothing has changed")
      return
    }
    #expect(consumer.awaitsKeyframe)
    #expect(consumer.value.packetsSent == 5 && consumer.value.bytesSent == 500)
    #expect(consumer.decide(stored(106), layer: 0, alignment: nil).reason == .awaitingKeyframe)
    #expect(consumer.original(of: named) == nil, "it was never sent")
    let next = try consumer.send(107, key: true)
    #expect(next.sequence == named)
    #expect(consumer.original(of: named)?.sequence == 107)
    if row.sequence > 0 { #expect(consumer.original(of: named &- 1)?.sequence == Int64(99 + row.sequence)) }
  }

  @Test func aConsumerThatHasSentNothingHasNothingToWithdraw() throws {
    let consumer = videoConsumer(seed: 7)
    #expect(!consumer.withdraw(7) && !consumer.withdraw(8))
    let first = try consumer.send(100, key: true)
    #expect(first.sequence == 8)
  }

  @Test func segmentsThatBeganWithinItAreForgotten() throws {
    let consumer = videoConsumer()
    let low = try consumer.send(100, timestamp: 0, at: 0, key: true)
    _ = try consumer.send(101, timestamp: 3_000, at: 33)
    consumer.target = 1
    let high = try consumer.send(7_000, layer: 1, timestamp: 500, at: 66, key: true)
    consumer.target = 2
    _ = try consumer.send(9_000, layer: 2, timestamp: 70_000, at: 100, key: true)
    #expect(consumer.withdraw(high.sequence))
    #expect(consumer.value.currentLayer == 0)
    let again = try consumer.send(9_001, layer: 2, timestamp: 73_000, at: 133, key: true)
    #expect(again.sequence == low.sequence &+ 2)
    #expect(again.timestamp.isNewer(than: low.timestamp &+ 3_000))
    #expect(consumer.original(of: low.sequence &+ 1)?.sequence == 101)
    let found = try #require(consumer.original(of: again.sequence))
    #expect(found.layer == 2 && found.sequence == 9_001)
  }

  /// More segments than are kept began within it: then nothing is known of what was sent before, but the numbering goes on.
  @Test func allSegmentsMayGo() throws {
    let consumer = videoConsumer()
    let first = try consumer.send(100, key: true)
    for number in 1...5 as ClosedRange<Int64> {
      consumer.interrupt()
      _ = try consumer.send(100 + number, key: true)
    }
    #expect(consumer.withdraw(first.sequence &+ 1))
    #expect(consumer.value.currentLayer != 0)
    let next = try consumer.send(106, key: true)
    #expect(next.sequence == first.sequence &+ 1)
    #expect(consumer.original(of: first.sequence) == nil)
  }

  /// A keyframe that was withdrawn was not sent: the stream may go on with it.
  @Test func whatWasWithdrawnMayBeSentAfterAll() throws {
    let consumer = videoConsumer()
    _ = try consumer.send(100, key: true)
    let key = try consumer.send(101, key: true)
    _ = try consumer.send(102)
    #expect(consumer.withdraw(key.sequence))
    #expect(consumer.decide(stored(100, key: true), layer: 0, alignment: nil).reason == .beforeStart)
    #expect(try consumer.send(101, key: true).sequence == key.sequence)
    #expect(try consumer.send(102).sequence == key.sequence &+ 1)
  }

  struct PictureRow: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// Which of the packets below is the first to be withdrawn.
    let from: Int
    /// Picture identifier and index of the keyframe that follows.
    let picture: UInt16
    let tl0: UInt8
  }

  /// Packets: 0 picture 10 (begins), 1 picture 10, 2 picture 11 (begins, upper temporal layer), 3 picture 12 (begins), 4 picture 12.
  static let pictureRows = [
    PictureRow(testDescription: "at a frame of the base layer", from: 3, picture: 12, tl0: 6),
    PictureRow(testDescription: "within a frame", from: 4, picture: 13, tl0: 7),
    PictureRow(testDescription: "at a frame of an upper layer", from: 2, picture: 11, tl0: 6),
    PictureRow(testDescription: "within the keyframe", from: 1, picture: 11, tl0: 6),
    PictureRow(testDescription: "all of it", from: 0, picture: 10, tl0: 5),
  ]

  @Test(arguments: pictureRows) func picturesGoOnWithoutAGap(row: PictureRow) throws {
    let consumer = videoConsumer()
    let packets = [
      picture(100, 10, tl0: 5, begins: true, key: true), picture(101, 10, tl0: 5),
      picture(102, 11, tl0: 5, temporal: 1, begins: true),
      picture(103, 12, tl0: 6, begins: true), picture(104, 12, tl0: 6),
    ]
    let sent = try packets.map { try #require(consumer.decide($0, layer: 0, alignment: nil).rewrite) }
    #expect(consumer.withdraw(sent[row.from].sequence, first: packets[row.from]))
    let key = picture(130, 20, tl0: 9, begins: true, key: true)
    let next = try #require(consumer.decide(key, layer: 0, alignment: nil).rewrite)
    #expect(20 &+ next.pictureIDDelta == row.picture && 9 &+ next.tl0Delta == row.tl0)
  }

  @Test func soundGoesOnAtOnce() throws {
    let consumer = TestConsumer(
      Consumer(
        parameters: SendParameters(
          mid: "0", kind: .audio, ssrc: 1, rtxSSRC: nil, payloads: [PayloadMapping(payloadType: 111, codec: .opus)],
          extensions: HeaderExtensionIDs(), nack: false), seed: 1))
    let sent = try (0..<3).map {
      try #require(consumer.decide(stored($0, codec: .opus), layer: 0, alignment: nil).rewrite)
    }
    #expect(consumer.withdraw(sent[1].sequence))
    let next = try #require(consumer.decide(stored(3, codec: .opus), layer: 0, alignment: nil).rewrite)
    #expect(next.sequence == sent[1].sequence)
  }

  /// A packet of a frame with its VP8 numbers.
  private func picture(
    _ sequence: Int64, _ picture: UInt16, tl0: UInt8, temporal: UInt8 = 0, begins: Bool = false, key: Bool = false
  ) -> StoredPacket {
    var packet = stored(sequence, key: key, picture: picture, tl0: tl0)
    packet.info.startsFrame = begins
    packet.info.temporalLayer = temporal
    return packet
  }
}

extension TestConsumer {
  fileprivate func withdraw(
    _ sequence: UInt16, first: StoredPacket? = nil, packets: UInt32 = 0, bytes: UInt32 = 0
  ) -> Bool {
    value.withdraw(sequence, first: first, packets: packets, bytes: bytes)
  }

  /// The rewrite of a packet that is to be sent.
  fileprivate func send(
    _ sequence: Int64, layer: Int8 = 0, timestamp: UInt32 = 0, at now: Int = 0, key: Bool = false
  ) throws -> Rewrite {
    try #require(
      decide(stored(sequence, timestamp: timestamp, at: now, key: key), layer: layer, alignment: nil).rewrite)
  }
}
