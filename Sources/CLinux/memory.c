// What malloc holds, and what it gives back.
#define _GNU_SOURCE
#include "clinux.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdlib.h>
#include <unistd.h>

int clinux_memory_resident(uint64_t *bytes) {
  char text[128];
  int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -errno;
  ssize_t length = read(fd, text, sizeof text - 1);
  int problem = errno;
  close(fd);
  if (length < 0) return -problem;
  text[length] = 0;
  // Pages: all of the process, those that are resident, and of these those of files and shared memory.
  uint64_t fields[3];
  char *at = text;
  for (int i = 0; i < 3; i++) {
    char *end;
    fields[i] = strtoull(at, &end, 10);
    if (end == at) return -EPROTO;
    at = end;
  }
  long page = sysconf(_SC_PAGESIZE);
  if (page <= 0) return -EINVAL;
  *bytes = fields[1] > fields[2] ? (fields[1] - fields[2]) * (uint64_t)page : 0;
  return 0;
}

uint64_t clinux_memory_in_use(void) {
  struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

int clinux_memory_give_back(void) { return malloc_trim(0); }
