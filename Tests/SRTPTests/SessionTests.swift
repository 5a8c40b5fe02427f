// Sessions on every backend: replay, forgery, truncation, bounds, repeated numbers, exhaustion.

import Basics
import TestSupport
import Testing

@testable import SRTP

struct Setting: Sendable, CustomTestStringConvertible {
  let profile: SRTPProfile
  let backend: SRTPBackend
  var testDescription: String { "\(profile) on \(backend)" }

  static let all = SRTPProfile.allCases.flatMap { profile in
    SRTPBackend.available.map { Setting(profile: profile, backend: $0) }
  }

  func sender(seed: UInt64 = 1, maximumStreams: Int = 100) throws -> Sender {
    try Sender(masterKey(profile, seed: seed), backend, maximumStreams: maximumStreams)
  }
  func receiver(seed: UInt64 = 1, maximumStreams: Int = 100) throws -> Receiver {
    try Receiver(masterKey(profile, seed: seed), backend, maximumStreams: maximumStreams)
  }
}

@Suite struct SessionTests {
  @Test(arguments: Setting.all)
  func aPacketOpensOnce(_ setting: Setting) throws {
    let (sender, receiver) = (try setting.sender(), try setting.receiver())
    let (packet, report) = (rtpPacket(1), rtcpPacket())
    let (sealed, sealedReport) = (try sender.rtp(packet), try sender.rtcp(report))
    #expect(try receiver.rtp(sealed) == packet)
    #expect(throws: SRTPError.replayed) { try receiver.rtp(sealed) }
    #expect(try receiver.rtcp(sealedReport) == report)
    #expect(throws: SRTPError.replayed) { try receiver.rtcp(sealedReport) }
  }

  @Test(arguments: Setting.all)
  func theReplayWindowIs128PacketsLong(_ setting: Setting) throws {
    let (sender, receiver) = (try setting.sender(), try setting.receiver())
    let sealed = try (0...300).map { try sender.rtp(rtpPacket(UInt16($0))) }
    let reports = try (0...300).map { _ in try sender.rtcp(rtcpPacket()) }
    #expect(try receiver.rtp(sealed[200]) == rtpPacket(200))
    #expect(try receiver.rtp(sealed[73]) == rtpPacket(73))
    #expect(throws: SRTPError.replayed) { try receiver.rtp(sealed[73]) }
    #expect(throws: SRTPError.tooOld) { try receiver.rtp(sealed[72]) }
    #expect(try receiver.rtp(sealed[300]) == rtpPacket(300))
    #expect(throws: SRTPError.tooOld) { try receiver.rtp(sealed[150]) }
    #expect(throws: SRTPError.replayed) { try receiver.rtp(sealed[200]) }
    #expect(try receiver.rtp(sealed[299]) == rtpPacket(299))
    #expect(try receiver.rtcp(reports[200]) == rtcpPacket())
    #expect(try receiver.rtcp(reports[73]) == rtcpPacket())
    #expect(throws: SRTPError.tooOld) { try receiver.rtcp(reports[72]) }
    #expect(throws: SRTPError.replayed) { try receiver.rtcp(reports[73]) }
  }

  @Test(arguments: Setting.all)
  func aFlippedBitAnywhereIsNoticed(_ setting: Setting) throws {
    let sender = try setting.sender()
    let receiver = try setting.receiver()
    let (sealed, sealedReport) = (try sender.rtp(rtpPacket(1)), try sender.rtcp(rtcpPacket()))
    for position in sealed.indices {
      for bit in 0..<8 {
        var forged = sealed
        forged[position] ^= 1 << UInt8(bit)
        #expect(throws: SRTPError.self, "byte \(position), bit \(bit)") { try receiver.rtp(forged) }
      }
    }
    for position in sealedReport.indices {
      for bit in 0..<8 {
        var forged = sealedReport
        forged[position] ^= 1 << UInt8(bit)
        #expect(throws: SRTPError.self, "byte \(position), bit \(bit)") { try receiver.rtcp(forged) }
      }
    }
    // Nothing of that was remembered.
    #expect(receiver.count == 0)
    #expect(try receiver.rtp(sealed) == rtpPacket(1))
    #expect(try receiver.rtcp(sealedReport) == rtcpPacket())
  }

  @Test(arguments: Setting.all)
  func forgedPacketsMoveNoWindow(_ setting: Setting) throws {
    let (sender, receiver) = (try setting.sender(), try setting.receiver())
    let stranger = try setting.sender(seed: 2)
    #expect(try receiver.rtp(sender.rtp(rtpPacket(10))) == rtpPacket(10))
    for sequence in [11, 500, 30_000, 40_000, 65_535] as [UInt16] {
      let forged = try stranger.rtp(rtpPacket(sequence))
      #expect(throws: SRTPError.authenticationFailed) { try receiver.rtp(forged) }
    }
    #expect(try receiver.rtp(sender.rtp(rtpPacket(11))) == rtpPacket(11))
    #expect(receiver.count == 1)
  }

  @Test(arguments: Setting.all)
  func everyTruncationIsRefused(_ setting: Setting) throws {
    let sender = try setting.sender()
    let receiver = try setting.receiver()
    var generator = SplitMix64(seed: 9)
    let sealed = try sender.rtp(randomRTPPacket(1, ssrc: 9, &generator).prefix(200) + [])
    let report = try sender.rtcp(rtcpPacket())
    for length in sealed.indices { #expect(throws: SRTPError.self) { try receiver.rtp(Array(sealed[..<length])) } }
    for length in report.indices { #expect(throws: SRTPError.self) { try receiver.rtcp(Array(report[..<length])) } }
  }

  @Test(arguments: Setting.all, [1, 2, 3] as [UInt64])
  func noiseIsRefused(_ setting: Setting, seed: UInt64) throws {
    var generator = SplitMix64(seed: seed)
    let receiver = try setting.receiver()
    let sender = try setting.sender()
    for _ in 0..<500 {
      var noise = generator.bytes(generator.number(0...120))
      // Most of it begins like RTP.
      if !noise.isEmpty, generator.number(0...3) > 0 { noise[0] = 0x80 | noise[0] & 0x3f }
      #expect(throws: SRTPError.self) { try receiver.rtp(noise) }
      #expect(throws: SRTPError.self) { try receiver.rtcp(noise) }
      // To be sealed it need only have a header; what comes out opens again or was refused.
      if let sealed = try? sender.rtp(noise) { #expect((try? receiver.rtp(sealed)) == noise) }
    }
  }

  @Test func headersThatDoNotFitAreMalformed() throws {
    let sender = try Setting(profile: .aeadAES128GCM, backend: .openSSL).sender()
    let packets: [[UInt8]] = [
      [], [0x80], Array(rtpPacket(1).prefix(11)), [0x40] + rtpPacket(1).dropFirst(),
      // Four CSRCs and no room; an extension header that is cut; an extension longer than the packet.
      [0x84] + rtpPacket(1).dropFirst(), [0x90] + rtpPacket(1, payload: [0xbe, 0xde]).dropFirst(),
      [0x90] + rtpPacket(1, payload: [0xbe, 0xde, 0xff, 0xff, 1]).dropFirst(),
    ]
    for packet in packets { #expect(throws: SRTPError.malformed) { try sender.rtp(packet) } }
    for packet in [[], Array(rtcpPacket().prefix(7)), [0x00] + rtcpPacket().dropFirst()] as [[UInt8]] {
      #expect(throws: SRTPError.malformed) { try sender.rtcp(packet) }
    }
    #expect(try sender.rtp(rtpPacket(1, payload: [])).count == 28)
  }

  @Test(arguments: Setting.all)
  func theBufferMustHaveRoomForTheTag(_ setting: Setting) throws {
    let packet = rtpPacket(1)
    let key = try masterKey(setting.profile)
    let seal = { (room: Int) throws(SRTPError) -> Int in
      var sender = try SRTPSender(key: key, backend: setting.backend)
      var buffer = packet + [UInt8](repeating: 0, count: room)
      var span = buffer.mutableSpan
      return try sender.protectRTP(&span, length: packet.count)
    }
    #expect(throws: SRTPError.noRoom) { try seal(setting.profile.rtpOverhead - 1) }
    #expect(try seal(setting.profile.rtpOverhead) == packet.count + setting.profile.rtpOverhead)
    let beyond = { (length: Int) throws(SRTPError) -> Int in
      var receiver = try SRTPReceiver(key: key, backend: setting.backend)
      var buffer = packet
      var span = buffer.mutableSpan
      return try receiver.unprotectRTP(&span, length: length)
    }
    for length in [-1, packet.count + 1, Int.max] { #expect(throws: SRTPError.malformed) { try beyond(length) } }
  }

  @Test(arguments: Setting.all)
  func aNumberIsNotUsedTwiceUnlessTheCallerVouchesForIt(_ setting: Setting) throws {
    let (sender, receiver) = (try setting.sender(), try setting.receiver())
    let first = try sender.rtp(rtpPacket(65_530))
    for sequence in 65_531...65_700 { _ = try sender.rtp(rtpPacket(UInt16(truncatingIfNeeded: sequence))) }
    #expect(throws: SRTPError.replayed) { try sender.rtp(rtpPacket(100)) }
    #expect(throws: SRTPError.tooOld) { try sender.rtp(rtpPacket(65_530)) }
    // Sent again it is the same, with the rollover counter of before the rollover.
    #expect(try sender.rtp(rtpPacket(65_530), resending: true) == first)
    #expect(try receiver.rtp(first) == rtpPacket(65_530))
    // And the newest number has not moved.
    #expect(try receiver.rtp(sender.rtp(rtpPacket(165))) == rtpPacket(165))
  }

  @Test(arguments: Setting.all)
  func streamsToSendBeyondTheBoundAreRefusedAndCounted(_ setting: Setting) throws {
    let sender = try setting.sender(maximumStreams: 3)
    for ssrc in 1...3 as ClosedRange<UInt32> { _ = try sender.rtp(rtpPacket(1, ssrc: ssrc)) }
    #expect(throws: SRTPError.tooManyStreams) { try sender.rtp(rtpPacket(1, ssrc: 4)) }
    #expect(sender.refused == 1)
    // A stream that ended makes room.
    sender.forget(2)
    _ = try sender.rtp(rtpPacket(1, ssrc: 4))
  }

  @Test(arguments: Setting.all)
  func aReceivedStreamBeyondTheBoundTakesThePlaceOfTheOneUnusedForLongest(_ setting: Setting) throws {
    let sender = try setting.sender()
    let receiver = try setting.receiver(maximumStreams: 3)
    let old = try sender.rtp(rtpPacket(9, ssrc: 1))
    let oldReport = try sender.rtcp(rtcpPacket(ssrc: 1))
    for packet in [old, try sender.rtp(rtpPacket(1, ssrc: 2)), try sender.rtp(rtpPacket(1, ssrc: 3))] {
      _ = try receiver.rtp(packet)
    }
    _ = try receiver.rtcp(oldReport)
    _ = try receiver.rtp(sender.rtp(rtpPacket(2, ssrc: 2)))
    _ = try receiver.rtp(sender.rtp(rtpPacket(2, ssrc: 3)))
    #expect(try receiver.rtp(sender.rtp(rtpPacket(1, ssrc: 4))) == rtpPacket(1, ssrc: 4))
    #expect(receiver.count == 3 && receiver.retired == 1)
    // What was put away cannot be replayed, and goes on.
    #expect(throws: SRTPError.replayed) { try receiver.rtp(old) }
    #expect(throws: SRTPError.replayed) { try receiver.rtcp(oldReport) }
    #expect(throws: SRTPError.replayed) { try receiver.rtp(sender.rtp(rtpPacket(8, ssrc: 1))) }
    #expect(receiver.count == 3 && receiver.retired == 1)
    #expect(try receiver.rtp(sender.rtp(rtpPacket(10, ssrc: 1))) == rtpPacket(10, ssrc: 1))
    #expect(receiver.count == 3 && receiver.retired == 1)
  }

  /// Publishing and unpublishing for days: ever new SSRCs, a bounded memory, no replay of the last thousands.
  @Test func thousandsOfStreamsOneAfterTheOther() throws {
    let setting = Setting(profile: .aeadAES128GCM, backend: .openSSL)
    let (sender, receiver) = (try setting.sender(maximumStreams: 4), try setting.receiver(maximumStreams: 8))
    var packets: [[UInt8]] = []
    for ssrc in 1...6_000 as ClosedRange<UInt32> {
      let packet = try sender.rtp(rtpPacket(UInt16(truncatingIfNeeded: ssrc), ssrc: ssrc))
      _ = try receiver.rtp(packet)
      packets.append(packet)
      sender.forget(ssrc)
    }
    #expect(receiver.count == 8 && receiver.retired == RetiredStreams.capacity && sender.refused == 0)
    let replayed = packets.suffix(RetiredStreams.capacity + 8).count { (try? receiver.rtp($0)) != nil }
    #expect(replayed == 0)
    // The one before them is forgotten, and known as nobody.
    let older = packets[packets.count - RetiredStreams.capacity - 9]
    #expect((try? receiver.rtp(older)) != nil)
  }

  /// A stream after a rollover that was put away opens with the same rollover counter.
  @Test func aStreamThatWasPutAwayKeepsItsRolloverCounter() throws {
    let setting = Setting(profile: .aes128CMSHA1_80, backend: .openSSL)
    let (sender, receiver) = (try setting.sender(), try setting.receiver(maximumStreams: 1))
    let late = UInt64(5) << 16 | 100
    sender.startStream(1, newest: late)
    receiver.startStream(1, newest: late)
    _ = try receiver.rtp(sender.rtp(rtpPacket(1, ssrc: 2)))
    #expect(try receiver.rtp(sender.rtp(rtpPacket(101, ssrc: 1))) == rtpPacket(101, ssrc: 1))
  }

  @Test(arguments: Setting.all)
  func anUnencryptedReportIsRefused(_ setting: Setting) throws {
    let (sender, receiver) = (try setting.sender(), try setting.receiver())
    var report = try sender.rtcp(rtcpPacket())
    let flag = setting.profile == .aes128CMSHA1_80 ? report.count - 14 : report.count - 4
    report[flag] &= 0x7f
    #expect(throws: SRTPError.notEncrypted) { try receiver.rtcp(report) }
  }

  @Test(arguments: SRTPProfile.allCases)
  func anExhaustedKeyProtectsNothing(_ profile: SRTPProfile) throws {
    let setting = Setting(profile: profile, backend: .openSSL)
    let (sender, receiver) = (try setting.sender(), try setting.receiver())
    let last = UInt64(UInt32.max) << 16 | 0xffff
    sender.startStream(0xcafe_f00d, newest: last - 1, nextRTCP: 0x7fff_ffff)
    receiver.startStream(0xcafe_f00d, newest: last - 1)
    #expect(try receiver.rtp(sender.rtp(rtpPacket(0xffff))) == rtpPacket(0xffff))
    #expect(throws: SRTPError.keyExhausted) { try sender.rtp(rtpPacket(0)) }
    #expect(throws: SRTPError.keyExhausted) { try receiver.rtp(rtpPacket(0, payload: Array(repeating: 0, count: 40))) }
    #expect(try receiver.rtcp(sender.rtcp(rtcpPacket())) == rtcpPacket())
    #expect(throws: SRTPError.keyExhausted) { try sender.rtcp(rtcpPacket()) }
  }

  @Test(arguments: Setting.all)
  func keysOfDirectionsAndOfRTPAndRTCPDiffer(_ setting: Setting) throws {
    let sender = try setting.sender()
    let receiver = try setting.receiver()
    let sealed = try sender.rtp(rtpPacket(1, payload: Array(repeating: 0, count: 40)))
    #expect(throws: SRTPError.self) { try receiver.rtcp(sealed) }
    let other = try setting.receiver(seed: 2)
    #expect(throws: SRTPError.authenticationFailed) { try other.rtp(sealed) }
  }

  @Test func masterKeysOfTheWrongLengthAreNone() {
    for profile in SRTPProfile.allCases {
      let (key, salt) = (
        [UInt8](repeating: 0, count: profile.keyLength), [UInt8](repeating: 0, count: profile.saltLength)
      )
      #expect(SRTPMasterKey(profile: profile, key: key, salt: salt) != nil)
      #expect(SRTPMasterKey(profile: profile, key: key + [0], salt: salt) == nil)
      #expect(SRTPMasterKey(profile: profile, key: key, salt: Array(salt.dropLast())) == nil)
    }
  }
}
