// A crowd reports what has arrived as browsers do: each twenty times a second, and each at times of its own.

import Basics
import Testing

@testable import SyntheticParticipant

@Suite struct FeedbackPhaseTests {
  @Test func everybodyHasAPhaseOfTheirOwn() {
    let interval = MediaReceiver.feedbackInterval
    let phases = (0..<1_000 as Range<UInt32>).map { MediaReceiver.phase($0 &* 7_919, of: interval) }
    #expect(phases.allSatisfy { $0 > .zero && $0 <= interval })
    for tenth in 0..<10 {
      let part = interval / 10 * Int64(tenth)..<(interval / 10 * Int64(tenth + 1))
      #expect((90...110).contains(phases.count { part.contains($0) }), "even over the interval")
    }
  }

  @Test(arguments: [(BandwidthFeedback.twcc, 50), (.remb, 1_000), (.none, 1_000)])
  func itBeginsWithinAnInterval(_ kind: BandwidthFeedback, _ milliseconds: Int) {
    var receiver = MediaReceiver(ssrc: 4_999, cname: "ben", feedback: kind)
    #expect(receiver.nextDeadline == .distantFuture)
    let now = Instant.zero + .seconds(5)
    receiver.begin(at: now)
    #expect(receiver.nextDeadline > now && receiver.nextDeadline <= now + .milliseconds(milliseconds))
    let first = receiver.nextDeadline
    receiver.begin(at: now + .seconds(1))
    #expect(receiver.nextDeadline == first, "it has begun")
  }
}
