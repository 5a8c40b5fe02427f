// A participant's line, its own estimate of it, and what its answers say about feedback: in virtual time.

import Basics
import RTP
import RoostProtocol
import SDP
import Testing

@testable import SyntheticParticipant

@Suite struct AccessLineTests {
  private static let server = SocketAddress(v4: 0x7f00_0001, port: 9)
  private static let start = Instant.zero + .seconds(100)

  private static func shape(_ change: (inout LineShape) -> Void) -> LineShape {
    var shape = LineShape()
    change(&shape)
    return shape
  }

  /// What comes through of `count` datagrams of `bytes` bytes that come at once, and when.
  private static func through(_ line: inout AccessLine, _ count: Int, bytes: Int) -> [(number: UInt8, at: TimeDelta)] {
    for number in 0..<count {
      let datagram = [UInt8](repeating: UInt8(number), count: bytes)
      line.receive(datagram.span, from: server, at: start)
    }
    var result: [(number: UInt8, at: TimeDelta)] = []
    while line.nextDue < .distantFuture {
      guard let next = line.take(at: line.nextDue) else { break }
      result.append((next.bytes[0], next.due - start))
    }
    return result
  }

  @Test func aBottleneckSpreadsWhatComesAtOnceAndKeepsItsOrder() {
    // 1,000 bytes on the wire at 1 Mbit/s are 8 ms.
    var line = AccessLine(
      Self.shape {
        $0.down = 1_000_000
        $0.delay = .milliseconds(20)
      }, seed: 1)
    let came = Self.through(&line, 10, bytes: 972)
    #expect(came.map(\.number) == Array(0..<10))
    #expect(came.map { $0.at.milliseconds } == (1...10).map { Int64($0) * 8 + 20 })
  }

  @Test func itsQueueIsBounded() {
    var line = AccessLine(
      Self.shape {
        $0.down = 1_000_000
        $0.queue = .milliseconds(80)
      }, seed: 1)
    #expect(Self.through(&line, 50, bytes: 972).count == 10)
    var free = AccessLine(LineShape(), seed: 1)
    #expect(Self.through(&free, 50, bytes: 972).count == 50, "without a bottleneck nothing is dropped")
  }

  @Test func lossIsThatOfTheSeed() {
    let shape = Self.shape { $0.loss = 0.3 }
    let came = (1...3).map { seed in
      var line = AccessLine(shape, seed: seed == 3 ? 1 : UInt64(seed))
      return Self.through(&line, 200, bytes: 100).map(\.number)
    }
    #expect(came[0] == came[2] && came[0] != came[1] && (110...170).contains(came[0].count))
  }

  @Test func bothWaysAreLimitedByThemselves() {
    var line = AccessLine(Self.shape { $0.up = 100_000 }, seed: 1)
    #expect(Self.through(&line, 1, bytes: 972).first?.at.milliseconds == 0)
    #expect(line.send(972, at: Self.start) == .due(Self.start + .milliseconds(80)))
  }
}

@Suite struct OwnEstimateTests {
  /// A second of a packet of 1,000 bytes each 8 ms (1 Mbit/s), of which each takes `growth` longer than the one before it.
  private static func second(_ estimate: inout OwnEstimate, _ number: Int, growth: TimeDelta = .zero) {
    for packet in 0..<125 {
      let sent = Instant.zero + .seconds(number) + .milliseconds(packet * 8)
      let arrived = sent + .milliseconds(20) + growth * Int64(packet)
      estimate.add(sent: AbsoluteSendTime.value(at: sent), bytes: 1_000, at: arrived)
    }
  }

  @Test func itGrowsWithWhatComesAndNoFurther() {
    var estimate = OwnEstimate()
    for number in 60..<120 { Self.second(&estimate, number) }
    #expect((1_400_000...1_600_000).contains(estimate.bitrate), "\(estimate.bitrate)")
  }

  @Test func aQueueTakesItBelowWhatComes() {
    var estimate = OwnEstimate()
    for number in 60..<120 { Self.second(&estimate, number) }
    // The clock of the extension begins anew each 64 s, here at 64 and at 128.
    Self.second(&estimate, 128, growth: .milliseconds(2))
    #expect(estimate.bitrate < 900_000 && estimate.bitrate > 400_000, "\(estimate.bitrate)")
    #expect(estimate.nextDeadline < .zero + .seconds(129), "a fall is said at once")
  }

  @Test func itIsSaidAsREMB() throws {
    var estimate = OwnEstimate()
    var compound: [UInt8] = []
    estimate.poll(at: .zero + .seconds(1), sender: 7, sources: [8, 9], into: &compound)
    #expect(compound.isEmpty, "nothing has come")
    Self.second(&estimate, 60)
    estimate.poll(at: .zero + .seconds(62), sender: 7, sources: [8, 9], into: &compound)
    var reader = RTCPReader()
    guard case .bandwidthEstimate(let remb)? = try reader.next(compound.span) else {
      Issue.record("no REMB")
      return
    }
    #expect(remb.sender == 7 && remb.count == 2 && abs(Double(remb.bitrate) - estimate.bitrate) < 100)
    #expect(estimate.nextDeadline == .zero + .seconds(63))
  }
}

@Suite struct FeedbackAnswerTests {
  private static func answer(_ feedback: BandwidthFeedback) throws -> MediaDescription {
    var line = MediaDescription.video(
      mid: "0", .sendOnly, TransportAttributes(), Codec.video(96, "VP8", rtx: 97))
    line.rtp.extensions = SyntheticExtension.offered(.video)
    var offer = SessionDescription(origin: Origin(sessionID: 1, sessionVersion: 1))
    offer.add(line)
    let fingerprint = try #require(CertificateFingerprint(algorithm: .sha256, bytes: [UInt8](repeating: 1, count: 32)))
    let end = LocalEnd(
      credentials: ICECredentials(ufrag: "abcd", password: String(repeating: "p", count: 22)),
      fingerprint: fingerprint)
    let text = SubscribeReply.text(to: offer, end, sessionID: 2, feedback: feedback)
    return try #require(SessionDescription.parse(text).media.first)
  }

  @Test(arguments: BandwidthFeedback.allCases)
  func theAnswerTakesWhatThisKindOfClientHas(_ feedback: BandwidthFeedback) throws {
    let line = try Self.answer(feedback)
    let codec = try #require(line.rtp.codecs.first { $0.isNamed("VP8") })
    #expect(codec.feedback.contains(.transportCC) == (feedback == .twcc))
    #expect(codec.feedback.contains(.remb) == (feedback == .remb))
    let hasNumbers = line.rtp.extensions.contains { $0.uri == SyntheticExtension.transportSequence.uri }
    #expect(hasNumbers == (feedback == .twcc))
    #expect(line.rtp.extensions.contains { $0.uri == SyntheticExtension.absSendTime.uri })
  }
}
