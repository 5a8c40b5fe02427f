// What the core hears of a token: when its client is to be warned, and when its session ends.
import Members
import RoostProtocol
import Testing
import Tokens

@testable import DoorKit

@Suite struct TokenAccessTests {
  /// Clocks may be a minute apart: so much longer than `exp` a session lives, and not a minute longer is its client left in peace.
  @Test func aTokenEndsAtItsExpAndItsSessionAMinuteLater() throws {
    let (secret, now): ([UInt8], Int64) = (Array("a key of the tests, of 40 bytes: 01234567".utf8), 1_795_251_006_000)
    let verifier = TokenVerifier(keys: [try TokenKey(id: nil, secret: secret)])
    let access = TokenAccess(verifier) { now }
    let token = try TokenSigner(id: nil, secret: secret).sign(
      TokenClaims(user: "anna", grants: [.join], expiresAt: now + 90_000))
    let first = try access.verify(HelloParams(user: "anna", token: token), from: nil)
    let further = try #require(try access.renew(token, from: nil))
    for identity in [first, further] {
      #expect(identity.expiresAt == now + 90_000 && identity.endsAt == now + 150_000)
    }
  }
}
