// What Swift can't import by itself (variadic functions, macros with arguments) is a static inline helper here.
#pragma once
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
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

// pidfd_open(2): a descriptor that polls readable once the process has ended, whoever its parent is.
static inline int latchkey_pidfd_open(pid_t pid) { return (int)syscall(SYS_pidfd_open, pid, 0); }
// prctl(2) is variadic: orphans of this process's descendants become its children.
static inline int latchkey_become_subreaper(void) { return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); }
// prctl(2): this signal arrives when the thread that started this process ends.
static inline int latchkey_signal_on_parent_death(int signal) { return prctl(PR_SET_PDEATHSIG, signal, 0, 0, 0); }
// sd_journal_sendv(3) is a macro that adds the caller's place in a C file.
#undef sd_journal_sendv
int sd_journal_sendv(const struct iovec *iov, int n);
static inline int latchkey_journal_send(const struct iovec *fields, int count) { return sd_journal_sendv(fields, count); }
// accept4(2) and struct ucred hide behind _GNU_SOURCE: the next connection of a socket that doesn't block, and the
// process at a Unix socket's other end as it was when it connected (0 where the kernel doesn't say).
static inline int latchkey_accept(int listener) {
  return (int)syscall(SYS_accept4, listener, (void *)0, (void *)0, SOCK_CLOEXEC);
}
static inline pid_t latchkey_peer_process(int socket) {
  struct { pid_t pid; uid_t uid; gid_t gid; } credentials = {0, 0, 0};
  socklen_t length = sizeof credentials;
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0 ? credentials.pid : 0;
}
// gettid(2) hides behind _GNU_SOURCE.
static inline pid_t latchkey_thread_identifier(void) { return (pid_t)syscall(SYS_gettid); }
// pidfd_send_signal(2) has no wrapper in older C libraries.
static inline int latchkey_pidfd_send_signal(int pidfd, int signal) {
  return (int)syscall(SYS_pidfd_send_signal, pidfd, signal, (void *)0, 0);
}
// pipe2(2) is a GNU extension that Swift's Glibc does not show: a pipe whose ends close on exec.
static inline int latchkey_pipe(int ends[2]) { return (int)syscall(SYS_pipe2, ends, O_CLOEXEC); }
// glibc declares this one for programs that ask for its extensions only: the child keeps no descriptor from `first` on.
int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int first);
static inline int latchkey_close_from(posix_spawn_file_actions_t *actions, int first) {
  return posix_spawn_file_actions_addclosefrom_np(actions, first);
}
