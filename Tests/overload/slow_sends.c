// Makes each packet that a program sends take longer, in CPU time of the thread that sends it, as on a machine with a dearer network card.
// So a worker is full long before those who load it are. Preloaded; SLOW_NANOSECONDS says how much longer.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

static long long used(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

// Datagrams of one entry: the kernel cuts it into segments.
static long packets(struct msghdr *message) {
  size_t bytes = 0;
  uint16_t segment = 0;
  for (size_t part = 0; part < message->msg_iovlen; part++) bytes += message->msg_iov[part].iov_len;
  for (struct cmsghdr *option = CMSG_FIRSTHDR(message); option; option = CMSG_NXTHDR(message, option)) {
    if (option->cmsg_level == SOL_UDP && option->cmsg_type == UDP_SEGMENT)
      memcpy(&segment, CMSG_DATA(option), sizeof segment);
  }
  return segment ? (long)((bytes + segment - 1) / segment) : 1;
}

int sendmmsg(int socket, struct mmsghdr *entries, unsigned count, int flags) {
  static int (*kernels)(int, struct mmsghdr *, unsigned, int);
  static long cost;
  if (!kernels) {
    const char *wish = getenv("SLOW_NANOSECONDS");
    cost = wish ? atol(wish) : 0;
    kernels = (int (*)(int, struct mmsghdr *, unsigned, int))dlsym(RTLD_NEXT, "sendmmsg");
  }
  int sent = kernels(socket, entries, count, flags);
  long all = 0;
  for (int entry = 0; entry < sent; entry++) all += packets(&entries[entry].msg_hdr);
  long long end = used() + all * cost;
  while (all > 0 && used() < end) {}
  return sent;
}
