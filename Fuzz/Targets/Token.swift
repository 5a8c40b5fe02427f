// Tokens: whole ones as they come, and headers and claims behind a right signature, which a fuzzer cannot make.
import Names
import RoostProtocol
import Tokens

private let secret = Array("a secret of the fuzzer: 7f3a90c1".utf8)
private let verifier = (try? TokenKey(id: "k", secret: secret)).map { TokenVerifier(keys: [$0]) }
private let signer = TokenSigner(id: "k", secret: secret)
/// The time of all inputs, in milliseconds.
private let now: Int64 = 1_795_000_000_000

/// The first byte says what the rest is: claims, a header, or a whole token.
@Sendable func readToken(_ input: Span<UInt8>) {
  var script = Script(input)
  guard let verifier, let kind = script.next() else { return }
  let rest = script.take(input.count)
  switch kind {
  case UInt8(ascii: "c"): check(try? signer.sign(header: Array(#"{"alg":"HS256"}"#.utf8), payload: rest), verifier)
  case UInt8(ascii: "h"):
    let claims = Array(#"{"sub":"a","exp":1795000060,"grants":[]}"#.utf8)
    check(try? signer.sign(header: rest, payload: claims), verifier)
  default:
    let text = String(decoding: rest, as: UTF8.self)
    precondition((try? verifier.verify(text, at: now)) == nil, "nobody but the signer makes a good signature")
  }
}

/// What is believed keeps its bounds.
private func check(_ token: String?, _ verifier: TokenVerifier) {
  guard let token, let claims = try? verifier.verify(token, at: now) else { return }
  precondition(token.utf8.count <= ProtocolLimits.tokenBytes)
  precondition(ProtocolLimits.isName(claims.user) && claims.name.map(ProtocolLimits.isName) ?? true)
  let names = [claims.user, claims.room?.text, claims.id, claims.issuer].compactMap(\.self) + claims.audience
  precondition(names.allSatisfy(NameForm.accepts), "what is believed is nobody's by another name")
  precondition(claims.grants.isSubset(of: Grant.known) && claims.cap ?? 1 > 0)
  precondition(claims.expiresAt > now - TokenVerifier.skew)
  precondition(claims.expiresAt <= now + TokenVerifier.longestLife + TokenVerifier.skew)
  precondition(claims.room.map { !$0.text.isEmpty && $0.text != "*" } ?? true)
}
