// What malloc holds, and what it gives back.
#define _GNU_SOURCE
#include "clinux.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Pages that are resident, less those of files and shared memory (proc(5), statm).
static int resident_pages(uint64_t *pages) {
  char text[128];
  int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -errno;
  ssize_t length = read(fd, text, sizeof text - 1);
  int problem = errno;
  close(fd);
  if (length < 0) return -problem;
  text[length] = 0;
  char *at = text;
  uint64_t fields[3];
  for (int i = 0; i < 3; i++) {
    char *end;
    fields[i] = strtoull(at, &end, 10);
    if (end == at) return -EPROTO;
    at = end;
  }
  *pages = fields[1] > fields[2] ? fields[1] - fields[2] : 0;
  return 0;
}

int clinux_memory_look(clinux_memory *memory) {
  uint64_t pages;
  int status = resident_pages(&pages);
  if (status < 0) return status;
  long page = sysconf(_SC_PAGESIZE);
  struct mallinfo2 info = mallinfo2();
  memory->resident = pages * (uint64_t)(page > 0 ? page : 4096);
  memory->in_use = info.uordblks + info.hblkhd;
  return 0;
}

int clinux_memory_give_back(void) { return malloc_trim(0); }
