// Static inline helpers for what Swift can't import: variadic functions, and macros with arguments.
#pragma once
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-journal.h>
#include <unistd.h>

// setvbuf(3) and fflush(3): what waits goes out, and from now on each line at once. Swift does not let several threads use
// `stdout`, which C guards with a lock.
static inline void latchkey_write_out_each_line(void) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  fflush(stdout);
}
// pidfd_open(2): a descriptor that becomes readable when the process has ended. It need not be a child.
static inline int latchkey_pidfd_open(pid_t pid) { return (int)syscall(SYS_pidfd_open, pid, 0); }
// prctl(2) is variadic. After this, orphaned descendants of this process become its children.
static inline int latchkey_become_subreaper(void) { return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); }
// prctl(2): the process gets this signal when the thread that started it ends.
static inline int latchkey_signal_on_parent_death(int signal) { return prctl(PR_SET_PDEATHSIG, signal, 0, 0, 0); }
// sd_journal_sendv(3) is a macro that adds the caller's source location in C.
#undef sd_journal_sendv
int sd_journal_sendv(const struct iovec *iov, int n);
static inline int latchkey_journal_send(const struct iovec *fields, int count) { return sd_journal_sendv(fields, count); }
// accept4(2) and struct ucred need _GNU_SOURCE. The first accepts a connection; the second returns the process that
// connected the other end of a Unix socket, or 0 if the kernel doesn't know it.
static inline int latchkey_accept(int listener) {
  return (int)syscall(SYS_accept4, listener, (void *)0, (void *)0, SOCK_CLOEXEC);
}
static inline pid_t latchkey_peer_process(int socket) {
  struct { pid_t pid; uid_t uid; gid_t gid; } credentials = {0, 0, 0};
  socklen_t length = sizeof credentials;
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0 ? credentials.pid : 0;
}
// gettid(2) needs _GNU_SOURCE.
static inline pid_t latchkey_thread_identifier(void) { return (pid_t)syscall(SYS_gettid); }
// pidfd_send_signal(2) has no wrapper in older C libraries.
static inline int latchkey_pidfd_send_signal(int pidfd, int signal) {
  return (int)syscall(SYS_pidfd_send_signal, pidfd, signal, (void *)0, 0);
}
// pipe2(2) is a GNU extension that Swift's Glibc module lacks. Both ends of the pipe close on exec.
static inline int latchkey_pipe(int ends[2]) { return (int)syscall(SYS_pipe2, ends, O_CLOEXEC); }
// glibc declares this only with its extensions enabled. The child closes all descriptors from `first` on.
int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int first);
static inline int latchkey_close_from(posix_spawn_file_actions_t *actions, int first) {
  return posix_spawn_file_actions_addclosefrom_np(actions, first);
}
