// The checks can fail: each kind of wrong that a server could do to a stream is noticed, and a right stream is clean.

import Basics
import RoostProtocol
import Testing

@testable import SyntheticParticipant

@Suite struct FrameCheckerTests {
  private let video = FakeStream(kind: .video)
  private let audio = FakeStream(kind: .audio)

  @Test func aWholeStreamIsClean() {
    let pictures = FrameChecker.check(.video, video.frames(1...20))
    #expect(pictures.isClean && pictures.frames == 20 && pictures.keyframes == 1 && pictures.lastFrame == 20)
    let sounds = FrameChecker.check(.audio, audio.frames(1...20))
    #expect(sounds.isClean && sounds.frames == 20 && sounds.resumptions == 0)
  }

  @Test(arguments: [TrackKind.audio, .video])
  func aFrameThatIsMissingBehindNumbersThatShowNoGapIsNoticed(_ kind: TrackKind) {
    let stream = FakeStream(kind: kind)
    let counts = FrameChecker.check(kind, stream.frames(1...5) + stream.frames(8...10))
    #expect(counts.unmarkedGaps == 1 && !counts.isClean)
  }

  @Test(arguments: [0, 1, 2])
  func aPacketThatIsMissingBehindNumbersThatShowNoGapIsNoticed(_ missing: Int) {
    var packets = video.frames(1...5)
    packets.remove(at: 6 + missing)
    let counts = FrameChecker.check(.video, packets)
    #expect(counts.malformedFrames > 0 && !counts.isClean)
  }

  @Test func aPacketThatWasGivenUpBreaksItsFrameAlone() {
    var packets: [PacketFact?] = video.frames(1...5)
    packets[7] = nil
    let counts = FrameChecker.check(.video, packets)
    #expect(counts.frames == 4 && counts.brokenFrames == 1)
    #expect(counts.malformedFrames == 0 && counts.unmarkedGaps == 0)
  }

  @Test func aWholeFrameThatWasGivenUpIsAMarkedGap() {
    let packets: [PacketFact?] = video.frames(1...5) + [nil] + video.frames(8...9)
    let counts = FrameChecker.check(.video, packets)
    #expect(counts.unmarkedGaps == 0 && counts.malformedFrames == 0 && counts.frames == 7)
  }

  @Test(arguments: [0, 1, 2])
  func aStampThatCannotBeReadIsNoticed(_ packet: Int) {
    var pictures = video.frames(1...5)
    pictures[6 + packet].stamp = nil
    #expect(FrameChecker.check(.video, pictures).malformedFrames > 0)
    var sounds = audio.frames(1...5)
    sounds[2 + packet].stamp = nil
    #expect(FrameChecker.check(.audio, sounds).malformedFrames > 0)
  }

  @Test func otherClientsHaveNoStamps() {
    for stream in [video, audio] {
      var packets = stream.frames(1...5)
      for index in packets.indices { packets[index].stamp = nil }
      let counts = FrameChecker.check(stream.kind, packets)
      #expect(counts.isClean && counts.frames == 5 && counts.unstamped == UInt64(packets.count))
    }
  }

  @Test func anotherTracksPacketIsNoticed() {
    let other = PayloadStamp.identity(user: "anna", label: "screen")
    #expect(FrameChecker.check(.video, video.frames(1...2), identity: other).wrongStream == 6)
    #expect(FrameChecker.check(.audio, audio.frames(1...2), identity: other).wrongStream == 2)
    #expect(
      PayloadStamp.identity(user: "ann", label: "ascreen") != PayloadStamp.identity(user: "anna", label: "screen"))
  }

  @Test(arguments: [TrackKind.audio, .video])
  func timeThatGoesBackOrStandsStillIsNoticed(_ kind: TrackKind) {
    let stream = FakeStream(kind: kind)
    for timestamp in [UInt32(3_000), 6_000] {
      var packets = stream.frames(1...2)
      packets += stream.frame(3).map {
        var fact = $0
        fact.timestamp = timestamp
        return fact
      }
      #expect(FrameChecker.check(kind, packets).timestampErrors == 1, "\(timestamp)")
    }
  }

  @Test func aPauseThatEndsInAKeyframeIsMarked() {
    let counts = FrameChecker.check(
      .video, video.frames(1...3) + video.frame(9, keyframe: true) + video.frames(10...11))
    #expect(counts.isClean && counts.resumptions == 1 && counts.keyframes == 2)
  }

  @Test func aMuteOfSoundIsMarkedByItsAnnouncementOnce() {
    let packets = audio.frames(1...3) + audio.frames(9...10)
    #expect(FrameChecker.check(.audio, packets, mayJump: true).resumptions == 1)
    #expect(FrameChecker.check(.audio, packets, mayJump: true).isClean)
    let twice = FrameChecker.check(.audio, packets + audio.frames(20...21), mayJump: true)
    #expect(twice.unmarkedGaps == 1)
  }

  @Test func aChangeOfLayerNeedsAKeyframe() {
    let good = video.frames(1...3) + video.frame(4, keyframe: true, layer: 1) + video.frame(5, layer: 1)
    #expect(FrameChecker.check(.video, good).isClean)
    let bad = video.frames(1...3) + video.frame(4, layer: 1) + video.frame(5, layer: 1)
    #expect(FrameChecker.check(.video, bad).unmarkedGaps == 1)
    let mixed = video.frames(1...3) + video.frame(4).prefix(1) + video.frame(4, layer: 1).dropFirst()
    #expect(FrameChecker.check(.video, mixed).malformedFrames > 0)
  }

  @Test func aRepeatedFrameIsNoticed() {
    var again = video.frame(3)
    for index in again.indices { again[index].timestamp = 12_000 }
    #expect(FrameChecker.check(.video, video.frames(1...3) + again).unmarkedGaps == 1)
  }

  @Test func decodingWaitsForAKeyframe() {
    var counts = ReceiveStatistics(
      subscriptionId: "s", trackId: "t", participantId: "p", user: nil, kind: .video, ssrc: 1)
    var checker = FrameChecker(kind: .video)
    for packet in video.frame(1, keyframe: false) { _ = checker.take(packet, at: .zero, &counts) }
    #expect(checker.needsKeyframe)
    for packet in video.frame(2, keyframe: true) { _ = checker.take(packet, at: .zero, &counts) }
    #expect(!checker.needsKeyframe)
    checker.skip(&counts)
    #expect(checker.needsKeyframe)
  }

  @Test func otherClientsPacketsAreCheckedAsFarAsTheyCan() {
    var packets = video.frames(1...4)
    for index in packets.indices { packets[index].stamp = nil }
    let counts = FrameChecker.check(.video, packets)
    #expect(counts.unstamped == 12 && counts.frames == 4 && counts.wrongStream == 0 && counts.malformedFrames == 0)
    packets.remove(at: 5)
    #expect(FrameChecker.check(.video, packets).malformedFrames > 0)
  }
}
