// What malloc holds, and what it gives back.
#include "clinux.h"

#include <malloc.h>

uint64_t clinux_memory_in_use(void) {
  struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

int clinux_memory_give_back(void) { return malloc_trim(0); }
