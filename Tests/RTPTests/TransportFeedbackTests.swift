import Basics
import TestSupport
import Testing

@testable import RTP

@Suite struct TransportFeedbackTests {
  static func read(_ bytes: [UInt8]) throws -> TransportFeedback {
    guard case .transportFeedback(let feedback) = try #require(try walk(bytes).first) else {
      throw RTPError.malformed
    }
    return feedback
  }

  static func received(_ bytes: [UInt8]) throws -> [Int: Int64] {
    var found: [Int: Int64] = [:]
    let feedback = try read(bytes)
    feedback.forEachReceived(bytes.span) { found[Int($0 &- feedback.baseSequence)] = $1 }
    #expect(found.count == feedback.receivedCount)
    return found
  }

  /// Written by hand from the draft's figures: base 5, 7 statuses, reference 3, feedback 9; a run of two small ones, then a
  /// two-bit vector (lost, small, large, lost, small …), deltas 1, 2, 3, −1, 4.
  static let handmade = hex(
    """
    8fcd0007 00000001 00000002 0005 0007 000003 09
    2002 c610 01 02 03 ffff 04 0000
    """)

  @Test func readsAPacketMadeByHand() throws {
    let feedback = try Self.read(Self.handmade)
    #expect(feedback.sender == 1 && feedback.media == 2 && feedback.baseSequence == 5)
    #expect(feedback.statusCount == 7 && feedback.referenceTime == 3 && feedback.feedbackCount == 9)
    #expect(try Self.received(Self.handmade) == [0: 769, 1: 771, 3: 774, 4: 773, 6: 777])
  }

  @Test func writesAPacketAsTheDraftHasIt() {
    var bytes: [UInt8] = []
    let arrivals: [Int64?] = [769, nil, 1_100]
    let report = RTCPBuilder.TransportFeedbackReport(
      sender: 1, media: 2, baseSequence: 0xffff, statusCount: 3, feedbackCount: 7)
    #expect(RTCPBuilder.appendTransportFeedback(to: &bytes, report) { arrivals[$0] } == 3)
    // Two-bit vector small, lost, large; deltas 1 and 331; three zeroes to the end of the word.
    #expect(bytes == hex("8fcd0006 00000001 00000002 ffff 0003 000003 07 d200 01 014b 000000"))
  }

  /// Content behind the eight bytes of sender and media that no reader may take.
  @Test(arguments: [
    "0001 0001 000000 00", "0001 0001 000000 00 0000 0000", "0001 0001 000000 00 6001 0000",
    "0001 0002 000000 00 2001 2001", "0001 0001 000000 00 f000 0000", "0001 0010 000000 00 2008 0000 01020304",
    "0001 0001 000000 00 2001",
  ])
  func brokenPacketsAreRefused(content: String) {
    let body = hex("00000001 00000002" + content)
    let padded = body + Array(repeating: 0, count: -body.count & 3)
    let bytes = hex("8fcd") + [0, UInt8(padded.count / 4)] + padded
    // A short row is refused for its content, the others for what their chunks claim.
    if content == "0001 0001 000000 00 2001" {
      #expect(throws: Never.self) { try walk(bytes) }
    } else {
      #expect(throws: RTPError.malformed) { try walk(bytes) }
    }
  }

  @Test func aLongRunOfLossesTakesTwoBytes() throws {
    var bytes: [UInt8] = []
    let report = RTCPBuilder.TransportFeedbackReport(
      sender: 1, media: 2, baseSequence: 60_000, statusCount: 8_000, feedbackCount: 0)
    let covered = RTCPBuilder.appendTransportFeedback(to: &bytes, report) { $0 == 0 || $0 == 7_999 ? 256 : nil }
    #expect(covered == 8_000)
    #expect(bytes.count <= 32)
    #expect(try Self.received(bytes) == [0: 256, 7_999: 256])
  }

  @Test func nothingArrivedWritesNothing() {
    var bytes: [UInt8] = []
    let report = RTCPBuilder.TransportFeedbackReport(
      sender: 1, media: 2, baseSequence: 0, statusCount: 100, feedbackCount: 0)
    #expect(RTCPBuilder.appendTransportFeedback(to: &bytes, report) { _ in nil } == 0)
    #expect(bytes.isEmpty)
  }

  @Test(arguments: [32_767, 32_768, -32_768, -32_769, 1_000_000] as [Int64])
  func aDeltaThatDoesNotFitStartsAnotherPacket(delta: Int64) throws {
    var bytes: [UInt8] = []
    let arrivals: [Int64] = [512, 512 + delta]
    let report = RTCPBuilder.TransportFeedbackReport(
      sender: 1, media: 2, baseSequence: 0, statusCount: 2, feedbackCount: 0)
    let covered = RTCPBuilder.appendTransportFeedback(to: &bytes, report) { arrivals[$0] }
    #expect(covered == ((-32_768...32_767).contains(delta) ? 2 : 1))
    #expect(try Self.received(bytes) == Dictionary(uniqueKeysWithValues: (0..<covered).map { ($0, arrivals[$0]) }))
  }

  /// Loss, jitter and reordering at random; everything must come out again, in packets of bounded length.
  @Test(arguments: 0..<8)
  func whateverArrivedIsReadBack(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    for _ in 0..<60 {
      let arrivals = Self.randomArrivals(&random)
      let base = UInt16.random(in: 0 ... .max, using: &random)
      let limit = Int.random(in: 64...1_200, using: &random)
      var done = 0
      var read: [Int: Int64] = [:]
      while done < arrivals.count, arrivals[done...].contains(where: { $0 != nil }) {
        var bytes: [UInt8] = []
        let start = done
        let report = RTCPBuilder.TransportFeedbackReport(
          sender: 1, media: 2, baseSequence: base &+ UInt16(truncatingIfNeeded: done),
          statusCount: arrivals.count - done, feedbackCount: 3, maximumLength: limit)
        let covered = RTCPBuilder.appendTransportFeedback(to: &bytes, report) { arrivals[start + $0] }
        #expect(covered > 0 && bytes.count <= limit && bytes.count % 4 == 0)
        guard covered > 0 else { return }
        #expect(try Self.read(bytes).statusCount == covered)
        for (index, ticks) in try Self.received(bytes) { read[start + index] = ticks }
        done += covered
      }
      let wanted = arrivals.enumerated().compactMap { index, ticks in ticks.map { (index, $0) } }
      #expect(read == Dictionary(uniqueKeysWithValues: wanted))
    }
  }

  static func randomArrivals(_ random: inout SplitMix64) -> [Int64?] {
    let loss = Int.random(in: 0...100, using: &random)
    let jitter = [Int64(40), 200, 400, 40_000][Int.random(in: 0..<4, using: &random)]
    var clock = Int64.random(in: 0...2_000_000, using: &random)
    var isLosing = false
    return (0..<Int.random(in: 1...2_000, using: &random)).map { _ in
      if Int.random(in: 0..<20, using: &random) == 0 { isLosing = Int.random(in: 0..<100, using: &random) < loss }
      clock += Int64.random(in: 0...40, using: &random)
      return isLosing ? nil : clock + Int64.random(in: 0...jitter, using: &random)
    }
  }
}
