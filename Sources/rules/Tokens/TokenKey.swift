// Keys that tokens are checked with. Each has one algorithm, its own: what a token's header says must be the same, and decides nothing
// (RFC 8725 §3.1).

import Crypto
import Names

/// How tokens are signed (RFC 7518 §3.1, RFC 8037 §3.1, RFC 9864 §2.2). The raw value is `alg` of a header.
public enum TokenAlgorithm: String, CaseIterable, Hashable, Sendable {
  /// HMAC with SHA-256, over a secret that issuer and server share.
  case hs256 = "HS256"
  /// ECDSA over P-256 with SHA-256.
  case es256 = "ES256"
  /// Ed25519, by the name that RFC 8037 gave it and RFC 9864 has deprecated.
  case edDSA = "EdDSA"
  /// The same, by the name that says which curve it is.
  case ed25519 = "Ed25519"

  /// Whether a header that names `other` names what keys of this one sign with: Ed25519 has two names.
  func isSame(as other: String) -> Bool {
    guard let other = Self(rawValue: other) else { return false }
    return other == self || (curve == .ed25519 && other.curve == .ed25519)
  }
}

/// Why a key cannot be used, in words for the operator. None of them has anything of the key in it.
public enum TokenKeyError: Error, Hashable, Sendable, CustomStringConvertible {
  /// A secret below 32 bytes (RFC 7518 §3.2).
  case shortSecret(bytes: Int)
  /// No public key in PEM could be read.
  case noPublicKey
  /// The key is of another kind than its algorithm.
  case otherKind(TokenAlgorithm)

  /// What is wrong, and what was expected.
  public var description: String {
    switch self {
    case .shortSecret(let bytes):
      "a secret of HS256 needs \(TokenKey.leastSecretBytes) bytes or more, and this one has \(bytes); make one with: openssl rand -hex 32"
    case .noPublicKey: "holds no public key; expected a PEM file that begins with -----BEGIN PUBLIC KEY-----"
    case .otherKind(let algorithm):
      "is no key of \(algorithm.curve == .ed25519 ? "Ed25519" : "P-256"), which \(algorithm.rawValue) needs"
    }
  }
}

/// One key that tokens may be signed with.
public struct TokenKey: Sendable {
  /// Bytes that a secret needs. A shorter one can be guessed from one token, with as much time as one likes.
  public static let leastSecretBytes = 32

  enum Material: Sendable {
    case secret([UInt8])
    case publicKey(VerifyingKey)
  }

  /// Its name, `kid` of a header.
  public let id: String?
  /// What it signs with.
  public let algorithm: TokenAlgorithm
  /// The realm of whoever shows a token of it.
  public let realm: Realm
  let material: Material

  /// A shared secret, for HS256.
  /// - Throws: `.shortSecret`.
  public init(id: String?, secret: [UInt8], realm: Realm = .default) throws(TokenKeyError) {
    guard secret.count >= Self.leastSecretBytes else { throw .shortSecret(bytes: secret.count) }
    (self.id, algorithm, self.realm, material) = (id, .hs256, realm, .secret(secret))
  }

  /// A public key in PEM, for ES256 or Ed25519.
  /// - Throws: `.noPublicKey`, or `.otherKind` where it does not belong to the algorithm.
  public init(
    id: String?, _ algorithm: TokenAlgorithm, publicKey pem: [UInt8], realm: Realm = .default
  ) throws(TokenKeyError) {
    let key: VerifyingKey
    do throws(CryptoError) {
      key = try VerifyingKey(pem: pem)
    } catch {
      if case .unavailable = error { throw .otherKind(algorithm) }
      throw .noPublicKey
    }
    guard key.curve == algorithm.curve else { throw .otherKind(algorithm) }
    (self.id, self.algorithm, self.realm, material) = (id, algorithm, realm, .publicKey(key))
  }

  /// Whether this is the key's signature of a message.
  func isValid(_ signature: [UInt8], of message: [UInt8]) -> Bool {
    switch material {
    case .secret(let secret):
      let tag = HMACSHA256.authenticate(message.span, key: secret.span)
      return constantTimeEquals(signature.span, tag.span)
    case .publicKey(let key): return key.isValid(signature, of: message)
    }
  }
}

extension TokenAlgorithm {
  /// The curve of its keys; nil for a shared secret.
  var curve: SignatureCurve? {
    switch self {
    case .hs256: nil
    case .es256: .p256
    case .edDSA, .ed25519: .ed25519
    }
  }
}
