// Tokens as they are meant: made, read, and what they say.

import Basics
import RoostProtocol
import Testing

@testable import Tokens

@Suite struct TokenTests {
  private static let whole: TokenClaims = {
    var claims = TokenClaims(
      user: "anna@example.org", name: "Anna Ångström", room: .prefix("team-"), grants: Set(Grant.known), cap: 9,
      id: "t1",
      expiresAt: now + 3_600_000)
    (claims.notBefore, claims.issuedAt, claims.issuer) = (now - 1000, now - 2000, "app")
    claims.audience = ["a", "b"]
    return claims
  }()

  @Test(arguments: ["hmac", "ec", "ed"]) func whatIsSignedIsReadAsItWas(kid: String) throws {
    let signer = try #require(try Keys.signers()[kid])
    let verifier = TokenVerifier(keys: try Keys.all(), issuer: "app", audience: "b")
    #expect(try verifier.verify(signer.sign(Self.whole), at: now) == Self.whole)
    let bare = TokenClaims(user: "ben", grants: [], expiresAt: now + 1000)
    #expect(try TokenVerifier(keys: try Keys.all()).verify(signer.sign(bare), at: now) == bare)
  }

  /// RFC 7515, appendix A.1: its signature is right, and what it says is none of ours.
  @Test func theExampleOfTheRFCIsSignedWell() throws {
    let key =
      "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow"
    let text =
      "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
    let secret = try #require(Base64.url.decode(Array(key.utf8)[...]))
    let verifier = TokenVerifier(keys: [try TokenKey(id: nil, secret: secret)])
    #expect(throws: TokenError.claim("sub")) { try verifier.verify(text, at: 1_300_819_000_000) }
    let wrong = TokenVerifier(keys: [try TokenKey(id: nil, secret: Array(secret.dropLast()))])
    #expect(throws: TokenError.signature) { try wrong.verify(text, at: 1_300_819_000_000) }
  }

  /// A key may be taken out of use while the next is in use already.
  @Test func keysCanBeRotated() throws {
    let (old, new) = (Keys.secret, Array(Keys.secret.reversed()))
    let verifier = TokenVerifier(keys: [try TokenKey(id: "old", secret: old), try TokenKey(id: "new", secret: new)])
    for (id, secret) in [("old", old), ("new", new)] {
      let text = try TokenSigner(id: id, secret: secret).sign(Self.whole)
      #expect(try verifier.verify(text, at: now).user == Self.whole.user)
    }
    let swapped = try TokenSigner(id: "old", secret: new).sign(Self.whole)
    #expect(throws: TokenError.signature) { try verifier.verify(swapped, at: now) }
  }

  @Test func roomsAreExactOrBeginAlike() throws {
    let exact = try #require(RoomScope("lecture"))
    #expect(exact.contains("lecture") && !exact.contains("lecture2") && !exact.contains("Lecture"))
    let team = try #require(RoomScope("team-*"))
    #expect(team.contains("team-a") && team.contains("team-*") && !team.contains("team-") && !team.contains("other"))
    #expect(!team.contains("xteam-a"))
    #expect(RoomScope("room.")?.contains("rooms") == false, "a full stop is one, and no regular expression")
    for wrong in ["*", "**", "a*b", "*a", "team-**", "a*b*", ""] { #expect(RoomScope(wrong) == nil, "\(wrong)") }
    #expect(exact.text == "lecture" && team.text == "team-*")
  }

  /// Names are compared by their bytes, as an issuer does (RFC 7519 §7.3).
  @Test func aPrefixEndsWhereItsBytesEnd() throws {
    let scope = try #require(RoomScope("cafe*"))
    #expect(scope.contains("cafe\u{301}") && !scope.contains("caf\u{e9}"))
    #expect(RoomScope("caf\u{e9}")?.contains("cafe\u{301}") == false)
  }

  /// Swift's `==` takes the second of each pair for the first; an issuer never does. What is not in form C, or begins with a mark, is refused.
  @Test(arguments: [
    ("Kim", "\u{212a}im"), ("a;b", "a\u{37e}b"), ("a`b", "a\u{1fef}b"), ("\u{c5}sa", "\u{212b}sa"),
    ("\u{3a9}", "\u{2126}"), ("Ren\u{e9}", "Rene\u{301}"), ("\u{ac00}", "\u{1100}\u{1161}"),
    ("\u{1e69}", "s\u{307}\u{323}"),
  ]) func namesOfAnotherFormAreRefused(name: String, other: String) throws {
    #expect(name == other, "what Swift says of them")
    let verifier = TokenVerifier(
      keys: [try TokenKey(id: name, secret: Keys.secret)], issuer: name, audience: name, revoked: ["gone", name + "!"])
    func refusal(
      kid: String? = nil, sub: String? = nil, room: String? = nil, jti: String? = nil, iss: String? = nil,
      aud: String? = nil
    ) throws -> TokenError? {
      let claims = """
        {"sub":"\(sub ?? name)","exp":\(seconds + 60),"grants":["join"],"room":"\(room ?? name)","jti":"\(jti ?? name)",\
        "iss":"\(iss ?? name)","aud":["x","\(aud ?? name)"]}
        """
      let text = try TokenSigner(id: name, secret: Keys.secret).sign(
        header: Array(#"{"alg":"HS256","kid":"\#(kid ?? name)"}"#.utf8), payload: Array(claims.utf8))
      do throws(TokenError) {
        _ = try verifier.verify(text, at: now)
        return nil
      } catch {
        return error
      }
    }
    #expect(try refusal() == nil, "what all are made of")
    for wrong in [other, "\u{301}" + name] {
      #expect(try refusal(sub: wrong)?.description == "claim sub")
      #expect(try refusal(room: wrong)?.description == "claim room" && refusal(room: wrong + "*") == .claim("room"))
      #expect(try refusal(jti: wrong)?.description == "claim jti")
      #expect(try refusal(iss: wrong) == .claim("iss") && refusal(aud: wrong) == .claim("aud"))
      #expect(try refusal(kid: wrong) == .unknownKey)
    }
    #expect(try refusal(jti: name + "!") == .revoked, "what is taken back is found")
  }

  /// What an operator has written of another form names nothing else than itself.
  @Test func whatAnOperatorHasWrittenIsComparedByItsBytes() throws {
    let text = try TokenSigner(id: "K", secret: Keys.secret).sign(
      header: Array(#"{"alg":"HS256","kid":"K"}"#.utf8), payload: Array(claims(#""jti":"K","iss":"K","aud":"K""#).utf8))
    let sign = "\u{212a}"
    func verify(_ kid: String, _ issuer: String, _ audience: String, _ revoked: [String]) throws {
      _ = try TokenVerifier(
        keys: [try TokenKey(id: kid, secret: Keys.secret)], issuer: issuer, audience: audience, revoked: revoked
      ).verify(text, at: now)
    }
    #expect(throws: Never.self) { try verify("K", "K", "K", [sign]) }
    #expect(throws: TokenError.unknownKey) { try verify(sign, "K", "K", []) }
    #expect(throws: TokenError.issuer) { try verify("K", sign, "K", []) }
    #expect(throws: TokenError.audience) { try verify("K", "K", sign, []) }
    #expect(throws: TokenError.revoked) { try verify("K", "K", "K", [sign, "K"]) }
  }

  @Test func aWildcardInTheMidstOfAClaimIsRefused() throws {
    let verifier = TokenVerifier(keys: try Keys.all())
    for wrong in ["*", "a*b", ".*", "team-**", ""] where wrong != ".*" {
      #expect(throws: TokenError.claim("room"), "\(wrong)") {
        try verifier.verify(token(claims(#""room":"\#(wrong)""#)), at: now)
      }
    }
    #expect(try verifier.verify(token(claims(#""room":".*""#)), at: now).room == .prefix("."))
  }

  @Test func shortSecretsAreNoKeys() {
    #expect(throws: TokenKeyError.shortSecret(bytes: 31)) {
      try TokenKey(id: nil, secret: Array(Keys.secret.dropLast()))
    }
    #expect(throws: Never.self) { try TokenKey(id: nil, secret: Keys.secret) }
    let words = TokenKeyError.shortSecret(bytes: 5).description
    #expect(words.contains("32 bytes") && words.contains("openssl rand"))
  }

  @Test func aKeyIsOfItsAlgorithm() {
    let (ec, ed) = (Array(Keys.ecPublic.utf8), Array(Keys.edPublic.utf8))
    #expect(throws: TokenKeyError.otherKind(.es256)) { try TokenKey(id: nil, .es256, publicKey: ed) }
    #expect(throws: TokenKeyError.otherKind(.edDSA)) { try TokenKey(id: nil, .edDSA, publicKey: ec) }
    #expect(throws: TokenKeyError.otherKind(.hs256)) { try TokenKey(id: nil, .hs256, publicKey: ec) }
    #expect(throws: TokenKeyError.noPublicKey) { try TokenKey(id: nil, .es256, publicKey: Array("no key".utf8)) }
    #expect(throws: TokenKeyError.noPublicKey, "a private key stays with the issuer") {
      try TokenKey(id: nil, .es256, publicKey: Array(Keys.ecPrivate.utf8))
    }
  }

  @Test func base64IsReadStrictly() {
    for length in 0..<70 {
      let bytes = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ 11) }
      #expect(Base64.url.decode(Base64.url.encode(bytes)[...]) == bytes)
    }
    #expect(String(decoding: Base64.url.encode([0xfb, 0xff]), as: UTF8.self) == "-_8")
    for wrong in ["A", "AA=", "AA==", "A+A", "A/A", "A A", "AAAA\n", "AB", "AAB", "\u{c5}A"] {
      #expect(Base64.url.decode(Array(wrong.utf8)[...]) == nil, "\(wrong)")
    }
  }
}
