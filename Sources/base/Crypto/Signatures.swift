// Signatures of tokens: ECDSA over P-256 with SHA-256 (ES256, RFC 7518 §3.4) and Ed25519 (EdDSA, RFC 8037 §3.1).

internal import COpenSSL

/// Which curve a key lies on, and so what is signed with it.
public enum SignatureCurve: Hashable, Sendable {
  /// ECDSA over P-256 with SHA-256. A signature is r and s, 32 bytes each, the larger end first.
  case p256
  /// Ed25519. A signature is 64 bytes (RFC 8032 §5.1.6).
  case ed25519
}

/// A public key that checks signatures. It is not changed after `init`, so all threads may share it.
public final class VerifyingKey: Sendable {
  /// Bytes of a signature, on either curve.
  public static let signatureBytes = 64

  /// The key's curve.
  public let curve: SignatureCurve
  /// An EVP_PKEY. OpenSSL counts references to it atomically, and verifying does not change it.
  nonisolated(unsafe) private let key: OpaquePointer

  /// Reads a public key in PEM (`BEGIN PUBLIC KEY`, RFC 7468 §13).
  /// - Throws: `.openSSL` where there is none; `.unavailable` for one of another kind.
  public init(pem: [UInt8]) throws(CryptoError) {
    (key, curve) = try readKey(pem) { PEM_read_bio_PUBKEY($0, nil, noPassPhrase, nil) }
  }

  deinit { EVP_PKEY_free(key) }

  /// Whether this is the key owner's signature of a message. Anything but 64 bytes is none.
  public func isValid(_ signature: [UInt8], of message: [UInt8]) -> Bool {
    guard signature.count == Self.signatureBytes, let context = EVP_MD_CTX_new() else { return false }
    defer {
      EVP_MD_CTX_free(context)
      ErrorQueue.clear()
    }
    let given = curve == .p256 ? DER.signature(raw: signature) : signature
    guard EVP_DigestVerifyInit(context, nil, curve.digest, nil, key) == 1 else { return false }
    return EVP_DigestVerify(context, given, given.count, message, message.count) == 1
  }
}

/// A private key that signs. It belongs to who issues tokens, not to a server that takes them.
public final class SigningKey: Sendable {
  /// The key's curve.
  public let curve: SignatureCurve
  /// An EVP_PKEY. Signing does not change it.
  nonisolated(unsafe) private let key: OpaquePointer

  /// Reads a private key in PEM without a pass phrase (`BEGIN PRIVATE KEY`, RFC 7468 §10, or `BEGIN EC PRIVATE KEY`).
  /// - Throws: `.openSSL` where there is none; `.unavailable` for one of another kind.
  public init(pem: [UInt8]) throws(CryptoError) {
    (key, curve) = try readKey(pem) { PEM_read_bio_PrivateKey($0, nil, noPassPhrase, nil) }
  }

  deinit { EVP_PKEY_free(key) }

  /// The signature of a message, 64 bytes.
  /// - Throws: `.openSSL`.
  public func sign(_ message: [UInt8]) throws(CryptoError) -> [UInt8] {
    ErrorQueue.clear()
    guard let context = EVP_MD_CTX_new() else { throw ErrorQueue.error("EVP_MD_CTX_new") }
    defer { EVP_MD_CTX_free(context) }
    guard EVP_DigestSignInit(context, nil, curve.digest, nil, key) == 1 else {
      throw ErrorQueue.error("EVP_DigestSignInit")
    }
    // Both curves' signatures fit: in DER r and s have up to 33 bytes, with two in front of each, and two in front of all.
    var signature = [UInt8](repeating: 0, count: 80)
    var length = signature.count
    guard EVP_DigestSign(context, &signature, &length, message, message.count) == 1 else {
      throw ErrorQueue.error("EVP_DigestSign")
    }
    let made = Array(signature.prefix(length))
    guard curve == .p256 else { return made }
    guard let raw = DER.raw(signature: made) else { throw .openSSL("a signature that cannot be read") }
    return raw
  }

  /// The public key that belongs to it, in PEM.
  /// - Throws: `.openSSL`.
  public func publicPEM() throws(CryptoError) -> [UInt8] {
    ErrorQueue.clear()
    guard let bio = BIO_new(BIO_s_mem()) else { throw ErrorQueue.error("BIO_new") }
    defer { BIO_free(bio) }
    guard PEM_write_bio_PUBKEY(bio, key) == 1 else { throw ErrorQueue.error("PEM_write_bio_PUBKEY") }
    var bytes = [UInt8](repeating: 0, count: 1024)
    let count = BIO_read(bio, &bytes, Int32(bytes.count))
    guard count > 0 else { throw ErrorQueue.error("BIO_read") }
    return Array(bytes.prefix(Int(count)))
  }
}

/// Says that there is none: without a callback OpenSSL would ask the terminal.
private let noPassPhrase:
  @convention(c) (UnsafeMutablePointer<CChar>?, Int32, Int32, UnsafeMutableRawPointer?) -> Int32 = {
    _, _, _, _ in -1
  }

/// The key in a PEM text, by what reads it, and its curve. It is the caller's to free.
private func readKey(
  _ pem: [UInt8], _ read: (OpaquePointer) -> OpaquePointer?
) throws(CryptoError) -> (key: OpaquePointer, curve: SignatureCurve) {
  ErrorQueue.clear()
  guard let bio = BIO_new_mem_buf(pem, Int32(clamping: pem.count)) else { throw ErrorQueue.error("BIO_new_mem_buf") }
  defer { BIO_free(bio) }
  guard let key = read(bio) else { throw ErrorQueue.error("PEM") }
  do throws(CryptoError) {
    return (key, try SignatureCurve(key))
  } catch {
    EVP_PKEY_free(key)
    throw error
  }
}

extension SignatureCurve {
  /// - Throws: `.unavailable` for a key on any other curve.
  fileprivate init(_ key: OpaquePointer) throws(CryptoError) {
    if EVP_PKEY_is_a(key, "ED25519") == 1 {
      self = .ed25519
    } else if EVP_PKEY_is_a(key, "EC") == 1, Self.groupName(of: key) == "prime256v1" {
      self = .p256
    } else {
      throw .unavailable("the key is neither of P-256 nor Ed25519")
    }
  }

  private static func groupName(of key: OpaquePointer) -> String? {
    var name = [CChar](repeating: 0, count: 64)
    var length = 0
    guard EVP_PKEY_get_group_name(key, &name, name.count, &length) == 1, length < name.count else { return nil }
    return String(decoding: name.prefix(length).map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// Ed25519 hashes by itself.
  fileprivate var digest: OpaquePointer? {
    switch self {
    case .p256: EVP_sha256()
    case .ed25519: nil
    }
  }
}

/// ECDSA signatures in DER (RFC 3279 §2.2.3), as OpenSSL has them: a sequence of two integers.
private enum DER {
  private static let (sequence, integer) = (UInt8(0x30), UInt8(0x02))
  private static let half = VerifyingKey.signatureBytes / 2

  /// From r and s in one.
  static func signature(raw: [UInt8]) -> [UInt8] {
    let content = number(raw.prefix(half)) + number(raw.dropFirst(half))
    return [sequence, UInt8(content.count)] + content
  }

  /// Without zeros in front, but for the one that keeps it from being negative.
  private static func number(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
    var digits = Array(bytes.drop { $0 == 0 })
    if digits.first.map({ $0 >= 0x80 }) ?? true { digits.insert(0, at: 0) }
    return [integer, UInt8(digits.count)] + digits
  }

  /// To r and s in one; nil where it is no such sequence.
  static func raw(signature: [UInt8]) -> [UInt8]? {
    guard signature.count > 2, signature[0] == sequence, Int(signature[1]) == signature.count - 2 else { return nil }
    var rest = signature.dropFirst(2)
    guard let r = takeNumber(&rest), let s = takeNumber(&rest), rest.isEmpty else { return nil }
    return r + s
  }

  private static func takeNumber(_ rest: inout ArraySlice<UInt8>) -> [UInt8]? {
    guard rest.popFirst() == integer, let count = rest.popFirst(), rest.count >= Int(count) else { return nil }
    let digits = rest.prefix(Int(count)).drop { $0 == 0 }
    rest = rest.dropFirst(Int(count))
    guard digits.count <= half else { return nil }
    return [UInt8](repeating: 0, count: half - digits.count) + digits
  }
}
