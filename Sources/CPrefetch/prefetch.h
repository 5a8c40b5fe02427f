// Asks the CPU for memory that is needed soon. Header only: the compiler has the instruction, Swift has no word for it.
#ifndef CPREFETCH_H
#define CPREFETCH_H

#include <stddef.h>

// Every cache line of `bytes` bytes from `start` on. No address is wrong: nothing is read.
static inline void cprefetch(const void *start, size_t bytes) {
  for (size_t offset = 0; offset < bytes; offset += 64) __builtin_prefetch((const char *)start + offset, 1, 3);
}

#endif
