// Timers as descriptors: timerfd_create(2). libdispatch's and Foundation's timers are such.
//
// A timer of the world is an eventfd, which is read and polled in the same way. It is written to when its alarm rings.
#include "world.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

struct timer {
  struct alarm alarm;
  nanoseconds_t interval;
  clockid_t clock;
  // A descriptor of the library's own. The app may close its descriptor at any time, and the number may then become
  // another file's.
  int event;
  // How many of the app's descriptors are this timer.
  int references;
};

enum { DESCRIPTORS = 65536 };
static struct timer *timers[DESCRIPTORS];

static struct timer *timer_of(int descriptor) {
  if (descriptor < 0 || descriptor >= DESCRIPTORS) return NULL;
  return __atomic_load_n(&timers[descriptor], __ATOMIC_ACQUIRE);
}

static void name(int descriptor, struct timer *timer) {
  __atomic_store_n(&timers[descriptor], timer, __ATOMIC_RELEASE);
}

static void ring_timer(struct alarm *alarm, nanoseconds_t now) {
  struct timer *timer = (struct timer *)alarm;
  uint64_t count = 1;
  if (timer->interval > 0) {
    count += (uint64_t)((now - alarm->deadline) / timer->interval);
    nanoseconds_t passed, next;
    if (!__builtin_mul_overflow(timer->interval, (nanoseconds_t)count, &passed)
        && !__builtin_add_overflow(alarm->deadline, passed, &next)) alarm_set_locked(alarm, next);
  }
  if (write(timer->event, &count, sizeof count) < 0) return;
}

// Forgets the rings so far, so that nobody is told of them.
static void drain(int event) {
  struct pollfd waiting = {.fd = event, .events = POLLIN};
  uint64_t count;
  if (HIDDEN_FUNCTION(poll)(&waiting, 1, 0) == 1 && read(event, &count, sizeof count) < 0) return;
}

EXPORTED int timerfd_create(int clock, int flags) {
  if (!is_story_clock(clock)) return HIDDEN_FUNCTION(timerfd_create)(clock, flags);
  if (flags & ~(TFD_NONBLOCK | TFD_CLOEXEC)) {
    errno = EINVAL;
    return -1;
  }
  struct timer *timer = calloc(1, sizeof *timer);
  if (!timer) return -1;
  int event = eventfd(0, (flags & TFD_NONBLOCK ? EFD_NONBLOCK : 0) | (flags & TFD_CLOEXEC ? EFD_CLOEXEC : 0));
  int own = event < 0 ? -1 : HIDDEN_FUNCTION(fcntl)(event, F_DUPFD_CLOEXEC, 256);
  if (event >= 0 && own < 0) own = HIDDEN_FUNCTION(fcntl)(event, F_DUPFD_CLOEXEC, 3);
  if (own < 0 || event >= DESCRIPTORS) {
    int error = own < 0 ? errno : EMFILE;
    if (own >= 0) really_close(own);
    if (event >= 0) really_close(event);
    free(timer);
    errno = error;
    return -1;
  }
  *timer = (struct timer){.alarm = {.ring = ring_timer}, .clock = clock, .event = own, .references = 1};
  name(event, timer);
  return event;
}

static struct itimerspec setting(const struct timer *timer) {
  struct itimerspec result = {.it_interval = timespec_of(timer->interval)};
  nanoseconds_t left = timer->alarm.is_set ? timer->alarm.deadline - story_now() : 0;
  if (left > 0) result.it_value = timespec_of(left);
  return result;
}

EXPORTED int timerfd_settime(int descriptor, int flags, const struct itimerspec *wanted, struct itimerspec *earlier) {
  if (!timer_of(descriptor)) return HIDDEN_FUNCTION(timerfd_settime)(descriptor, flags, wanted, earlier);
  if (!is_valid(&wanted->it_value) || !is_valid(&wanted->it_interval)) {
    errno = EINVAL;
    return -1;
  }
  story_lock();
  struct timer *timer = timer_of(descriptor);
  if (timer) {
    if (earlier) *earlier = setting(timer);
    nanoseconds_t value = nanoseconds_of(&wanted->it_value);
    timer->interval = nanoseconds_of(&wanted->it_interval);
    drain(timer->event);
    // A timer for a time in the past also rings, but only when the conductor says so.
    if (value == 0) alarm_cancel_locked(&timer->alarm);
    else alarm_set_locked(
      &timer->alarm,
      flags & TFD_TIMER_ABSTIME ? moment_of(timer->clock, &wanted->it_value) : moment_after(value));
  }
  story_unlock();
  if (timer) return 0;
  errno = EBADF;
  return -1;
}

EXPORTED int timerfd_gettime(int descriptor, struct itimerspec *result) {
  if (!timer_of(descriptor)) return HIDDEN_FUNCTION(timerfd_gettime)(descriptor, result);
  story_lock();
  struct timer *timer = timer_of(descriptor);
  if (timer) *result = setting(timer);
  story_unlock();
  if (timer) return 0;
  errno = EBADF;
  return -1;
}

// This descriptor is no timer any more.
static void forget(int descriptor) {
  if (!timer_of(descriptor)) return;
  story_lock();
  struct timer *timer = timer_of(descriptor);
  if (timer) {
    name(descriptor, NULL);
    if (--timer->references == 0) {
      alarm_cancel_locked(&timer->alarm);
      really_close(timer->event);
    } else {
      timer = NULL;
    }
  }
  story_unlock();
  free(timer);
}

// A descriptor was copied.
static int copied(int from, int to) {
  if (to < 0 || to == from) return to;
  int error = errno;
  forget(to);
  if (timer_of(from) && to < DESCRIPTORS) {
    story_lock();
    struct timer *timer = timer_of(from);
    if (timer) {
      timer->references++;
      name(to, timer);
    }
    story_unlock();
  }
  errno = error;
  return to;
}

EXPORTED int close(int descriptor) {
  // Before the call, because afterwards the number may be another file's.
  forget(descriptor);
  return really_close(descriptor);
}

EXPORTED int dup(int descriptor) { return copied(descriptor, HIDDEN_FUNCTION(dup)(descriptor)); }
EXPORTED int dup2(int from, int to) { return copied(from, HIDDEN_FUNCTION(dup2)(from, to)); }
EXPORTED int dup3(int from, int to, int flags) { return copied(from, HIDDEN_FUNCTION(dup3)(from, to, flags)); }

// Each command has one argument at most, a number or a pointer.
#define FCNTL(name) \
  EXPORTED int name(int descriptor, int command, ...) { \
    va_list arguments; \
    va_start(arguments, command); \
    void *argument = va_arg(arguments, void *); \
    va_end(arguments); \
    int result = HIDDEN_FUNCTION(name)(descriptor, command, argument); \
    return command == F_DUPFD || command == F_DUPFD_CLOEXEC ? copied(descriptor, result) : result; \
  }

#undef fcntl
#undef fcntl64
int fcntl64(int descriptor, int command, ...);
FCNTL(fcntl)
FCNTL(fcntl64)
