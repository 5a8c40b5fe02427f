// What the tokens of one connection come to: when it is enough, and its rank among those that wait.
import Basics
import Testing

@testable import DoorKit

@Suite struct TokenTriesTests {
  @Test func withTheThirdThatFailsItIsEnough() {
    var tries = TokenTries()
    var ends: [Bool] = []
    for outcome: TokenTries.Outcome in [.failed, .sentAway, .sentAway, .believed, .sentAway, .failed] {
      tries.begin()
      #expect(tries.isWaiting)
      ends.append(tries.end(outcome))
    }
    #expect(!ends.contains(true) && !tries.isWaiting)
    #expect(tries.rank == TurnRank(failures: 2, turns: 1), "who was sent away is no worse for it")
    let isLast = tries.fail()
    #expect(isLast, "one that was taken back counts as well")
  }
}
