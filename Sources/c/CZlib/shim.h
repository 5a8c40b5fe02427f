#ifndef ROOST_CZLIB_H
#define ROOST_CZLIB_H
#include <zlib.h>

// `deflateInit2` is a macro that names the version and a size, and Swift sees no macro that calls.

/// A stream that makes gzip (RFC 1952) instead of zlib's own format: 16 beside the largest window of 15 bits.
static inline int czlib_begin_gzip(z_stream *stream, int level) {
  return deflateInit2(stream, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
}
#endif
