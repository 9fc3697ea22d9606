// Waiting for descriptors, with a time limit. The alarm is one more descriptor.
#include "world.h"
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <unistd.h>

struct limit {
  struct alarm alarm;
  int event;
};

static void ring_limit(struct alarm *alarm, nanoseconds_t now) {
  (void)now;
  uint64_t one = 1;
  if (write(((struct limit *)alarm)->event, &one, sizeof one) < 0) return;
}

static bool begin_limit(struct limit *limit, nanoseconds_t deadline) {
  *limit = (struct limit){.alarm = {.ring = ring_limit}, .event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  if (limit->event < 0) return false;
  alarm_set(&limit->alarm, deadline);
  return true;
}

static void end_limit(void *argument) {
  struct limit *limit = argument;
  int error = errno;
  alarm_cancel(&limit->alarm);
  really_close(limit->event);
  errno = error;
}

static nanoseconds_t after_milliseconds(int milliseconds) { return moment_after(milliseconds * 1000000LL); }

// A wait that has no time limit of its own.
static int poll_unlimited(struct pollfd *descriptors, nfds_t count, const sigset_t *mask) {
  return HIDDEN_FUNCTION(ppoll)(descriptors, count, NULL, mask);
}

static int poll_until(struct pollfd *descriptors, nfds_t count, nanoseconds_t deadline, const sigset_t *mask) {
  struct timespec none = {0};
  if (!mask || deadline <= story_now()) {
    int ready = HIDDEN_FUNCTION(ppoll)(descriptors, count, &none, mask);
    if (ready == 0 && deadline <= story_now()) wait_in_vain();
    if (ready != 0 || deadline <= story_now()) return ready;
  }
  struct limit limit;
  struct pollfd few[16], *all = count < 16 ? few : calloc(count + 1, sizeof *all);
  if (!all || !begin_limit(&limit, deadline)) {
    if (all != few) free(all);
    errno = ENOMEM;
    return -1;
  }
  if (count) memcpy(all, descriptors, count * sizeof *all);
  all[count] = (struct pollfd){.fd = limit.event, .events = POLLIN};
  int ready;
  pthread_cleanup_push(end_limit, &limit);
  ready = poll_unlimited(all, count + 1, mask);
  pthread_cleanup_pop(1);
  if (ready > 0 && all[count].revents) ready--;
  if (ready >= 0 && count) memcpy(descriptors, all, count * sizeof *all);
  if (all != few) free(all);
  return ready;
}

EXPORTED int poll(struct pollfd *descriptors, nfds_t count, int milliseconds) {
  if (milliseconds <= 0 || !story_is_on()) return HIDDEN_FUNCTION(poll)(descriptors, count, milliseconds);
  return poll_until(descriptors, count, after_milliseconds(milliseconds), NULL);
}

EXPORTED int ppoll(struct pollfd *descriptors, nfds_t count, const struct timespec *time, const sigset_t *mask) {
  bool is_limited = time && is_valid(time) && nanoseconds_of(time) > 0 && story_is_on();
  if (!is_limited) return HIDDEN_FUNCTION(ppoll)(descriptors, count, time, mask);
  return poll_until(descriptors, count, moment_after(nanoseconds_of(time)), mask);
}

// Programs that were built with _FORTIFY_SOURCE call this.
EXPORTED int __poll_chk(struct pollfd *descriptors, nfds_t count, int milliseconds, size_t size) {
  if (size / sizeof *descriptors < count) abort();
  return poll(descriptors, count, milliseconds);
}

EXPORTED int __ppoll_chk(
  struct pollfd *descriptors, nfds_t count, const struct timespec *time, const sigset_t *mask, size_t size
) {
  if (size / sizeof *descriptors < count) abort();
  return ppoll(descriptors, count, time, mask);
}

// MARK: select

EXPORTED int pselect(
  int count, fd_set *readable, fd_set *writable, fd_set *special, const struct timespec *time, const sigset_t *mask
) {
  bool is_limited = time && is_valid(time) && nanoseconds_of(time) > 0 && story_is_on();
  struct limit limit;
  if (!is_limited) return HIDDEN_FUNCTION(pselect)(count, readable, writable, special, time, mask);
  if (!begin_limit(&limit, moment_after(nanoseconds_of(time)))) return -1;
  fd_set all;
  FD_ZERO(&all);
  if (readable) all = *readable;
  int ready;
  pthread_cleanup_push(end_limit, &limit);
  // An fd_set has no room for a number of FD_SETSIZE or more.
  if (limit.event < FD_SETSIZE) {
    FD_SET(limit.event, &all);
    int highest = count > limit.event ? count : limit.event + 1;
    ready = HIDDEN_FUNCTION(pselect)(highest, &all, writable, special, NULL, mask);
    if (ready > 0 && FD_ISSET(limit.event, &all)) {
      FD_CLR(limit.event, &all);
      ready--;
    }
    if (ready >= 0 && readable) *readable = all;
  } else {
    ready = -1;
    errno = EMFILE;
  }
  pthread_cleanup_pop(1);
  return ready;
}

EXPORTED int select(int count, fd_set *readable, fd_set *writable, fd_set *special, struct timeval *time) {
  bool is_limited = time && (time->tv_sec > 0 || time->tv_usec > 0) && story_is_on();
  if (!is_limited) return HIDDEN_FUNCTION(select)(count, readable, writable, special, time);
  struct timespec limit = {.tv_sec = time->tv_sec + time->tv_usec / 1000000, .tv_nsec = time->tv_usec % 1000000 * 1000};
  nanoseconds_t deadline = moment_after(nanoseconds_of(&limit));
  int ready = pselect(count, readable, writable, special, &limit, NULL);
  // Linux writes back how much time is left.
  nanoseconds_t left = deadline - story_now();
  if (left < 0) left = 0;
  *time = (struct timeval){.tv_sec = left / 1000000000, .tv_usec = left % 1000000000 / 1000};
  return ready;
}

// MARK: epoll

static int epoll_until(
  int descriptor, struct epoll_event *events, int count, nanoseconds_t deadline, const sigset_t *mask
) {
  while (true) {
    int ready = HIDDEN_FUNCTION(epoll_pwait)(descriptor, events, count, 0, mask);
    if (ready != 0 || deadline <= story_now()) return ready;
    struct pollfd waiting = {.fd = descriptor, .events = POLLIN};
    // Another thread may take the events that woke this one.
    if (poll_until(&waiting, 1, deadline, mask) < 0) return -1;
  }
}

EXPORTED int epoll_pwait(int descriptor, struct epoll_event *events, int count, int milliseconds, const sigset_t *mask) {
  if (milliseconds <= 0 || !story_is_on())
    return HIDDEN_FUNCTION(epoll_pwait)(descriptor, events, count, milliseconds, mask);
  return epoll_until(descriptor, events, count, after_milliseconds(milliseconds), mask);
}

EXPORTED int epoll_wait(int descriptor, struct epoll_event *events, int count, int milliseconds) {
  if (milliseconds <= 0 || !story_is_on()) return HIDDEN_FUNCTION(epoll_wait)(descriptor, events, count, milliseconds);
  return epoll_until(descriptor, events, count, after_milliseconds(milliseconds), NULL);
}
