// libsrtp2 as the oracle: what we seal it opens, what it seals we open, and both seal to the same bytes.

import Basics
import SRTPLibrary
import TestSupport
import Testing

@testable import SRTP

@Suite struct OracleTests {
  @Test(arguments: Setting.all, [1, 2, 3] as [UInt64])
  func randomPacketsBothWays(_ setting: Setting, seed: UInt64) throws {
    var generator = SplitMix64(seed: seed)
    let (profile, key) = (setting.profile, try masterKey(setting.profile, seed: seed))
    let (sender, receiver) = (try Sender(key, setting.backend), try Receiver(key, setting.backend))
    let partsSender = try Sender(key, setting.backend)
    let (oracleOut, oracleIn) = (try Oracle(key, .outbound), try Oracle(key, .inbound))
    let ssrcs = (0..<5).map { _ in UInt32.random(in: 0...UInt32.max, using: &generator) }
    for number in 0..<300 {
      let ssrc = ssrcs[number % 5]
      let packet = randomRTPPacket(UInt16(1_000 + number), ssrc: ssrc, &generator)
      let sealed = try sender.rtp(packet)
      #expect(sealed.count == packet.count + profile.rtpOverhead)
      let bounds = RTPBounds(packet.span)
      let head = try #require(bounds).headerLength
      #expect(try partsSender.rtp(header: Array(packet[..<head]), payload: Array(packet[head...])) == sealed)
      #expect(try oracleOut.protectRTP(packet) == sealed)
      #expect(try oracleIn.unprotectRTP(sealed) == packet)
      #expect(try receiver.rtp(sealed) == packet)

      let report = rtcpPacket(ssrc: ssrc, body: generator.bytes(4 * generator.number(0...80)))
      let sealedReport = try sender.rtcp(report)
      #expect(sealedReport.count == report.count + profile.rtcpOverhead)
      #expect(try oracleIn.unprotectRTCP(sealedReport) == report)
      // libsrtp2 numbers from 1, so its packets differ from ours.
      #expect(try receiver.rtcp(oracleOut.protectRTCP(report)) == report)
    }
  }

  @Test(arguments: Setting.all, [1, 2] as [UInt64])
  func rolloverWithReorderingAndLoss(_ setting: Setting, seed: UInt64) throws {
    var generator = SplitMix64(seed: seed)
    let key = try masterKey(setting.profile, seed: seed)
    let (sender, receiver) = (try Sender(key, setting.backend), try Receiver(key, setting.backend))
    let (oracleOut, oracleIn) = (try Oracle(key, .outbound), try Oracle(key, .inbound))
    // Three times around the number circle in steps, thick around each rollover.
    var numbers: [Int] = []
    for round in 0..<3 {
      numbers += stride(from: 65_536 * round + 300, to: 65_536 * (round + 1) - 200, by: 9_000)
      numbers += (65_536 * (round + 1) - 100)..<(65_536 * (round + 1) + 100)
    }
    // Sent in an order that is off by up to 60, received in another.
    let sentOrder = shuffled(numbers, by: 60, &generator)
    var sealed: [Int: [UInt8]] = [:]
    for number in sentOrder {
      let packet = rtpPacket(UInt16(truncatingIfNeeded: number), payload: bigEndian(UInt32(number)))
      let ours = try sender.rtp(packet)
      #expect(try oracleOut.protectRTP(packet) == ours, "number \(number)")
      sealed[number] = ours
    }
    for number in shuffled(numbers, by: 60, &generator) where number % 7 != 0 {
      let packet = try #require(sealed[number])
      let expected = rtpPacket(UInt16(truncatingIfNeeded: number), payload: bigEndian(UInt32(number)))
      #expect(try receiver.rtp(packet) == expected, "number \(number)")
      #expect(try oracleIn.unprotectRTP(packet) == expected, "number \(number)")
    }
  }

  /// No number comes after one that is more than `distance` above it; the first stays first, since it settles the rollover counter.
  private func shuffled(_ numbers: [Int], by distance: Int, _ generator: inout SplitMix64) -> [Int] {
    var keyed: [(Int, Int)] = []
    for number in numbers { keyed.append((number + generator.number(0...distance), number)) }
    let order = keyed.sorted { ($0.0, $0.1) < ($1.0, $1.1) }.map(\.1)
    return [numbers[0]] + order.filter { $0 != numbers[0] }
  }

  @Test(arguments: Setting.all.filter { $0.backend != .libSRTP })
  func highRolloverCountersAreInTheNonceAndTheTag(_ setting: Setting) throws {
    let key = try masterKey(setting.profile)
    let sender = try Sender(key, setting.backend)
    let oracle = try Oracle(key, .inbound)
    let ssrc: UInt32 = 5
    // The oracle must know the stream before its counter can be set.
    let first = rtpPacket(1, ssrc: ssrc)
    #expect(try oracle.unprotectRTP(sender.rtp(first)) == first)
    let counter: UInt32 = 0x89ab_cdef
    sender.startStream(ssrc, newest: UInt64(counter) << 16 | 1)
    try oracle.setRollover(counter, ssrc)
    let packet = rtpPacket(2, ssrc: ssrc)
    #expect(try oracle.unprotectRTP(sender.rtp(packet)) == packet)
  }

  @Test(arguments: Setting.all, SRTPBackend.available)
  func everyBackendOpensWhatEveryOtherSeals(_ setting: Setting, other: SRTPBackend) throws {
    let key = try masterKey(setting.profile)
    let (sender, receiver) = (try Sender(key, setting.backend), try Receiver(key, other))
    for sequence in 65_500...65_600 {
      let packet = rtpPacket(UInt16(truncatingIfNeeded: sequence))
      #expect(try receiver.rtp(sender.rtp(packet)) == packet)
      let report = rtcpPacket()
      #expect(try receiver.rtcp(sender.rtcp(report)) == report)
    }
  }

  /// Blocks of 16 bytes, and the wide steps that libraries take, have their edges somewhere in here.
  @Test(arguments: Setting.all.filter { $0.backend != .libSRTP })
  func everyLengthSealsAsTheOracleDoes(_ setting: Setting) throws {
    let key = try masterKey(setting.profile)
    let (sender, receiver) = (try Sender(key, setting.backend), try Receiver(key, setting.backend))
    let oracle = try Oracle(key, .outbound)
    for length in 0...1_400 {
      let packet = rtpPacket(UInt16(length), payload: (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 7) })
      let sealed = try sender.rtp(packet)
      #expect(try oracle.protectRTP(packet) == sealed, "\(length) bytes")
      #expect(try receiver.rtp(sealed) == packet, "\(length) bytes")
    }
  }
}
