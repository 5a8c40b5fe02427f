// A key and a self-signed certificate as PEM text (RFC 7468), for a server that the load test starts with TLS.

import FoundationEssentials

internal import COpenSSL

/// What `listen.tls` of rooms.yaml wants, made anew.
public struct ServerCertificate: Sendable {
  /// The certificate as PEM.
  public let certificate: String
  /// Its private key as PEM, without a pass phrase.
  public let key: String

  /// A key of P-256 and a certificate that is valid from an hour ago for a day; nil when the library refuses.
  public init?(name: String) {
    ERR_clear_error()
    guard let pair = roost_generate_p256(), let made = X509_new() else { return nil }
    defer {
      X509_free(made)
      EVP_PKEY_free(pair)
    }
    let subject = X509_get_subject_name(made)
    let isMade =
      X509_set_version(made, 2) == 1
      && ASN1_INTEGER_set_uint64(X509_get_serialNumber(made), UInt64.random(in: 1...(1 << 60))) == 1
      && X509_gmtime_adj(X509_getm_notBefore(made), -3_600) != nil
      && X509_gmtime_adj(X509_getm_notAfter(made), 86_400) != nil
      && X509_set_pubkey(made, pair) == 1
      && X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, name, -1, -1, 0) == 1
      && X509_set_issuer_name(made, subject) == 1
      && X509_sign(made, pair, EVP_sha256()) > 0
    guard isMade, let body = Self.encoded({ i2d_X509(made, $0) }),
      let secret = Self.encoded({ i2d_PrivateKey(pair, $0) })
    else { return nil }
    certificate = Self.pem("CERTIFICATE", body)
    key = Self.pem("EC PRIVATE KEY", secret)
  }

  /// What one of OpenSSL's encoders makes: it says the length without a place to write to, and moves the place by it.
  private static func encoded(_ encode: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?) -> Int32) -> [UInt8]? {
    let length = encode(nil)
    guard length > 0 else { return nil }
    var bytes = [UInt8](repeating: 0, count: Int(length))
    let written = bytes.withUnsafeMutableBufferPointer {
      var cursor = $0.baseAddress
      return encode(&cursor)
    }
    return written == length ? bytes : nil
  }

  private static func pem(_ label: String, _ bytes: [UInt8]) -> String {
    let text = Data(bytes).base64EncodedString(options: [.lineLength64Characters, .endLineWithLineFeed])
    return "-----BEGIN \(label)-----\n\(text)\n-----END \(label)-----\n"
  }
}
