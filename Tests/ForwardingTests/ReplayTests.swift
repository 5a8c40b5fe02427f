// What a newcomer is sent from the cache, and how its stream goes on with what is live.

import Basics
import RTP
import Testing

@testable import Forwarding

@Suite struct ReplayTests {
  struct Row: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// Pictures behind the keyframe, each of one packet of so many bytes.
    let pictures: Int
    let bytes: Int
    /// Packets of the keyframe; 0 for a stream without one.
    var keyPackets = 2
    /// The packet that never came, from the keyframe's first.
    var missing: Int?
    var behind: Int64 = .min
    let isReplayed: Bool
  }

  static let rows = [
    Row(testDescription: "a keyframe alone", pictures: 0, bytes: 0, isReplayed: true),
    Row(testDescription: "half a second", pictures: 15, bytes: 1_000, isReplayed: true),
    Row(testDescription: "as many pictures as may be", pictures: 30, bytes: 100, isReplayed: true),
    Row(testDescription: "too old", pictures: 31, bytes: 100, isReplayed: false),
    Row(testDescription: "as much as may be", pictures: 24, bytes: 2_048, isReplayed: true),
    Row(testDescription: "too large", pictures: 25, bytes: 2_048, isReplayed: false),
    Row(testDescription: "a large keyframe", pictures: 1, bytes: 100, keyPackets: 120, isReplayed: true),
    Row(
      testDescription: "a keyframe that the cache does not hold", pictures: 1, bytes: 100, keyPackets: 200,
      isReplayed: false),
    Row(testDescription: "without a keyframe", pictures: 3, bytes: 100, keyPackets: 0, isReplayed: false),
    Row(testDescription: "incomplete keyframe", pictures: 3, bytes: 100, missing: 1, isReplayed: false),
    Row(testDescription: "without its beginning", pictures: 3, bytes: 100, missing: 0, isReplayed: false),
    Row(testDescription: "incomplete behind it", pictures: 3, bytes: 100, missing: 3, isReplayed: false),
    Row(testDescription: "behind a mute", pictures: 3, bytes: 100, behind: 99, isReplayed: true),
    Row(testDescription: "before a mute", pictures: 3, bytes: 100, behind: 100, isReplayed: false),
  ]

  private static func take(
    _ number: UInt16, timestamp: UInt32, bytes: Int, key: Bool = false, marker: Bool = true, _ encoding: inout Encoding
  ) {
    guard case .new(let sequence, _) = encoding.accept(sequence: number, isRetransmission: false, at: .zero) else {
      return
    }
    var packet = stored(sequence, timestamp: timestamp, key: key, length: bytes)
    packet.marker = marker
    let payload = [UInt8](repeating: 0, count: bytes)
    payload.withUnsafeBytes { encoding.cache.insert(packet, payload: $0) }
    if key { encoding.keyframeArrived(packet) }
  }

  @Test(arguments: rows) func whatANewcomerIsSent(row: Row) {
    var encoding = Encoding(
      parameters: EncodingParameters(ssrc: 1), index: 0, kind: .video, clockRate: 90_000, nack: true)
    Self.take(90, timestamp: 0, bytes: 100, key: row.keyPackets > 0, &encoding)
    Self.take(91, timestamp: 3_000, bytes: 100, &encoding)
    var number: UInt16 = 99
    func next(_ timestamp: UInt32, _ bytes: Int, key: Bool = false, marker: Bool = true) {
      number += 1
      if let missing = row.missing, Int(number) == 100 + missing { return }
      Self.take(number, timestamp: timestamp, bytes: bytes, key: key, marker: marker, &encoding)
    }
    for packet in 0..<row.keyPackets { next(9_000, 2_000, key: packet == 0, marker: packet == row.keyPackets - 1) }
    for picture in 0..<row.pictures { next(UInt32(12_000 + 3_000 * picture), row.bytes) }
    let replay = encoding.replay(after: row.behind)
    #expect((replay == 100...Int64(number)) == row.isReplayed)
    if !row.isReplayed { #expect(replay == nil) }
  }

  /// Parameter sets come before the picture, and both begin a keyframe.
  @Test func aKeyframeOfSeveralPartsBeginsWithTheFirst() {
    var encoding = Encoding(
      parameters: EncodingParameters(ssrc: 1), index: 0, kind: .video, clockRate: 90_000, nack: true)
    for number in 100..<104 as Range<UInt16> {
      Self.take(number, timestamp: 9_000, bytes: 10, key: number < 103, marker: number == 103, &encoding)
    }
    Self.take(104, timestamp: 12_000, bytes: 10, &encoding)
    let first = encoding.replay(after: .min)
    #expect(first == 100...104)
    Self.take(105, timestamp: 15_000, bytes: 10, key: true, &encoding)
    let second = encoding.replay(after: .min)
    #expect(second == 105...105)
    // Another SSRC takes its place: what it refers to is its own.
    let isNew = encoding.follow(ssrc: 2)
    #expect(isNew)
    let none = encoding.replay(after: .min)
    #expect(none == nil)
  }

  // MARK: the stream

  /// 31 pictures, 100 …, the first a keyframe; 30 a second.
  private static let pictures = (0...30).map {
    stored(
      100 + Int64($0), timestamp: UInt32(9_000 + 3_000 * $0), at: 1_000 + 33 * $0, key: $0 == 0,
      picture: UInt16(50 + $0))
  }

  private func replay(_ consumer: TestConsumer, layer: Int8 = 0) throws -> [Rewrite] {
    let (first, newest) = (Self.pictures[0], Self.pictures[30])
    #expect(consumer.beginReplay(from: first, to: newest, layer: layer))
    return try Self.pictures.map {
      try #require(consumer.decide($0, layer: layer, alignment: nil).rewrite)
    }
  }

  private func expectCloseTogether(_ sent: [Rewrite]) throws {
    for (old, new) in zip(sent, sent.dropFirst()) {
      #expect(new.sequence == old.sequence &+ 1)
      #expect((90...100).contains(new.timestamp &- old.timestamp), "1 ms apart")
    }
  }

  @Test func aNewcomerIsShownThePastAtOnceAndStaysBehindNothing() throws {
    let consumer = videoConsumer()
    let sent = try replay(consumer)
    try expectCloseTogether(sent)
    #expect(!consumer.awaitsKeyframe)
    let live = stored(131, timestamp: 9_000 + 3_000 * 31, at: 1_033 + 33 * 30)
    let next = try #require(consumer.decide(live, layer: 0, alignment: nil).rewrite)
    let last = try #require(sent.last)
    #expect(next.timestamp &- last.timestamp == 3_000 && next.sequence == last.sequence &+ 1)
    #expect(consumer.value.outgoingTimestamp(of: live.timestamp, layer: 0) == next.timestamp)
    // Sent again, each has the time stamp that it had.
    for (packet, rewrite) in zip(Self.pictures + [live], sent + [next]) {
      let found = try #require(consumer.original(of: rewrite.sequence))
      #expect(consumer.rewriteAgain(packet, segment: found.segment) == rewrite)
    }
  }

  @Test func itMayBeThinned() throws {
    let consumer = videoConsumer()
    consumer.value.limit = LayerLimit(temporal: 0)
    var pictures = Self.pictures
    for index in pictures.indices where index % 2 == 1 { pictures[index].info.temporalLayer = 1 }
    #expect(consumer.beginReplay(from: pictures[0], to: pictures[30], layer: 0))
    let sent = pictures.map { consumer.decide($0, layer: 0, alignment: nil) }
    let rewrites = sent.compactMap(\.rewrite)
    #expect(rewrites.count == 16)
    for (old, new) in zip(rewrites, rewrites.dropFirst()) {
      #expect(new.sequence == old.sequence &+ 1 && (180...200).contains(new.timestamp &- old.timestamp))
    }
  }

  @Test func anotherSourceIsReplayedBehindTheOld() throws {
    let consumer = videoConsumer()
    let old = try #require(
      consumer.decide(stored(7, timestamp: 5, at: 1_900, key: true), layer: 0, alignment: nil).rewrite)
    consumer.changeStream(target: 0)
    let sent = try replay(consumer)
    try expectCloseTogether(sent)
    let first = try #require(sent.first)
    #expect(first.sequence == old.sequence &+ 1)
    #expect(first.timestamp.isNewer(than: old.timestamp) && first.timestamp &- old.timestamp < 90 * 200)
  }

  @Test func resumingIsReplayedOnlyWhereTimeDoesNotGoBack() throws {
    let consumer = videoConsumer()
    // The picture before the keyframe was the last that was sent.
    _ = try #require(consumer.decide(stored(90, timestamp: 0, at: 900, key: true), layer: 0, alignment: nil).rewrite)
    consumer.interrupt()
    try expectCloseTogether(try replay(consumer))
    // What was sent already is not sent again from its keyframe on.
    consumer.interrupt()
    #expect(!consumer.beginReplay(from: Self.pictures[0], to: Self.pictures[30], layer: 0))
    let ahead = videoConsumer()
    _ = try #require(ahead.decide(stored(90, timestamp: 98_900, at: 900, key: true), layer: 0, alignment: nil).rewrite)
    ahead.interrupt()
    #expect(!ahead.beginReplay(from: Self.pictures[0], to: Self.pictures[30], layer: 0))
    #expect(ahead.awaitsKeyframe)
  }

  @Test func whoIsSentAnotherLayerMeanwhileIsSentNoPast() throws {
    let consumer = videoConsumer()
    _ = try #require(consumer.decide(stored(7, key: true), layer: 1, alignment: nil).reason)
    consumer.target = 1
    _ = try #require(consumer.decide(stored(8, at: 1_900, key: true), layer: 1, alignment: nil).rewrite)
    consumer.target = 0
    #expect(!consumer.beginReplay(from: Self.pictures[0], to: Self.pictures[30], layer: 0))
    consumer.setPaused(true)
    #expect(!consumer.beginReplay(from: Self.pictures[0], to: Self.pictures[30], layer: 0))
  }
}

extension TestConsumer {
  fileprivate func beginReplay(from first: StoredPacket, to newest: StoredPacket, layer: Int8) -> Bool {
    value.beginReplay(from: first, to: newest, layer: layer, alignment: nil)
  }
}
