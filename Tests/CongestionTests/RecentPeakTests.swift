import Basics
import Testing

@testable import Congestion

@Suite struct RecentPeakTests {
  @Test func itRemembersForOneToTwoWindows() {
    var peak = RecentPeak()
    let start = Instant(nanoseconds: 5_000_000_000)
    func note(_ kilobits: Double, _ seconds: Double) -> BitRate {
      peak.note(.kilobits(kilobits), at: start + TimeDelta(nanoseconds: Int64(seconds * 1e9)))
    }
    #expect(note(1400, 0) == .kilobits(1400))
    // What an encoder saves after a keyframe does not count.
    #expect(note(450, 1) == .kilobits(1400))
    #expect(note(450, 2.9) == .kilobits(1400))
    #expect(note(450, 3) == .kilobits(1400), "of the window before")
    #expect(note(500, 5.9) == .kilobits(1400))
    // But what stays low does.
    #expect(note(450, 6) == .kilobits(500))
    #expect(note(2000, 6.5) == .kilobits(2000))
    // Whoever was not asked for long knows nothing.
    #expect(note(100, 60) == .kilobits(100))
  }
}
