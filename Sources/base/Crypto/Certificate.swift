// The certificate that a DTLS end point shows: self-signed ECDSA P-256 (RFC 8827 §6.5), made at start and known to the
// peer by its fingerprint alone.

import Basics
internal import COpenSSL

/// A self-signed certificate with its key, ready to serve DTLS connections. May be shared by all threads.
public final class Certificate: Sendable {
  /// SHA-256 of the certificate; `sha256Fingerprint.bytes` is 32 bytes, `.hex` the `AB:CD:…` text.
  public let sha256Fingerprint: CertificateFingerprint
  /// The certificate in DER.
  public let der: [UInt8]
  /// An SSL_CTX. It is not changed after `init`, and OpenSSL counts references to it atomically, so threads may share it.
  nonisolated(unsafe) let context: OpaquePointer

  /// Makes a key and a certificate valid from a day before `wallMilliseconds` (since 1970-01-01 UTC) for ten years.
  public init(wallMilliseconds: Int64) throws(CryptoError) {
    ErrorQueue.clear()
    guard let key = roost_generate_p256() else { throw ErrorQueue.error("EVP_EC_gen") }
    defer { EVP_PKEY_free(key) }
    let certificate = try Self.selfSign(key, wallSeconds: wallMilliseconds / 1000)
    defer { X509_free(certificate) }
    guard let fingerprint = certificateFingerprint(certificate, .sha256) else { throw ErrorQueue.error("X509_digest") }
    sha256Fingerprint = fingerprint
    der = try Self.encode(certificate)
    context = try makeDTLSContext(certificate: certificate, key: key)
  }

  deinit { SSL_CTX_free(context) }

  private static func selfSign(_ key: OpaquePointer, wallSeconds: Int64) throws(CryptoError) -> OpaquePointer {
    guard let certificate = X509_new() else { throw ErrorQueue.error("X509_new") }
    let day: Int64 = 86_400
    // The name says nothing, so that certificates tell no two servers apart but by their keys.
    let name = X509_get_subject_name(certificate)
    // A positive serial number of 63 random bits.
    var generator = SecureRandomGenerator()
    let serial = generator.next() >> 1 | 1
    let made =
      X509_set_version(certificate, 2) == 1
      && ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), serial) == 1
      && ASN1_TIME_set(X509_getm_notBefore(certificate), Int(wallSeconds - day)) != nil
      && ASN1_TIME_set(X509_getm_notAfter(certificate), Int(wallSeconds + 3650 * day)) != nil
      && X509_set_pubkey(certificate, key) == 1
      && X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, "WebRTC", -1, -1, 0) == 1
      && X509_set_issuer_name(certificate, name) == 1
      && X509_sign(certificate, key, EVP_sha256()) > 0
    guard made else {
      let error = ErrorQueue.error("self-signed certificate")
      X509_free(certificate)
      throw error
    }
    return certificate
  }

  private static func encode(_ certificate: OpaquePointer) throws(CryptoError) -> [UInt8] {
    let length = i2d_X509(certificate, nil)
    guard length > 0 else { throw ErrorQueue.error("i2d_X509") }
    var der = [UInt8](repeating: 0, count: Int(length))
    let written = der.withUnsafeMutableBufferPointer {
      var cursor = $0.baseAddress
      return i2d_X509(certificate, &cursor)
    }
    guard written == length else { throw ErrorQueue.error("i2d_X509") }
    return der
  }
}

/// The hash of an X509; nil when OpenSSL cannot make it.
func certificateFingerprint(_ certificate: OpaquePointer, _ algorithm: CertificateFingerprint.Algorithm)
  -> CertificateFingerprint?
{
  let function =
    switch algorithm {
    case .sha1: EVP_sha1()
    case .sha224: EVP_sha224()
    case .sha256: EVP_sha256()
    case .sha384: EVP_sha384()
    case .sha512: EVP_sha512()
    }
  var bytes = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
  var length: UInt32 = 0
  guard X509_digest(certificate, function, &bytes, &length) == 1 else { return nil }
  return CertificateFingerprint(algorithm: algorithm, bytes: Array(bytes.prefix(Int(length))))
}
