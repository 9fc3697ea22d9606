// Sleeping for a while.
#include "world.h"
#include <errno.h>
#include <sched.h>
#include <unistd.h>

// A real machine sleeps longer than it was asked to, even if it was asked for no time at all. Some loops sleep the rest
// of a time, which may be less than a nanosecond. They end only because each sleep takes at least this long.
static const nanoseconds_t shortest_sleep = 1000;

// Returns 0 or EINTR.
static int sleep_for(nanoseconds_t duration, nanoseconds_t *left) {
  nanoseconds_t deadline = moment_after(duration < shortest_sleep ? shortest_sleep : duration);
  int error = sleep_until(deadline);
  nanoseconds_t now = story_now();
  *left = error && deadline > now ? deadline - now : 0;
  return error;
}

EXPORTED int nanosleep(const struct timespec *duration, struct timespec *left) {
  if (!story_is_on()) return HIDDEN_FUNCTION(nanosleep)(duration, left);
  return (errno = clock_nanosleep(CLOCK_MONOTONIC, 0, duration, left)) ? -1 : 0;
}

EXPORTED int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time, struct timespec *left) {
  if (!is_story_clock(clock)) return HIDDEN_FUNCTION(clock_nanosleep)(clock, flags, time, left);
  if (!is_valid(time)) return EINVAL;
  if (flags & TIMER_ABSTIME) {
    nanoseconds_t deadline = moment_of(clock, time);
    if (deadline > story_now()) return sleep_until(deadline);
    wait_in_vain();
    return 0;
  }
  nanoseconds_t rest;
  int error = sleep_for(nanoseconds_of(time), &rest);
  if (error && left) *left = timespec_of(rest);
  return error;
}

EXPORTED unsigned int sleep(unsigned int seconds) {
  if (!story_is_on()) return HIDDEN_FUNCTION(sleep)(seconds);
  nanoseconds_t left;
  sleep_for(seconds * 1000000000LL, &left);
  return (unsigned int)((left + 500000000) / 1000000000);
}

EXPORTED int usleep(useconds_t microseconds) {
  if (!story_is_on()) return HIDDEN_FUNCTION(usleep)(microseconds);
  if (is_in_dispatch(__builtin_return_address(0))) {
    // libdispatch makes a thread sleep if it is in another thread's way. The app has not asked for this sleep, so no
    // time of the world may pass before both threads have gone on. So this thread stays busy meanwhile.
    struct timespec now;
    HIDDEN_FUNCTION(clock_gettime)(CLOCK_MONOTONIC, &now);
    nanoseconds_t end = nanoseconds_of(&now) + microseconds * 1000LL;
    do {
      sched_yield();
      HIDDEN_FUNCTION(clock_gettime)(CLOCK_MONOTONIC, &now);
    } while (nanoseconds_of(&now) < end);
    return 0;
  }
  nanoseconds_t left;
  int error = sleep_for(microseconds * 1000LL, &left);
  if (!error) return 0;
  errno = error;
  return -1;
}
