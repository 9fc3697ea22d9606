// What libdispatch does by the clock for its own purposes. An app must neither be woken by that nor wait for it.
//
// All of this needs libdispatch as a shared library. If it is linked into the program, its calls can't be told from the
// program's.
#include "world.h"
#include <dlfcn.h>
#include <string.h>

bool is_in_dispatch(void *caller) {
  Dl_info place;
  if (!dladdr(caller, &place) || !place.dli_fname) return false;
  const char *slash = strrchr(place.dli_fname, '/');
  return strncmp(slash ? slash + 1 : place.dli_fname, "libdispatch.so", 14) == 0;
}

// As soon as a program uses a concurrent queue or a task, libdispatch looks every second whether all of its threads are
// blocked while there is work, and then starts more. In ten days of a story that would be a million steps. So it looks
// every ten minutes.
EXPORTED void dispatch_source_set_timer(void *source, uint64_t start, uint64_t interval, uint64_t leeway) {
  static const uint64_t second = 1000000000;
  static void *place;
  void (*set_timer)(void *, uint64_t, uint64_t, uint64_t) = hidden_function(&place, "dispatch_source_set_timer");
  bool is_monitor = interval == second && leeway == 0 && is_in_dispatch(__builtin_return_address(0)) && story_is_on();
  set_timer(source, start, is_monitor ? 600 * second : interval, leeway);
}
