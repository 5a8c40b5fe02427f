// Asks the CPU for memory that is needed soon. Header only: the compiler has the instruction, Swift has no word for it.
#ifndef CPREFETCH_H
#define CPREFETCH_H

#include <stddef.h>
#include <stdint.h>

// Every cache line that `bytes` bytes from `start` on lie in. No address is wrong: nothing is read.
static inline void cprefetch(const void *start, size_t bytes) {
  const char *end = (const char *)start + bytes;
  for (const char *line = (const char *)((uintptr_t)start & ~(uintptr_t)63); line < end; line += 64)
    __builtin_prefetch(line, 1, 3);
}

#endif
