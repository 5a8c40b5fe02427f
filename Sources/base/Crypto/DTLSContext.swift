// What every DTLS connection of a certificate has in common: DTLS 1.2 only (RFC 6347), use_srtp (RFC 5764), a demanded
// but unvalidated peer certificate (the fingerprint is checked above), no tickets, no resumption, no renegotiation.

import Basics
internal import COpenSSL

/// Longest certificate chain of a peer, in bytes. Browsers send about 400; raising it lets a stranger make us buffer more.
private let maximumPeerCertificates = 16 * 1024

/// AES-GCM with forward secrecy, which WebRTC peers must have (RFC 8827 §6.5). The DTLS target knows the least length of
/// their records.
private let cipherSuites = "ECDHE+AESGCM"

/// The SSL_CTX for a certificate and its key.
func makeDTLSContext(certificate: OpaquePointer, key: OpaquePointer) throws(CryptoError) -> OpaquePointer {
  guard let context = SSL_CTX_new(DTLS_method()) else { throw ErrorQueue.error("SSL_CTX_new") }
  roost_ctx_set_options(context)
  // Said here because the machine's openssl.cnf would otherwise decide.
  SSL_CTX_set_security_level(context, 2)
  roost_ctx_no_session_cache(context)
  roost_ctx_set_max_cert_list(context, maximumPeerCertificates)
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nil)
  SSL_CTX_set_cert_verify_callback(context, acceptAnyCertificate, nil)
  let ready =
    roost_ctx_only_dtls12(context) == 1
    && SSL_CTX_set_cipher_list(context, cipherSuites) == 1
    && roost_ctx_set_groups(context, "X25519:P-256") == 1
    && SSL_CTX_set_tlsext_use_srtp(context, profileNames) == 0
    && SSL_CTX_use_certificate(context, certificate) == 1
    && SSL_CTX_use_PrivateKey(context, key) == 1
  guard ready else {
    let error = ErrorQueue.error("DTLS context")
    SSL_CTX_free(context)
    throw error
  }
  return context
}

/// Any certificate will do here: whose it is, its fingerprint says (RFC 8827 §6.5).
private let acceptAnyCertificate: @convention(c) (OpaquePointer?, UnsafeMutableRawPointer?) -> Int32 = { store, _ in
  X509_STORE_CTX_set_error(store, X509_V_OK)
  return 1
}

/// Our profiles in order of preference. As a server OpenSSL walks the client's list but keeps the match that stands first
/// in ours, so our order decides.
private let profileNames = SRTPProfile.preferenceOrder.map { profile in
  switch profile {
  case .aes128CMSHA1_80: "SRTP_AES128_CM_SHA1_80"
  case .aeadAES128GCM: "SRTP_AEAD_AES_128_GCM"
  case .aeadAES256GCM: "SRTP_AEAD_AES_256_GCM"
  }
}.joined(separator: ":")
