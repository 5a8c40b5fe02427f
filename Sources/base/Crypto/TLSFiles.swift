// Looks at the PEM files of a TLS listener before anything serves them, and says which OpenSSL is in use.
internal import COpenSSL

/// What a certificate and its key are like.
public struct TLSFileFacts: Equatable, Sendable {
  /// Seconds until the certificate ends; negative when it has ended.
  public var secondsLeft: Int
  /// Seconds since it became valid; negative when that is still to come.
  public var secondsValid: Int

  /// Both times as they are.
  public init(secondsLeft: Int, secondsValid: Int) {
    self.secondsLeft = secondsLeft
    self.secondsValid = secondsValid
  }
}

/// Why a certificate and key cannot be used.
public enum TLSFileError: Error, Equatable, Sendable {
  /// No PEM certificate could be read from its file.
  case certificate
  /// No PEM private key without a pass phrase could be read from its file.
  case key
  /// The key is not that of the certificate.
  case mismatch
}

/// Reads a certificate chain and its key as a TLS server would. `now` is in milliseconds since 1970 UTC.
public func inspectTLSFiles(certificate: String, key: String, wallMilliseconds now: Int64) throws(TLSFileError)
  -> TLSFileFacts
{
  ERR_clear_error()
  defer { ERR_clear_error() }
  guard let context = SSL_CTX_new(TLS_server_method()) else { throw .certificate }
  defer { SSL_CTX_free(context) }
  // Without a callback OpenSSL would ask the terminal for a pass phrase.
  SSL_CTX_set_default_passwd_cb(context) { _, _, _, _ in 0 }
  guard SSL_CTX_use_certificate_chain_file(context, certificate) == 1,
    let leaf = SSL_CTX_get0_certificate(context)
  else { throw .certificate }
  guard SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) == 1 else { throw keyError(key) }
  guard SSL_CTX_check_private_key(context) == 1 else { throw .mismatch }
  let time = ASN1_TIME_set(nil, time_t(now / 1000))
  defer { ASN1_TIME_free(time) }
  return TLSFileFacts(
    secondsLeft: seconds(from: time, to: X509_get0_notAfter(leaf)),
    secondsValid: seconds(from: X509_get0_notBefore(leaf), to: time))
}

/// OpenSSL refuses a readable key of another certificate in the same call as an unreadable one; a context without a
/// certificate tells them apart.
private func keyError(_ key: String) -> TLSFileError {
  guard let bare = SSL_CTX_new(TLS_server_method()) else { return .key }
  defer { SSL_CTX_free(bare) }
  SSL_CTX_set_default_passwd_cb(bare) { _, _, _, _ in 0 }
  return SSL_CTX_use_PrivateKey_file(bare, key, SSL_FILETYPE_PEM) == 1 ? .mismatch : .key
}

private func seconds(from start: UnsafePointer<ASN1_TIME>?, to end: UnsafePointer<ASN1_TIME>?) -> Int {
  var (days, rest): (Int32, Int32) = (0, 0)
  guard ASN1_TIME_diff(&days, &rest, start, end) == 1 else { return 0 }
  return Int(days) * 86_400 + Int(rest)
}

/// The version of the OpenSSL library that is loaded, as it says it itself.
public func openSSLVersion() -> String { OpenSSL_version(OPENSSL_VERSION).map { String(cString: $0) } ?? "unknown" }
