// Believes tokens, or not: JSON Web Tokens (RFC 7519) in compact form (RFC 7515 §7.1), as RFC 8725 advises.
//
//   text ─▶ three parts ─▶ header: kid ─▶ key ─▶ alg is the key's ─▶ signature ─▶ claims ─▶ times, issuer, audience, jti
//
// Nothing of the claims is read before the signature is right. Names are compared by their bytes (RFC 7519 §7.3).

import Basics
import RoostProtocol

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Checks tokens against the keys of an operator. A value without a clock: the time comes in as an argument.
public struct TokenVerifier: Sendable {
  /// How far the clocks of an issuer and of this machine may be apart, in milliseconds.
  public static let skew: Int64 = 60_000
  /// How long a token may be good, in milliseconds. Longer makes a token that was stolen good for longer.
  public static let longestLife: Int64 = 24 * 3600 * 1000
  /// Bytes of a header before it is encoded.
  static let headerBytes = 1024

  private let keys: [TokenKey]
  private let issuer: String?
  private let audience: String?
  private let revoked: Set<ExactText>

  /// Believes tokens of these keys.
  /// - Parameters:
  ///   - keys: no two with one `id`; where there are several, each has one.
  ///   - issuer: who `iss` must name; nil: anybody.
  ///   - audience: who must be among `aud`; nil: anybody.
  ///   - revoked: `jti` of tokens that are not believed any more.
  public init(keys: [TokenKey], issuer: String? = nil, audience: String? = nil, revoked: [String] = []) {
    (self.keys, self.issuer, self.audience) = (keys, issuer, audience)
    self.revoked = Set(revoked.map(ExactText.init))
  }

  /// What a token says, if it is to be believed at a time in milliseconds since 1970 UTC.
  /// - Throws: why it is not.
  public func verify(_ token: String, at now: Int64) throws(TokenError) -> TokenClaims {
    let text = Array(token.utf8)
    guard text.count <= ProtocolLimits.tokenBytes else { throw .tooLong }
    let parts = text.split(separator: UInt8(ascii: "."), maxSplits: 3, omittingEmptySubsequences: false)
    guard parts.count == 3, let header = Base64.url.decode(parts[0]), let payload = Base64.url.decode(parts[1]),
      let signature = Base64.url.decode(parts[2]), header.count <= Self.headerBytes
    else { throw .malformed }
    let key = try key(of: header)
    guard key.isValid(signature, of: Array(text[..<parts[1].endIndex])) else { throw .signature }
    var claims = try TokenClaims(try Self.claims(payload))
    claims.realm = key.realm
    try check(claims, at: now)
    return claims
  }

  // MARK: - Header

  /// What counts of a header (RFC 7515 §4.1). Keys that it brings along (`jwk`, `jku`, `x5c`, `x5u`) are not looked at.
  private struct Header: Decodable {
    let alg: String
    let kid: String?
    let typ: String?
    /// Whether it asks for extensions, whatever they are: we know none.
    let hasCritical: Bool

    private enum Key: CodingKey { case alg, kid, typ, crit }

    init(from decoder: any Decoder) throws {
      let members = try decoder.container(keyedBy: Key.self)
      alg = try members.decode(String.self, forKey: .alg)
      kid = try members.decodeIfPresent(String.self, forKey: .kid)
      typ = try members.decodeIfPresent(String.self, forKey: .typ)
      hasCritical = members.contains(.crit)
    }
  }

  private func key(of bytes: [UInt8]) throws(TokenError) -> TokenKey {
    let header = try Self.decode(Header.self, bytes)
    guard !header.hasCritical else { throw .header }
    if let type = header.typ, type.lowercased() != "jwt" { throw .header }
    guard let key = key(named: header.kid) else { throw .unknownKey }
    guard key.algorithm.isSame(as: header.alg) else { throw .otherAlgorithm }
    return key
  }

  private func key(named name: String?) -> TokenKey? {
    guard let name else { return keys.count == 1 ? keys.first : nil }
    return keys.first { $0.id?.isExactly(name) == true }
  }

  // MARK: - Claims

  private static func claims(_ bytes: [UInt8]) throws(TokenError) -> WrittenClaims {
    guard ObjectShape.isAcceptable(bytes) else { throw .malformed }
    do {
      return try JSONDecoder().decode(WrittenClaims.self, from: Data(bytes))
    } catch let error as DecodingError {
      throw .claim(error.member ?? "of the wrong type")
    } catch {
      throw .malformed
    }
  }

  private static func decode<T: Decodable>(_ type: T.Type, _ bytes: [UInt8]) throws(TokenError) -> T {
    guard ObjectShape.isAcceptable(bytes) else { throw .malformed }
    do {
      return try JSONDecoder().decode(type, from: Data(bytes))
    } catch {
      throw .malformed
    }
  }

  private func check(_ claims: TokenClaims, at now: Int64) throws(TokenError) {
    guard now < claims.expiresAt + Self.skew else { throw .expired }
    for begin in [claims.notBefore, claims.issuedAt].compactMap(\.self) {
      guard begin <= now + Self.skew else { throw .notYet }
      guard begin < claims.expiresAt else { throw .claim("exp") }
      guard claims.expiresAt - begin <= Self.longestLife else { throw .tooLongLived }
    }
    guard claims.expiresAt - now <= Self.longestLife + Self.skew else { throw .tooLongLived }
    if let issuer, claims.issuer?.isExactly(issuer) != true { throw .issuer }
    if let audience, !claims.audience.contains(where: { $0.isExactly(audience) }) { throw .audience }
    if let id = claims.id, revoked.contains(ExactText(id)) { throw .revoked }
  }
}

extension DecodingError {
  /// The member at fault; nil where the whole is.
  fileprivate var member: String? {
    switch self {
    case .keyNotFound(let key, let context): (context.codingPath + [key]).first?.stringValue
    case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context):
      context.codingPath.first?.stringValue
    @unknown default: nil
    }
  }
}
