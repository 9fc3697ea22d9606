// What time it is.
#include "world.h"
#include <sys/time.h>

enum { BILLION = 1000000000 };
// What clocks that count from the machine's start show as the world begins: a machine that has run for eleven days. A
// clock near 0 would not do, because some programs take 0 for "no time", and some look back a week.
static const nanoseconds_t monotonic_at_zero = 1000000LL * BILLION;

static nanoseconds_t clock_at_zero(clockid_t clock) {
  switch (clock) {
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE:
    case CLOCK_REALTIME_ALARM:
    case CLOCK_TAI: return story_unix_at_zero();
    default: return monotonic_at_zero;
  }
}

bool is_story_clock(clockid_t clock) {
  switch (clock) {
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE:
    case CLOCK_REALTIME_ALARM:
    case CLOCK_TAI:
    case CLOCK_MONOTONIC:
    case CLOCK_MONOTONIC_COARSE:
    case CLOCK_MONOTONIC_RAW:
    case CLOCK_BOOTTIME:
    case CLOCK_BOOTTIME_ALARM: return story_is_on();
    default: return false;
  }
}

bool is_valid(const struct timespec *time) { return time->tv_sec >= 0 && time->tv_nsec >= 0 && time->tv_nsec < BILLION; }

nanoseconds_t nanoseconds_of(const struct timespec *time) {
  nanoseconds_t result;
  if (__builtin_mul_overflow((nanoseconds_t)time->tv_sec, (nanoseconds_t)BILLION, &result)
      || __builtin_add_overflow(result, (nanoseconds_t)time->tv_nsec, &result)) return time->tv_sec < 0 ? INT64_MIN : NEVER;
  return result;
}

struct timespec timespec_of(nanoseconds_t time) {
  return (struct timespec){.tv_sec = time / BILLION, .tv_nsec = time % BILLION};
}

nanoseconds_t moment_of(clockid_t clock, const struct timespec *time) {
  nanoseconds_t shown = nanoseconds_of(time), result;
  if (shown == NEVER) return NEVER;
  return __builtin_sub_overflow(shown, clock_at_zero(clock), &result) ? INT64_MIN : result;
}

nanoseconds_t moment_after(nanoseconds_t duration) {
  nanoseconds_t result;
  return __builtin_add_overflow(story_now(), duration, &result) ? NEVER : result;
}

// A loop that asks for the time until some moment has come, and does not wait in between, would never end while time
// stands still. So after many questions at one moment, each question takes time. Nothing else asks so often.
static void be_patient(void) {
  enum { QUESTIONS = 10000, MILLISECOND = 1000000 };
  static _Thread_local __attribute__((tls_model("initial-exec"))) nanoseconds_t moment;
  static _Thread_local __attribute__((tls_model("initial-exec"))) int count;
  nanoseconds_t now = story_now();
  if (moment != now) count = 0;
  moment = now;
  if (++count > QUESTIONS) sleep_until(now + MILLISECOND);
}

static struct timespec story_time(clockid_t clock) {
  be_patient();
  return timespec_of(clock_at_zero(clock) + story_now());
}

EXPORTED int clock_gettime(clockid_t clock, struct timespec *time) {
  if (!is_story_clock(clock)) return HIDDEN_FUNCTION(clock_gettime)(clock, time);
  *time = story_time(clock);
  return 0;
}

EXPORTED int gettimeofday(struct timeval *restrict time, void *restrict zone) {
  if (!story_is_on()) return HIDDEN_FUNCTION(gettimeofday)(time, zone);
  struct timespec now = story_time(CLOCK_REALTIME);
  *time = (struct timeval){.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
  if (zone) *(struct timezone *)zone = (struct timezone){0, 0};
  return 0;
}

EXPORTED time_t time(time_t *result) {
  if (!story_is_on()) return HIDDEN_FUNCTION(time)(result);
  time_t now = story_time(CLOCK_REALTIME).tv_sec;
  if (result) *result = now;
  return now;
}

EXPORTED int timespec_get(struct timespec *time, int base) {
  if (base != TIME_UTC || !story_is_on()) return HIDDEN_FUNCTION(timespec_get)(time, base);
  *time = story_time(CLOCK_REALTIME);
  return base;
}
