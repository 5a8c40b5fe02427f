// libwebsockets 4.1 for the WebSockets target alone. The functions here stand for macros that Swift cannot see.
#pragma once
#include <libwebsockets.h>

/// Bytes that must be writable in front of everything given to lws_write.
static inline int roost_lws_pre(void) { return LWS_PRE; }

/// OpenSSL options that leave TLS 1.2 and 1.3 only.
static inline long roost_lws_tls12_or_newer(void) {
  return (long)(SSL_OP_NO_SSLv3 | SSL_OP_NO_TLSv1 | SSL_OP_NO_TLSv1_1 | SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
}

