// A machine whose date is wrong: the processes that this is loaded into (LD_PRELOAD) see it MOVED_CLOCK_SECONDS later, or earlier.
// Clocks that count from the machine's start are right. Who waits until a date waits as long as they meant to.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long moved(void) {
  const char *text = getenv("MOVED_CLOCK_SECONDS");
  return text ? atol(text) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
  long result = syscall(SYS_clock_gettime, clock, time);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) time->tv_sec += moved();
  return (int)result;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
  (void)zone;
  struct timespec now;
  if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
  time->tv_sec = now.tv_sec;
  time->tv_usec = now.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *place) {
  struct timespec now;
  if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
  if (place) *place = now.tv_sec;
  return now.tv_sec;
}

int sem_timedwait(sem_t *restrict semaphore, const struct timespec *restrict end) {
  int (*wait)(sem_t *, const struct timespec *) = dlsym(RTLD_NEXT, "sem_timedwait");
  struct timespec true_end = *end;
  true_end.tv_sec -= moved();
  return wait(semaphore, &true_end);
}

int pthread_cond_timedwait(
  pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex, const struct timespec *restrict end) {
  int (*wait)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *) = dlsym(RTLD_NEXT, "pthread_cond_timedwait");
  struct timespec true_end = *end;
  true_end.tv_sec -= moved();
  return wait(condition, mutex, &true_end);
}
