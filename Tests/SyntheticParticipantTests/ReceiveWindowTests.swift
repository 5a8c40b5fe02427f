// Order, gaps, repetitions and requests by sequence number.

import Basics
import RoostProtocol
import Testing

@testable import SyntheticParticipant

@Suite struct ReceiveWindowTests {
  private static let fact = FakeStream(kind: .audio).frame(1)[0]

  private func instant(_ milliseconds: Int) -> Instant { .zero + .milliseconds(milliseconds) }

  private func take(
    _ window: inout ReceiveWindow, _ number: UInt16, again: Bool = false, at milliseconds: Int = 0
  ) -> ReceiveWindow.Verdict {
    window.take(number, Self.fact, isRetransmission: again, at: instant(milliseconds))
  }

  private func deliver(_ window: inout ReceiveWindow) -> Int {
    var count = 0
    while window.deliver() != nil { count += 1 }
    return count
  }

  @Test func packetsInOrderAreDeliveredAtOnceAcrossTheWrap() {
    var window = ReceiveWindow()
    for number in UInt16(65_500)...UInt16(65_535) {
      #expect(take(&window, number) == .new)
      #expect(deliver(&window) == 1)
    }
    for number in UInt16(0)...UInt16(2_000) {
      #expect(take(&window, number) == .new)
      #expect(deliver(&window) == 1)
    }
    #expect(window.missing == 0)
    #expect(window.newest - window.first == 2_036)
  }

  private func passes(_ window: inout ReceiveWindow, _ number: UInt16) -> Bool { window.passes(number) }

  @Test func onlyWhatIsNextWhileNothingWaitsNeedNotBeKept() {
    var window = ReceiveWindow()
    #expect(!passes(&window, 65_534), "the first decides where the numbers begin")
    #expect(take(&window, 65_534) == .new)
    #expect(!passes(&window, 65_535), "the one before it still waits")
    #expect(deliver(&window) == 1)
    for number in [UInt16(65_535), 0, 1] { #expect(passes(&window, number)) }
    #expect(take(&window, 0) == .duplicate && take(&window, 1, again: true) == .spurious)
    #expect(!passes(&window, 3) && !passes(&window, 1))
    #expect(take(&window, 3) == .new && window.missing == 1)
    #expect(!passes(&window, 4) && take(&window, 4) == .new)
    #expect(take(&window, 2) == .reordered && deliver(&window) == 3)
    #expect(passes(&window, 5) && window.newest - window.first == 7 && window.missing == 0)
    // All round the window, over slots of every kind.
    for number in UInt16(6)...UInt16(1_500) { #expect(passes(&window, number)) }
    #expect(window.missing == 0)
  }

  /// Losses, packets that overtake each other, repetitions and leaps at random: every number is delivered once, in order, or
  /// given up.
  @Test(arguments: [1, 2, 3] as [UInt64])
  func everyNumberIsDeliveredOrGivenUp(_ seed: UInt64) {
    var random = SplitMix64(seed: seed)
    var window = ReceiveWindow()
    var (number, late, settled, given) = (UInt16(65_000), [UInt16](), 0, 0)
    for time in 1...30_000 {
      number &+= 1
      if random.chance(0.0005) { number &+= UInt16(random.next() % 1_500) }
      if random.chance(0.03) { continue }
      if random.chance(0.03) {
        late.append(number)
      } else {
        settled += receive(&window, number, at: time)
        if random.chance(0.01) { #expect(take(&window, number, at: time) != .new) }
      }
      if late.count > 5 { settled += receive(&window, late.removeFirst(), at: time) }
      given += abandon(&window, at: time)
      settled += deliver(&window)
      #expect(window.missing < ReceiveWindow.length)
    }
    while let next = window.next, next <= window.newest {
      given += abandon(&window, at: 60_000)
      settled += deliver(&window)
    }
    #expect(Int64(settled + given) == window.newest - window.first + 1 && window.missing == 0)
    #expect(settled > 25_000 && given > 500)
  }

  /// As a stream does it: whatever can pass, passes. How many packets that delivered.
  private func receive(_ window: inout ReceiveWindow, _ number: UInt16, at time: Int) -> Int {
    if window.passes(number) { return 1 }
    _ = take(&window, number, at: time)
    return 0
  }

  private func abandon(_ window: inout ReceiveWindow, at time: Int) -> Int {
    window.abandon(at: instant(time), patience: .milliseconds(100))
  }

  @Test func whatComesLateIsReorderedOrRepaired() {
    var window = ReceiveWindow()
    #expect(take(&window, 10) == .new)
    #expect(take(&window, 13) == .new)
    #expect(window.missing == 2)
    #expect(deliver(&window) == 1)
    #expect(take(&window, 12) == .reordered)
    var numbers: [UInt16] = []
    window.requests(at: instant(5), again: .milliseconds(80), into: &numbers)
    #expect(numbers == [11])
    #expect(take(&window, 11) == .repaired)
    #expect(deliver(&window) == 3)
    #expect(window.missing == 0)
  }

  @Test func repetitionsAreToldApartByWhetherTheyWereAskedFor() {
    var window = ReceiveWindow()
    _ = take(&window, 1)
    #expect(take(&window, 1) == .duplicate)
    #expect(take(&window, 1, again: true) == .spurious)
    _ = take(&window, 3)
    var numbers: [UInt16] = []
    window.requests(at: instant(0), again: .milliseconds(80), into: &numbers)
    #expect(take(&window, 2) == .repaired)
    #expect(take(&window, 2) == .spurious)
    _ = deliver(&window)
    #expect(take(&window, 3) == .duplicate)
    #expect(take(&window, 2) == .spurious)
  }

  @Test func requestsAreRepeatedAtTheirPace() {
    var window = ReceiveWindow()
    _ = take(&window, 1)
    _ = take(&window, 4)
    var asked: [(Int, [UInt16])] = []
    for milliseconds in stride(from: 0, through: 200, by: 20) {
      var numbers: [UInt16] = []
      window.requests(at: instant(milliseconds), again: .milliseconds(80), into: &numbers)
      if !numbers.isEmpty { asked.append((milliseconds, numbers)) }
    }
    #expect(asked.map(\.0) == [0, 80, 160])
    #expect(asked.allSatisfy { $0.1 == [2, 3] })
  }

  @Test func whatIsMissingForTooLongIsGivenUpAndTheRestGoesOn() {
    var window = ReceiveWindow()
    _ = take(&window, 1)
    _ = take(&window, 3, at: 10)
    _ = deliver(&window)
    #expect(window.abandon(at: instant(500), patience: .milliseconds(1_000)) == 0)
    #expect(window.abandon(at: instant(1_010), patience: .milliseconds(1_000)) == 1)
    #expect(deliver(&window) == 1)
    #expect(take(&window, 2) == .late)
    #expect(window.missing == 0)
  }

  @Test func aLeapBeyondTheWindowLosesWhatLiesBetween() {
    var window = ReceiveWindow()
    _ = take(&window, 1)
    _ = deliver(&window)
    #expect(take(&window, 5_001) == .new)
    let beyond = window.abandon(at: instant(0), patience: .milliseconds(1_000))
    #expect(beyond == 5_000 - ReceiveWindow.length)
    #expect(window.missing == ReceiveWindow.length - 1)
    #expect(window.abandon(at: instant(2_000), patience: .milliseconds(1_000)) == ReceiveWindow.length - 1)
    #expect(deliver(&window) == 1)
    #expect(window.missing == 0)
    #expect(take(&window, 2) == .late)
  }
}
