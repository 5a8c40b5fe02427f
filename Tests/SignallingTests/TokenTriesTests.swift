// What the tokens of one connection come to: when it is enough, and its rank among those that wait.
import Basics
import Testing

@testable import Signalling

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
    #expect(tries.rank == TurnRank(failures: 2, refusals: 1), "who was believed begins anew, but for what has failed")
    let isLast = tries.fail()
    #expect(isLast, "one that was taken back counts as well")
  }
}
