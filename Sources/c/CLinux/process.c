// A child that cannot outlive us.
#define _GNU_SOURCE
#include "clinux.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

// Between fork and exec only what is async-signal-safe: other threads of ours may hold any lock.
static void become(const char *path, char *const argv[], int output, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The parent may have died before the line above.
  if (getppid() != parent) _exit(127);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  if (dup2(output, STDOUT_FILENO) < 0 || dup2(output, STDERR_FILENO) < 0) _exit(127);
  close_range(STDERR_FILENO + 1, ~0U, 0);
  execv(path, argv);
  _exit(127);
}

int clinux_spawn_bound(const char *path, char *const argv[], int output) {
  pid_t parent = getpid();
  pid_t child = fork();
  if (child < 0) return -errno;
  if (child == 0) become(path, argv, output, parent);
  return child;
}
