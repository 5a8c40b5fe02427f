// System calls that Swift cannot see: epoll, poll, eventfd, batched and segmented UDP, thread affinity.
//
// The header has plain types of its own, defines no _GNU_SOURCE and includes no socket header: either would clash with
// Swift's Glibc module. Unless a comment says otherwise a function returns 0 or a count on success and a negated errno
// on failure. Nothing here allocates, blocks (what waits or sleeps by its name excepted) or keeps state between calls.
#pragma once
#include <stddef.h>
#include <stdint.h>

// An address, laid out as Basics.SocketAddress: two halves of the 16 bytes read big-endian, the port in host order.
// IPv4 is IPv4-mapped: high 0, low 0x0000ffff_aabbccdd.
typedef struct {
  uint64_t high;
  uint64_t low;
  uint16_t port;
} clinux_address;

// --- UDP sockets ----------------------------------------------------------------------------------------------------

typedef struct {
  int receive_buffer;  // bytes asked for, 0 = the system's default; clinux_socket_buffers says what was granted
  int send_buffer;     // likewise
  uint8_t v6_only;     // an IPv6 wildcard socket leaves IPv4 alone
  uint8_t reuse_port;  // SO_REUSEPORT: several sockets share address and port
  uint8_t packet_info; // report the local address each datagram was sent to
  uint8_t gro;         // UDP_GRO: the kernel may hand over several datagrams of one sender as one; ignored where unknown
  uint8_t timestamps;  // SO_TIMESTAMPNS: say when each datagram arrived; ignored where unknown
  uint8_t unfragmented;  // IP_PMTUDISC_DO: what is longer than an IPv4 path's known MTU is refused (-EMSGSIZE) until
                         // clinux_udp_allow_fragments; IPv6 fragments all the same
} clinux_udp_options;

// Opens a nonblocking, close-on-exec UDP socket bound to `address` (port 0: any free one). An IPv4-mapped address gives
// an AF_INET socket, any other AF_INET6. Returns the descriptor.
int clinux_udp_open(clinux_address address, clinux_udp_options options);

// The address that a socket (UDP or TCP) is bound to.
int clinux_socket_address(int fd, clinux_address *address);

// Has the kernel fragment what is longer than an IPv4 path's MTU, as for a socket that was not opened `unfragmented`.
int clinux_udp_allow_fragments(int fd);

// The buffer sizes granted, in bytes as asked for (the kernel's bookkeeping share taken off).
int clinux_socket_buffers(int fd, int *receive_buffer, int *send_buffer);

// Datagrams that a socket has lost since it was opened, because its buffer was full or their checksum was wrong; begins anew at
// 2^32. -ENOPROTOOPT where the kernel does not tell (SO_MEMINFO, Linux 4.12).
int clinux_udp_dropped(int fd, uint32_t *dropped);

// One datagram received, or several of one sender joined by GRO.
typedef struct {
  uint64_t source_high;
  uint64_t source_low;
  uint64_t local_high;   // the local address it was sent to; 0, 0 without packet_info
  uint64_t local_low;
  int64_t arrival_ns;    // CLOCK_REALTIME at which the kernel took it in; 0 without timestamps
  uint32_t length;       // bytes in the slot
  uint32_t whole_length; // bytes that the datagram had: more than `length` where it did not fit its slot
  uint16_t source_port;
  uint16_t segment_size; // 0: one datagram. Else every datagram has this size, the last one may be shorter
  uint8_t truncated;     // the datagram did not fit its slot: the rest is lost
} clinux_datagram;

// The most datagrams one clinux_udp_receive or clinux_udp_send_batch handles; larger counts are cut to it.
#define CLINUX_BATCH 64

// Receives up to `capacity` datagrams with one recvmmsg: datagram i goes to slab + i * stride (at most stride bytes),
// its facts to datagrams[i]. Returns how many came, 0 when none waits. With GRO one slot gets up to 65,535 bytes: slots
// that are smaller lose what does not fit (`truncated`).
int clinux_udp_receive(int fd, uint8_t *slab, size_t stride, int capacity, clinux_datagram *datagrams);

// One send: `length` bytes to `to`. segment_size 0 sends one datagram; otherwise the kernel cuts the bytes into
// datagrams of segment_size (UDP_SEGMENT, at most 64 segments and 65,507 bytes). local_high/local_low choose the source
// address (as reported by packet_info); 0, 0 leaves the choice to the routing table.
typedef struct {
  const uint8_t *bytes;
  clinux_address to;
  uint64_t local_high;
  uint64_t local_low;
  uint32_t length;
  uint16_t segment_size;
} clinux_outgoing;

// Sends one datagram. Returns the bytes sent; -EAGAIN when the socket's buffer is full.
int clinux_udp_send(int fd, const uint8_t *bytes, size_t length, clinux_address to);

// Sends one entry, segmented when it says so. Returns the bytes sent; -EAGAIN when the buffer is full, -EIO, -EMSGSIZE or
// -EINVAL where the path cannot segment (send the datagrams singly then).
int clinux_udp_send_one(int fd, const clinux_outgoing *entry);

// Sends up to CLINUX_BATCH entries with one sendmmsg. Returns how many went out before the first that failed; when the
// first failed itself, its negated errno (the caller skips or retries it).
int clinux_udp_send_batch(int fd, const clinux_outgoing *entries, int count);

// --- epoll, poll, eventfd, timerfd ----------------------------------------------------------------------------------

static const uint32_t clinux_readable = 0x001;  // EPOLLIN
static const uint32_t clinux_writable = 0x004;  // EPOLLOUT
static const uint32_t clinux_failed = 0x008;    // EPOLLERR, always reported
static const uint32_t clinux_hung_up = 0x010;   // EPOLLHUP, always reported

typedef struct {
  uint64_t data;    // what clinux_epoll_add was given
  uint32_t events;  // clinux_readable | ...
} clinux_event;

// A new epoll descriptor (close-on-exec).
int clinux_epoll_create(void);
// Watches `fd` for `events`, level-triggered; `data` comes back with each event.
int clinux_epoll_add(int epoll, int fd, uint32_t events, uint64_t data);
// Changes what an added descriptor is watched for.
int clinux_epoll_modify(int epoll, int fd, uint32_t events, uint64_t data);
// Stops watching.
int clinux_epoll_remove(int epoll, int fd);
// Waits for events. timeout_ns: 0 looks without waiting, negative waits without end. Returns how many (at most
// CLINUX_BATCH), 0 when the time is over or a signal came.
int clinux_epoll_wait(int epoll, clinux_event *events, int capacity, int64_t timeout_ns);

// What clinux_poll looks at: laid out as the system's struct pollfd.
typedef struct {
  int32_t fd;
  int16_t events;  // clinux_readable | ...
  int16_t ready;   // which of them there are; clinux_failed and clinux_hung_up always
} clinux_watch;

// Waits for what a few descriptors are watched for, and says in each what there is. timeout_ns as in clinux_epoll_wait, and as
// exact. Returns how many have something, 0 when the time is over or a signal came (nothing is ready then).
//
// Unlike epoll it is known to the descriptors only while it waits. A socket in an epoll set is asked to wake that up with each
// packet of its own that the kernel is done with, though nobody waits to write.
int clinux_poll(clinux_watch *watched, int count, int64_t timeout_ns);

// A new nonblocking eventfd at zero.
int clinux_eventfd_create(void);
// Adds one, which makes it readable. Safe from any thread and from a signal handler.
int clinux_eventfd_signal(int fd);
// Takes the count back to zero. Returns 1 when it was signalled, 0 when not.
int clinux_eventfd_drain(int fd);

// A new timer (timerfd of CLOCK_MONOTONIC, nonblocking): readable once its time has come.
int clinux_timer_create(void);
// Sets the timer to the one moment `at_ns`, in the place of what it was set to; it is not readable until then.
int clinux_timer_set(int fd, int64_t at_ns);

// Sleeps until the monotonic clock shows `at_ns`. Nothing ends it early but a signal: a thread that need not hear of anything
// meanwhile sleeps cheaper so than by polling. Returns 0, -EINTR, or -EINVAL for a time before the clock began.
int clinux_sleep_until(int64_t at_ns);

// Closes a descriptor of any kind.
int clinux_close(int fd);

// --- clocks, threads, usage -----------------------------------------------------------------------------------------

// CLOCK_MONOTONIC in nanoseconds.
int64_t clinux_monotonic_ns(void);
// CLOCK_REALTIME in milliseconds, or nanoseconds, since 1970-01-01 UTC.
int64_t clinux_wall_ms(void);
int64_t clinux_wall_ns(void);

// Binds the calling thread to one CPU, counted among those the process may use (0 = the first of them).
int clinux_thread_pin(int index);
// Has the calling thread go before others on its CPU (nice -10). Needs CAP_SYS_NICE: returns -EACCES without.
int clinux_thread_prefer(void);
// Lets the calling thread's timed waits end on time instead of up to 50 µs late (PR_SET_TIMERSLACK).
int clinux_thread_punctual(void);
// Names the calling thread (at most 15 bytes are kept) as `top -H` shows it.
int clinux_thread_name(const char *name);
// CPUs that the process may use, at least 1.
int clinux_cpu_count(void);
// The number that the system has for one of them (0 = the first of them), as in /proc/cpuinfo.
int clinux_cpu_number(int index);

typedef struct {
  int64_t user_ns;    // CPU time in user mode
  int64_t system_ns;  // CPU time in the kernel
  int64_t voluntary_switches;
  int64_t involuntary_switches;
} clinux_usage;

// What the calling thread has used.
int clinux_thread_usage(clinux_usage *usage);
// What the whole process has used.
int clinux_process_usage(clinux_usage *usage);

// --- memory ---------------------------------------------------------------------------------------------------------

// Bytes that malloc has handed out. It goes through all pieces that are free, arena by arena, and a thread that allocates from that
// arena waits: 24 ms for 120,000 of them.
uint64_t clinux_memory_in_use(void);
// Has malloc give the pages between its pieces back to the system (malloc_trim). Threads that allocate wait as above: 6 ms where
// 38 MiB go, 90 ms for 570. Returns 1 when there were any, else 0.
int clinux_memory_give_back(void);

// --- processes ------------------------------------------------------------------------------------------------------

// Starts `path` with `argv` (ending in NULL), its standard output and error going to `output`, every other descriptor of
// ours closed. The kernel kills it when the calling THREAD ends, however that comes (PR_SET_PDEATHSIG): call it on one that
// lives as long as the child should. Returns the process id.
int clinux_spawn_bound(const char *path, char *const argv[], int output);
