// Why a token is not believed.

/// What is wrong with a token, as the log says it. A client hears less: see `isLate`.
public enum TokenError: Error, Hashable, Sendable, CustomStringConvertible {
  /// Longer than any token of ours.
  case tooLong
  /// No three parts in base64url, or a part that is no JSON object with each member once.
  case malformed
  /// The header asks for what is not understood: `crit`, or a `typ` that is not JWT (RFC 7515 §4.1.11, RFC 8725 §3.11).
  case header
  /// No key has this `kid`, or none is named where there are several.
  case unknownKey
  /// The header's `alg` is not the key's.
  case otherAlgorithm
  /// The key did not sign it.
  case signature
  /// A claim is missing, of the wrong type or of an impossible value.
  case claim(String)
  /// It is for, or from, somebody else.
  case issuer, audience
  /// Its time is over, or has not come.
  case expired, notYet
  /// It would be good for more than a day.
  case tooLongLived
  /// It was taken back by its `jti`.
  case revoked

  /// One or two words for a log line.
  public var description: String {
    switch self {
    case .tooLong: "too long"
    case .malformed: "malformed"
    case .header: "header"
    case .unknownKey: "unknown key"
    case .otherAlgorithm: "other algorithm"
    case .signature: "signature"
    case .claim(let name): "claim \(name)"
    case .issuer: "issuer"
    case .audience: "audience"
    case .expired: "expired"
    case .notYet: "not yet valid"
    case .tooLongLived: "valid for more than a day"
    case .revoked: "revoked"
    }
  }

  /// Whether a newer token of the same issuer will do. Who shows such a token once had a good one, so they may be told.
  public var isLate: Bool { self == .expired }
}
