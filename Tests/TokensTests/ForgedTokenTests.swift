// Tokens that are not to be believed, each with the reason why (RFC 8725). Next to each attack stands what would be believed.

import Basics
import RoostProtocol
import Testing

@testable import Tokens

@Suite struct ForgedTokenTests {
  /// What a server with a key of each kind says to a token; nil where it believes it.
  private func objection(
    _ token: String, issuer: String? = nil, audience: String? = nil, at time: Int64 = now
  ) throws -> TokenError? {
    let verifier = TokenVerifier(keys: try Keys.all(), issuer: issuer, audience: audience, revoked: ["stolen"])
    do throws(TokenError) {
      _ = try verifier.verify(token, at: time)
      return nil
    } catch {
      return error
    }
  }

  private func base64(_ text: String) -> String { String(decoding: Base64.url.encode(Array(text.utf8)), as: UTF8.self) }

  @Test func theTokenThatAllAreMadeOfIsBelieved() throws { #expect(try objection(token(claims())) == nil) }

  /// RFC 8725 §2.1: no signature, however the algorithm is spelled.
  @Test(arguments: ["none", "None", "NONE", "nOnE", "", "hs256", "HS512", "RS256"])
  func anAlgorithmThatIsNotTheKeysIsRefused(algorithm: String) throws {
    let header = base64(#"{"alg":"\#(algorithm)","kid":"hmac"}"#)
    #expect(try objection("\(header).\(base64(claims())).") == .otherAlgorithm)
    let signed = try token(header: #"{"alg":"\#(algorithm)","kid":"hmac"}"#, claims())
    #expect(try objection(signed) == .otherAlgorithm)
  }

  /// RFC 8725 §2.1: everybody has the public key, and so could sign with it if the header had its way.
  @Test(arguments: [("ec", Keys.ecPublic), ("ed", Keys.edPublic)])
  func aPublicKeyIsNoSecret(kid: String, pem: String) throws {
    for secret in [pem, pem + "\n"].map({ Array($0.utf8) }) {
      let forged = try token(header: #"{"alg":"HS256","kid":"\#(kid)"}"#, claims(), secret: secret)
      #expect(try objection(forged) == .otherAlgorithm)
      let honest = kid == "ec" ? "ES256" : "EdDSA"
      let other = try token(header: #"{"alg":"\#(honest)","kid":"\#(kid)"}"#, claims(), secret: secret)
      #expect(try objection(other) == .signature)
    }
  }

  /// One key must not pass for another: neither by name nor by a header that says what the other is.
  @Test func aKeyIsGoodUnderItsOwnNameAlone() throws {
    let signers = try Keys.signers()
    let payload = Array(claims().utf8)
    for (name, signer) in signers {
      for (other, algorithm) in [("hmac", "HS256"), ("ec", "ES256"), ("ed", "EdDSA")] {
        let header = Array(#"{"alg":"\#(algorithm)","kid":"\#(other)"}"#.utf8)
        let wanted: TokenError? = name == other ? nil : .signature
        #expect(try objection(signer.sign(header: header, payload: payload)) == wanted, "\(name) as \(other)")
      }
    }
  }

  /// RFC 8725 §3.10: a `kid` is looked for in a list, and never leads anywhere.
  @Test(arguments: [
    "/etc/passwd", "../../dev/null", "file:///dev/null", "https://evil.example/key", "' OR 1=1 --", "hmac\\u0000",
    "HMAC",
    "", "hma",
  ])
  func aKidThatIsNoneIsRefused(kid: String) throws {
    #expect(try objection(token(header: #"{"alg":"HS256","kid":"\#(kid)"}"#, claims(), secret: [])) == .unknownKey)
  }

  /// Keys that a token brings along, or says where to find, are not its judges.
  @Test func aKeyInTheHeaderIsNotUsed() throws {
    let jwk = #""jwk":{"kty":"oct","k":"c2VjcmV0"},"jku":"https://evil.example/","x5u":"https://evil.example/""#
    let forged = try token(header: #"{"alg":"HS256","kid":"hmac",\#(jwk)}"#, claims(), secret: Array("secret".utf8))
    #expect(try objection(forged) == .signature)
  }

  @Test func whatMustBeUnderstoodIsNot() throws {
    let critical = #"{"alg":"HS256","kid":"hmac","crit":["b64"],"b64":false}"#
    #expect(try objection(token(header: critical, claims())) == .header)
    #expect(try objection(token(header: #"{"alg":"HS256","kid":"hmac","crit":null}"#, claims())) == .header)
    #expect(try objection(token(header: #"{"alg":"HS256","kid":"hmac","typ":"at+jwt"}"#, claims())) == .header)
    #expect(try objection(token(header: #"{"alg":"HS256","kid":"hmac","typ":"jwt"}"#, claims())) == nil)
  }

  @Test func theKeyMustBeNamedWhereThereAreSeveral() throws {
    let bare = try token(header: #"{"alg":"HS256"}"#, claims())
    #expect(try objection(bare) == .unknownKey)
    let one = TokenVerifier(keys: [try TokenKey(id: nil, secret: Keys.secret)])
    #expect(try one.verify(bare, at: now).user == "anna")
    let named = TokenVerifier(keys: [try TokenKey(id: "hmac", secret: Keys.secret)])
    #expect(try named.verify(bare, at: now).user == "anna", "one key needs no name")
    #expect(throws: TokenError.unknownKey) { try one.verify(token(claims()), at: now) }
  }

  /// Of two members with one name each reader takes another.
  @Test(arguments: [
    #""sub":"boss""#, #""exp":99999999999"#, #""grants":["admin"]"#, #""\u0073ub":"boss""#, #""x":1,"x":1"#,
  ])
  func doubledClaimsAreRefused(more: String) throws { #expect(try objection(token(claims(more))) == .malformed) }

  @Test func aDoubledHeaderIsRefused() throws {
    let header = #"{"alg":"none","alg":"HS256","kid":"hmac"}"#
    #expect(try objection(token(header: header, claims())) == .malformed)
    #expect(try objection(token(claims(#""nested":{"sub":"boss"}"#))) == nil, "what lies deeper is another member")
  }

  /// What Foundation's decoder takes, or another reader might, and is no JSON (RFC 8259). Issuers write none of it.
  @Test(arguments: [
    #"{"a":1,}"#, #"[1,]"#, "[,1]", "[1 2]", #"{"a" 1}"#, #"{"a":}"#, "{,}", "NaN", "Infinity", "-Infinity", "01",
    "-01",
    "+1", "1.", ".5", "1e", "0x10", "1e+", "--1", "tru", "True", "nul", "undefined", "'text'", "{a:1}", "{'a':1}",
    #""\ud800""#, #""\udc00""#, #""\ud800x""#, #""\ud800\u0041""#, #""\udc00\ud800""#, #""\ud83d\ud83d\ude00""#,
    #""\x41""#, #""\'""#, #""\u12g4""#, #""\u12"#, "\"a\tb\"", "\"a\nb\"", "\"a\u{0}b\"", "\"a\u{1f}b\"", "/* c */ 1",
    "1 // c\n", "\u{a0}1", "\u{feff}1", #"{"a":1,"a":2}"#, #"{"a":{"b":1,"b":2}}"#, #"{"a":1,"\u0061":2}"#, "[[[[1]]]]",
    #"{"": 1, "": 2}"#, "1,", "1}", "]",
  ])
  func claimsThatAreNoJSONAreRefused(value: String) throws {
    #expect(try objection(token(claims(#""x":\#(value)"#))) == .malformed)
    #expect(try objection(token(header: #"{"alg":"HS256","kid":"hmac","x":\#(value)}"#, claims())) == .malformed)
  }

  @Test(arguments: [
    "0", "-0", "-0.5e+3", "1E9", "1e-7", "12345678901234567890", #""""#, #""a\"b\\c\/\b\f\n\r\t""#,
    #""\u00e9\uD83D\uDE00""#,
    "\"\u{7f}\u{1F600}\"", "[]", "{}", " [ ] ", "[1, 2 ,3]", "\r\n\ttrue ", "false", "null", #"{"é":1,"\u00e8":2}"#,
    "[[[1]]]",
    #"[{"a":1},{"a":1}]"#,
  ])
  func claimsThatAreOthersBusinessAreNot(value: String) throws {
    #expect(try objection(token(claims(#""x":\#(value)"#))) == nil)
    #expect(try objection(token(header: #"{"alg":"HS256","kid":"hmac","x":\#(value)}"#, claims())) == nil)
  }

  @Test func whatStandsAroundClaimsIsRefused() throws {
    for text in [
      claims() + "x", claims() + claims(), claims() + ",", "\u{feff}" + claims(), String(claims().dropLast()) + ",}",
      "[" + claims() + "]", "// c\n" + claims(), claims() + "\u{0}",
    ] { #expect(try objection(token(text)) == .malformed, "\(text)") }
    #expect(try objection(token(" \r\n\t" + claims() + " \n")) == nil)
    let header = #"{"alg":"HS256","kid":"hmac",}"#
    #expect(try objection(token(header: header, claims())) == .malformed)
    let name = claims().replacing("anna", with: #"an\ud800na"#)
    #expect(try objection(token(name)) == .malformed, "half a character is nobody's name")
  }

  /// RFC 9864: Ed25519 has a name of its own, and an older one. No other algorithm has two.
  @Test func ed25519HasTwoNames() throws {
    let payload = Array(claims().utf8)
    let signers = try Keys.signers()
    for (configured, header, wanted) in [
      (TokenAlgorithm.edDSA, "EdDSA", nil), (.edDSA, "Ed25519", nil), (.ed25519, "EdDSA", nil),
      (.ed25519, "Ed25519", nil),
      (.ed25519, "ed25519", .otherAlgorithm), (.edDSA, "Ed448", .otherAlgorithm), (.ed25519, "ES256", .otherAlgorithm),
      (.ed25519, "HS256", .otherAlgorithm), (.ed25519, "none", .otherAlgorithm),
    ] as [(TokenAlgorithm, String, TokenError?)] {
      let verifier = TokenVerifier(keys: [try TokenKey(id: "ed", configured, publicKey: Array(Keys.edPublic.utf8))])
      let text = try #require(signers["ed"]).sign(
        header: Array(#"{"alg":"\#(header)","kid":"ed"}"#.utf8), payload: payload)
      var got: TokenError?
      do throws(TokenError) { _ = try verifier.verify(text, at: now) } catch { got = error }
      #expect(got == wanted, "\(configured) and \(header)")
    }
    for (kid, algorithm) in [("ec", "ES256"), ("hmac", "HS256")] {
      let text = try #require(signers[kid]).sign(
        header: Array(#"{"alg":"Ed25519","kid":"\#(kid)"}"#.utf8), payload: payload)
      #expect(try objection(text) == .otherAlgorithm, "\(algorithm)")
    }
    let ec = Array(Keys.ecPublic.utf8)
    #expect(throws: TokenKeyError.otherKind(.ed25519)) { try TokenKey(id: nil, .ed25519, publicKey: ec) }
    let named = try TokenSigner(id: "ed", privateKey: Array(Keys.edPrivate.utf8), ed25519: .ed25519)
    let text = try named.sign(TokenClaims(user: "ben", grants: [], expiresAt: now + 1000))
    #expect(try objection(text) == nil)
    #expect(
      text.split(separator: ".").first.map { Base64.url.decode(Array($0.utf8)[...]) }
        == Array(#"{"alg":"Ed25519","typ":"JWT","kid":"ed"}"#.utf8))
  }

  @Test func truncatedTokensAreRefused() throws {
    let whole = try token(claims())
    for length in 0..<whole.utf8.count {
      #expect(try objection(String(whole.prefix(length))) != nil, "the first \(length) characters")
    }
    for text in ["", ".", "..", "...", "a.b.c", whole + ".", "." + whole, whole + "." + whole] {
      #expect(try objection(text) == .malformed, "\(text.prefix(20))")
    }
  }

  /// Whatever is changed of it, a token is another.
  @Test func anyOtherCharacterIsAnotherToken() throws {
    let whole = Array(try token(claims()).utf8)
    for index in whole.indices where whole[index] != UInt8(ascii: ".") {
      for other in [UInt8(ascii: "A"), UInt8(ascii: "="), UInt8(ascii: " "), whole[index] ^ 1]
      where other != whole[index] {
        var changed = whole
        changed[index] = other
        #expect(try objection(String(decoding: changed, as: UTF8.self)) != nil, "at \(index)")
      }
    }
  }

  @Test func timesAreKept() throws {
    let minute: Int64 = 60
    #expect(try objection(token(claims(exp: seconds - minute))) == .expired)
    #expect(try objection(token(claims(exp: seconds - minute + 1))) == nil, "clocks may be a minute apart")
    #expect(try objection(token(claims(#""nbf":\#(seconds + minute + 1)"#))) == .notYet)
    #expect(try objection(token(claims(#""nbf":\#(seconds + minute)"#))) == nil)
    #expect(try objection(token(claims(#""iat":\#(seconds + 3000)"#))) == .notYet)
    #expect(try objection(token(claims(exp: nil))) == .claim("exp"), "a token without an end")
  }

  /// However it is said, a token is good for a day at most.
  @Test func aTokenLivesADayAtMost() throws {
    let day: Int64 = 86_400
    #expect(try objection(token(claims(exp: seconds + day + 61))) == .tooLongLived)
    #expect(try objection(token(claims(exp: seconds + day))) == nil)
    #expect(try objection(token(claims(#""iat":\#(seconds - day)"#, exp: seconds + 1))) == .tooLongLived)
    #expect(try objection(token(claims(#""nbf":\#(seconds - day)"#, exp: seconds + 1))) == .tooLongLived)
    #expect(try objection(token(claims(#""nbf":\#(seconds - day + 1)"#, exp: seconds + 1))) == nil)
    #expect(try objection(token(claims(#""nbf":\#(seconds)"#, exp: seconds - 1))) == .claim("exp"))
  }

  @Test func issuerAndAudienceAreKept() throws {
    let (app, me) = ("https://app.example", "conf.example")
    let whole = try token(claims(#""iss":"\#(app)","aud":["other","\#(me)"]"#))
    #expect(try objection(whole, issuer: app, audience: me) == nil)
    #expect(try objection(whole, issuer: "https://other.example") == .issuer)
    #expect(try objection(whole, audience: "else") == .audience)
    #expect(try objection(token(claims(#""aud":"\#(me)"#)), audience: me) == .malformed, "an open text")
    #expect(try objection(token(claims(#""aud":"\#(me)""#)), audience: me) == nil)
    #expect(try objection(token(claims(#""aud":"\#(me).evil""#)), audience: me) == .audience)
    #expect(try objection(token(claims()), issuer: app) == .issuer, "no issuer is another")
    #expect(try objection(token(claims()), audience: me) == .audience)
  }

  @Test func aRevokedTokenIsRefused() throws {
    #expect(try objection(token(claims(#""jti":"stolen""#))) == .revoked)
    #expect(try objection(token(claims(#""jti":"stolen2""#))) == nil)
  }

  @Test func impossibleClaimsAreRefused() throws {
    let tooMany = (0..<40).map { _ in #""join""# }.joined(separator: ",")
    let cases: [(String, String)] = [
      (#"{"exp":\#(seconds + 9),"grants":[]}"#, "sub"), (#"{"sub":"","exp":\#(seconds + 9),"grants":[]}"#, "sub"),
      (#"{"sub":7,"exp":\#(seconds + 9),"grants":[]}"#, "sub"),
      (#"{"sub":"\#(String(repeating: "a", count: 129))","exp":\#(seconds + 9),"grants":[]}"#, "sub"),
      (claims(grants: nil), "grants"), (claims(grants: #"["join","root"]"#), "grants"),
      (claims(grants: #""join""#), "grants"), (claims(grants: "[\(tooMany)]"), "grants"),
      (#"{"sub":"anna","exp":"never","grants":[]}"#, "exp"), (#"{"sub":"anna","exp":-1,"grants":[]}"#, "exp"),
      (claims(#""cap":0"#), "cap"), (claims(#""cap":-3"#), "cap"), (claims(#""cap":"all""#), "cap"),
      (claims(#""name":" ""#), "name"), (claims(#""jti":"""#), "jti"), (claims(#""nbf":1e300"#), "nbf"),
    ]
    for (text, claim) in cases { #expect(try objection(token(text)) == .claim(claim), "\(text)") }
    for text in ["[]", "null", "\"\"", "{", "{}{}", "", #"{"sub":"a"} x"#, String(repeating: "[", count: 300)] {
      #expect(try objection(token(text)) != nil, "\(text.prefix(20))")
    }
  }

  /// A token of exactly so many bytes. Base64 leaves out every fourth length, so blanks in the header fill up.
  private func tokenWith(bytes: Int) throws -> String {
    func encoded(_ text: String) -> Int { (text.utf8.count * 4 + 2) / 3 }
    for blanks in 0..<4 {
      let header = #"{"alg":"HS256",\#(String(repeating: " ", count: blanks))"kid":"hmac"}"#
      for pad in 2_000..<4_000 {
        let text = claims(#""pad":"\#(String(repeating: "x", count: pad))""#)
        guard encoded(header) + encoded(text) + encoded(String(repeating: "s", count: 32)) + 2 == bytes else {
          continue
        }
        return try token(header: header, text)
      }
    }
    throw CancellationError()
  }

  @Test func fourKilobytesAreATokenAndNotOneByteMore() throws {
    let (most, more) = (
      try tokenWith(bytes: ProtocolLimits.tokenBytes), try tokenWith(bytes: ProtocolLimits.tokenBytes + 1)
    )
    #expect(most.utf8.count == 4_096 && more.utf8.count == 4_097)
    #expect(try objection(most) == nil)
    #expect(try objection(more) == .tooLong)
  }

  @Test func aHeaderHasAKilobyteAndNotOneByteMore() throws {
    func header(_ bytes: Int) -> String {
      let begin = #"{"alg":"HS256","kid":"hmac","pad":""#
      return begin + String(repeating: "x", count: bytes - begin.utf8.count - 2) + "\"}"
    }
    #expect(header(1_024).utf8.count == 1_024)
    #expect(try objection(token(header: header(TokenVerifier.headerBytes), claims())) == nil)
    #expect(try objection(token(header: header(TokenVerifier.headerBytes + 1), claims())) == .malformed)
  }

  /// Claims are a level themselves, and so is a header.
  @Test func fourLevelsAndNotOneMore() throws {
    func nested(_ levels: Int) -> String {
      let (open, close) = (String(repeating: "[", count: levels - 1), String(repeating: "]", count: levels - 1))
      return #""deep":\#(open)\#(close)"#
    }
    for (levels, refusal) in [(4, nil), (5, .malformed), (101, .malformed)] as [(Int, TokenError?)] {
      #expect(try objection(token(claims(nested(levels)))) == refusal, "\(levels)")
      let header = #"{"alg":"HS256","kid":"hmac",\#(nested(levels))}"#
      #expect(try objection(token(header: header, claims())) == refusal, "\(levels) of a header")
    }
  }

  @Test(arguments: ["iss", "jti", "aud"]) func namesOfATokenHaveSoManyBytes(claim: String) throws {
    func with(_ bytes: Int) -> [String] {
      let text = String(repeating: "n", count: bytes)
      return [#""\#(claim)":"\#(text)""#] + (claim == "aud" ? [#""aud":["a","\#(text)"]"#] : [])
    }
    for more in with(256) { #expect(try objection(token(claims(more))) == nil) }
    for more in with(257) { #expect(try objection(token(claims(more))) == .claim(claim)) }
  }

  @Test func numbersAreBounded() throws {
    // `iss`, `exp` and the others of a good token count among the 64.
    let own = claims().count { $0 == ":" }
    let more = { (count: Int) in (0..<count).map { "\"m\($0)\":1" }.joined(separator: ",") }
    #expect(try objection(token(claims(more(64 - own)))) == nil)
    #expect(try objection(token(claims(more(65 - own)))) == .malformed)
    let audiences = { (count: Int) in "\"aud\":[\((0..<count).map { "\"a\($0)\"" }.joined(separator: ","))]" }
    #expect(try objection(token(claims(audiences(16))), audience: "a0") == nil)
    #expect(try objection(token(claims(audiences(17))), audience: "a0") == .claim("aud"))
  }
}
