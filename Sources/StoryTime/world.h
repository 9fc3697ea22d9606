// The world's time in this process, and its alarms.
//
// `SharedClock` (Sources/Timekeeping) describes the folder of the world's clock and what is said on its socket. This is
// a second client of it, in C, with a connection of its own.
#pragma once
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define HIDDEN __attribute__((visibility("hidden")))
#define EXPORTED __attribute__((visibility("default")))

typedef int64_t nanoseconds_t;
#define NEVER INT64_MAX

// Whether this process is part of a world. The first call makes it join.
HIDDEN bool story_is_on(void);
// The world's time, in nanoseconds since the world began.
HIDDEN nanoseconds_t story_now(void);
// The Unix time at which the world began, in nanoseconds, by this machine's calendar. The story may set that clock.
HIDDEN nanoseconds_t story_unix_at_zero(void);
// The function that this library's function of the same name hides. Looked up once; `place` remembers it.
HIDDEN void *hidden_function(void **place, const char *name);
#define HIDDEN_FUNCTION(name) \
  ({ static void *place; (__typeof__(&name))hidden_function(&place, #name); })

// close(2), without the check whether the descriptor is a timer.
HIDDEN int really_close(int descriptor);

// An alarm. Its memory is the caller's, and stays valid until the alarm has rung or has been cancelled.
struct alarm {
  nanoseconds_t deadline;
  // Called on the library's thread, under the lock, after the alarm was removed from the list.
  void (*ring)(struct alarm *, nanoseconds_t now);
  // Which alarm was set first.
  uint64_t number;
  struct alarm *next, *previous;
  bool is_set;
};
HIDDEN void alarm_set(struct alarm *, nanoseconds_t deadline);
// When this returns, the alarm is not ringing and will not ring. It may have rung before.
HIDDEN void alarm_cancel(struct alarm *);
// The lock for state that must not change while alarms ring. A caller of `alarm_set_locked` or `alarm_cancel_locked`
// holds it.
HIDDEN void story_lock(void);
HIDDEN void story_unlock(void);
HIDDEN void alarm_set_locked(struct alarm *, nanoseconds_t deadline);
HIDDEN void alarm_cancel_locked(struct alarm *);
// Counts threads that must notice a ring by themselves: 1 for one more, -1 for one less. The library's thread does not
// rest until none is left.
HIDDEN void unnoticed_ring(int change);

// A wait whose time was over before it began. It takes no time, unless a thread makes many of them at one moment.
HIDDEN void wait_in_vain(void);
// Waits for an alarm. Returns 0 or EINTR.
HIDDEN int sleep_until(nanoseconds_t deadline);
// futex(2).
HIDDEN long futex(uint32_t *word, int operation, uint32_t value, const struct timespec *limit);

// Whether this process is in a world and this clock shows the world's time.
HIDDEN bool is_story_clock(clockid_t);
HIDDEN bool is_valid(const struct timespec *);
HIDDEN nanoseconds_t nanoseconds_of(const struct timespec *);
HIDDEN struct timespec timespec_of(nanoseconds_t);
// The moment at which the clock shows `time`.
HIDDEN nanoseconds_t moment_of(clockid_t, const struct timespec *time);
// The moment `duration` nanoseconds from now. It never reaches `NEVER`.
HIDDEN nanoseconds_t moment_after(nanoseconds_t duration);

// Whether this address is in libdispatch.
HIDDEN bool is_in_dispatch(void *caller);
