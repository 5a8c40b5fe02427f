// Counts heap allocations of a thread, for tests whose budget is zero.
#ifndef ROOST_ALLOCATION_COUNTER_H
#define ROOST_ALLOCATION_COUNTER_H

/// How many times the calling thread has allocated since it began, by any library in the process. Always 0 in a build with
/// a sanitizer, which needs the allocator for itself.
unsigned long roost_thread_allocations(void);

/// Whether this build counts.
int roost_counts_allocations(void);

#endif
