// recv() and SSL_read() in the place of libc's and OpenSSL's, for callers in shared libraries.
#define _GNU_SOURCE
#include "creadwatch.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <sys/types.h>

static ssize_t (*real_recv)(int, void *, size_t, int);
static int (*real_ssl_read)(void *, void *, int);
static __thread creadwatch_watcher watcher;
static __thread void *watcher_context;

// Before main, so that no thread can be early. Both libraries are loaded by then, where the program needs them.
__attribute__((constructor)) static void find(void) {
  real_recv = (ssize_t(*)(int, void *, size_t, int))dlsym(RTLD_NEXT, "recv");
  real_ssl_read = (int (*)(void *, void *, int))dlsym(RTLD_NEXT, "SSL_read");
}

void creadwatch_set(creadwatch_watcher new_watcher, void *context) {
  watcher = new_watcher;
  watcher_context = context;
}

// Bytes that are thrown away must not keep the thread from its other connections.
static const int most_rounds = 16;

__attribute__((visibility("default"))) ssize_t recv(int fd, void *bytes, size_t size, int flags) {
  if (!real_recv) find();
  if (!real_recv) {
    errno = ENOSYS;
    return -1;
  }
  for (int round = 0; round < most_rounds; round++) {
    ssize_t count = real_recv(fd, bytes, size, flags);
    if (!watcher || count <= 0) return count;
    long given = watcher(watcher_context, fd, NULL, bytes, count);
    if (given != creadwatch_discarded) return given;
  }
  errno = EAGAIN;
  return -1;
}

__attribute__((visibility("default"))) int SSL_read(void *tls, void *bytes, int size) {
  if (!real_ssl_read) find();
  if (!real_ssl_read) return -1;
  for (int round = 0; round < most_rounds; round++) {
    int count = real_ssl_read(tls, bytes, size);
    if (!watcher || count <= 0) return count;
    long given = watcher(watcher_context, -1, tls, bytes, count);
    if (given != creadwatch_discarded) return (int)given;
  }
  return 0;
}
