// libdispatch waits with a signal mask that lies in read-only memory. Valgrind up to 3.24 writes to the mask and ends with an
// error. Loaded before the C library, this gives the system call a copy.
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

int sigsuspend(const sigset_t *mask) {
  sigset_t copy = *mask;
  return (int)syscall(SYS_rt_sigsuspend, &copy, 8);
}
