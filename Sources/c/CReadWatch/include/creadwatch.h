// Shows a thread what a library reads from its sockets, before the library sees it.
//
// libwebsockets has no callback for the bytes of a request, and its parser loses lines (docs/decisions). It is linked
// dynamically and reads with recv() or, under TLS, with SSL_read(). A program that holds this target has its own functions of
// these names, which call the real ones and then the thread's watcher. Threads without a watcher notice nothing.
#pragma once
#include <stdint.h>

static const long creadwatch_discarded = -1;

// Told of `count` bytes that were read from `fd` (plain TCP, `tls` NULL) or decrypted from `tls` (an SSL *, `fd` -1). It may
// change them in place. Returns how many of them the reader gets: `count` or less, or 0 for "the connection is over", or
// `creadwatch_discarded`: then what comes next is read in their place.
typedef long (*creadwatch_watcher)(void *context, int fd, void *tls, uint8_t *bytes, long count);

// Sets the calling thread's watcher; NULL takes it away. `context` must live until then.
void creadwatch_set(creadwatch_watcher watcher, void *context);
