// OpenSSL for the Crypto target, and what Swift cannot call of it (macros) as static inline functions.
#ifndef ROOST_COPENSSL_H
#define ROOST_COPENSSL_H

// The low-level SHA structs are deprecated but are the only way to keep a hash state without allocating: copying an
// EVP_MD_CTX allocates in OpenSSL 3.0.
#define OPENSSL_SUPPRESS_DEPRECATED

#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <openssl/srtp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

static inline EVP_PKEY *roost_generate_p256(void) { return EVP_EC_gen("P-256"); }

static inline void roost_ctx_set_options(SSL_CTX *ctx) {
  SSL_CTX_set_options(ctx, SSL_OP_NO_COMPRESSION | SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_QUERY_MTU |
                               SSL_OP_CIPHER_SERVER_PREFERENCE);
}

static inline int roost_ctx_only_dtls12(SSL_CTX *ctx) {
  return SSL_CTX_set_min_proto_version(ctx, DTLS1_2_VERSION) == 1 &&
         SSL_CTX_set_max_proto_version(ctx, DTLS1_2_VERSION) == 1;
}

static inline int roost_ctx_set_groups(SSL_CTX *ctx, const char *list) {
  return SSL_CTX_set1_groups_list(ctx, list) == 1;
}

static inline void roost_ctx_no_session_cache(SSL_CTX *ctx) {
  SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
}

static inline void roost_ctx_set_max_cert_list(SSL_CTX *ctx, long bytes) { SSL_CTX_set_max_cert_list(ctx, bytes); }

static inline void roost_ssl_set_mtu(SSL *ssl, long mtu) { SSL_set_mtu(ssl, mtu); }

static inline void roost_bio_retry_read(BIO *bio) {
  BIO_clear_retry_flags(bio);
  BIO_set_retry_read(bio);
}

static inline void roost_bio_clear_retry(BIO *bio) { BIO_clear_retry_flags(bio); }

#endif
