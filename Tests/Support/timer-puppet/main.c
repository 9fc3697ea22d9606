// A process of a simulated world that knows nothing of it, for tests of the library that gives it the world's time.
// `timer-puppet FILE` uses the system's timers and waits in ways that are rare, and appends `WHAT MILLISECONDS RESULT` to
// FILE for each.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int file;

static long long milliseconds(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return time.tv_sec * 1000LL + time.tv_nsec / 1000000;
}

static void say(const char *what, long long result) {
  dprintf(file, "%s %lld %lld\n", what, milliseconds(CLOCK_REALTIME) - 1767225600000LL, result);
}

static int timer(void) { return timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC); }

static void set(int timer, long milliseconds, long interval) {
  struct itimerspec setting = {
    .it_value = {.tv_sec = milliseconds / 1000, .tv_nsec = milliseconds % 1000 * 1000000},
    .it_interval = {.tv_sec = interval / 1000, .tv_nsec = interval % 1000 * 1000000},
  };
  if (timerfd_settime(timer, 0, &setting, NULL) != 0) say("settime", errno);
}

static long long count(int timer) {
  uint64_t count = 0;
  return read(timer, &count, sizeof count) == sizeof count ? (long long)count : -1;
}

static int is_readable(int descriptor, int milliseconds) {
  struct pollfd waiting = {.fd = descriptor, .events = POLLIN};
  return poll(&waiting, 1, milliseconds);
}

static void timers(void) {
  int first = timer();
  say("unset", is_readable(first, 0));
  set(first, 1000, 1000);
  usleep(3500000);
  say("interval", count(first));
  struct itimerspec left;
  timerfd_gettime(first, &left);
  say("left", left.it_value.tv_sec * 1000 + left.it_value.tv_nsec / 1000000);
  sleep(1);
  set(first, 0, 0);
  say("disarmed", is_readable(first, 5000));

  struct itimerspec past = {.it_value = {.tv_sec = 1}};
  timerfd_settime(first, TFD_TIMER_ABSTIME, &past, NULL);
  say("past", is_readable(first, -1));
  // A copy leads to the same timer, which lives as long as it.
  int copy = dup(first);
  close(first);
  set(copy, 1000, 0);
  say("copy", is_readable(copy, -1));
  // Nothing is written to what has got the number of a timer that was closed.
  set(copy, 1000, 0);
  close(copy);
  int ends[2];
  if (pipe(ends) != 0) exit(71);
  say("closed", is_readable(ends[0], 3000));
  say("number", ends[0] == first || ends[0] == copy);
}

static void processes(void) {
  int timer_of_parent = timer();
  set(timer_of_parent, 5000, 0);
  pid_t child = fork();
  if (child == 0) {
    sleep(2);
    say("child", count(timer_of_parent));
    _exit(3);
  }
  int status = 0;
  waitpid(child, &status, 0);
  say("parent", WEXITSTATUS(status));
  say("timer", is_readable(timer_of_parent, -1));
}

static void ignore(int signal) { (void)signal; }

static void *disturb(void *thread) {
  sleep(4);
  pthread_kill(*(pthread_t *)thread, SIGUSR1);
  return NULL;
}

static void sleeps(void) {
  struct sigaction action = {.sa_handler = ignore};
  sigaction(SIGUSR1, &action, NULL);
  // Whoever started this process may have blocked it.
  sigset_t disturbance;
  sigemptyset(&disturbance);
  sigaddset(&disturbance, SIGUSR1);
  pthread_sigmask(SIG_UNBLOCK, &disturbance, NULL);
  pthread_t self = pthread_self(), other;
  pthread_create(&other, NULL, disturb, &self);
  struct timespec ten = {.tv_sec = 10}, left = {0};
  say("disturbed", nanosleep(&ten, &left) < 0 && errno == EINTR ? left.tv_sec : -1);
  pthread_join(other, NULL);
  struct timeval limit = {.tv_sec = 3};
  fd_set none;
  FD_ZERO(&none);
  say("select", select(0, &none, NULL, NULL, &limit));
  say("select-left", limit.tv_sec * 1000000 + limit.tv_usec);
  struct epoll_event event;
  say("epoll", epoll_wait(epoll_create1(EPOLL_CLOEXEC), &event, 1, 2000));
  struct timespec day = {.tv_sec = 1767225600 + 86400};
  say("day", clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &day, NULL));
}

int main(int argc, char **argv) {
  file = argc > 1 ? open(argv[1], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
  if (file < 0) return 66;
  say("began", milliseconds(CLOCK_MONOTONIC) > 0 && milliseconds(CLOCK_BOOTTIME) > 0);
  timers();
  processes();
  sleeps();
  return 0;
}
