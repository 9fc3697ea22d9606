#include "world.h"
#include <dlfcn.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

// The most alarms that may ring at one moment, and the most waits of a thread at one moment whose time was over before
// they began. On a real machine each of them takes time, but here time stands still meanwhile. So a loop that waits for
// a last nanosecond, which rounding has taken away, would never end. After this many, each takes a microsecond.
enum { PATIENCE = 100, MICROSECOND = 1000 };

// pthread_atfork(3) needs this symbol. It usually comes with the start files of a library, and this library does
// without them.
extern void *__dso_handle;
__attribute__((weak)) HIDDEN void *__dso_handle = &__dso_handle;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_on;
static const int64_t *page;
// By how much this machine's calendar is ahead of the world's, or NULL.
static const int64_t *ahead;
static char directory[4096];

// All of this is guarded by the lock.
static int conductor = -1;
static bool is_listening;
static struct alarm *alarms;
static uint64_t last_number;
// The deadline that the conductor knows. The conductor forgets it when it rings.
static nanoseconds_t told = NEVER;
static nanoseconds_t moment_of_rings;
static int rings;
static int unnoticed;

void *hidden_function(void **place, const char *name) {
  void *found = __atomic_load_n(place, __ATOMIC_ACQUIRE);
  if (found) return found;
  found = dlsym(RTLD_NEXT, name);
  // The process can't work without the function.
  if (!found) abort();
  __atomic_store_n(place, found, __ATOMIC_RELEASE);
  return found;
}

long futex(uint32_t *word, int operation, uint32_t value, const struct timespec *limit) {
  return HIDDEN_FUNCTION(syscall)(SYS_futex, word, operation, value, limit, (void *)0, 0);
}

int really_close(int descriptor) { return HIDDEN_FUNCTION(close)(descriptor); }

nanoseconds_t story_now(void) { return (nanoseconds_t)le64toh((uint64_t)__atomic_load_n(page, __ATOMIC_ACQUIRE)); }

nanoseconds_t story_unix_at_zero(void) {
  nanoseconds_t set = ahead ? (nanoseconds_t)le64toh((uint64_t)__atomic_load_n(ahead, __ATOMIC_ACQUIRE)) : 0;
  return (nanoseconds_t)le64toh((uint64_t)page[1]) + set;
}

// A process must not outlive its world: time would stand still for it.
static void world_is_over(void) { _exit(0); }

static int connect_to_conductor(int folder) {
  int connection = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (connection < 0) return -1;
  // The address names the socket through the folder's descriptor, because it has room for 107 bytes and a path may be
  // longer.
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/socket", folder);
  if (connect(connection, (struct sockaddr *)&address, sizeof address) == 0) return connection;
  really_close(connection);
  return -1;
}

static int open_folder(void) { return open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC); }

// A forked process begins without alarms. The threads that waited for them are not in it, and its timers are the
// parent's, which goes on ringing them.
static void begin_as_child(void) {
  pthread_mutex_init(&lock, NULL);
  if (conductor >= 0) really_close(conductor);
  conductor = -1;
  is_listening = false;
  for (struct alarm *each = alarms; each; each = each->next) each->is_set = false;
  alarms = NULL;
  told = NEVER;
  unnoticed = 0;
}

// Returns memory with the beginning of this file, which is closed, or NULL.
static const void *map(int file, size_t length) {
  struct stat status;
  void *memory = MAP_FAILED;
  if (file >= 0 && fstat(file, &status) == 0 && status.st_size >= (off_t)length)
    memory = mmap(NULL, length, PROT_READ, MAP_SHARED, file, 0);
  if (file >= 0) really_close(file);
  return memory == MAP_FAILED ? NULL : memory;
}

static void join(void) {
  const char *name = getenv("LATCHKEY_CLOCK");
  if (!name || name[0] != '/' || strlen(name) >= sizeof directory) return;
  strcpy(directory, name);
  int folder = open_folder();
  if (folder < 0) return;
  const void *memory = map(openat(folder, "now", O_RDONLY | O_CLOEXEC), 16);
  const char *calendar = getenv("LATCHKEY_CALENDAR");
  if (calendar && calendar[0] == '/') ahead = map(open(calendar, O_RDONLY | O_CLOEXEC), sizeof *ahead);
  // The process connects now, and not at its first alarm. So this connection always comes before the process's other
  // connections, in every run.
  if (memory) conductor = connect_to_conductor(folder);
  really_close(folder);
  if (conductor < 0) return;
  page = memory;
  is_on = true;
  pthread_atfork(story_lock, story_unlock, begin_as_child);
}

bool story_is_on(void) {
  pthread_once(&once, join);
  return is_on;
}

__attribute__((constructor)) static void begin(void) { story_is_on(); }

void story_lock(void) { pthread_mutex_lock(&lock); }
void story_unlock(void) { pthread_mutex_unlock(&lock); }
void unnoticed_ring(int change) { __atomic_add_fetch(&unnoticed, change, __ATOMIC_SEQ_CST); }

// The alarm that is next: the earliest, and of those at one moment the one that was set first.
static struct alarm *next_alarm(void) {
  struct alarm *best = NULL;
  for (struct alarm *each = alarms; each; each = each->next) {
    if (!best || each->deadline < best->deadline
        || (each->deadline == best->deadline && each->number < best->number)) best = each;
  }
  return best;
}

static void *listen_forever(void *unused);

static void begin_to_listen(void) {
  if (conductor < 0) {
    int folder = open_folder();
    if (folder >= 0) {
      conductor = connect_to_conductor(folder);
      really_close(folder);
    }
    if (conductor < 0) world_is_over();
  }
  // The thread takes no signals, because they are meant for the app.
  sigset_t all, earlier;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &earlier);
  pthread_t thread;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, 256 * 1024);
  if (pthread_create(&thread, &attributes, listen_forever, NULL) != 0) {
    fputs("latchkey: the story's time needs a thread, and none can be started\n", stderr);
    abort();
  }
  pthread_attr_destroy(&attributes);
  pthread_setname_np(thread, "story-time");
  pthread_sigmask(SIG_SETMASK, &earlier, NULL);
  is_listening = true;
}

static void tell_conductor(void) {
  struct alarm *next = next_alarm();
  nanoseconds_t deadline = next ? next->deadline : NEVER;
  nanoseconds_t now = story_now();
  if (deadline <= now && moment_of_rings == now && rings >= PATIENCE) deadline = now + MICROSECOND;
  if (deadline == told) return;
  if (!is_listening) begin_to_listen();
  told = deadline;
  int64_t message = (int64_t)htole64((uint64_t)deadline);
  while (send(conductor, &message, sizeof message, MSG_NOSIGNAL) < 0) {
    if (errno != EINTR) world_is_over();
  }
}

void alarm_set_locked(struct alarm *alarm, nanoseconds_t deadline) {
  if (!alarm->is_set) {
    alarm->next = alarms;
    alarm->previous = NULL;
    if (alarms) alarms->previous = alarm;
    alarms = alarm;
    alarm->is_set = true;
  }
  alarm->deadline = deadline;
  alarm->number = ++last_number;
  tell_conductor();
}

static void remove_alarm(struct alarm *alarm) {
  if (alarm->previous) alarm->previous->next = alarm->next;
  else alarms = alarm->next;
  if (alarm->next) alarm->next->previous = alarm->previous;
  alarm->is_set = false;
}

void alarm_cancel_locked(struct alarm *alarm) {
  if (!alarm->is_set) return;
  remove_alarm(alarm);
  tell_conductor();
}

void alarm_set(struct alarm *alarm, nanoseconds_t deadline) {
  int error = errno;
  story_lock();
  alarm_set_locked(alarm, deadline);
  story_unlock();
  errno = error;
}

void alarm_cancel(struct alarm *alarm) {
  int error = errno;
  story_lock();
  alarm_cancel_locked(alarm);
  story_unlock();
  errno = error;
}

// Each word of the conductor rings one alarm, so what an app does at one moment has a fixed order.
static void ring(nanoseconds_t now) {
  told = NEVER;
  if (moment_of_rings != now) rings = 0;
  moment_of_rings = now;
  rings++;
  struct alarm *next = next_alarm();
  if (next && next->deadline <= now) {
    remove_alarm(next);
    next->ring(next, now);
  }
}

static void *listen_forever(void *unused) {
  (void)unused;
  story_lock();
  int connection = conductor;
  story_unlock();
  while (true) {
    int64_t message;
    ssize_t count = recv(connection, &message, sizeof message, 0);
    if (count < 0 && errno == EINTR) continue;
    if (count != sizeof message) world_is_over();
    nanoseconds_t now = story_now(), asked = (nanoseconds_t)le64toh((uint64_t)message);
    story_lock();
    ring(now > asked ? now : asked);
    story_unlock();
    while (__atomic_load_n(&unnoticed, __ATOMIC_SEQ_CST) > 0) sched_yield();
    story_lock();
    tell_conductor();
    story_unlock();
  }
}

struct sleeper {
  struct alarm alarm;
  uint32_t has_rung;
};

static void wake_sleeper(struct alarm *alarm, nanoseconds_t now) {
  (void)now;
  struct sleeper *sleeper = (struct sleeper *)alarm;
  __atomic_store_n(&sleeper->has_rung, 1, __ATOMIC_SEQ_CST);
  futex(&sleeper->has_rung, FUTEX_WAKE_PRIVATE, 1, NULL);
}

int sleep_until(nanoseconds_t deadline) {
  int error = errno, result = 0;
  struct sleeper sleeper = {.alarm = {.ring = wake_sleeper}};
  alarm_set(&sleeper.alarm, deadline);
  while (!__atomic_load_n(&sleeper.has_rung, __ATOMIC_SEQ_CST)) {
    if (futex(&sleeper.has_rung, FUTEX_WAIT_PRIVATE, 0, NULL) < 0 && errno == EINTR) {
      result = EINTR;
      break;
    }
  }
  alarm_cancel(&sleeper.alarm);
  errno = error;
  return result;
}

void wait_in_vain(void) {
  static _Thread_local __attribute__((tls_model("initial-exec"))) nanoseconds_t moment;
  static _Thread_local __attribute__((tls_model("initial-exec"))) int count;
  nanoseconds_t now = story_now();
  if (moment != now) count = 0;
  moment = now;
  if (++count > PATIENCE) sleep_until(now + MICROSECOND);
}
