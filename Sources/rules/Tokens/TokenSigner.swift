// Makes tokens, as an issuer does: for `roost token` and for tests.

import Basics
import Crypto
import RoostProtocol

/// Signs tokens with one key.
public struct TokenSigner: Sendable {
  private enum Material: Sendable {
    case secret([UInt8])
    case privateKey(SigningKey)
  }

  private let id: String?
  private let algorithm: TokenAlgorithm
  private let material: Material

  /// Signs with a shared secret (HS256).
  public init(id: String?, secret: [UInt8]) { (self.id, algorithm, material) = (id, .hs256, .secret(secret)) }

  /// Signs with a private key in PEM, as its curve asks: ES256, or Ed25519 under the name `ed25519`.
  /// - Throws: what is wrong with the key.
  public init(id: String?, privateKey pem: [UInt8], ed25519: TokenAlgorithm = .edDSA) throws(CryptoError) {
    let key = try SigningKey(pem: pem)
    (self.id, material) = (id, .privateKey(key))
    algorithm = key.curve == .p256 ? .es256 : ed25519
  }

  /// A token in compact form (RFC 7515 §7.1).
  /// - Throws: what the key, or the text of a claim, cannot do.
  public func sign(_ claims: TokenClaims) throws -> String {
    let header = try JSONText.bytes(of: Header(alg: algorithm.rawValue, typ: "JWT", kid: id))
    return try sign(header: header, payload: JSONText.bytes(of: WrittenClaims(claims)))
  }

  /// A token of any two texts.
  package func sign(header: [UInt8], payload: [UInt8]) throws -> String {
    let message = Base64.url.encode(header) + [UInt8(ascii: ".")] + Base64.url.encode(payload)
    let signature = try signature(of: message)
    return String(decoding: message + [UInt8(ascii: ".")] + Base64.url.encode(signature), as: UTF8.self)
  }

  private func signature(of message: [UInt8]) throws -> [UInt8] {
    switch material {
    case .secret(let secret):
      let tag = HMACSHA256.authenticate(message.span, key: secret.span)
      return tag.indices.map { tag[$0] }
    case .privateKey(let key): return try key.sign(message)
    }
  }

  private struct Header: Encodable {
    var alg: String
    var typ: String
    var kid: String?
  }
}
