// Waiting for another thread, with a time limit: condition variables, semaphores, mutexes and futexes.
//
// A waiting thread is woken by the thing that it waits for, or by its alarm. All of these waits may return without a
// reason. So an alarm wakes every thread that waits at the same place, and each finds out for itself whether its time
// is over.
#include "world.h"
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct waiter {
  struct alarm alarm;
  // What is waited for: a word of memory, or a condition variable.
  uint32_t *word;
  int wake_operation;
  pthread_cond_t *condition;
  uint32_t is_late;
};

static void wake_waiter(struct alarm *alarm, nanoseconds_t now) {
  (void)now;
  struct waiter *waiter = (struct waiter *)alarm;
  __atomic_store_n(&waiter->is_late, 1, __ATOMIC_SEQ_CST);
  if (waiter->word) futex(waiter->word, waiter->wake_operation, INT32_MAX, NULL);
  if (waiter->condition) pthread_cond_broadcast(waiter->condition);
}

static bool is_late(struct waiter *waiter) { return __atomic_load_n(&waiter->is_late, __ATOMIC_SEQ_CST) != 0; }

// The conductor rings only while this thread waits. In case that ever goes wrong, the thread looks again after a second
// of real time.
static long wait_at(struct waiter *waiter, int operation, uint32_t value) {
  struct timespec second = {.tv_sec = 1};
  return futex(waiter->word, operation, value, &second);
}

// For waits from which no thread can be woken. Such a thread looks again every 20 ms of real time, and the world does
// not rest until it has seen that its time is over.
static void note_late(struct alarm *alarm, nanoseconds_t now) {
  (void)now;
  __atomic_store_n(&((struct waiter *)alarm)->is_late, 1, __ATOMIC_SEQ_CST);
  unnoticed_ring(1);
}

// Real time, in 20 ms.
static struct timespec look_again(void) {
  struct timespec now;
  HIDDEN_FUNCTION(clock_gettime)(CLOCK_MONOTONIC, &now);
  return timespec_of(nanoseconds_of(&now) + 20000000);
}

static void noticed(struct waiter *waiter) {
  alarm_cancel(&waiter->alarm);
  if (is_late(waiter)) unnoticed_ring(-1);
}

// MARK: Futexes

// libdispatch waits for groups and work items by the system call itself.
static long wait_for_futex(uint32_t *word, int operation, uint32_t value, nanoseconds_t deadline) {
  if (deadline <= story_now()) {
    if (__atomic_load_n(word, __ATOMIC_SEQ_CST) != value) {
      errno = EAGAIN;
      return -1;
    }
    wait_in_vain();
    errno = ETIMEDOUT;
    return -1;
  }
  int private = operation & FUTEX_PRIVATE_FLAG;
  struct waiter waiter = {.alarm = {.ring = wake_waiter}, .word = word, .wake_operation = FUTEX_WAKE | private};
  alarm_set(&waiter.alarm, deadline);
  long result;
  do {
    result = wait_at(&waiter, FUTEX_WAIT | private, value);
  } while (result < 0 && errno == ETIMEDOUT && !is_late(&waiter));
  alarm_cancel(&waiter.alarm);
  if (result < 0 || !is_late(&waiter)) return result;
  errno = ETIMEDOUT;
  return -1;
}

EXPORTED long syscall(long number, ...) {
  va_list list;
  va_start(list, number);
  long a = va_arg(list, long), b = va_arg(list, long), c = va_arg(list, long), d = va_arg(list, long),
    e = va_arg(list, long), f = va_arg(list, long);
  va_end(list);
  int command = (int)b & FUTEX_CMD_MASK;
  const struct timespec *limit = (const struct timespec *)d;
  bool is_plain = command == FUTEX_WAIT || (command == FUTEX_WAIT_BITSET && (uint32_t)f == FUTEX_BITSET_MATCH_ANY);
  if (number != SYS_futex || !is_plain || !limit || !is_valid(limit) || !story_is_on())
    return HIDDEN_FUNCTION(syscall)(number, a, b, c, d, e, f);
  nanoseconds_t deadline = command == FUTEX_WAIT
    ? moment_after(nanoseconds_of(limit))
    : moment_of(b & FUTEX_CLOCK_REALTIME ? CLOCK_REALTIME : CLOCK_MONOTONIC, limit);
  return wait_for_futex((uint32_t *)a, (int)b & ~FUTEX_CLOCK_REALTIME, (uint32_t)c, deadline);
}

// MARK: Semaphores

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && __SIZEOF_POINTER__ == 8
// glibc's semaphore on 64-bit machines: its value and the number of waiting threads, and whether processes share it.
struct glibc_semaphore {
  uint64_t value_and_waiters;
  int is_shared;
};
static const uint64_t one_waiter = 1ULL << 32;
_Static_assert(sizeof(sem_t) >= sizeof(struct glibc_semaphore), "this is not glibc's semaphore");

static int wait_in_semaphore(sem_t *semaphore, nanoseconds_t deadline) {
  struct glibc_semaphore *inside = (struct glibc_semaphore *)semaphore;
  int private = inside->is_shared ? 0 : FUTEX_PRIVATE_FLAG;
  struct waiter waiter = {
    .alarm = {.ring = wake_waiter}, .word = (uint32_t *)&inside->value_and_waiters,
    .wake_operation = FUTEX_WAKE | private};
  alarm_set(&waiter.alarm, deadline);
  uint64_t state = __atomic_add_fetch(&inside->value_and_waiters, one_waiter, __ATOMIC_SEQ_CST);
  int error = 0;
  while (true) {
    if ((uint32_t)state > 0) {
      if (__atomic_compare_exchange_n(
            &inside->value_and_waiters, &state, state - 1 - one_waiter, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) break;
      continue;
    }
    if (is_late(&waiter)) error = ETIMEDOUT;
    else if (wait_at(&waiter, FUTEX_WAIT | private, 0) < 0 && errno == EINTR) error = EINTR;
    if (error) {
      __atomic_sub_fetch(&inside->value_and_waiters, one_waiter, __ATOMIC_SEQ_CST);
      break;
    }
    state = __atomic_load_n(&inside->value_and_waiters, __ATOMIC_SEQ_CST);
  }
  alarm_cancel(&waiter.alarm);
  if (!error) return 0;
  errno = error;
  return -1;
}
#else
static int wait_in_semaphore(sem_t *semaphore, nanoseconds_t deadline) {
  struct waiter waiter = {.alarm = {.ring = note_late}};
  int result;
  alarm_set(&waiter.alarm, deadline);
  do {
    struct timespec soon = look_again();
    result = HIDDEN_FUNCTION(sem_clockwait)(semaphore, CLOCK_MONOTONIC, &soon);
  } while (result < 0 && errno == ETIMEDOUT && !is_late(&waiter));
  noticed(&waiter);
  return result;
}
#endif

static int wait_for_semaphore(sem_t *semaphore, nanoseconds_t deadline) {
  if (sem_trywait(semaphore) == 0) return 0;
  if (errno != EAGAIN) return -1;
  if (deadline > story_now()) return wait_in_semaphore(semaphore, deadline);
  wait_in_vain();
  errno = ETIMEDOUT;
  return -1;
}

EXPORTED int sem_clockwait(sem_t *semaphore, clockid_t clock, const struct timespec *limit) {
  if (!is_story_clock(clock) || !is_valid(limit)) return HIDDEN_FUNCTION(sem_clockwait)(semaphore, clock, limit);
  return wait_for_semaphore(semaphore, moment_of(clock, limit));
}

EXPORTED int sem_timedwait(sem_t *semaphore, const struct timespec *limit) {
  return sem_clockwait(semaphore, CLOCK_REALTIME, limit);
}

// MARK: Condition variables

static void leave(void *alarm) { alarm_cancel(alarm); }

static int wait_for_condition(pthread_cond_t *condition, pthread_mutex_t *mutex, nanoseconds_t deadline) {
  if (deadline <= story_now()) {
    int error = pthread_mutex_unlock(mutex);
    if (error) return error;
    wait_in_vain();
    error = pthread_mutex_lock(mutex);
    return error ? error : ETIMEDOUT;
  }
  struct waiter waiter = {.alarm = {.ring = wake_waiter}, .condition = condition};
  int error;
  // Unlike the other waits, this one can end the thread (pthread_cancel).
  pthread_cleanup_push(leave, &waiter.alarm);
  alarm_set(&waiter.alarm, deadline);
  error = pthread_cond_wait(condition, mutex);
  pthread_cleanup_pop(1);
  return error ? error : is_late(&waiter) ? ETIMEDOUT : 0;
}

EXPORTED int pthread_cond_clockwait(
  pthread_cond_t *condition, pthread_mutex_t *mutex, clockid_t clock, const struct timespec *limit
) {
  if (!is_story_clock(clock) || !is_valid(limit))
    return HIDDEN_FUNCTION(pthread_cond_clockwait)(condition, mutex, clock, limit);
  return wait_for_condition(condition, mutex, moment_of(clock, limit));
}

EXPORTED int pthread_cond_timedwait(
  pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *limit
) {
  // glibc keeps the clock of pthread_condattr_setclock(3) here.
  clockid_t clock = condition->__data.__wrefs & 2 ? CLOCK_MONOTONIC : CLOCK_REALTIME;
  return pthread_cond_clockwait(condition, mutex, clock, limit);
}

// MARK: Mutexes

EXPORTED int pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock, const struct timespec *limit) {
  if (!is_story_clock(clock) || !is_valid(limit)) return HIDDEN_FUNCTION(pthread_mutex_clocklock)(mutex, clock, limit);
  int error = pthread_mutex_trylock(mutex);
  if (error != EBUSY) return error;
  nanoseconds_t deadline = moment_of(clock, limit);
  if (deadline <= story_now()) {
    wait_in_vain();
    return ETIMEDOUT;
  }
  struct waiter waiter = {.alarm = {.ring = note_late}};
  alarm_set(&waiter.alarm, deadline);
  do {
    struct timespec soon = look_again();
    error = HIDDEN_FUNCTION(pthread_mutex_clocklock)(mutex, CLOCK_MONOTONIC, &soon);
  } while (error == ETIMEDOUT && !is_late(&waiter));
  noticed(&waiter);
  return error;
}

EXPORTED int pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *limit) {
  return pthread_mutex_clocklock(mutex, CLOCK_REALTIME, limit);
}
