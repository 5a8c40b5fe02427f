// What ought to have come, by the senders' own count, and what a viewer would have seen stand still.

import Basics
import RoostProtocol
import Testing

@testable import SyntheticParticipant

@Suite struct StreamLedgerTests {
  private func stamp(_ ordinal: UInt32, layer: UInt8 = 0) -> PayloadStamp {
    PayloadStamp(
      identity: 1, sentAt: .zero, frame: ordinal, packet: 0, packets: 1, payloadLength: 100, layer: layer,
      isKeyframe: false, ordinal: ordinal)
  }

  /// What the ledger expects after these ordinals; those in `resumed` come after a mute.
  private func expected(_ ordinals: [UInt32], resumed: Set<UInt32> = [], layers: [UInt8]? = nil) -> UInt64 {
    var counts = ReceiveStatistics(
      subscriptionId: "s", trackId: "t", participantId: "p", user: nil, kind: .video, ssrc: 1)
    var ledger = OrdinalLedger()
    for (index, ordinal) in ordinals.enumerated() {
      ledger.take(
        stamp(ordinal, layer: layers?[index] ?? 0), hasResumed: resumed.contains(ordinal), &counts)
    }
    return counts.expected
  }

  @Test func countsFromTheFirstThatCame() {
    #expect(expected([]) == 0)
    #expect(expected([900]) == 1)
    #expect(expected([900, 901, 902]) == 3)
  }

  @Test func countsWhatIsMissing() { #expect(expected([1, 2, 5, 6]) == 6) }

  @Test func excusesAMute() { #expect(expected([1, 2, 500, 501], resumed: [500]) == 4) }

  @Test func excusesAChangeOfLayer() { #expect(expected([10, 11, 400, 401], layers: [0, 0, 1, 1]) == 4) }

  @Test func goesOnWhereTheCountWraps() {
    #expect(expected([.max - 1, .max, 0, 1]) == 4)
    #expect(expected([.max, 2]) == 4)
  }

  @Test func anOldNumberIsNoLoss() { #expect(expected([100, 90, 91]) == 3) }

  @Test func aFreezeIsLongerThanThreeIntervalsAnd150Milliseconds() {
    func freezes(_ gap: Int) -> Int {
      var watch = FreezeWatch()
      var now = Instant.zero
      var count = 0
      for step in [40, 40, 40, gap, 40] {
        now += .milliseconds(step)
        if watch.freezes(at: now) { count += 1 }
      }
      return count
    }
    #expect(freezes(40) == 0)
    #expect(freezes(185) == 0)
    #expect(freezes(200) == 1)
  }

  @Test func theCheckerSeesWhatARenumberingServerHides() {
    var counts = ReceiveStatistics(
      subscriptionId: "s", trackId: "t", participantId: "p", user: nil, kind: .audio, ssrc: 1)
    var checker = FrameChecker(kind: .audio)
    for ordinal: UInt32 in [1, 2, 4, 5] {
      let fact = PacketFact(
        timestamp: ordinal &* 960, marker: false, startsFrame: true, startsKeyframe: true, stamp: stamp(ordinal))
      _ = checker.take(fact, at: .zero, &counts)
    }
    #expect(counts.expected == 5)
    #expect(counts.lastOrdinal == 5)
    #expect(counts.unmarkedGaps == 1)
  }
}
