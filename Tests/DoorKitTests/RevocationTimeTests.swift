// How long a token is remembered that was taken back: no shorter than a token of that name may be good.
import Basics
import Testing
import Tokens

@testable import Members
@testable import Sessions

@Suite struct RevocationTimeTests {
  /// One may be believed that ends a day and the skew of clocks from now, and is good for as much longer as clocks may be apart.
  @Test func noTokenOutlivesIt() {
    #expect(RevocationTable.time.milliseconds >= TokenVerifier.longestLife + 2 * TokenVerifier.skew)
  }
}
