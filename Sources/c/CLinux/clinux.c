// See clinux.h. Only this file sees _GNU_SOURCE and the socket headers.
#define _GNU_SOURCE
#include "clinux.h"

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

_Static_assert(POLLIN == EPOLLIN && POLLOUT == EPOLLOUT && POLLERR == EPOLLERR && POLLHUP == EPOLLHUP, "poll's bits");
_Static_assert(sizeof(clinux_watch) == sizeof(struct pollfd) && offsetof(clinux_watch, fd) == offsetof(struct pollfd, fd) &&
                   offsetof(clinux_watch, events) == offsetof(struct pollfd, events) &&
                   offsetof(clinux_watch, ready) == offsetof(struct pollfd, revents),
               "poll's layout");
_Static_assert(EPOLLIN == 0x001 && EPOLLOUT == 0x004 && EPOLLERR == 0x008 && EPOLLHUP == 0x010, "epoll's bits");

// --- addresses ------------------------------------------------------------------------------------------------------

typedef union {
  struct sockaddr any;
  struct sockaddr_in v4;
  struct sockaddr_in6 v6;
} socket_address;

static int is_mapped(uint64_t high, uint64_t low) { return high == 0 && low >> 32 == 0xffff; }

static void put_v6(struct in6_addr *to, uint64_t high, uint64_t low) {
  high = htobe64(high);
  low = htobe64(low);
  memcpy(to->s6_addr, &high, 8);
  memcpy(to->s6_addr + 8, &low, 8);
}

static void get_v6(const struct in6_addr *from, uint64_t *high, uint64_t *low) {
  memcpy(high, from->s6_addr, 8);
  memcpy(low, from->s6_addr + 8, 8);
  *high = be64toh(*high);
  *low = be64toh(*low);
}

// An IPv4 destination is always given as AF_INET: a dual-stack AF_INET6 socket takes it too.
static socklen_t put_address(socket_address *to, clinux_address from) {
  memset(to, 0, sizeof *to);
  if (is_mapped(from.high, from.low)) {
    to->v4.sin_family = AF_INET;
    to->v4.sin_port = htons(from.port);
    to->v4.sin_addr.s_addr = htonl((uint32_t)from.low);
    return sizeof to->v4;
  }
  to->v6.sin6_family = AF_INET6;
  to->v6.sin6_port = htons(from.port);
  put_v6(&to->v6.sin6_addr, from.high, from.low);
  return sizeof to->v6;
}

static void get_v4(struct in_addr from, uint64_t *high, uint64_t *low) {
  *high = 0;
  *low = 0xffff00000000ull | ntohl(from.s_addr);
}

static uint16_t get_address(const socket_address *from, uint64_t *high, uint64_t *low) {
  if (from->any.sa_family == AF_INET) {
    get_v4(from->v4.sin_addr, high, low);
    return ntohs(from->v4.sin_port);
  }
  get_v6(&from->v6.sin6_addr, high, low);
  return ntohs(from->v6.sin6_port);
}

// --- UDP sockets ----------------------------------------------------------------------------------------------------

static int switch_on(int fd, int level, int option) {
  int on = 1;
  return setsockopt(fd, level, option, &on, sizeof on) == 0 ? 0 : -errno;
}

// A privileged process gets the size even above the system's maximum; others get what net.core.*mem_max allows.
static int ask_for_buffer(int fd, int forced, int option, int size) {
  if (size <= 0 || setsockopt(fd, SOL_SOCKET, forced, &size, sizeof size) == 0) return 0;
  return setsockopt(fd, SOL_SOCKET, option, &size, sizeof size) == 0 ? 0 : -errno;
}

static int set_mtu_discovery(int fd, int how) {
  return setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &how, sizeof how) == 0 ? 0 : -errno;
}

static int mtu_discovery(int fd) {
  int how = -1;
  socklen_t length = sizeof how;
  return getsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &how, &length) == 0 ? how : -errno;
}

int clinux_udp_allow_fragments(int fd) {
  return mtu_discovery(fd) == IP_PMTUDISC_DO ? set_mtu_discovery(fd, IP_PMTUDISC_WANT) : 0;
}

int clinux_udp_dropped(int fd, uint32_t *dropped) {
  uint32_t memory[SK_MEMINFO_VARS] = {0};
  socklen_t length = sizeof memory;
  if (getsockopt(fd, SOL_SOCKET, SO_MEMINFO, memory, &length) != 0) return -errno;
  if (length <= SK_MEMINFO_DROPS * sizeof memory[0]) return -ENOPROTOOPT;
  *dropped = memory[SK_MEMINFO_DROPS];
  return 0;
}

static int set_options(int fd, int family, const clinux_udp_options *options) {
  int failed = 0;
  int v6_only = options->v6_only != 0;
  if (family == AF_INET6 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &v6_only, sizeof v6_only) != 0) return -errno;
  if (options->reuse_port && (failed = switch_on(fd, SOL_SOCKET, SO_REUSEPORT)) < 0) return failed;
  if ((failed = ask_for_buffer(fd, SO_RCVBUFFORCE, SO_RCVBUF, options->receive_buffer)) < 0) return failed;
  if ((failed = ask_for_buffer(fd, SO_SNDBUFFORCE, SO_SNDBUF, options->send_buffer)) < 0) return failed;
  if (options->gro) (void)switch_on(fd, IPPROTO_UDP, UDP_GRO);
  if (options->timestamps) (void)switch_on(fd, SOL_SOCKET, SO_TIMESTAMPNS);
  // A datagram that is never fragmented needs no number (RFC 6864 §4.1), which the kernel would draw for each send. A system
  // that discovers no MTUs (net.ipv4.ip_no_pmtu_disc) would not tell that a path refuses one: there, nothing changes.
  if (options->unfragmented && family == AF_INET && mtu_discovery(fd) == IP_PMTUDISC_WANT)
    (void)set_mtu_discovery(fd, IP_PMTUDISC_DO);
  if (!options->packet_info) return 0;
  if (family == AF_INET) return switch_on(fd, IPPROTO_IP, IP_PKTINFO);
  return switch_on(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO);
}

int clinux_udp_open(clinux_address address, clinux_udp_options options) {
  socket_address bound;
  socklen_t length = put_address(&bound, address);
  int fd = socket(bound.any.sa_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return -errno;
  int failed = set_options(fd, bound.any.sa_family, &options);
  if (failed == 0 && bind(fd, &bound.any, length) != 0) failed = -errno;
  if (failed == 0) return fd;
  close(fd);
  return failed;
}

int clinux_socket_address(int fd, clinux_address *address) {
  socket_address bound;
  socklen_t length = sizeof bound;
  memset(&bound, 0, sizeof bound);
  if (getsockname(fd, &bound.any, &length) != 0) return -errno;
  address->port = get_address(&bound, &address->high, &address->low);
  return 0;
}

int clinux_socket_buffers(int fd, int *receive_buffer, int *send_buffer) {
  socklen_t length = sizeof(int);
  if (getsockopt(fd, SOL_SOCKET, SO_RCVBUF, receive_buffer, &length) != 0) return -errno;
  if (getsockopt(fd, SOL_SOCKET, SO_SNDBUF, send_buffer, &length) != 0) return -errno;
  *receive_buffer /= 2;  // the kernel doubles what was asked for
  *send_buffer /= 2;
  return 0;
}

// --- receiving ------------------------------------------------------------------------------------------------------

// Room for one packet-info (the IPv6 one is the largest), one GRO segment size and one time.
typedef union {
  struct cmsghdr aligned;
  uint8_t bytes[CMSG_SPACE(sizeof(struct in6_pktinfo)) + CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(struct timespec))];
} receive_control;

static int64_t nanoseconds(struct timespec time) { return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec; }

static void read_control(struct msghdr *message, clinux_datagram *datagram) {
  for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c != NULL; c = CMSG_NXTHDR(message, c)) {
    if (c->cmsg_level == IPPROTO_UDP && c->cmsg_type == UDP_GRO) {
      int size = 0;
      memcpy(&size, CMSG_DATA(c), sizeof size);
      datagram->segment_size = size > 0 && (uint32_t)size < datagram->length ? (uint16_t)size : 0;
    } else if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_TIMESTAMPNS) {
      struct timespec at;
      memcpy(&at, CMSG_DATA(c), sizeof at);
      datagram->arrival_ns = nanoseconds(at);
    } else if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO) {
      struct in_pktinfo info;
      memcpy(&info, CMSG_DATA(c), sizeof info);
      get_v4(info.ipi_addr, &datagram->local_high, &datagram->local_low);
    } else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO) {
      struct in6_pktinfo info;
      memcpy(&info, CMSG_DATA(c), sizeof info);
      get_v6(&info.ipi6_addr, &datagram->local_high, &datagram->local_low);
    }
  }
}

int clinux_udp_receive(int fd, uint8_t *slab, size_t stride, int capacity, clinux_datagram *datagrams) {
  struct mmsghdr messages[CLINUX_BATCH];
  struct iovec slots[CLINUX_BATCH];
  socket_address sources[CLINUX_BATCH];
  receive_control controls[CLINUX_BATCH];
  if (capacity > CLINUX_BATCH) capacity = CLINUX_BATCH;
  if (capacity <= 0) return 0;
  for (int i = 0; i < capacity; i++) {
    slots[i] = (struct iovec){.iov_base = slab + (size_t)i * stride, .iov_len = stride};
    messages[i].msg_hdr = (struct msghdr){.msg_name = &sources[i],
                                          .msg_namelen = sizeof sources[i],
                                          .msg_iov = &slots[i],
                                          .msg_iovlen = 1,
                                          .msg_control = &controls[i],
                                          .msg_controllen = sizeof controls[i]};
  }
  int count;
  do count = recvmmsg(fd, messages, (unsigned)capacity, MSG_DONTWAIT | MSG_TRUNC, NULL);
  while (count < 0 && errno == EINTR);
  if (count < 0) return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : -errno;
  for (int i = 0; i < count; i++) {
    clinux_datagram *d = &datagrams[i];
    // MSG_TRUNC: msg_len is what the datagram had, not what fitted.
    *d = (clinux_datagram){.length = messages[i].msg_len < stride ? messages[i].msg_len : (uint32_t)stride,
                           .whole_length = messages[i].msg_len,
                           .truncated = (messages[i].msg_hdr.msg_flags & MSG_TRUNC) != 0};
    d->source_port = get_address(&sources[i], &d->source_high, &d->source_low);
    read_control(&messages[i].msg_hdr, d);
  }
  return count;
}

// --- sending --------------------------------------------------------------------------------------------------------

typedef union {
  struct cmsghdr aligned;
  uint8_t bytes[CMSG_SPACE(sizeof(struct in6_pktinfo)) + CMSG_SPACE(sizeof(uint16_t))];
} send_control;

static size_t append_control(send_control *control, size_t at, int level, int type, const void *value, size_t length) {
  struct cmsghdr header = {.cmsg_len = CMSG_LEN(length), .cmsg_level = level, .cmsg_type = type};
  memcpy(control->bytes + at, &header, sizeof header);
  memcpy(control->bytes + at + CMSG_LEN(0), value, length);
  return at + CMSG_SPACE(length);
}

static size_t put_control(send_control *control, const clinux_outgoing *entry) {
  size_t length = 0;
  if (entry->segment_size != 0 && entry->segment_size < entry->length)
    length = append_control(control, length, IPPROTO_UDP, UDP_SEGMENT, &entry->segment_size, sizeof(uint16_t));
  if (entry->local_high == 0 && entry->local_low == 0) return length;
  if (is_mapped(entry->local_high, entry->local_low)) {
    struct in_pktinfo info = {.ipi_spec_dst.s_addr = htonl((uint32_t)entry->local_low)};
    return append_control(control, length, IPPROTO_IP, IP_PKTINFO, &info, sizeof info);
  }
  struct in6_pktinfo info = {0};
  put_v6(&info.ipi6_addr, entry->local_high, entry->local_low);
  return append_control(control, length, IPPROTO_IPV6, IPV6_PKTINFO, &info, sizeof info);
}

static void put_message(struct msghdr *message, const clinux_outgoing *entry, struct iovec *part, socket_address *to,
                        send_control *control) {
  *part = (struct iovec){.iov_base = (void *)entry->bytes, .iov_len = entry->length};
  *message = (struct msghdr){.msg_name = to, .msg_iov = part, .msg_iovlen = 1};
  message->msg_namelen = put_address(to, entry->to);
  message->msg_controllen = put_control(control, entry);
  message->msg_control = message->msg_controllen > 0 ? control : NULL;
}

int clinux_udp_send(int fd, const uint8_t *bytes, size_t length, clinux_address to) {
  socket_address destination;
  socklen_t size = put_address(&destination, to);
  ssize_t sent;
  do sent = sendto(fd, bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL, &destination.any, size);
  while (sent < 0 && errno == EINTR);
  return sent < 0 ? -errno : (int)sent;
}

int clinux_udp_send_one(int fd, const clinux_outgoing *entry) {
  struct msghdr message;
  struct iovec part;
  socket_address to;
  send_control control;
  put_message(&message, entry, &part, &to, &control);
  ssize_t sent;
  do sent = sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  while (sent < 0 && errno == EINTR);
  return sent < 0 ? -errno : (int)sent;
}

int clinux_udp_send_batch(int fd, const clinux_outgoing *entries, int count) {
  struct mmsghdr messages[CLINUX_BATCH];
  struct iovec parts[CLINUX_BATCH];
  socket_address destinations[CLINUX_BATCH];
  send_control controls[CLINUX_BATCH];
  if (count > CLINUX_BATCH) count = CLINUX_BATCH;
  if (count <= 0) return 0;
  for (int i = 0; i < count; i++)
    put_message(&messages[i].msg_hdr, &entries[i], &parts[i], &destinations[i], &controls[i]);
  int sent;
  do sent = sendmmsg(fd, messages, (unsigned)count, MSG_DONTWAIT | MSG_NOSIGNAL);
  while (sent < 0 && errno == EINTR);
  return sent < 0 ? -errno : sent;
}

// --- epoll, poll, eventfd, timerfd ----------------------------------------------------------------------------------

int clinux_epoll_create(void) {
  int epoll = epoll_create1(EPOLL_CLOEXEC);
  return epoll < 0 ? -errno : epoll;
}

static int control_epoll(int epoll, int operation, int fd, uint32_t events, uint64_t data) {
  struct epoll_event event = {.events = events, .data.u64 = data};
  return epoll_ctl(epoll, operation, fd, &event) == 0 ? 0 : -errno;
}

int clinux_epoll_add(int epoll, int fd, uint32_t events, uint64_t data) {
  return control_epoll(epoll, EPOLL_CTL_ADD, fd, events, data);
}

int clinux_epoll_modify(int epoll, int fd, uint32_t events, uint64_t data) {
  return control_epoll(epoll, EPOLL_CTL_MOD, fd, events, data);
}

int clinux_epoll_remove(int epoll, int fd) { return control_epoll(epoll, EPOLL_CTL_DEL, fd, 0, 0); }

// Rounded up, so that a deadline is never polled before it is due.
static int milliseconds(int64_t ns) {
  if (ns < 0) return -1;
  return ns > 60000000000 ? 60000 : (int)((ns + 999999) / 1000000);
}

static int wait_for_events(int epoll, struct epoll_event *events, int capacity, int64_t timeout_ns) {
  struct timespec timeout = {.tv_sec = timeout_ns / 1000000000, .tv_nsec = timeout_ns % 1000000000};
  int count = epoll_pwait2(epoll, events, capacity, timeout_ns < 0 ? NULL : &timeout, NULL);
  if (count >= 0 || (errno != ENOSYS && errno != EPERM)) return count;
  // Kernels before 5.11, and sandboxes that know the old call only, count in milliseconds.
  return epoll_wait(epoll, events, capacity, milliseconds(timeout_ns));
}

int clinux_epoll_wait(int epoll, clinux_event *events, int capacity, int64_t timeout_ns) {
  struct epoll_event got[CLINUX_BATCH];
  if (capacity > CLINUX_BATCH) capacity = CLINUX_BATCH;
  int count = wait_for_events(epoll, got, capacity, timeout_ns);
  if (count < 0) return errno == EINTR ? 0 : -errno;
  for (int i = 0; i < count; i++) events[i] = (clinux_event){.data = got[i].data.u64, .events = got[i].events};
  return count;
}

int clinux_poll(clinux_watch *watched, int count, int64_t timeout_ns) {
  struct timespec timeout = {.tv_sec = timeout_ns / 1000000000, .tv_nsec = timeout_ns % 1000000000};
  int ready = ppoll((struct pollfd *)watched, (nfds_t)count, timeout_ns < 0 ? NULL : &timeout, NULL);
  if (ready >= 0) return ready;
  for (int i = 0; i < count; i++) watched[i].ready = 0;
  return errno == EINTR ? 0 : -errno;
}

int clinux_eventfd_create(void) {
  int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  return fd < 0 ? -errno : fd;
}

int clinux_eventfd_signal(int fd) {
  uint64_t one = 1;
  if (write(fd, &one, sizeof one) == sizeof one || errno == EAGAIN) return 0;  // EAGAIN: signalled beyond counting
  return -errno;
}

int clinux_eventfd_drain(int fd) {
  uint64_t count = 0;
  if (read(fd, &count, sizeof count) == sizeof count) return 1;
  return errno == EAGAIN ? 0 : -errno;
}

int clinux_timer_create(void) {
  int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
  return fd < 0 ? -errno : fd;
}

int clinux_timer_set(int fd, int64_t at_ns) {
  struct itimerspec at = {.it_value = {.tv_sec = at_ns / 1000000000, .tv_nsec = at_ns % 1000000000}};
  return timerfd_settime(fd, TFD_TIMER_ABSTIME, &at, NULL) == 0 ? 0 : -errno;
}

int clinux_sleep_until(int64_t at_ns) {
  struct timespec at = {.tv_sec = at_ns / 1000000000, .tv_nsec = at_ns % 1000000000};
  return -clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}

int clinux_close(int fd) { return close(fd) == 0 ? 0 : -errno; }

// --- clocks, threads, usage -----------------------------------------------------------------------------------------

int64_t clinux_monotonic_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return nanoseconds(now);
}

int64_t clinux_wall_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return nanoseconds(now);
}

int64_t clinux_wall_ms(void) { return clinux_wall_ns() / 1000000; }

int clinux_thread_punctual(void) { return prctl(PR_SET_TIMERSLACK, 1) == 0 ? 0 : -errno; }

int clinux_cpu_number(int index) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return -errno;
  for (int cpu = 0, seen = 0; cpu < CPU_SETSIZE; cpu++) {
    if (CPU_ISSET(cpu, &allowed) && seen++ == index) return cpu;
  }
  return -EINVAL;
}

int clinux_thread_pin(int index) {
  int cpu = clinux_cpu_number(index);
  if (cpu < 0) return cpu;
  cpu_set_t chosen;
  CPU_ZERO(&chosen);
  CPU_SET(cpu, &chosen);
  return -pthread_setaffinity_np(pthread_self(), sizeof chosen, &chosen);
}

int clinux_thread_prefer(void) {
  // On Linux a nice value belongs to a thread, and 0 stands for the calling one.
  return setpriority(PRIO_PROCESS, 0, -10) == 0 ? 0 : -errno;
}

int clinux_thread_name(const char *name) {
  char kept[16] = {0};
  strncpy(kept, name, sizeof kept - 1);
  return -pthread_setname_np(pthread_self(), kept);
}

int clinux_cpu_count(void) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 1;
  int count = CPU_COUNT(&allowed);
  return count > 0 ? count : 1;
}

static int64_t from_timeval(struct timeval time) { return (int64_t)time.tv_sec * 1000000000 + time.tv_usec * 1000; }

static int read_usage(int who, clinux_usage *usage) {
  struct rusage got;
  if (getrusage(who, &got) != 0) return -errno;
  *usage = (clinux_usage){.user_ns = from_timeval(got.ru_utime),
                          .system_ns = from_timeval(got.ru_stime),
                          .voluntary_switches = got.ru_nvcsw,
                          .involuntary_switches = got.ru_nivcsw};
  return 0;
}

int clinux_thread_usage(clinux_usage *usage) { return read_usage(RUSAGE_THREAD, usage); }

int clinux_process_usage(clinux_usage *usage) { return read_usage(RUSAGE_SELF, usage); }
